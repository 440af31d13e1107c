//! Who counts as an active user of a leaf, at ends and at looks that nobody asked for.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, NodeName, NodeReport, NodeSpec, ResourceVector,
    Sequential, StateView,
};
use capsched::config;

fn app(number: u32) -> ApplicationId {
    ApplicationId::new(number.into())
}

fn node(host: &str) -> NodeName {
    NodeName::new(host, 1).unwrap()
}

fn of(memory: i64, cores: i64) -> ResourceVector {
    ResourceVector::of(&[memory, cores])
}

fn engine(extra: &[(&str, &str)]) -> Sequential {
    let common = [("root.queues", "a"), ("root.a.capacity", "100")];
    let pairs: BTreeMap<String, String> = common
        .iter()
        .chain(extra)
        .map(|(key, value)| {
            (
                format!("yarn.scheduler.capacity.{key}"),
                (*value).to_owned(),
            )
        })
        .collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    let mut engine = Sequential::new(loaded.settings, &[]).unwrap();
    engine
        .add_node(&NodeSpec::new(node("h1"), of(8192, 8)))
        .unwrap();
    engine
}

fn active_users(view: &StateView) -> i32 {
    view.queues[1].leaf.as_ref().unwrap().num_active_users
}

#[test]
fn a_new_node_counts_no_users_for_an_application_whose_user_was_dropped() {
    let mut engine = engine(&[
        ("maximum-am-resource-percent", "0.1"),
        ("user.max-parallel-apps", "1"),
    ]);
    let master = |number, user| AppSpec::new(app(number), "root.a", user).with_master(of(1024, 1));
    engine.submit(&master(1, "ann")).unwrap();
    // Parked, it was counted as waiting by nobody: its end drops the user.
    engine.submit(&master(2, "ann")).unwrap();
    engine.finish_app(app(2)).unwrap();
    engine.submit(&master(3, "bob")).unwrap();
    let before = StateView::of(engine.ledger());
    let users = &before.queues[1].leaf.as_ref().unwrap().users;
    assert_eq!(users.keys().collect::<Vec<_>>(), ["bob"]);
    assert_eq!(active_users(&before), 1);
    engine
        .add_node(&NodeSpec::new(node("h2"), of(1024, 1)))
        .unwrap();
    assert_eq!(active_users(&StateView::of(engine.ledger())), 1);
}

#[test]
fn an_application_that_was_moved_away_is_activated_for_its_user_of_the_old_leaf() {
    let mut engine = engine(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("maximum-am-resource-percent", "0.125"),
        ("root.a.ordering-policy", "fair"),
        (
            "root.a.ordering-policy.fair.enable-size-based-weight",
            "true",
        ),
    ]);
    let first = AppSpec::new(app(1), "root.a", "ann").with_master(of(2048, 1));
    engine.submit(&first).unwrap();
    engine
        .submit(&AppSpec::new(app(2), "root.a", "bob"))
        .unwrap();
    // It waits, and slips into the order by what it asks for: so it stays listed as waiting.
    let asks = AskCall::asking(vec![Ask::anywhere(of(1024, 1), 2)]);
    engine.ask(app(2), &asks).unwrap();
    engine
        .heartbeat(&node("h1"), &NodeReport::AsExpected)
        .unwrap();
    engine.move_app(app(2), "root.b").unwrap();
    let bob = |engine: &Sequential, queue: &str| {
        let view = StateView::of(engine.ledger());
        let queue = view.queues.into_iter().find(|one| one.path == queue);
        let mut users = queue.unwrap().leaf.unwrap().users;
        users
            .remove("bob")
            .map(|bob| (bob.active_apps, bob.pending_apps))
    };
    assert_eq!(
        (bob(&engine, "root.a"), bob(&engine, "root.b")),
        (None, Some((1, 0)))
    );
    engine
        .submit(&AppSpec::new(app(3), "root.a", "bob"))
        .unwrap();
    assert_eq!(bob(&engine, "root.a"), Some((0, 1)));
    engine.finish_app(app(1)).unwrap();
    assert_eq!(bob(&engine, "root.b"), Some((1, 0)));
    assert_eq!(bob(&engine, "root.a"), Some((2, -1)));
}
