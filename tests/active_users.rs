//! Who counts as an active user of a leaf, at ends and at looks that nobody asked for.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, NodeName, NodeSpec, ResourceVector, Sequential, StateView,
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
