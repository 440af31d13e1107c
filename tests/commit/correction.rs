//! Asks that are lowered by what was placed and not fetched yet.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, NodeName, NodeReport, NodeSpec, Reference,
    ResourceVector, Sequential, StateView,
};
use capsched::config::{self, Options};

const KEY: &str = "yarn.resourcemanager.scheduler.autocorrect.container.allocation";

fn engine(reference: Reference, on: Option<&str>) -> Sequential {
    let site: BTreeMap<String, String> = on
        .map(|value| (KEY.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let prefix = "yarn.scheduler.capacity.";
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        ("root.a.user-limit-factor", "10"),
        ("schedule-asynchronously.enable", "false"),
        ("per-node-heartbeat.maximum-offswitch-assignments", "100"),
    ];
    let pairs = pairs.map(|(key, value)| (format!("{prefix}{key}"), value.to_owned()));
    let options = Options {
        reference,
        ..Options::default()
    };
    let loaded = config::load_pairs(&site, &pairs.into(), &options).unwrap();
    let mut engine = Engine::builder(loaded.settings).sequential().unwrap();
    let size = ResourceVector::of(&[16_384, 16]);
    let spec = NodeSpec::new(NodeName::new("h1", 1).unwrap(), size);
    engine.add_node(&spec).unwrap();
    let spec = AppSpec::new(ApplicationId::new(1), "root.a", "ann");
    engine.submit(&spec).unwrap();
    engine
}

/// Asks, then lets the node place; containers that the call brought.
fn call(engine: &mut Sequential, count: i32) -> usize {
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), count);
    let call = AskCall::asking(vec![ask]);
    let reply = engine.ask(ApplicationId::new(1), &call).unwrap();
    let node = NodeName::new("h1", 1).unwrap();
    engine.heartbeat(&node, &NodeReport::AsExpected).unwrap();
    reply.allocated.len()
}

fn running(engine: &Sequential) -> u32 {
    StateView::of(engine.ledger()).nodes[0].containers
}

#[test]
fn a_demand_that_is_named_again_counts_once() {
    let mut engine = engine(Reference::Hadoop35, Some("true"));
    assert_eq!(call(&mut engine, 4), 0);
    // Four run already; two more are asked for.
    assert_eq!(call(&mut engine, 6), 4);
    assert_eq!(running(&engine), 6);
}

#[test]
fn containers_beyond_the_demand_end_before_they_are_fetched() {
    let mut engine = engine(Reference::Hadoop35, Some("true"));
    call(&mut engine, 4);
    assert_eq!(call(&mut engine, 1), 1);
    assert_eq!(running(&engine), 1);
    // Nothing of what ended is asked for again.
    assert_eq!(call(&mut engine, 0), 0);
    assert_eq!(running(&engine), 1);
}

#[test]
fn without_the_setting_and_in_older_releases_asks_stay_as_they_are() {
    for (reference, on) in [
        (Reference::Hadoop35, None),
        (Reference::Hadoop35, Some("false")),
        (Reference::Hadoop34, Some("true")),
    ] {
        let mut engine = engine(reference, on);
        call(&mut engine, 4);
        assert_eq!(call(&mut engine, 6), 4, "{reference} {on:?}");
        assert_eq!(running(&engine), 10, "{reference} {on:?}");
    }
}
