//! Why opportunistic containers wait: no node takes them, or they are in the queue of a node.

use capsched::api::{
    AppSpec, Ask, AskCall, Engine, Mode, NodeReport, NodeSpec, Reason, ResourceVector,
    Scheduler as _, Sequential, UnderWay, explain,
};

use super::cluster::{Cluster, app, cluster_of_site, gib, node};

/// Nodes of 8 GiB whose queues have a place each.
fn cluster(hosts: &[&str]) -> Cluster {
    let site = [
        (
            "yarn.resourcemanager.opportunistic-container-allocation.enabled",
            "true",
        ),
        (
            "yarn.nodemanager.opportunistic-containers-max-queue-length",
            "1",
        ),
    ];
    let mut cluster = cluster_of_site(&site, &[], hosts);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    cluster
}

/// A node with room for one of so many containers, and a place for one more.
pub(crate) fn asking(count: i32) -> Cluster {
    let mut cluster = cluster(&["n0"]);
    let wanted = asks(count, 6);
    cluster.engine.ask_opportunistic(app(1), wanted).unwrap();
    cluster
}

fn asks(count: i32, size: i64) -> Vec<Ask> {
    vec![Ask {
        request_id: 9,
        ..Ask::anywhere(gib(size), count)
    }]
}

#[test]
fn what_is_in_the_queue_of_a_node_names_the_node_and_those_ahead() {
    let mut cluster = cluster(&["n0"]);
    cluster
        .engine
        .ask_opportunistic(app(1), asks(2, 6))
        .unwrap();
    let found = cluster.reason(1, Reason::OpportunisticQueued);
    assert_eq!(
        found.detail,
        "opportunistic containers of memory-mb 6144, vcores 1 are in the queues of 1 nodes; the next one has 0 ahead \
         on n0:0"
    );
    let why = cluster.why(1);
    assert_eq!((why.containers(), why.keys[0].priority), (1, Some(1)));
    // Once it has room nothing waits any more.
    cluster
        .engine
        .ask(
            app(1),
            AskCall {
                release: vec![1],
                ..AskCall::default()
            },
        )
        .unwrap();
    cluster.beat(2);
    assert!(cluster.engine.explain(app(1)).is_none());
}

#[test]
fn what_no_node_takes_counts_the_nodes_by_what_is_against_it() {
    let mut engine = Engine::builder(cluster(&[]).loaded.settings)
        .sequential()
        .unwrap();
    for (host, size) in [("n0", 8), ("n1", 8), ("n2", 8), ("small", 2)] {
        engine
            .add_node(&NodeSpec::new(node(host), gib(size)))
            .unwrap();
    }
    engine
        .submit(&AppSpec::new(app(1), "root.a", "ann"))
        .unwrap();
    let avoid = AskCall {
        blacklist_add: vec!["n2".to_owned()],
        ..AskCall::default()
    };
    engine.ask(app(1), &avoid).unwrap();
    engine.decommission_node(&node("n1")).unwrap();
    engine.ask_opportunistic(app(1), &asks(4, 5)).unwrap();
    let why = |engine: &Sequential| explain(engine.ledger(), app(1), UnderWay::default()).unwrap();
    let waits = why(&engine);
    let found = waits.dominant().unwrap();
    assert_eq!(found.reason, Reason::OpportunisticWaits);
    assert_eq!(
        (waits.keys[0].containers, waits.keys[0].size),
        (2, ResourceVector::of(&[5120, 1]))
    );
    assert_eq!(
        found.detail,
        "an opportunistic container needs memory-mb 5120, vcores 1; of the nodes 1 have neither room nor a place in \
         their queues, 1 are smaller, 1 take no containers, 1 are excluded"
    );
    assert_eq!(
        found.property.as_deref(),
        Some("yarn.nodemanager.opportunistic-containers-max-queue-length")
    );
    let figures = &found.evidence;
    assert_eq!(
        (figures.dimension.as_deref(), figures.limit, figures.used),
        (Some("nodes"), Some(4), Some(1))
    );
    // A node that comes takes them with the next call.
    engine.add_node(&NodeSpec::new(node("n9"), gib(8))).unwrap();
    let detail = why(&engine).dominant().unwrap().detail.clone();
    assert!(
        detail.ends_with("1 nodes take it with the next call of the application"),
        "{detail}"
    );
    engine.ask(app(1), &AskCall::default()).unwrap();
    assert_eq!(
        why(&engine).dominant().unwrap().reason,
        Reason::OpportunisticQueued
    );
}

#[test]
fn a_place_that_no_node_has_is_said() {
    let mut cluster = cluster(&["n0"]);
    let strict = |place: &str, count| Ask {
        relax_locality: false,
        place: place.to_owned(),
        ..Ask::anywhere(gib(1), count)
    };
    let wanted = vec![strict("elsewhere", 1), strict("*", 1)];
    cluster.engine.ask_opportunistic(app(1), wanted).unwrap();
    let found = cluster.reason(1, Reason::OpportunisticWaits);
    assert!(
        found.detail.ends_with("no node is one that it asks for"),
        "{}",
        found.detail
    );
}

#[test]
fn a_running_engine_says_it_too() {
    let cluster = cluster(&[]);
    let engine = Engine::builder(cluster.loaded.settings);
    let engine = engine.mode(Mode::Heartbeat).start().unwrap();
    engine
        .add_node(NodeSpec::new(node("n0"), ResourceVector::of(&[8192, 8])))
        .unwrap();
    engine
        .submit(AppSpec::new(app(1), "root.a", "ann"))
        .unwrap();
    engine.ask_opportunistic(app(1), asks(3, 6)).unwrap();
    // It is explained by the latest snapshot.
    engine.quiesce();
    let why = Engine::explain(&engine, app(1)).expect("two wait");
    let reasons: Vec<_> = why.keys.iter().map(|key| key.findings[0].reason).collect();
    assert_eq!(
        reasons,
        [Reason::OpportunisticWaits, Reason::OpportunisticQueued]
    );
    assert_eq!(
        why.dominant().map(|found| found.reason),
        Some(Reason::OpportunisticWaits)
    );
    engine
        .heartbeat(node("n0"), NodeReport::AsExpected)
        .unwrap();
    assert!(Engine::explain(&engine, app(2)).is_none());
}
