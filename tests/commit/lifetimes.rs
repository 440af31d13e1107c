//! Lifetimes end applications with everything they hold, and not a moment earlier.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, NodeReport, NodeSpec, ResourceVector, Sequential,
};
use capsched::config;
use capsched::id::PartitionId;

fn engine(lifetime: &[(&str, &str)]) -> Sequential {
    let p = "yarn.scheduler.capacity.root.";
    let mut pairs: BTreeMap<String, String> = BTreeMap::from([
        (format!("{p}queues"), "a".to_owned()),
        (format!("{p}a.capacity"), "100".to_owned()),
        (
            "yarn.scheduler.capacity.schedule-asynchronously.enable".to_owned(),
            "false".to_owned(),
        ),
    ]);
    for (key, value) in lifetime {
        pairs.insert(format!("{p}a.{key}"), (*value).to_owned());
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    Sequential::new(loaded.settings, &[]).unwrap()
}

fn run_one_container(engine: &mut Sequential) -> ApplicationId {
    let node: capsched::api::NodeName = "n:1".parse().unwrap();
    let total = ResourceVector::of(&[8192, 8]);
    engine
        .add_node(&NodeSpec::new(node.clone(), total))
        .unwrap();
    let id = ApplicationId::new(1);
    let spec = AppSpec::new(id, "root.a", "u");
    engine.submit(&spec).unwrap();
    let asks = vec![Ask::anywhere(ResourceVector::of(&[1024, 1]), 1)];
    engine
        .ask(
            id,
            &AskCall {
                asks,
                ..AskCall::default()
            },
        )
        .unwrap();
    engine.heartbeat(&node, &NodeReport::AsExpected).unwrap();
    id
}

#[test]
fn an_application_ends_with_its_queues_longest_lifetime() {
    let mut engine = engine(&[("maximum-application-lifetime", "60")]);
    let id = run_one_container(&mut engine);
    assert_eq!(engine.advance_to(59_999), 0);
    assert!(engine.ledger().app(id).is_some());
    assert_eq!(engine.advance_to(60_000), 1);
    assert!(engine.ledger().app(id).is_none());
    let root = engine.ledger().state().queues.iter().next().unwrap();
    assert!(
        root.part(PartitionId::DEFAULT).used.is_none(),
        "its container went with it"
    );
}

#[test]
fn a_longer_wish_is_cut_and_time_counts_from_the_change() {
    let mut engine = engine(&[("maximum-application-lifetime", "60")]);
    let id = run_one_container(&mut engine);
    engine.advance_to(30_000);
    assert_eq!(engine.change_lifetime(id, 500).unwrap(), Some(60));
    assert_eq!(engine.advance_to(89_999), 0);
    assert_eq!(engine.advance_to(90_000), 1);
}

#[test]
fn without_settings_nothing_ends() {
    let mut engine = engine(&[]);
    run_one_container(&mut engine);
    assert_eq!(engine.advance_to(u64::MAX), 0);
}
