//! Heap allocations of a decision, from the walk to the committed container, counted.
#![expect(clippy::print_stderr, reason = "the counts are the result")]

use std::alloc::System;
use std::collections::BTreeMap;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Latencies, Mode, NodeName, NodeSpec, ResourceVector,
    Sequential, Threaded,
};
use capsched::commit::{CommitOutcome, Ledger};
use capsched::config;
use capsched::id::NodeSlot;
use capsched::proposer::{Candidates, propose};
use capsched::queue::{Exclusivity, TreeSettings};
use capsched::time::SystemClock;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NODES: u32 = 1_000;
const LEAVES: u32 = 10;
const APPS: u32 = 100;

fn settings() -> TreeSettings {
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let names: Vec<String> = (0..LEAVES).map(|i| format!("q{i}")).collect();
    let mut pairs = vec![
        ("resource-calculator".to_owned(), calculator.to_owned()),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
        ("root.queues".to_owned(), names.join(",")),
    ];
    for name in &names {
        pairs.push((format!("root.{name}.capacity"), "10".to_owned()));
        pairs.push((format!("root.{name}.maximum-capacity"), "100".to_owned()));
        pairs.push((format!("root.{name}.user-limit-factor"), "10".to_owned()));
    }
    let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
    let pairs: BTreeMap<String, String> = pairs.into_iter().map(prefixed).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.expect("a tree of equal leaves").settings
}

fn nodes() -> impl Iterator<Item = NodeSpec> {
    (0..NODES).map(|i| {
        let name = NodeName::new(&format!("host{i}"), 8041).expect("a node's name");
        NodeSpec::new(name, ResourceVector::of(&[128 * 1024, 32]))
    })
}

fn apps() -> impl Iterator<Item = (AppSpec, AskCall)> {
    (0..APPS).map(|i| {
        let (leaf, user) = (i % LEAVES, (i + i / LEAVES) % 20);
        let id = ApplicationId::new(i + 1);
        let spec = AppSpec::new(id, &format!("root.q{leaf}"), &format!("user{user}"));
        let ask = Ask::anywhere(ResourceVector::of(&[4096, 1]), 400);
        (spec, AskCall::asking(vec![ask]))
    })
}

fn ledger() -> Ledger {
    let mut ledger = Ledger::new(settings(), &[]).expect("a tree");
    for node in nodes() {
        ledger.add_node(&node).expect("a new node");
    }
    for (spec, call) in apps() {
        let app = ledger.submit(&spec).expect("an open queue");
        ledger.settle();
        ledger.ask(app, &call).expect("an ask in range");
        ledger.settle();
    }
    drop(ledger.take_events());
    ledger
}

/// Decides and commits for some nodes in turn; the number of containers.
fn decide(
    ledger: &mut Ledger,
    decisions: u32,
    observed: &mut Vec<capsched::proposer::Observation>,
) -> u32 {
    let mut placed = 0;
    for i in 0..decisions {
        let candidates = Candidates::node(NodeSlot(i % NODES));
        let outcome = propose(ledger.state(), &candidates, Exclusivity::Respect, observed);
        placed += u32::from(ledger.commit(&outcome, observed) == CommitOutcome::Committed);
        observed.clear();
    }
    placed
}

// One test, because the counts are those of the process.
#[test]
fn the_path_from_proposal_to_commit_allocates_little() {
    let mut ledger = ledger();
    let mut observed = Vec::with_capacity(64);
    // Buffers that grow and stay: containers, events, counters of the first looks.
    decide(&mut ledger, 20_000, &mut observed);
    ledger.settle();
    let region = Region::new(COUNTING);
    let placed = decide(&mut ledger, 5_000, &mut observed);
    let counted = region.change();
    assert_eq!(placed, 5_000);
    eprintln!(
        "decision to commit: {placed} containers, {} allocations, {} growths of buffers",
        counted.allocations, counted.reallocations
    );
    let allowed = usize::try_from(placed).expect("five thousand") * PER_HUNDRED / 100;
    assert!(
        counted.allocations <= allowed,
        "{} allocations",
        counted.allocations
    );

    let mut engine = Sequential::new(settings(), &[]).expect("a tree");
    for node in nodes() {
        engine.add_node(&node).expect("a new node");
    }
    for (spec, call) in apps() {
        engine.submit(&spec).expect("an open queue");
        engine.ask(spec.id, &call).expect("an ask in range");
    }
    let region = Region::new(COUNTING);
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::take_over(engine, mode, SystemClock::new(), Latencies::Off)
        .expect("threads start");
    engine.quiesce();
    let placed: u32 = engine
        .snapshot()
        .nodes
        .iter()
        .map(|node| node.containers)
        .sum();
    let counted = region.change();
    eprintln!(
        "global mode, views, snapshots and events included: {placed} containers, {} allocations",
        counted.allocations
    );
    assert_eq!(placed, 32 * NODES);
}

/// Allocations that a hundred containers may take: records of users that a limit is told to for the
/// first time, and the like.
const PER_HUNDRED: usize = 5;
