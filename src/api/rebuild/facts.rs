//! What a state does not show and a ledger alone knows, as of the same moment.

use crate::commit::{InPasses, Ledger, RunningCopy, WaitingGang};
use crate::id::NodeSlot;

/// What is copied of a ledger.
#[derive(Clone, Debug)]
pub(super) struct LedgerFacts {
    /// What nodes run, and the names of hosts and racks.
    pub(super) running: RunningCopy,
    /// What is found in one piece.
    pub(super) rest: RestOfFacts,
}

/// What a look at the ledger finds besides containers and names.
#[derive(Clone, Debug)]
pub(super) struct RestOfFacts {
    pub(super) now_ms: u64,
    /// Nodes with their positions in the order of registrations.
    pub(super) registered: Vec<(u64, NodeSlot)>,
    pub(super) gangs: Vec<WaitingGang>,
    /// Nodes that waiting gangs hold.
    pub(super) held_nodes: usize,
    pub(super) constraints: usize,
    pub(super) lifetimes: usize,
    /// Opportunistic containers without a node.
    pub(super) opportunistic: u64,
}

impl LedgerFacts {
    /// Looks at a ledger in one piece.
    ///
    /// Cost: a copy of each container; a look at each node and name of a place.
    pub(super) fn of(ledger: &Ledger) -> Self {
        Self {
            running: InPasses::in_one_piece(ledger),
            rest: RestOfFacts::of(ledger),
        }
    }
}

impl RestOfFacts {
    /// Looks at a ledger.
    ///
    /// Cost: a look at each node, and at each application that has gangs, constraints or opportunistic asks.
    pub(super) fn of(ledger: &Ledger) -> Self {
        let gangs = ledger.waiting_gangs();
        let held = gangs.iter().map(|gang| ledger.nodes_held_for(gang).count());
        Self {
            now_ms: ledger.now_ms(),
            registered: ledger.registrations().collect(),
            held_nodes: held.sum(),
            gangs: gangs.to_vec(),
            constraints: ledger.registered_constraints(),
            lifetimes: ledger.lifetimes(),
            opportunistic: ledger.opportunistic_waiting_in_all(),
        }
    }
}
