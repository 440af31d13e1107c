//! The engine as one object: submissions in the name of users, refreshes of everything at once, looks at
//! single things, counters.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Mode, NodeName, NodeReport, NodeSpec,
    PartitionSpec, RefreshRefusal, ResourceVector, SubmitAsError,
};
use capsched::config::{self, Admission, Caller, ConfigSource, Layer, Loaded, Options};

const PREFIX: &str = "yarn.scheduler.capacity.";

/// A tree of `dev` and `ops`, in which Ann may submit to `dev` alone.
const OWN: [(&str, &str); 8] = [
    ("root.queues", "dev,ops"),
    ("root.dev.capacity", "50"),
    ("root.ops.capacity", "50"),
    ("root.acl_submit_applications", " "),
    ("root.acl_administer_queue", " "),
    ("root.dev.acl_submit_applications", "ann"),
    ("root.ops.acl_submit_applications", "bob"),
    ("queue-mappings", "u:ann:dev"),
];

fn loaded(own: &[(&str, &str)]) -> Loaded {
    let own = own
        .iter()
        .map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned()));
    let site = BTreeMap::from([("yarn.acl.enable".to_owned(), "true".to_owned())]);
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&site, &own.collect(), &types).unwrap()
}

fn engine() -> Engine {
    let loaded = loaded(&OWN);
    let rules = Admission::read(&loaded, "yarn").unwrap();
    let builder = Engine::builder(loaded.settings).mode(Mode::Heartbeat);
    let builder = builder.admission(rules);
    builder.start().unwrap()
}

fn user(name: &str) -> Caller<'_> {
    Caller {
        user: name,
        groups: &[],
        real_user: None,
    }
}

/// The queue that a submission goes to, or the code of its refusal.
fn submit(engine: &Engine, number: u32, name: &str, queue: &str) -> Result<String, &'static str> {
    let spec = AppSpec::new(ApplicationId::new(number), queue, "whoever");
    let submitted = engine.submit_as(user(name), |_| Vec::new(), spec);
    match submitted {
        Ok(submitted) => Ok(submitted.queue.to_string()),
        Err(SubmitAsError::Refused(refusal)) => Err(refusal.code()),
        Err(SubmitAsError::Submit(error)) => Err(error.code()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn submissions_in_the_name_of_users_follow_mappings_and_access_lists() {
    let engine = engine();
    assert_eq!(
        submit(&engine, 1, "ann", "default").as_deref(),
        Ok("root.dev")
    );
    assert_eq!(submit(&engine, 2, "bob", "root.dev"), Err("submit_acl"));
    assert_eq!(submit(&engine, 3, "bob", "ops").as_deref(), Ok("root.ops"));
    assert_eq!(
        submit(&engine, 3, "bob", "ops"),
        Err("duplicate_application")
    );
    assert_eq!(submit(&engine, 4, "eve", "ops"), Err("submit_acl"));
    let apps = engine.state().unwrap().apps;
    assert_eq!(apps.iter().map(|app| app.app).collect::<Vec<_>>(), [1, 3]);
    // Who trusts its caller looks at no list, and the user is who is named.
    let spec = AppSpec::new(ApplicationId::new(9), "root.ops", "eve");
    assert!(engine.submit(spec).is_ok());
}

fn sources(pairs: &[(&str, &str)]) -> Vec<ConfigSource> {
    let property = |(key, value): &(&str, &str)| {
        format!("<property><name>{PREFIX}{key}</name><value>{value}</value></property>")
    };
    let own: String = pairs.iter().map(property).collect();
    let file = |name: &str, layer, text: &str| ConfigSource {
        name: name.into(),
        bytes: format!("<configuration>{text}</configuration>").into(),
        layer,
    };
    let acl = "<property><name>yarn.acl.enable</name><value>true</value></property>";
    vec![
        file("yarn-site.xml", Layer::Site, acl),
        file("capacity-scheduler.xml", Layer::Scheduler, &own),
    ]
}

/// The configuration with another value for each of some keys.
fn changed<'a>(new: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = OWN
        .into_iter()
        .filter(|(key, _)| new.iter().all(|(other, _)| other != key));
    kept.chain(new.iter().copied()).collect()
}

#[test]
fn a_refresh_takes_over_everything_or_nothing() {
    let engine = engine();
    let options = Options::default();
    let before = engine.state().unwrap();
    // Settings are fine, a rule is not; rules are fine, the live scheduler refuses.
    let wrong_rule = changed(&[
        ("root.dev.capacity", "60"),
        ("root.ops.capacity", "40"),
        ("queue-mappings", "u:ann:nowhere.at.all:x:y"),
    ]);
    let refused = engine.refresh(&sources(&wrong_rule), &options, "yarn", None);
    assert!(matches!(
        refused,
        Err(RefreshRefusal::Rules(_) | RefreshRefusal::Configuration(_))
    ));
    let gone = [
        ("root.queues", "dev"),
        ("root.dev.capacity", "100"),
        ("queue-mappings", "u:bob:dev"),
    ];
    let refused = engine.refresh(&sources(&gone), &options, "yarn", None);
    assert!(
        matches!(refused, Err(RefreshRefusal::Live(_))),
        "{refused:?}"
    );
    assert_eq!(engine.state().unwrap(), before);
    assert_eq!(
        submit(&engine, 1, "ann", "default").as_deref(),
        Ok("root.dev")
    );

    let other = changed(&[
        ("root.dev.capacity", "60"),
        ("root.ops.capacity", "40"),
        ("queue-mappings", "u:bob:ops"),
        ("root.ops.acl_submit_applications", "ann"),
    ]);
    engine
        .refresh(&sources(&other), &options, "yarn", None)
        .unwrap();
    assert_eq!(submit(&engine, 2, "ann", "ops").as_deref(), Ok("root.ops"));
    assert_eq!(submit(&engine, 3, "bob", "ops"), Err("submit_acl"));
    let dev = engine.queue("dev").unwrap().unwrap();
    let shown = serde_json::to_value(&dev.labels[""]).unwrap();
    assert_eq!(shown["cap"], serde_json::json!(0.6f32));
}

/// Labels come and go with the settings, the rules and the access lists, or nothing of it does.
#[test]
fn a_refresh_takes_labels_over_with_everything_else() {
    let engine = engine();
    let options = Options::default();
    let label = |name: &str| PartitionSpec {
        name: name.to_owned(),
        exclusive: true,
    };
    let node = |label: &str| NodeSpec {
        partition: label.to_owned(),
        ..NodeSpec::new("n1:1".parse().unwrap(), ResourceVector::of(&[4096, 4]))
    };
    let other = changed(&[("root.dev.capacity", "60"), ("root.ops.capacity", "40")]);
    let gpu = [label("gpu")];
    let twice = [label("gpu"), label("gpu")];
    let refused = engine.refresh(&sources(&other), &options, "yarn", Some(&twice));
    assert!(matches!(refused, Err(RefreshRefusal::Live(_))));
    let gone = [("root.queues", "dev"), ("root.dev.capacity", "100")];
    let refused = engine.refresh(&sources(&gone), &options, "yarn", Some(&gpu));
    assert!(matches!(refused, Err(RefreshRefusal::Live(_))));
    assert!(engine.add_node(node("gpu")).is_err(), "no label was added");
    let taken = engine.refresh(&sources(&other), &options, "yarn", Some(&gpu));
    assert!(taken.is_ok());
    engine.add_node(node("gpu")).unwrap();
    // Without labels those that are known stay; with none they go, and nodes lose theirs.
    let taken = engine.refresh(&sources(&OWN), &options, "yarn", None);
    assert!(taken.is_ok());
    let partition = || {
        let node = engine.node(&"n1:1".parse().unwrap());
        node.unwrap().unwrap().partition
    };
    assert_eq!(partition().as_deref(), Some("gpu"));
    let taken = engine.refresh(&sources(&OWN), &options, "yarn", Some(&[]));
    assert!(taken.is_ok());
    assert_eq!(partition(), None);
}

/// A page is made of some looks at 128 rows, and has 1,024 at most.
#[test]
fn pages_go_on_behind_a_row() {
    let engine = engine();
    let numbers = 1..=600;
    for number in numbers.clone() {
        let spec = AppSpec::new(ApplicationId::new(number), "root.dev", "ann");
        engine.submit(spec).unwrap();
    }
    let of_page = |behind: u32, most: usize| {
        let page = engine.apps_behind(Some(ApplicationId::new(behind)), most);
        let shown: Vec<_> = page.unwrap().into_iter().map(|view| view.app).collect();
        shown
    };
    let all: Vec<u32> = numbers.collect();
    assert_eq!(of_page(0, usize::MAX), all);
    assert_eq!(of_page(10, 300), all[10..310]);
    assert_eq!(of_page(88, 512), all[88..]);
    assert_eq!(of_page(0, 256), all[..256]);
    assert_eq!(of_page(600, 9), [] as [u32; 0]);
    assert_eq!(of_page(0, 0), [] as [u32; 0]);
}

#[test]
fn single_things_are_looked_up_and_events_are_counted() {
    let engine = engine();
    let name = NodeName::new("n1", 1).unwrap();
    let size = ResourceVector::of(&[4096, 4]);
    engine.add_node(NodeSpec::new(name.clone(), size)).unwrap();
    let app = ApplicationId::new(7);
    engine.submit(AppSpec::new(app, "root.dev", "ann")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
    engine.ask(app, AskCall::asking(vec![ask])).unwrap();
    for _ in 0..3 {
        engine
            .heartbeat(name.clone(), NodeReport::AsExpected)
            .unwrap();
    }
    let state = engine.state().unwrap();
    assert_eq!(engine.app(app).unwrap().as_ref(), state.apps.first());
    assert_eq!(engine.node(&name).unwrap().as_ref(), state.nodes.first());
    assert_eq!(
        engine.queue("root.dev").unwrap().as_ref(),
        state.queues.get(1)
    );
    assert_eq!(engine.app(ApplicationId::new(8)), Ok(None));
    assert_eq!(engine.queue("nowhere"), Ok(None));
    assert_eq!(engine.apps_behind(Some(app), 9), Ok(Vec::new()));
    assert_eq!(engine.nodes_behind(None, 9).unwrap(), state.nodes);
    assert_eq!(engine.nodes_behind(Some(&name), 9), Ok(Vec::new()));
    engine.finish_app(app).unwrap();
    let counts = engine.event_counts().unwrap();
    assert_eq!((counts.started, counts.allocated, counts.killed), (1, 2, 2));
    assert_eq!((counts.finished, counts.released, counts.ended), (0, 0, 0));
}

#[test]
fn queues_that_submissions_created_keep_the_lists_of_their_template_at_a_refresh() {
    let creating = [
        ("root.queues", "users"),
        ("root.users.capacity", "1w"),
        ("root.users.auto-queue-creation-v2.enabled", "true"),
        ("root.acl_submit_applications", " "),
        ("root.acl_administer_queue", " "),
        ("root.users.acl_submit_applications", "eve"),
        (
            "root.users.auto-queue-creation-v2.leaf-template.acl_submit_applications",
            "ann",
        ),
    ];
    let first = loaded(&creating);
    let rules = Admission::read(&first, "yarn").unwrap();
    let engine = Engine::builder(first.settings).mode(Mode::Heartbeat);
    let engine = engine.admission(rules);
    let engine = engine.start().unwrap();
    let created = submit(&engine, 1, "eve", "root.users.x");
    assert_eq!(created.as_deref(), Ok("root.users.x"));
    for number in [2, 3] {
        let taken = submit(&engine, number, "ann", "root.users.x");
        assert_eq!(taken.as_deref(), Ok("root.users.x"), "{number}");
        let refused = submit(&engine, 9, "bob", "root.users.x");
        assert_eq!(refused, Err("submit_acl"), "{number}");
        let options = Options::default();
        let again = engine.refresh(&sources(&creating), &options, "yarn", None);
        assert!(again.is_ok(), "{number}");
    }
}
