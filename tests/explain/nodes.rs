//! Reasons of nodes, and what is under way.

use capsched::api::{
    AppSpec, Ask, AskCall, ConstrainedAsk, Engine, KeyOnNode, NodeCheck, NodeReport, NodeSpec,
    Reason, ResourceVector, Scheduler as _, UnderWay, explain, why_not,
};

use crate::cluster::{Cluster, app, cluster, gib, node};

#[test]
fn nothing_fits_where_everything_is_used() {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.asks(1, "root.a", "ann", (9, 1));
    cluster.beat(9);
    let found = cluster.reason(1, Reason::NoNodeFitsNow);
    assert_eq!(found.evidence.short, [("memory-mb".into(), 1)]);
    assert_eq!(
        (found.evidence.limit, found.evidence.used),
        (Some(8192), Some(8192))
    );
    assert!(cluster.helps(1, "add a node like n0"));
}

#[test]
fn enough_in_all_on_no_node_alone_is_fragmented() {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    cluster.asks(1, "root.b", "bob", (2, 6));
    cluster.beat(2);
    cluster.asks(2, "root.a", "ann", (1, 4));
    let found = cluster.reason(2, Reason::Fragmented);
    assert_eq!(found.evidence.short, [("memory-mb".into(), 2)]);
    assert_eq!(found.evidence.holders[0].app, app(1));
    assert!(cluster.helps(2, "ask for smaller containers"));
    assert!(cluster.helps(2, "add a node"));
}

#[test]
fn a_container_larger_than_every_node_never_fits() {
    let mut cluster = cluster(&[], &["n0"]);
    let large = NodeSpec::new(node("large"), gib(16));
    cluster.engine.add_node(large).unwrap();
    cluster.asks(1, "root.a", "ann", (1, 9));
    cluster.engine.remove_node(&node("large")).unwrap();
    let found = cluster.reason(1, Reason::LargerThanAnyNode);
    assert_eq!(
        (found.evidence.limit, found.evidence.asked),
        (Some(8192), Some(9216))
    );
    assert!(cluster.helps(1, "ask for smaller containers"));
}

#[test]
fn a_container_larger_than_a_maximum_never_fits() {
    let mut cluster = cluster(
        &[
            ("root.a.capacity", "25"),
            ("root.b.capacity", "75"),
            ("root.a.maximum-capacity", "25"),
        ],
        &["n0"],
    );
    cluster.asks(1, "root.a", "ann", (1, 4));
    let found = cluster.reason(1, Reason::ExceedsQueueMax);
    assert_eq!(found.evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(
        (found.evidence.limit, found.evidence.asked),
        (Some(2048), Some(4096))
    );
    assert_eq!(cluster.sets(1, "root.a.maximum-capacity"), "65");
}

#[test]
fn a_label_without_nodes_is_named() {
    let conf = [
        ("root.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
    ];
    let mut cluster = cluster(&conf, &["n0"]);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let partition = Some("gpu".to_owned());
    cluster.ask(
        1,
        vec![Ask {
            partition,
            ..Ask::anywhere(gib(1), 1)
        }],
    );
    let found = cluster.reason(1, Reason::NoNodeWithLabel);
    assert!(found.detail.contains("label gpu"), "{found:?}");
    assert!(cluster.helps(1, "add a node like n0 with label gpu"));
}

#[test]
fn asks_for_hosts_wait_for_them() {
    let mut cluster = cluster(&[], &["n0", "n1"]);
    cluster.submit(AppSpec::new(app(1), "root.b", "bob"));
    let on = |host: &str, size, count| {
        let any = Ask {
            relax_locality: false,
            ..Ask::anywhere(gib(size), count)
        };
        let rack = Ask {
            place: "/default-rack".to_owned(),
            ..any.clone()
        };
        vec![
            Ask {
                place: host.to_owned(),
                relax_locality: true,
                ..any.clone()
            },
            rack,
            any,
        ]
    };
    cluster.ask(1, on("n0", 8, 1));
    cluster.beat(1);
    cluster.submit(AppSpec::new(app(2), "root.a", "ann"));
    cluster.ask(2, on("n0", 1, 1));
    let found = cluster.reason(2, Reason::LocalityWait);
    assert!(found.detail.starts_with("1 nodes have room"), "{found:?}");
    assert!(cluster.helps(2, "relax locality"));
    let checks = why_not(cluster.engine.engine().ledger(), app(2), &node("n1")).unwrap();
    let failed = checks[0]
        .checks
        .iter()
        .filter(|check| !check.holds)
        .map(|check| check.what);
    assert_eq!(failed.collect::<Vec<_>>(), ["locality"]);
}

#[test]
fn excluded_nodes_are_counted() {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let call = AskCall {
        blacklist_add: vec!["n0".to_owned()],
        ..AskCall::asking(vec![Ask::anywhere(gib(1), 1)])
    };
    cluster.engine.ask(app(1), call).unwrap();
    let found = cluster.reason(1, Reason::ExcludedNodes);
    assert!(found.detail.starts_with("1 nodes have room"), "{found:?}");
    assert!(cluster.helps(1, "exclude no nodes"));
}

#[test]
fn a_placement_constraint_rules_nodes_out() {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.submit(AppSpec::new(app(1), "root.a", "ann"));
    let apart = ConstrainedAsk {
        priority: 1,
        request_id: 0,
        size: gib(1),
        count: 2,
        tags: vec!["web".to_owned()],
        constraint: Some("notin,node,web".to_owned()),
    };
    let call = AskCall {
        constrained: vec![apart],
        ..AskCall::default()
    };
    cluster.engine.ask(app(1), call).unwrap();
    cluster.beat(2);
    let found = cluster.reason(1, Reason::ConstraintUnsatisfied);
    assert!(found.detail.starts_with("1 nodes have room"), "{found:?}");
    assert_eq!(cluster.why(1).containers(), 1);
    assert!(cluster.helps(1, "add a node"));
}

/// Two nodes with work; application 2 reserved one of them.
fn reserving(conf: &[(&str, &str)]) -> Cluster {
    let mut cluster = cluster(conf, &["n0", "n1"]);
    cluster.asks(1, "root.a", "ann", (1, 5));
    cluster.beat_of("n0");
    cluster.asks(4, "root.a", "ann", (1, 7));
    cluster.beat_of("n1");
    cluster.asks(2, "root.a", "ann", (1, 4));
    cluster.beat_of("n0");
    cluster
}

#[test]
fn a_reserved_node_is_kept_from_others() {
    let mut cluster = reserving(&[]);
    let found = cluster.reason(2, Reason::ReservedOnNode);
    assert!(found.detail.contains("n0:0"), "{found:?}");
    let others = cluster.why(2);
    let others: Vec<_> = others
        .secondary()
        .iter()
        .map(|found| found.reason)
        .collect();
    assert_eq!(others, [Reason::Fragmented]);
    cluster.asks(3, "root.b", "bob", (1, 2));
    cluster.reason(3, Reason::NodesReserved);
    assert!(cluster.helps(3, "add a node"));
    let checks = why_not(cluster.engine.engine().ledger(), app(3), &node("n0")).unwrap();
    assert!(!checks.iter().any(KeyOnNode::fits));
}

#[test]
fn a_reservation_that_is_not_given_up_names_its_setting() {
    let key = "reservations-continue-look-all-nodes";
    for (value, named) in [("true", false), ("false", true)] {
        let cluster = reserving(&[(key, value)]);
        let found = cluster.reason(2, Reason::ReservedOnNode);
        let names = found.property.as_ref().map(|name| name.ends_with(key));
        assert_eq!(names, named.then_some(true), "{value}: {found:?}");
    }
}

#[test]
fn reservations_that_fill_root_keep_nodes_with_room_from_all() {
    for (reserved, asked) in [(4, 1), (3, 2)] {
        let mut cluster = cluster(&[], &["n0", "n1"]);
        cluster.asks(1, "root.a", "ann", (1, 6));
        cluster.beat_of("n0");
        cluster.asks(2, "root.b", "bob", (1, 6));
        cluster.beat_of("n1");
        cluster.asks(3, "root.a", "ann", (1, reserved));
        cluster.beat_of("n0");
        cluster.asks(4, "root.b", "bob", (1, asked));
        cluster.beat(3);
        let found = cluster.reason(4, Reason::NodesReserved);
        let words = format!("memory-mb {}, vcores 1 of it reserved", reserved * 1024);
        assert!(found.detail.contains(&words), "{found:?}");
        let evidence = &found.evidence;
        let amounts = (evidence.limit, evidence.used, evidence.asked);
        let used = (12 + reserved) * 1024;
        assert_eq!(amounts, (Some(16384), Some(used), Some(asked * 1024)));
        assert_eq!(evidence.binding.as_deref(), Some("root"));
        let holders: Vec<_> = evidence.holders.iter().map(|holder| holder.app).collect();
        assert_eq!(holders, [app(3)]);
        assert!(cluster.helps(4, "add a node"));
    }
}

#[test]
fn nodes_that_became_smaller_than_what_runs_fill_root() {
    let settings = cluster(&[], &[]).loaded.settings;
    let mut engine = Engine::builder(settings).sequential().unwrap();
    for host in ["n0", "n1"] {
        let spec = NodeSpec::new(node(host), gib(8));
        engine.add_node(&spec).unwrap();
    }
    let mut ask = |number, queue, size, host| {
        let spec = AppSpec::new(app(number), queue, "ann");
        engine.submit(&spec).unwrap();
        let call = AskCall::asking(vec![Ask::anywhere(gib(size), 1)]);
        engine.ask(app(number), &call).unwrap();
        let report = NodeReport::AsExpected;
        engine.heartbeat(&node(host), &report).unwrap();
        engine.resize_node(&node("n0"), gib(1)).unwrap();
    };
    ask(1, "root.a", 8, "n0");
    ask(2, "root.b", 2, "n1");
    let why = explain(engine.ledger(), app(2), UnderWay::default()).unwrap();
    let found = why.dominant().unwrap();
    assert_eq!(found.reason, Reason::ParentHeadroom, "{why:?}");
    let evidence = &found.evidence;
    assert_eq!(evidence.binding.as_deref(), Some("root"));
    let amounts = (evidence.limit, evidence.used, evidence.asked);
    assert_eq!(amounts, (Some(9216), Some(8192), Some(2048)));
    assert_eq!(evidence.holders[0].app, app(1));
}

#[test]
fn what_fits_is_not_yet_evaluated_or_proposed_again() {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.asks(1, "root.a", "ann", (1, 1));
    cluster.reason(1, Reason::NotYetEvaluated);
    let steps = cluster.steps(1);
    assert_eq!((steps.len(), steps[0].admits), (1, 1));
    assert!(cluster.helps(1, "wait"));
    let mut under_way = UnderWay::default();
    under_way.refused.insert(app(1), 3);
    let why = explain(cluster.engine.engine().ledger(), app(1), under_way).unwrap();
    let found = why.dominant().unwrap();
    assert_eq!(found.reason, Reason::ConflictRetry);
    assert!(found.detail.contains("refused 3 proposals"), "{found:?}");
}

#[test]
fn containers_that_are_asked_back_are_under_way() {
    let cluster = Cluster::preempting();
    let why = cluster.why(2);
    let found = cluster.reason(2, Reason::PreemptionInProgress);
    assert!(
        found.detail.contains("of root.a are asked back"),
        "{found:?}"
    );
    assert_eq!(
        why.preemption.as_ref().map(|verdict| verdict.token()),
        Some("AWAITING_DEADLINE")
    );
    let others: Vec<_> = why.secondary().iter().map(|found| found.reason).collect();
    assert_eq!(others, [Reason::NoNodeFitsNow]);
}

#[test]
fn conditions_of_a_node_are_all_shown() {
    let mut cluster = cluster(&[], &["n0"]);
    let large = NodeSpec {
        partition: "gpu".to_owned(),
        ..NodeSpec::new(node("g0"), ResourceVector::of(&[512, 1]))
    };
    cluster.engine.add_node(large).unwrap();
    cluster.asks(1, "root.a", "ann", (1, 1));
    let ledger = cluster.engine.engine().ledger();
    let keys = why_not(ledger, app(1), &node("g0")).unwrap();
    let words: Vec<_> = keys[0].checks.iter().map(|check| check.what).collect();
    assert_eq!(words, NodeCheck::WORDS);
    let failed = keys[0]
        .checks
        .iter()
        .filter(|check| !check.holds)
        .map(|check| check.what);
    assert_eq!(failed.collect::<Vec<_>>(), ["label", "size", "room"]);
    assert!(why_not(ledger, app(1), &node("n9")).is_none());
    assert!(why_not(ledger, app(9), &node("n0")).is_none());
}
