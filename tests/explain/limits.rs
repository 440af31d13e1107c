//! Reasons of admission, quota and order.

use capsched::api::{AppSpec, Ask, Reason, Scheduler as _};

use crate::cluster::{Cluster, app, cluster, gib};

fn master(cluster: &mut Cluster, number: u32, user: &str) {
    let spec = AppSpec::new(app(number), "root.a", user).with_master(gib(1));
    cluster.submit(spec);
}

#[test]
fn max_parallel_apps_counts_of_the_queue_and_of_the_user() {
    let mut of_queue = cluster(&[("root.a.max-parallel-apps", "1")], &["n0"]);
    of_queue.asks(1, "root.a", "ann", (1, 1));
    of_queue.submit(AppSpec::new(app(2), "root.a", "bob").with_master(gib(1)));
    let found = of_queue.reason(2, Reason::MaxParallelApps);
    assert_eq!(
        (found.evidence.limit, found.evidence.used),
        (Some(1), Some(1))
    );
    assert_eq!(found.evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(of_queue.sets(2, "root.a.max-parallel-apps"), "2");

    let mut of_user = cluster(&[("user.ann.max-parallel-apps", "1")], &["n0"]);
    of_user.asks(1, "root.a", "ann", (1, 1));
    of_user.submit(AppSpec::new(app(2), "root.b", "ann").with_master(gib(1)));
    let found = of_user.reason(2, Reason::MaxParallelApps);
    assert_eq!(
        (found.evidence.limit, found.evidence.used),
        (Some(1), Some(1))
    );
    assert_eq!(of_user.sets(2, "user.ann.max-parallel-apps"), "2");
}

#[test]
fn am_limit_of_a_queue_names_who_holds_it_and_what_lets_the_next_in() {
    let mut cluster = cluster(&[("root.a.maximum-am-resource-percent", "0.1")], &["n0"]);
    master(&mut cluster, 1, "ann");
    cluster.beat(1);
    // Tasks do not count with masters.
    cluster.ask(1, vec![Ask::anywhere(gib(2), 1)]);
    cluster.beat(1);
    master(&mut cluster, 2, "bob");
    let found = cluster.reason(2, Reason::AmLimitQueue);
    let evidence = &found.evidence;
    assert_eq!(evidence.dimension.as_deref(), Some("memory-mb"));
    assert_eq!((evidence.limit, evidence.used), (Some(1024), Some(1024)));
    assert_eq!(evidence.asked, Some(1024));
    let holders: Vec<_> = evidence.holders.iter().map(|h| (h.app, h.amount)).collect();
    assert_eq!(holders, [(app(1), 1024)]);
    let value = cluster.sets(2, "root.a.maximum-am-resource-percent");
    assert_eq!(value, "0.15");
    assert!(cluster.steps(2)[0].lets_in);
    let position = cluster.why(2).position.unwrap();
    assert_eq!(
        (position.place, position.of, position.list.name()),
        (1, 1, "waiting")
    );
}

#[test]
fn am_limit_of_a_user_is_raised_by_the_user_limit_factor() {
    let conf = [
        ("root.a.maximum-am-resource-percent", "0.5"),
        ("root.a.user-limit-factor", "0.4"),
    ];
    let mut cluster = cluster(&conf, &["n0"]);
    master(&mut cluster, 1, "ann");
    cluster.beat(1);
    master(&mut cluster, 2, "ann");
    let found = cluster.reason(2, Reason::AmLimitUser);
    assert_eq!(found.evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(found.evidence.holders[0].app, app(1));
    let value: f64 = cluster.sets(2, "root.a.user-limit-factor").parse().unwrap();
    assert!(value > 0.4);
}

#[test]
fn a_leaf_at_its_maximum_is_the_binding_queue() {
    let mut cluster = cluster(&[("root.a.maximum-capacity", "50")], &["n0"]);
    cluster.asks(1, "root.a", "ann", (6, 1));
    cluster.beat(6);
    let found = cluster.reason(1, Reason::QueueMaxCapacity);
    let evidence = &found.evidence;
    assert_eq!((evidence.limit, evidence.used), (Some(4096), Some(4096)));
    assert_eq!(evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(evidence.holders[0].amount, 4096);
    assert_eq!(
        found.property.as_deref(),
        Some("yarn.scheduler.capacity.root.a.maximum-capacity")
    );
    assert_eq!(cluster.sets(1, "root.a.maximum-capacity"), "70");
    assert_eq!(cluster.why(1).containers(), 2);
}

#[test]
fn siblings_that_use_a_queue_above_hold_its_headroom() {
    let cluster = Cluster::with_full_parent();
    let found = cluster.reason(2, Reason::ParentHeadroom);
    assert_eq!(found.evidence.binding.as_deref(), Some("root.a"));
    assert_eq!(&*found.evidence.holders[0].queue, "root.a.y");
    assert_eq!(cluster.sets(2, "root.a.maximum-capacity"), "70");
}

/// What siblings leave of the maximum above counts in whole smallest allocations: 409 MiB are none.
#[test]
fn what_a_queue_above_leaves_is_not_the_maximum_of_the_leaf() {
    let conf = [
        ("root.a.queues", "x,y"),
        ("root.a.x.capacity", "50"),
        ("root.a.y.capacity", "50"),
        ("root.a.x.user-limit-factor", "10"),
        ("root.a.y.user-limit-factor", "10"),
        ("root.a.maximum-capacity", "55"),
    ];
    let mut cluster = cluster(&conf, &["n0"]);
    cluster.asks(1, "root.a.y", "bob", (4, 1));
    cluster.beat(4);
    cluster.asks(2, "root.a.x", "ann", (1, 1));
    let found = cluster.reason(2, Reason::ParentHeadroom);
    let evidence = &found.evidence;
    assert_eq!(evidence.binding.as_deref(), Some("root.a"));
    assert_eq!((evidence.limit, evidence.used), (Some(4505), Some(4096)));
    assert_eq!(cluster.sets(2, "root.a.maximum-capacity"), "65");
}

#[test]
fn a_user_at_the_limit_is_told_from_a_full_queue() {
    let mut cluster = cluster(&[("root.a.user-limit-factor", "1")], &["n0", "n1"]);
    cluster.asks(1, "root.a", "ann", (4, 3));
    cluster.beat(6);
    let found = cluster.reason(1, Reason::UserLimit);
    let evidence = &found.evidence;
    assert_eq!((evidence.limit, evidence.used), (Some(8192), Some(9216)));
    assert_eq!(evidence.holders[0].app, app(1));
    let value: f64 = cluster.sets(1, "root.a.user-limit-factor").parse().unwrap();
    assert!(value > 1.0);
}

#[test]
fn a_reservation_counts_as_use_of_its_user_where_it_is_not_given_up() {
    for (looks_on, reason) in [
        ("false", Reason::UserLimit),
        ("true", Reason::ReservedOnNode),
    ] {
        let conf = [
            ("root.a.user-limit-factor", "1"),
            ("reservations-continue-look-all-nodes", looks_on),
        ];
        let mut cluster = cluster(&conf, &["n0", "n1", "n2"]);
        cluster.asks(1, "root.a", "ann", (3, 3));
        cluster.beat(1);
        cluster.asks(2, "root.b", "bob", (3, 2));
        cluster.beat(1);
        cluster.ask(1, vec![capsched::api::Ask::anywhere(gib(4), 1)]);
        cluster.beat(1);
        let found = cluster.reason(1, reason);
        if reason == Reason::UserLimit {
            let evidence = &found.evidence;
            assert_eq!((evidence.limit, evidence.used), (Some(12288), Some(13312)));
        }
    }
}

#[test]
fn position_and_priority_decide_where_one_container_fits() {
    let mut cluster = cluster(&[], &["n0"]);
    cluster.asks(1, "root.a", "ann", (7, 1));
    cluster.beat(7);
    cluster.asks(2, "root.a", "ann", (1, 1));
    cluster.asks(3, "root.a", "bob", (1, 1));
    let found = cluster.reason(3, Reason::BehindInOrder);
    assert_eq!(
        (found.evidence.used, found.evidence.limit),
        (Some(2), Some(2))
    );
    assert_eq!(cluster.why(3).position.unwrap().ahead, [app(2)]);
    assert!(cluster.helps(3, "raise its priority to 1"));

    let urgent = AppSpec {
        priority: Some(4),
        ..AppSpec::new(app(4), "root.a", "eve")
    };
    cluster.submit(urgent);
    cluster.ask(4, vec![capsched::api::Ask::anywhere(gib(1), 1)]);
    let found = cluster.reason(3, Reason::LowerPriority);
    assert!(
        found
            .detail
            .starts_with("1 application of higher priority that asks comes first"),
        "{found:?}"
    );
    assert!(cluster.helps(3, "raise its priority to 5"));
    assert!(cluster.helps(4, "wait"));
}

#[test]
fn other_reasons_are_secondary_and_keep_their_order() {
    let mut cluster = cluster(&[("root.a.maximum-capacity", "50")], &["n0"]);
    cluster.asks(1, "root.b", "bob", (4, 1));
    cluster.asks(2, "root.a", "ann", (5, 1));
    cluster.beat(10);
    let why = cluster.why(2);
    let tokens: Vec<&str> = why
        .secondary()
        .iter()
        .map(|found| found.reason.token())
        .collect();
    assert_eq!(why.dominant().unwrap().reason, Reason::QueueMaxCapacity);
    assert_eq!(tokens, ["NO_NODE_FITS_NOW"]);
    assert!(cluster.engine.explain(app(1)).is_none());
    cluster.engine.finish_app(app(2)).unwrap();
    assert!(cluster.engine.explain(app(2)).is_none());
}
