//! A cluster for the benches: equal nodes, equal leaves, applications that ask for plenty.

mod tree;

use capsched::commit::{CommitOutcome, Ledger};
use capsched::id::{ApplicationId, NodeName, NodeSlot};
use capsched::proposer::{Candidates, propose};
use capsched::queue::{AppSpec, Ask, AskCall, Exclusivity, NodeSpec};
use capsched::resource::ResourceVector;
pub(crate) use tree::{S1, Size, container, settings};

/// A cluster whose applications have asked and got nothing yet.
///
/// # Panics
///
/// When the engine refuses something, which it does not.
#[must_use]
pub(crate) fn ledger(size: Size) -> Ledger {
    let mut ledger = Ledger::new(settings(size.levels), &[]).expect("a tree");
    for i in 0..size.nodes {
        let name = NodeName::new(&format!("host{i}"), 8041).expect("a node's name");
        let node = NodeSpec::new(name, ResourceVector::of(&[128 * 1024, 32]));
        ledger.add_node(&node).expect("a new node");
        ledger.drain_follow_ups();
    }
    for i in 0..size.apps {
        let (leaf, user) = (size.leaf(i), (i + i / size.leaves()) % size.users);
        let id = ApplicationId::new(i + 1);
        let spec = AppSpec::new(id, &leaf, &format!("user{user}"));
        let app = ledger.submit(&spec).expect("an open queue");
        ledger.drain_follow_ups();
        let asks = vec![Ask::anywhere(container(), 1_000_000)];
        let reply = ledger.ask(app, &AskCall::asking(asks));
        reply.expect("an ask in range");
        ledger.drain_follow_ups();
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
    ledger.drain_follow_ups();
    placed
}
