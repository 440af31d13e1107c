//! Scheduling requests on the engine: where constraints let their containers go.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, AskCall, ConstrainedAsk, Decision, NodeName, NodeReport, NodeSpec,
    ResourceVector, Sequential,
};
use capsched::config;

const FIRST: ApplicationId = ApplicationId::new(1);
const SECOND: ApplicationId = ApplicationId::new(2);

fn node(host: &str) -> NodeName {
    NodeName::new(host, 1).unwrap()
}

/// One leaf; hosts `h1` and `h2` on rack `/r1` and `h3` on `/r2`, with Java 11, 17 and none; two
/// applications, the second one tagged `batch`.
fn engine() -> Sequential {
    let p = "yarn.scheduler.capacity.";
    let pairs: BTreeMap<String, String> = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "-1"),
        ("maximum-am-resource-percent", "1"),
    ]
    .into_iter()
    .map(|(key, value)| (format!("{p}{key}"), value.to_owned()))
    .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    let mut engine = Sequential::new(loaded.settings, &[]).unwrap();
    for (host, rack, java) in [("h1", "/r1", "11"), ("h2", "/r1", "17"), ("h3", "/r2", "")] {
        let mut spec = NodeSpec::new(node(host), ResourceVector::of(&[8192, 8]));
        spec.rack = rack.to_owned();
        if !java.is_empty() {
            spec.attributes = vec![("rm.yarn.io/java".to_owned(), java.to_owned())];
        }
        engine.add_node(&spec).unwrap();
    }
    let mut second = AppSpec::new(SECOND, "root.a", "bob");
    second.tags = vec!["batch".to_owned()];
    engine
        .submit(&AppSpec::new(FIRST, "root.a", "ann"))
        .unwrap();
    engine.submit(&second).unwrap();
    engine.take_events();
    engine
}

fn ask(engine: &mut Sequential, app: ApplicationId, id: i64, tag: &str, constraint: &str) {
    let request = ConstrainedAsk {
        priority: 1,
        request_id: id,
        size: ResourceVector::of(&[1024, 1]),
        count: 2,
        tags: vec![tag.to_owned()],
        constraint: (!constraint.is_empty()).then(|| constraint.to_owned()),
    };
    let call = AskCall {
        constrained: vec![request],
        ..AskCall::default()
    };
    engine.ask(app, &call).unwrap();
}

/// How many containers start when each host reports twice.
fn placed(engine: &mut Sequential) -> Vec<(ApplicationId, String)> {
    for host in ["h1", "h2", "h3", "h1", "h2", "h3"] {
        engine
            .heartbeat(&node(host), &NodeReport::AsExpected)
            .unwrap();
    }
    let events = engine.take_events().into_iter();
    let allocated = events.filter_map(|event| match event {
        Decision::Allocated {
            container, node, ..
        } => Some((container.app, node.host().to_owned())),
        _ => None,
    });
    allocated.collect()
}

fn hosts(engine: &mut Sequential) -> Vec<String> {
    placed(engine).into_iter().map(|(_, host)| host).collect()
}

#[test]
fn an_attribute_chooses_the_node() {
    for (constraint, want) in [
        ("java=17", &["h2", "h2"][..]),
        ("rm.yarn.io/java=11", &["h1", "h1"]),
        ("java!=17", &["h1", "h3"]),
        ("java=8", &[]),
    ] {
        let mut engine = engine();
        ask(&mut engine, FIRST, 1, "web", constraint);
        assert_eq!(hosts(&mut engine), want, "{constraint}");
    }
}

#[test]
fn containers_that_avoid_their_own_tag_spread() {
    let mut engine = engine();
    ask(&mut engine, FIRST, 1, "web", "notin,node,web");
    assert_eq!(hosts(&mut engine), ["h1", "h2"]);
    ask(&mut engine, FIRST, 2, "db", "notin,rack,web");
    assert_eq!(hosts(&mut engine), ["h3", "h3"]);
    ask(&mut engine, FIRST, 3, "log", "cardinality,node,db,1,2");
    assert_eq!(hosts(&mut engine), ["h3", "h3"]);
}

#[test]
fn a_namespace_says_whose_tags_count() {
    for (constraint, want) in [
        ("in,node,web", &[][..]),
        ("in,node,all/web", &["h1", "h2"]),
        ("in,node,not-self/web", &["h1", "h2"]),
        ("in,node,app-id/application_1_0001/web", &["h1", "h2"]),
        ("in,node,app-id/application_1_0099/web", &[]),
        ("in,node,app-tag/batch/web", &[]),
    ] {
        let mut engine = engine();
        ask(&mut engine, FIRST, 1, "web", "notin,node,web");
        placed(&mut engine);
        ask(&mut engine, SECOND, 1, "near", constraint);
        assert_eq!(hosts(&mut engine), want, "{constraint}");
    }
}

#[test]
fn constraints_of_the_application_and_of_the_cluster_hold_besides() {
    let mut engine = engine();
    let own = [("web".to_owned(), "notin,node,web".to_owned())];
    engine.constrain_app(FIRST, &own).unwrap();
    let again = engine.constrain_app(FIRST, &own).unwrap_err();
    assert_eq!(again.code(), "scheduling_request");
    ask(&mut engine, FIRST, 1, "web", "");
    ask(&mut engine, SECOND, 1, "web", "");
    // What is registered later holds for requests that wait already.
    engine.constrain_tag("web", Some("java!=11")).unwrap();
    let found = placed(&mut engine);
    let on = |app: ApplicationId, host: &str| (app, host.to_owned());
    assert_eq!(
        found,
        [
            on(FIRST, "h2"),
            on(FIRST, "h3"),
            on(SECOND, "h2"),
            on(SECOND, "h3")
        ]
    );
    engine.constrain_tag("web", None).unwrap();
    ask(&mut engine, SECOND, 2, "web", "");
    assert_eq!(hosts(&mut engine), ["h1", "h2"]);
}

#[test]
fn malformed_or_unknown_registrations_change_nothing() {
    let mut engine = engine();
    let wrong = [("web".to_owned(), "notin,planet,web".to_owned())];
    let error = engine.constrain_app(FIRST, &wrong).unwrap_err();
    assert!(error.to_string().contains("planet"), "{error}");
    let nobody = ApplicationId::new(9);
    assert_eq!(
        engine.constrain_app(nobody, &[]).unwrap_err().code(),
        "unknown_application"
    );
    assert!(engine.constrain_tag("web", Some("in")).is_err());
    ask(&mut engine, FIRST, 1, "web", "");
    assert_eq!(hosts(&mut engine), ["h1", "h2"]);
}

#[test]
fn only_the_number_of_containers_of_a_key_may_change() {
    let mut engine = engine();
    ask(&mut engine, FIRST, 1, "web", "notin,node,web");
    engine.constrain_tag("web", Some("java=17")).unwrap();
    // The same request again, though the cluster has added a constraint since.
    ask(&mut engine, FIRST, 1, "web", "NOTIN,node,web");
    let other = ConstrainedAsk {
        priority: 1,
        request_id: 1,
        size: ResourceVector::of(&[1024, 1]),
        count: 2,
        tags: vec!["web".to_owned()],
        constraint: Some("notin,rack,web".to_owned()),
    };
    let call = AskCall {
        constrained: vec![other],
        ..AskCall::default()
    };
    assert_eq!(
        engine.ask(FIRST, &call).unwrap_err().code(),
        "scheduling_request"
    );
    assert_eq!(hosts(&mut engine), ["h2"]);
}
