//! Scheduling requests on the engine: where constraints let their containers go.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, ConstrainedAsk, ContainerId, Event,
    NodeName, NodeReport, NodeSpec, PartitionSpec, ResourceVector, Restarts, Sequential, StateView,
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
        ("schedule-asynchronously.enable", "false"),
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

fn request(id: i64, count: i32, tag: &str, constraint: &str) -> ConstrainedAsk {
    ConstrainedAsk {
        priority: 1,
        request_id: id,
        size: ResourceVector::of(&[1024, 1]),
        count,
        tags: vec![tag.to_owned()],
        constraint: (!constraint.is_empty()).then(|| constraint.to_owned()),
    }
}

fn call(requests: Vec<ConstrainedAsk>) -> AskCall {
    AskCall {
        constrained: requests,
        ..AskCall::default()
    }
}

fn ask(engine: &mut Sequential, app: ApplicationId, id: i64, tag: &str, constraint: &str) {
    let call = call(vec![request(id, 2, tag, constraint)]);
    engine.ask(app, &call).unwrap();
}

/// Asks of the first application that only node `h1` may serve, `count` of them.
fn ask_on_first_host(engine: &mut Sequential, count: i32) {
    let call = call(vec![request(1, count, "web", "java=11")]);
    engine.ask(FIRST, &call).unwrap();
}

fn code(answer: Result<AskReply, AskError>) -> Option<&'static str> {
    answer.err().map(|error| error.code())
}

fn users_asking(engine: &Sequential) -> i32 {
    let view = StateView::of(engine.ledger());
    view.queues[1].leaf.as_ref().unwrap().num_active_users
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
        Event::Allocated {
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
        ("notin,node,app-id/application_1_0001/web", &["h3", "h3"]),
        ("notin,node,app-id/application_1_0099/web", &["h1", "h2"]),
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
    let other = call(vec![request(1, 2, "web", "notin,rack,web")]);
    assert_eq!(code(engine.ask(FIRST, &other)), Some("scheduling_request"));
    assert_eq!(hosts(&mut engine), ["h2"]);
}

#[test]
fn scheduling_requests_beside_new_demand_are_not_looked_at() {
    let mut engine = engine();
    ask_on_first_host(&mut engine, 2);
    let ordinary = Ask {
        priority: 2,
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)
    };
    let other = request(1, 2, "web", "java=17");
    let both = AskCall {
        asks: vec![ordinary.clone()],
        ..call(vec![other.clone(), request(2, 1, "db", "")])
    };
    assert_eq!(code(engine.ask(FIRST, &both)), None);
    let on_a_host = AskCall {
        asks: vec![Ask {
            place: "h1".to_owned(),
            ..ordinary
        }],
        ..call(vec![other])
    };
    assert_eq!(
        code(engine.ask(FIRST, &on_a_host)),
        Some("scheduling_request")
    );
    assert_eq!(hosts(&mut engine), ["h1", "h2", "h1"]);
}

#[test]
fn requests_before_a_refused_one_stay() {
    let mut engine = engine();
    ask_on_first_host(&mut engine, 1);
    let requests = vec![
        request(2, 1, "db", "java=17"),
        request(1, 1, "web", "java=17"),
        request(3, 1, "log", "java=17"),
    ];
    assert_eq!(
        code(engine.ask(FIRST, &call(requests))),
        Some("scheduling_request")
    );
    let twice = vec![
        request(4, 1, "db", "java!=11"),
        request(4, 1, "db", "java=11"),
    ];
    assert_eq!(
        code(engine.ask(FIRST, &call(twice))),
        Some("scheduling_request")
    );
    assert_eq!(hosts(&mut engine), ["h1", "h2", "h3"]);
}

#[test]
fn a_key_that_asks_for_nothing_may_be_used_for_something_else() {
    let mut engine = engine();
    ask_on_first_host(&mut engine, 2);
    ask_on_first_host(&mut engine, 0);
    ask(&mut engine, FIRST, 1, "db", "java=17");
    assert_eq!(hosts(&mut engine), ["h2", "h2"]);
    let ordinary = Ask {
        request_id: 1,
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)
    };
    let ordinary = AskCall::asking(vec![ordinary]);
    // Served as often as asked, so that asking for nothing is no change: the key stays.
    let nothing = call(vec![request(1, 0, "db", "java=17")]);
    engine.ask(FIRST, &nothing).unwrap();
    assert_eq!(
        code(engine.ask(FIRST, &ordinary)),
        Some("scheduling_request")
    );
    assert_eq!(users_asking(&engine), 1);
    engine
        .ask(FIRST, &call(vec![request(1, 1, "db", "java=17")]))
        .unwrap();
    engine.ask(FIRST, &nothing).unwrap();
    assert_eq!(users_asking(&engine), 0);
    assert_eq!(code(engine.ask(FIRST, &ordinary)), None);
    assert_eq!(hosts(&mut engine), ["h1"]);
}

#[test]
fn a_lost_container_of_a_scheduling_request_is_not_asked_again() {
    let mut engine = engine();
    ask_on_first_host(&mut engine, 2);
    engine
        .heartbeat(&node("h1"), &NodeReport::AsExpected)
        .unwrap();
    ask_on_first_host(&mut engine, 0);
    let events = engine.take_events().len();
    engine.remove_node(&node("h1")).unwrap();
    assert_eq!(
        (events, engine.take_events().len()),
        (1, 1),
        "came and went"
    );
    for host in ["h2", "h3"] {
        engine
            .heartbeat(&node(host), &NodeReport::AsExpected)
            .unwrap();
    }
    assert_eq!(engine.take_events(), []);
    assert_eq!(users_asking(&engine), 0);
}

#[test]
fn headroom_is_told_of_partitions_that_asks_named_not_scheduling_requests() {
    let p = "yarn.scheduler.capacity";
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "-1"),
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
    ]
    .map(|(key, value)| (format!("{p}.{key}"), value.to_owned()));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs.into(), &types).unwrap();
    let gpu = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let mut engine = Sequential::new(loaded.settings, &[gpu]).unwrap();
    let default = NodeSpec::new(node("h1"), ResourceVector::of(&[8192, 8]));
    let mut labelled = NodeSpec::new(node("h2"), ResourceVector::of(&[4096, 4]));
    labelled.partition = "gpu".to_owned();
    engine.add_node(&default).unwrap();
    engine.add_node(&labelled).unwrap();
    engine
        .submit(&AppSpec::new(FIRST, "root.a", "ann"))
        .unwrap();
    let on_gpu = Ask {
        priority: 2,
        partition: Some("gpu".to_owned()),
        ..Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)
    };
    engine
        .ask(FIRST, &AskCall::asking(vec![on_gpu.clone()]))
        .unwrap();
    engine
        .heartbeat(&node("h2"), &NodeReport::AsExpected)
        .unwrap();
    let constrained = call(vec![request(1, 1, "web", "notin,node,web")]);
    let answer = engine.ask(FIRST, &constrained).unwrap().headroom;
    assert_eq!(answer, ResourceVector::of(&[3072, 3]));
    // Within the limit of the last pass, which was that of the labelled node.
    let anywhere = Ask {
        partition: None,
        priority: 3,
        ..on_gpu
    };
    let answer = engine.ask(FIRST, &AskCall::asking(vec![anywhere])).unwrap();
    assert_eq!(answer.headroom, ResourceVector::of(&[7168, 4]));
}

/// Fetches the containers of the first application and has them run.
fn launch(engine: &mut Sequential) -> Vec<ContainerId> {
    let reply = engine.ask(FIRST, &AskCall::default()).unwrap();
    placed(engine);
    let granted = reply.allocated.iter();
    granted.map(|granted| granted.container).collect()
}

/// Where the second application gets its two containers that want to be beside a tag.
fn beside(engine: &mut Sequential, id: i64, tag: &str) -> Vec<String> {
    ask(engine, SECOND, id, "", &format!("in,node,all/{tag}"));
    hosts(engine)
}

// As SchedulerNode.releaseContainer: it removes the tags of the container, whatever its request became.
#[test]
fn a_container_takes_its_own_tags_with_it_though_its_key_has_others_by_then() {
    let mut engine = engine();
    engine
        .ask(FIRST, &call(vec![request(1, 2, "web", "java=17")]))
        .unwrap();
    // Two are asked for, and one is placed.
    engine
        .heartbeat(&node("h2"), &NodeReport::AsExpected)
        .unwrap();
    let reply = engine
        .ask(FIRST, &call(vec![request(1, 0, "web", "java=17")]))
        .unwrap();
    let web = reply.allocated[0].container;
    engine
        .ask(FIRST, &call(vec![request(1, 1, "db", "java=17")]))
        .unwrap();
    placed(&mut engine);
    launch(&mut engine);
    assert!(engine.container_finished(web));
    assert_eq!(beside(&mut engine, 1, "web"), Vec::<String>::new());
    assert_eq!(beside(&mut engine, 2, "db"), ["h2", "h2"]);
}

#[test]
fn tags_of_containers_that_are_kept_stay_over_attempts_and_go_with_them() {
    let mut engine = engine();
    engine.finish_app(FIRST).unwrap();
    let spec = AppSpec::new(FIRST, "root.a", "ann").with_master(ResourceVector::of(&[1024, 1]));
    engine
        .submit(&spec.restarting(Restarts::KeepingContainers))
        .unwrap();
    placed(&mut engine);
    engine
        .ask(FIRST, &call(vec![request(1, 1, "web", "java=17")]))
        .unwrap();
    placed(&mut engine);
    let web = launch(&mut engine);
    engine.end_attempt(FIRST).unwrap();
    engine.start_attempt(FIRST).unwrap();
    placed(&mut engine);
    engine
        .ask(FIRST, &call(vec![request(1, 1, "db", "java=11")]))
        .unwrap();
    placed(&mut engine);
    launch(&mut engine);
    assert_eq!(beside(&mut engine, 1, "web"), ["h2", "h2"]);
    assert!(engine.container_finished(web[0]));
    assert_eq!(beside(&mut engine, 2, "web"), Vec::<String>::new());
    assert_eq!(beside(&mut engine, 3, "db"), ["h1", "h1"]);
    engine.end_attempt(FIRST).unwrap();
    assert_eq!(beside(&mut engine, 4, "db"), ["h1", "h1"]);
    engine.finish_app(FIRST).unwrap();
    assert_eq!(beside(&mut engine, 5, "db"), Vec::<String>::new());
}
