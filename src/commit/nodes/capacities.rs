//! Capacities of all queues follow the nodes.
//!
//! Cost: a look at all queues and at all of their figures.
//!
//! Tests: `tests/commit/operations.rs`.

use crate::commit::ledger::Ledger;
use crate::commit::tree::capacity::update_cluster;

impl Ledger {
    /// Has capacities follow.
    pub(in crate::commit) fn capacities_follow(&mut self) {
        update_cluster(&mut self.state, &mut self.leaves);
    }
}
