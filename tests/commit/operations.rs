//! What operators and node managers do: nodes decommissioned, recommissioned and connected again, containers
//! killed or expired, queues drained, moved and killed; and the cause of each end.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;
use std::time::Duration;

use capsched::api::{
    AppEnd, AppSpec, ApplicationId, Ask, AskCall, AskReply, ContainerId, EndCause, Engine, Event,
    NodeError, NodeName, NodeReport, NodeSpec, NodeState, PartitionSpec, ResourceVector,
    Sequential, StateView, SubmitError,
};
use capsched::config;

const APP: ApplicationId = ApplicationId::new(1);
const OTHER: ApplicationId = ApplicationId::new(2);

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

fn node(host: &str) -> NodeName {
    NodeName::new(host, 1).unwrap()
}

/// Queues `root.a` and `root.b`, one node of 8 GiB, and two applications in `root.a`.
fn engine() -> Sequential {
    let pairs = [
        ("schedule-asynchronously.enable", "false"),
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.a.user-limit-factor", "10"),
        ("root.b.user-limit-factor", "10"),
        ("root.b.maximum-applications", "1"),
        ("maximum-am-resource-percent", "1"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100"),
    ];
    let pairs = pairs.map(|(key, value)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, value.to_owned())
    });
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs.into(), &types);
    let gpu = PartitionSpec {
        name: "gpu".to_owned(),
        exclusive: true,
    };
    let builder = Engine::builder(loaded.unwrap().settings).partitions([gpu]);
    let builder = builder.allocation_expiry(Duration::from_secs(600));
    let mut engine = builder.sequential().unwrap();
    engine
        .add_node(&NodeSpec::new(node("n1"), of(8192, 8)))
        .unwrap();
    for app in [APP, OTHER] {
        engine.submit(&AppSpec::new(app, "root.a", "ann")).unwrap();
    }
    engine
}

/// Asks for containers of 1 GiB, places and hands out what there is room for.
fn run(engine: &mut Sequential, app: ApplicationId, count: i32) -> Vec<ContainerId> {
    let ask = Ask::anywhere(of(1024, 1), count);
    engine.ask(app, &AskCall::asking(vec![ask])).unwrap();
    engine
        .heartbeat(&node("n1"), &NodeReport::AsExpected)
        .unwrap();
    let reply = engine.ask(app, &AskCall::default()).unwrap();
    reply
        .allocated
        .iter()
        .map(|granted| granted.container)
        .collect()
}

fn beat(engine: &mut Sequential) {
    engine
        .heartbeat(&node("n1"), &NodeReport::AsExpected)
        .unwrap();
}

/// Containers that ended since the last look, and why; the answer to their application says the same.
fn ends(engine: &mut Sequential) -> Vec<(u32, EndCause)> {
    let events = engine.take_events().into_iter();
    let ended = events.filter_map(|event| match event {
        Event::Ended {
            container, cause, ..
        } => Some((container.number, cause)),
        _ => None,
    });
    ended.collect()
}

fn pairs(reply: &AskReply) -> Vec<(u32, EndCause)> {
    let finished = reply.finished.iter();
    finished.map(|one| (one.number, one.cause)).collect()
}

fn answered(engine: &mut Sequential, app: ApplicationId) -> Vec<(u32, EndCause)> {
    let reply = engine.ask(app, &AskCall::default()).unwrap();
    pairs(&reply)
}

#[test]
fn every_end_has_a_cause_in_its_event_and_in_the_answer() {
    let mut engine = engine();
    let all = run(&mut engine, APP, 4);
    engine.take_events();
    beat(&mut engine);
    assert!(engine.container_finished(all[0]));
    assert!(engine.kill_container(all[1]));
    assert!(!engine.kill_container(all[1]), "it ended before");
    let release = AskCall {
        release: vec![all[2].number],
        ..AskCall::default()
    };
    let reply = engine.ask(APP, &release).unwrap();
    engine.remove_node(&node("n1")).unwrap();
    let causes = [
        (1, EndCause::Exited),
        (2, EndCause::Killed),
        (3, EndCause::Released),
        (4, EndCause::NodeLost),
    ];
    assert_eq!(ends(&mut engine), causes);
    let mut ended = pairs(&reply);
    ended.extend(answered(&mut engine, APP));
    assert_eq!(ended, causes);
    let status = causes.map(|(_, cause)| cause.exit_status());
    assert_eq!(status, [None, Some(-106), Some(-100), Some(-100)]);
    assert_eq!(EndCause::Preempted.exit_status(), Some(-102));

    engine
        .add_node(&NodeSpec::new(node("n1"), of(8192, 8)))
        .unwrap();
    run(&mut engine, OTHER, 1);
    engine.finish_app(OTHER).unwrap();
    assert_eq!(ends(&mut engine), [(1, EndCause::ApplicationEnded)]);
}

#[test]
fn what_no_node_launches_in_time_expires() {
    let mut engine = engine();
    let launched = run(&mut engine, APP, 1);
    beat(&mut engine);
    engine.advance_to(1_000);
    let waiting = run(&mut engine, APP, 2);
    engine.take_events();
    assert_eq!(engine.ledger().next_deadline(), Some(600_000));
    engine.advance_to(600_000);
    assert_eq!(ends(&mut engine), [], "the first one runs");
    engine.advance_to(601_000);
    let expired: Vec<_> = waiting
        .iter()
        .map(|id| (id.number, EndCause::Expired))
        .collect();
    assert_eq!(ends(&mut engine), expired);
    assert_eq!(answered(&mut engine, APP), expired);
    assert_eq!(engine.ledger().next_deadline(), None);
    let view = StateView::of(engine.ledger());
    assert_eq!(view.apps[0].live, [launched[0].number]);
    assert_eq!(
        view.nodes[0].available,
        [7168, 7],
        "its room is free at once"
    );
}

#[test]
fn a_decommissioned_node_takes_nothing_until_it_is_recommissioned() {
    let mut engine = engine();
    run(&mut engine, APP, 2);
    beat(&mut engine);
    engine.decommission_node(&node("n1")).unwrap();
    for _ in 0..2 {
        beat(&mut engine);
    }
    let shown = |engine: &Sequential| {
        let view = StateView::of(engine.ledger());
        (view.nodes[0].state, view.nodes[0].total.clone())
    };
    assert_eq!(shown(&engine), (NodeState::Decommissioning, vec![2048, 2]));
    assert_eq!(run(&mut engine, OTHER, 1), []);
    engine.recommission_node(&node("n1")).unwrap();
    assert_eq!(shown(&engine), (NodeState::Running, vec![8192, 8]));
    beat(&mut engine);
    assert_eq!(run(&mut engine, OTHER, 1).len(), 1);
    // Once more changes nothing; a node that is not there is refused.
    engine.recommission_node(&node("n1")).unwrap();
    assert_eq!(shown(&engine), (NodeState::Running, vec![8192, 8]));
    let unknown = engine.recommission_node(&node("n9"));
    assert_eq!(unknown, Err(NodeError::Unknown(node("n9"))));
}

#[test]
fn a_node_connects_again_with_another_size_as_a_whole() {
    let mut engine = engine();
    let running = run(&mut engine, APP, 2);
    engine.decommission_node(&node("n1")).unwrap();
    let before = StateView::of(engine.ledger());
    let described = |total, label: &str| NodeSpec {
        partition: label.to_owned(),
        ..NodeSpec::new(node("n1"), total)
    };
    let bad = NodeSpec {
        attributes: vec![("a b".to_owned(), String::new())],
        ..described(of(4096, 4), "")
    };
    for wrong in [
        described(of(4096, 4), "unknown"),
        described(of(-1, 4), "gpu"),
        NodeSpec {
            rack: String::new(),
            ..described(of(4096, 4), "gpu")
        },
        bad.clone(),
    ] {
        assert!(engine.reconnect_node(&wrong).is_err());
        assert_eq!(StateView::of(engine.ledger()), before);
    }
    let new = NodeSpec {
        name: node("n7"),
        partition: String::new(),
        ..bad
    };
    assert!(matches!(
        engine.add_node(&new),
        Err(NodeError::Attribute(_))
    ));
    assert_eq!(StateView::of(engine.ledger()), before);
    let half = engine.update_node(&node("n1"), of(1024, 1), "unknown");
    assert_eq!(half, Err(NodeError::Label("unknown".to_owned())));
    assert_eq!(StateView::of(engine.ledger()), before);

    engine
        .reconnect_node(&described(of(16_384, 16), "gpu"))
        .unwrap();
    let view = StateView::of(engine.ledger());
    assert_eq!(view.nodes[0].total, [16_384, 16]);
    assert_eq!(view.nodes[0].partition.as_deref(), Some("gpu"));
    assert_eq!(view.nodes[0].state, NodeState::Running);
    let live: Vec<_> = running.iter().map(|id| id.number).collect();
    assert_eq!(view.apps[0].live, live, "what ran runs on");
}

#[test]
fn the_applications_of_a_queue_move_and_end_together() {
    let mut engine = engine();
    run(&mut engine, APP, 1);
    engine.take_events();
    let moved = engine.move_all_apps("a", "root.b").unwrap();
    assert_eq!(moved.moved, [APP]);
    let refused: Vec<_> = moved
        .refused
        .iter()
        .map(|(id, error)| (*id, error.code()))
        .collect();
    assert_eq!(
        refused,
        [(OTHER, "max_applications")],
        "one is all that may run there"
    );
    assert!(engine.move_all_apps("a", "root.c").is_err());
    assert_eq!(engine.kill_all_apps("root.b"), Ok(vec![APP]));
    let events = engine.take_events();
    let ended = Event::AppEnded {
        app: APP,
        cause: AppEnd::QueueKilled,
    };
    assert!(events.contains(&ended), "{events:?}");
    assert_eq!(engine.kill_all_apps("root.b"), Ok(Vec::new()));
    assert!(engine.kill_all_apps("nowhere").is_err());

    engine.drain_queue("a").unwrap();
    let late = engine.submit(&AppSpec::new(ApplicationId::new(3), "root.a", "ann"));
    assert_eq!(late, Err(SubmitError::QueueStopped("root.a".to_owned())));
    assert_eq!(
        run(&mut engine, OTHER, 1).len(),
        1,
        "those that it has go on"
    );
}

/// Rows get a place for a partition with their first figure there.
#[test]
fn a_new_label_changes_no_queue_user_or_application_until_something_runs_under_it() {
    let mut engine = engine();
    run(&mut engine, APP, 2);
    let places = |engine: &Sequential| {
        let state = engine.ledger().state();
        let queues = state.queues.iter().map(|queue| queue.partitions().count());
        let users = state
            .users
            .iter()
            .map(|user| user.parts.partitions().count());
        let apps = state.apps.iter().map(|app| app.parts.partitions().count());
        queues.chain(users).chain(apps).collect::<Vec<_>>()
    };
    let before = places(&engine);
    engine.add_label(&PartitionSpec {
        name: "new".to_owned(),
        exclusive: true,
    });
    assert_eq!(places(&engine), before);
    engine.relabel_node(&node("n1"), "new").unwrap();
    // Root, the leaf, the user and the application that has containers.
    let moved = places(&engine).into_iter().zip(before);
    assert_eq!(moved.filter(|(now, before)| now > before).count(), 4);
    let view = StateView::of(engine.ledger());
    let used = |path: &str, label: &str| {
        let queue = view.queues.iter().find(|queue| &*queue.path == path);
        let labels = &queue.unwrap().labels;
        let used = labels.get(label).and_then(|figures| figures.used.as_ref());
        used.map_or(0, |used| used[0])
    };
    assert_eq!(used("root.a", "new"), used("root", "new"));
    assert_eq!((used("root.a", "new"), used("root.a", "")), (2048, 0));
    assert_eq!(used("root.b", "new"), 0);
}
