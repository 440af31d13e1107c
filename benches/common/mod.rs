//! A cluster for the benches: equal nodes, equal leaves, applications that ask for plenty.

use std::collections::BTreeMap;

use capsched::commit::{CommitOutcome, Ledger};
use capsched::config;
use capsched::id::{ApplicationId, NodeName, NodeSlot};
use capsched::proposer::{Candidates, propose};
use capsched::queue::{AppSpec, Ask, AskCall, Exclusivity, NodeSpec, TreeSettings};
use capsched::resource::ResourceVector;

/// Sizes of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Nodes of 128 GiB and 32 vcores.
    pub(crate) nodes: u32,
    /// Leaves under root, with equal shares.
    pub(crate) leaves: u32,
    /// Applications, spread over the leaves.
    pub(crate) apps: u32,
    /// Users, spread over the applications.
    pub(crate) users: u32,
}

/// The canonical workload's size.
pub(crate) const S1: Size = Size {
    nodes: 1_000,
    leaves: 10,
    apps: 100,
    users: 20,
};

/// Settings of `leaves` equal leaves.
///
/// # Panics
///
/// When they are no tree, which they are.
#[must_use]
pub(crate) fn settings(leaves: u32) -> TreeSettings {
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let names: Vec<String> = (0..leaves).map(|i| format!("q{i}")).collect();
    let mut pairs = vec![
        ("resource-calculator".to_owned(), calculator.to_owned()),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
        ("root.queues".to_owned(), names.join(",")),
    ];
    for name in &names {
        let share = format!("{}.{:03}", 100 / leaves, 100_000 / leaves % 1_000);
        pairs.push((format!("root.{name}.capacity"), share));
        pairs.push((format!("root.{name}.user-limit-factor"), "1000".to_owned()));
    }
    let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
    let pairs: BTreeMap<String, String> = pairs.into_iter().map(prefixed).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types);
    loaded.expect("a tree of equal leaves").settings
}

/// One container of every application here: 4 GiB, 1 vcore.
#[must_use]
pub(crate) fn container() -> ResourceVector {
    ResourceVector::of(&[4096, 1])
}

/// A cluster whose applications have asked and got nothing yet.
///
/// # Panics
///
/// When the engine refuses something, which it does not.
#[must_use]
pub(crate) fn ledger(size: Size) -> Ledger {
    let mut ledger = Ledger::new(settings(size.leaves), &[]).expect("a tree");
    for i in 0..size.nodes {
        let name = NodeName::new(&format!("host{i}"), 8041).expect("a node's name");
        let node = NodeSpec::new(name, ResourceVector::of(&[128 * 1024, 32]));
        ledger.add_node(&node).expect("a new node");
        ledger.settle();
    }
    for i in 0..size.apps {
        let (leaf, user) = (i % size.leaves, (i + i / size.leaves) % size.users);
        let id = ApplicationId::new(i + 1);
        let spec = AppSpec::new(id, &format!("root.q{leaf}"), &format!("user{user}"));
        let app = ledger.submit(&spec).expect("an open queue");
        ledger.settle();
        let asks = vec![Ask::anywhere(container(), 1_000_000)];
        let reply = ledger.ask(app, &AskCall::asking(asks));
        reply.expect("an ask in range");
        ledger.settle();
    }
    drop(ledger.take_events());
    ledger
}

/// One decision for a node, carried out; whether a container was placed.
pub(crate) fn place(ledger: &mut Ledger, node: u32) -> bool {
    let candidates = Candidates::node(NodeSlot(node));
    let mut seen = Vec::new();
    let found = propose(ledger.state(), &candidates, Exclusivity::Respect, &mut seen);
    let placed = ledger.commit(&found, &seen) == CommitOutcome::Committed;
    ledger.settle();
    placed
}
