//! Queues that submissions create, and which queue a submission goes to.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeMap;

use capsched::api::{AppSpec, ApplicationId, Engine, Sequential};
use capsched::config::from_pairs;
use capsched::snapshot::State;

/// A scheduler with these properties of `capacity-scheduler.xml`.
fn engine(properties: &[(&str, &str)]) -> Sequential {
    let pair = |(key, value): &(&str, &str)| {
        let key = format!("yarn.scheduler.capacity.{key}");
        (key, (*value).to_owned())
    };
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let pairs = properties.iter().map(pair).collect();
    let settings = from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
    Engine::builder(settings.settings).sequential().unwrap()
}

const FLEXIBLE: [(&str, &str); 8] = [
    ("root.queues", "a,users"),
    ("root.a.capacity", "1w"),
    ("root.a.queues", "ann"),
    ("root.a.ann.capacity", "1w"),
    ("root.users.capacity", "1w"),
    ("root.users.auto-queue-creation-v2.enabled", "true"),
    ("root.users.queues", "fixed"),
    ("root.users.fixed.capacity", "1w"),
];

const MANAGED: [(&str, &str); 5] = [
    ("root.queues", "a,users"),
    ("root.a.capacity", "50"),
    ("root.users.capacity", "50"),
    ("root.users.auto-create-child-queue.enabled", "true"),
    ("root.users.leaf-queue-template.capacity", "10"),
];

/// Submits in turn to queues, each placed below a parent or, with an empty one, not; the queue or
/// the code of the refusal.
fn submit(engine: &mut Sequential, queues: &[(&str, &str)]) -> Vec<String> {
    let one = |(number, (queue, parent)): (u32, &(&str, &str))| {
        let mut app = AppSpec::new(ApplicationId::new(number), queue, "ann");
        app.placement_parent = (!parent.is_empty()).then(|| (*parent).to_owned());
        match engine.submit(&app) {
            Ok(submitted) => submitted.queue.to_string(),
            Err(refusal) => refusal.code().to_owned(),
        }
    };
    (1..).zip(queues).map(one).collect()
}

/// Paths of all queues, sorted.
fn paths(engine: &Sequential) -> Vec<String> {
    let state = engine.ledger().state();
    let slots = state.subtree(State::ROOT).into_iter();
    let mut paths: Vec<_> = slots
        .map(|slot| state.queues[slot].settings.path.to_string())
        .collect();
    paths.sort();
    paths
}

#[test]
fn the_parent_of_placement_rules_decides_over_a_name_that_stands_elsewhere() {
    let mut engine = engine(&FLEXIBLE);
    let found = submit(&mut engine, &[("ann", ""), ("ann", "root.users")]);
    assert_eq!(found, ["root.a.ann", "root.users.ann"]);
}

#[test]
fn a_path_below_the_name_of_a_parent_creates_each_queue_once() {
    let mut engine = engine(&FLEXIBLE);
    let found = submit(
        &mut engine,
        &[
            ("users.bob", ""),
            ("users.bob", ""),
            ("users.x.y", ""),
            ("users.x.z", ""),
            ("users.bob.y", ""),
            ("users.x", ""),
            ("x.w", ""),
            ("users.u.v.w", ""),
            ("users.", ""),
            ("a.new", ""),
        ],
    );
    let unknown = "unknown_queue";
    let want = [
        "root.users.bob",
        "root.users.bob",
        "root.users.x.y",
        "root.users.x.z",
        unknown,
        "not_a_leaf",
        unknown,
        unknown,
        unknown,
        unknown,
    ];
    assert_eq!(found, want);
    let want = ["bob", "fixed", "x", "x.y", "x.z"].map(|name| format!("root.users.{name}"));
    assert_eq!(paths(&engine).split_off(4), want);
}

#[test]
fn a_managed_parent_creates_before_it_refuses() {
    let mut engine = engine(&MANAGED);
    let found = submit(
        &mut engine,
        &[
            ("root.users.", ""),
            ("root.users.ann", ""),
            ("users.bob", ""),
        ],
    );
    let prohibited = "auto_created_queue_without_mapping";
    assert_eq!(found, ["unknown_queue", prohibited, prohibited]);
    let want = [
        "root",
        "root.a",
        "root.users",
        "root.users.ann",
        "root.users.bob",
    ];
    assert_eq!(paths(&engine), want);
    let found = submit(&mut engine, &[("ann", "root.users")]);
    assert_eq!(found, ["root.users.ann"]);
}
