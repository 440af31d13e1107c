//! Trees of queues that nobody should write, and refreshes of a live one: further rows B of the
//! catalogue of bad inputs. The rows of single files and values are in `bad_inputs_config.rs`.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capsched::api::EngineEnd;
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, Latencies, Mode, NodeReport, NodeSpec,
    ResourceVector, Sequential, Threaded, TreeSettings,
};
use capsched::config::{self, Severity};
use capsched::id::PartitionId;
use capsched::time::SystemClock;

/// One leaf `root.a` of 100 %.
const LEAF: [(&str, &str); 2] = [("root.queues", "a"), ("root.a.capacity", "100")];

/// Code of the first error, none when there is none, and the codes of all warnings.
fn tree(values: &[(&str, &str)]) -> (String, Vec<String>) {
    let mut text = String::from("<configuration>\n");
    for (key, value) in values {
        let value = value.replace('&', "&amp;").replace('<', "&lt;");
        let key = format!("yarn.scheduler.capacity.{}", key.replace('<', "&lt;"));
        let _ = writeln!(
            text,
            "<property><name>{key}</name><value>{value}</value></property>"
        );
    }
    text.push_str("</configuration>\n");
    let source = config::ConfigSource {
        name: "capacity-scheduler.xml".to_owned(),
        bytes: text.into_bytes(),
        layer: config::Layer::Scheduler,
    };
    let report = config::check(&[source], &config::Options::default());
    let first = |severity: Severity| {
        report
            .diagnostics
            .iter()
            .filter(move |found| found.severity == severity)
            .map(|found| found.code.to_string())
            .collect::<Vec<_>>()
    };
    (
        first(Severity::Error).first().cloned().unwrap_or_default(),
        first(Severity::Warning),
    )
}

/// What becomes of `root.a` with one more property.
fn with(key: &str, value: &str) -> (String, Vec<String>) {
    let [queues, capacity] = LEAF;
    tree(&[queues, capacity, (key, value)])
}

fn expect(row: &str, got: &(String, Vec<String>), error: &str, warning: &str) {
    assert_eq!(got.0, error, "{row}: {got:?}");
    let warned = warning.is_empty() || got.1.iter().any(|code| code == warning);
    assert!(warned, "{row}: {got:?}");
}

#[test]
fn names_and_shapes_of_trees() {
    let halves = [("root.a.capacity", "50"), ("root.b.capacity", "50")];
    let same_leaf = [
        ("root.queues", "a,b"),
        ("root.a.queues", "x"),
        ("root.b.queues", "x"),
        ("root.a.x.capacity", "100"),
        ("root.b.x.capacity", "100"),
    ];
    expect(
        "B06",
        &tree(&[&same_leaf[..], &halves[..]].concat()),
        "",
        "",
    );
    let own_name = [("root.queues", "root"), ("root.root.capacity", "100")];
    expect("B07", &tree(&own_name), "", "");
    let [queues, capacity] = LEAF;
    let both = [
        queues,
        capacity,
        ("root.a.queues", "x"),
        ("root.a.x.capacity", "100"),
        ("root.a.user-limit-factor", "2"),
    ];
    expect("B08", &tree(&both), "", "W_KEY_NO_EFFECT");
    expect(
        "B03",
        &with("root.a.queues", " "),
        "capacity_sum",
        "W_QUEUE_NAME",
    );
    let dots = [("root.queues", "../etc"), ("root.../etc.capacity", "100")];
    expect("B17", &tree(&dots), "E_QUEUE_NAME", "");
    for name in ["<script>", "a;rm -rf", "%2e%2e", "caf\u{e9}", "cafe\u{301}"] {
        let key = format!("root.{name}.capacity");
        let odd = [("root.queues", name), (key.as_str(), "100")];
        expect("B13, B14, B17", &tree(&odd), "", "");
    }
}

#[test]
fn sums_of_percentages() {
    let equal = |n: usize, share: &str| {
        let names: Vec<String> = (0..n).map(|i| format!("q{i}")).collect();
        let list = names.join(",");
        let keys: Vec<String> = names
            .iter()
            .map(|name| format!("root.{name}.capacity"))
            .collect();
        let mut values = vec![("root.queues", list.as_str())];
        values.extend(keys.iter().map(|key| (key.as_str(), share)));
        tree(&values)
    };
    for (n, share) in [
        (7, "14.285714"),
        (3, "33.33"),
        (3, "33.3333"),
        (1000, "0.1"),
    ] {
        expect("B25", &equal(n, share), "", "");
    }
    expect("B23", &equal(2, "50.0005"), "", "");
    expect("B24", &equal(2, "50.1"), "capacity_sum", "");
    expect("B26", &equal(2, "0"), "capacity_sum", "");
    let zero = [
        ("root.queues", "a"),
        ("root.a.capacity", "0"),
        ("root.allow-zero-capacity-sum", "true"),
    ];
    expect("B26", &tree(&zero), "", "");
    let closed = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "0"),
        ("root.a.maximum-capacity", "0"),
        ("root.b.capacity", "100"),
    ];
    expect("B29", &tree(&closed), "", "W_CAPACITY_ZERO");
    let mixed = [
        ("root.queues", "a,b,c"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "5w"),
        ("root.c.capacity", "[memory=1024,vcores=1]"),
    ];
    expect("B35", &tree(&mixed), "mixed_capacity_modes", "");
    let absolute = [
        ("root.queues", "p"),
        ("root.p.queues", "a,b"),
        ("root.p.capacity", "[memory=1024,vcores=2]"),
        ("root.p.a.capacity", "[memory=1024,vcores=1]"),
        ("root.p.b.capacity", "[memory=1024,vcores=1]"),
    ];
    expect("B31", &tree(&absolute), "children_exceed_parent", "");
}

#[test]
fn limits_and_lists() {
    for (row, key, value, error, warning) in [
        ("B30", "root.maximum-capacity", "50", "", "W_KEY_NO_EFFECT"),
        ("B37", "root.a.user-limit-factor", "0", "", "W_USER_LIMIT"),
        ("B37", "root.a.user-limit-factor", "NaN", "", "W_USER_LIMIT"),
        ("B37", "root.a.user-limit-factor", "-1", "", ""),
        ("B37", "root.a.user-limit-factor", "1e9", "", ""),
        (
            "B39",
            "maximum-am-resource-percent",
            "-0.1",
            "",
            "W_MASTER_SHARE",
        ),
        (
            "B39",
            "maximum-am-resource-percent",
            "1.1",
            "",
            "W_MASTER_SHARE",
        ),
        (
            "B39",
            "maximum-am-resource-percent",
            "NaN",
            "",
            "W_MASTER_SHARE",
        ),
        (
            "B39",
            "maximum-am-resource-percent",
            "10%",
            "not_a_number",
            "",
        ),
        ("B43", "root.a.acl_submit_applications", "a b c", "", ""),
        ("B43", "root.a.acl_submit_applications", " ", "", ""),
        ("B45", "root.a.accessible-node-labels", "*,x", "", ""),
        ("B46", "queue-mappings", "u:%user:%user", "", ""),
        ("B46", "queue-mappings", "g:*:", "mapping_syntax", ""),
        (
            "B46",
            "queue-mappings",
            "u:alice:root.missing",
            "mapping_target",
            "",
        ),
    ] {
        expect(row, &with(key, value), error, warning);
    }
    for (value, error) in [("200", "capacity_out_of_range"), ("NaN", "E_NAN")] {
        let [queues, capacity] = LEAF;
        let template = [
            queues,
            capacity,
            ("root.a.auto-create-child-queue.enabled", "true"),
            ("root.a.leaf-queue-template.capacity", value),
        ];
        expect("B47", &tree(&template), error, "");
    }
    let rules = vec!["u:alice:a"; 100_000].join(",");
    expect("B46", &with("queue-mappings", &rules), "", "");
}

#[test]
fn trees_of_very_many_queues_are_read_or_refused_before_they_are_made() {
    let names = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("q{i}")).collect();
        names.join(",")
    };
    // As the reference adds them up: 10,000 shares of 0.01 % come to 100 %, rounding included.
    let children = names(10_000);
    let keys: Vec<String> = (0..10_000).map(|i| format!("root.q{i}.capacity")).collect();
    let mut values = vec![("root.queues", children.as_str())];
    values.extend(keys.iter().map(|key| (key.as_str(), "0.01")));
    expect("B11, B27", &tree(&values), "", "");
    let children = names(100_001);
    expect("B10", &tree(&[("root.queues", &children)]), "E_LIMIT", "");
    let (parents, children) = (names(11), names(100_000));
    let keys: Vec<String> = (0..11).map(|i| format!("root.q{i}.queues")).collect();
    let mut values = vec![("root.queues", parents.as_str())];
    values.extend(keys.iter().map(|key| (key.as_str(), children.as_str())));
    expect("B12", &tree(&values), "E_LIMIT", "");
}

fn settings(values: &[(&str, &str)]) -> TreeSettings {
    settings_of(values, &["memory-mb", "vcores"])
}

/// The settings of a tree on a cluster of some resource types.
fn settings_of(values: &[(&str, &str)], types: &[&str]) -> TreeSettings {
    let by_heartbeats = ("schedule-asynchronously.enable", "false");
    let pairs: BTreeMap<String, String> = [by_heartbeats]
        .iter()
        .chain(values)
        .map(|(key, value)| {
            (
                format!("yarn.scheduler.capacity.{key}"),
                (*value).to_owned(),
            )
        })
        .collect();
    let types: Vec<String> = types.iter().map(|&name| name.to_owned()).collect();
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.unwrap().settings
}

/// Queues `a` and `b`, and an application of four containers in `a`.
fn running() -> (Sequential, Vec<(&'static str, &'static str)>) {
    let values = vec![
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
    ];
    let mut engine = Engine::builder(settings(&values)).sequential().unwrap();
    let name: capsched::api::NodeName = "n:1".parse().unwrap();
    let total = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(&NodeSpec::new(name.clone(), total))
        .unwrap();
    let app = ApplicationId::new(1);
    engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 4);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    for _ in 0..4 {
        engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    }
    (engine, values)
}

fn used(engine: &Sequential) -> ResourceVector {
    let queues = &engine.ledger().state().queues;
    let root = queues.iter().next().unwrap();
    root.part(PartitionId::DEFAULT).used.get()
}

#[test]
fn refused_refreshes_leave_a_live_tree_as_it_was() {
    let (mut engine, values) = running();
    let before = (used(&engine), engine.ledger().state().queues.len());
    assert_eq!(before.0, ResourceVector::of(&[4096, 4]));
    let gone = [("root.queues", "b"), ("root.b.capacity", "100")];
    assert!(engine.reconfigure(settings(&gone)).is_err(), "B48");
    let mut parent = values.clone();
    parent.extend([("root.a.queues", "x"), ("root.a.x.capacity", "100")]);
    assert!(engine.reconfigure(settings(&parent)).is_err(), "B49");
    let after = (used(&engine), engine.ledger().state().queues.len());
    assert_eq!(after, before, "nothing of a refused refresh is carried out");
}

#[test]
fn a_refresh_with_further_resource_types_is_refused() {
    let tree = |amount: &'static str| {
        let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        vec![
            ("resource-calculator", calculator),
            ("root.queues", "a,b"),
            ("root.a.capacity", amount),
            ("root.a.maximum-capacity", amount),
            ("root.b.capacity", "[memory=4096,vcores=4]"),
        ]
    };
    let before = settings(&tree("[memory=4096,vcores=4]"));
    let mut engine = Engine::builder(before).sequential().unwrap();
    let name: capsched::api::NodeName = "n:1".parse().unwrap();
    let total = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(&NodeSpec::new(name.clone(), total))
        .unwrap();
    let more = tree("[memory=4096,vcores=4,gpu=2]");
    let more = settings_of(&more, &["memory-mb", "vcores", "gpu"]);
    let refused = engine.reconfigure(more).map_err(|error| error.code());
    assert_eq!(refused, Err("resource_types"));
    let app = ApplicationId::new(1);
    engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 1);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    assert_eq!(used(&engine), ResourceVector::of(&[1024, 1]));
    for queue in &engine.ledger().state().queues {
        let part = &queue.part(PartitionId::DEFAULT);
        let (guaranteed, limit) = (part.guaranteed.get(), part.limit.get());
        let amounts = [part.amounts.minimum(), guaranteed, limit];
        assert!(amounts.iter().all(|amount| amount[2] == 0));
    }
}

#[test]
fn what_ends_in_a_replaced_queue_moves_no_other_child() {
    let (mut engine, mut values) = running();
    values.extend([("root.a.queues", "x"), ("root.a.x.capacity", "100")]);
    values.push(("root.a.state", "STOPPED"));
    assert!(engine.reconfigure(settings(&values)).is_ok());
    let ann = ApplicationId::new(1);
    let reply = engine.ask(ann, &AskCall::default()).unwrap();
    let app = ApplicationId::new(2);
    engine.submit(&AppSpec::new(app, "root.b", "bob")).unwrap();
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 4);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    let name = "n:1".parse().unwrap();
    for granted in &reply.allocated {
        let call = AskCall {
            release: vec![granted.container.number],
            ..AskCall::default()
        };
        engine.ask(ann, &call).unwrap();
        engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    }
    assert_eq!(reply.allocated.len(), 4);
    assert_eq!(used(&engine), ResourceVector::of(&[4096, 4]));
}

#[test]
fn nobody_is_below_a_parent_that_became_a_leaf() {
    let states = |state: &'static str| {
        vec![
            ("root.queues", "p,b"),
            ("root.p.queues", "x"),
            ("root.p.capacity", "50"),
            ("root.p.x.capacity", "100"),
            ("root.b.capacity", "50"),
            ("root.p.state", state),
        ]
    };
    let running = settings(&states("RUNNING"));
    let mut engine = Engine::builder(running).sequential().unwrap();
    assert!(engine.reconfigure(settings(&states("STOPPED"))).is_ok());
    let mut leaf = states("RUNNING");
    leaf.retain(|(key, _)| !["root.p.queues", "root.p.x.capacity"].contains(key));
    assert_eq!(engine.reconfigure(settings(&leaf)), Ok(()));
    let spec = |number, queue| AppSpec::new(ApplicationId::new(number), queue, "ann");
    assert!(engine.submit(&spec(1, "root.p.x")).is_err());
    assert!(engine.submit(&spec(2, "root.p")).is_ok());
}

#[test]
fn refreshes_to_the_same_or_to_less_are_taken() {
    let (mut engine, mut values) = running();
    let before = used(&engine);
    assert!(engine.reconfigure(settings(&values)).is_ok(), "B51");
    assert_eq!(used(&engine), before, "B51");
    values.push(("root.a.maximum-capacity", "50"));
    values.retain(|(key, _)| !key.starts_with("root.a.capacity") && !key.starts_with("root.b."));
    values.extend([("root.a.capacity", "10"), ("root.b.capacity", "90")]);
    values.retain(|(key, _)| *key != "root.a.maximum-capacity");
    values.push(("root.a.maximum-capacity", "20"));
    assert!(engine.reconfigure(settings(&values)).is_ok(), "B50");
    let app = ApplicationId::new(1);
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), 2);
    let reply = engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    assert!(
        ResourceVector::NONE.fits_in(&reply.headroom),
        "B50: {}",
        reply.headroom
    );
    for _ in 0..4 {
        let name = "n:1".parse().unwrap();
        engine.heartbeat(&name, &NodeReport::AsExpected).unwrap();
    }
    assert_eq!(
        used(&engine),
        before,
        "B50: a queue above its maximum does not grow"
    );
}

#[test]
fn two_refreshes_at_once_are_carried_out_one_after_the_other() {
    let (engine, values) = running();
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::take_over(engine, mode, SystemClock::new(), Latencies::Off).unwrap();
    let shares = |a: &'static str, b: &'static str| {
        let mut values = values.clone();
        values.retain(|(key, _)| !key.ends_with(".capacity"));
        values.extend([("root.a.capacity", a), ("root.b.capacity", b)]);
        settings(&values)
    };
    let trees = [shares("10", "90"), shares("80", "20")];
    std::thread::scope(|scope| {
        for tree in &trees {
            let engine = &engine;
            scope.spawn(move || assert_eq!(engine.reconfigure(tree.clone()), Ok(()), "B52"));
        }
    });
    let both = engine.state().unwrap().queues;
    let capacity = |path: &str| {
        let queue = both.iter().find(|queue| queue.path == path).unwrap();
        queue.labels[""].abs_cap.0
    };
    let (a, b) = (capacity("root.a"), capacity("root.b"));
    let whole = [(0.1_f32, 0.9_f32), (0.8, 0.2)];
    assert!(
        whole.contains(&(a, b)),
        "B52: one of them as a whole: {a} {b}"
    );
    assert_eq!(engine.stop(), EngineEnd::Stopped);
}

#[test]
fn what_is_accepted_starts_and_refreshes() {
    let names = [
        "capacity",
        "maximum-capacity",
        "user-limit-factor",
        "minimum-user-limit-percent",
        "maximum-applications",
        "maximum-am-resource-percent",
        "state",
        "ordering-policy",
        "queues",
        "accessible-node-labels",
        "auto-queue-creation-v2.enabled",
    ];
    let values = [
        "100",
        "0",
        "-1",
        "1w",
        "0w",
        "NaN",
        "1e9",
        "[memory=1024]",
        "x",
        "x,y",
        "*",
        "fair",
        "RUNNING",
        "STOPPED",
        "true",
        "",
        " ",
    ];
    let (mut started, mut refused) = (0, 0);
    for name in names {
        for value in values {
            let [queues, capacity] = LEAF;
            let key = format!("root.a.{name}");
            let mut pairs: BTreeMap<String, String> = BTreeMap::new();
            for (key, value) in [queues, capacity, (key.as_str(), value)] {
                pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
            }
            let types = ["memory-mb".to_owned(), "vcores".to_owned()];
            let Ok(loaded) = config::from_pairs(&BTreeMap::new(), &pairs, &types) else {
                refused += 1;
                continue;
            };
            let engine = Engine::builder(loaded.settings.clone()).sequential();
            let mut engine = engine.unwrap_or_else(|e| panic!("B53: {name}={value}: {e}"));
            let again = engine.reconfigure(loaded.settings);
            assert!(again.is_ok(), "B53: {name}={value}: {again:?}");
            started += 1;
        }
    }
    assert!(started > 50 && refused > 30, "{started} {refused}");
}
