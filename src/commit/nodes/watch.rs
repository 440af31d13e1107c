//! What is to be looked at of nodes: those that were written, and those with something to report.
//!
//! Tests: `tests/runtime/reports.rs`.

use crate::cluster::NodeState;
use crate::commit::containers::store::Containers;
use crate::commit::outbox::Outbox;
use crate::id::NodeSlot;
use crate::snapshot::State;

/// Nodes that changed since somebody last asked, for who publishes nothing.
#[derive(Debug)]
pub struct NodeWatch<'a> {
    containers: &'a mut Containers,
    state: &'a mut State,
}

impl<'a> NodeWatch<'a> {
    /// Of the parts of a ledger.
    #[inline]
    pub(in crate::commit) fn new(containers: &'a mut Containers, state: &'a mut State) -> Self {
        Self { containers, state }
    }

    /// From now on it is remembered which nodes are written, and which have something to report.
    pub fn begin(&mut self) {
        self.state.nodes.track();
        self.containers.note_due_nodes(true);
    }

    /// It is not remembered any more which nodes have something to report.
    #[inline]
    pub fn end_reports(&mut self) {
        self.containers.note_due_nodes(false);
    }

    /// Replaces a list by the nodes that were written since this was last asked; some may come twice.
    pub fn take_written(&mut self, into: &mut Vec<u32>) {
        self.state.nodes.take_recent(into);
    }

    /// Takes the nodes that have something to report since this was last asked; some may come twice.
    pub fn take_due(&mut self) -> Vec<NodeSlot> {
        self.containers.take_due_nodes()
    }
}

/// What a report of a node may bring about.
#[derive(Clone, Copy, Debug)]
pub struct DueReports<'a> {
    containers: &'a Containers,
    state: &'a State,
    outbox: &'a Outbox,
}

impl<'a> DueReports<'a> {
    /// Of the parts of a ledger.
    #[inline]
    pub(in crate::commit) fn new(
        containers: &'a Containers,
        state: &'a State,
        outbox: &'a Outbox,
    ) -> Self {
        Self {
            containers,
            state,
            outbox,
        }
    }

    /// Whether a report of a node brings nothing about.
    #[must_use]
    pub fn is_nothing(self, slot: NodeSlot) -> bool {
        let row = &self.state.nodes[slot];
        self.containers.is_nothing_due(slot)
            && row.takes_containers()
            && !row.enforced
            && self.outbox.is_drained()
    }

    /// Whether a report of a node may end containers or change the node.
    #[must_use]
    #[inline]
    pub fn ends(self, slot: NodeSlot) -> bool {
        let row = &self.state.nodes[slot];
        let (_, to_stop) = self.containers.due(slot);
        let changes = row.state == NodeState::Decommissioning;
        !to_stop.is_empty() || changes || row.enforced || !self.outbox.is_drained()
    }
}
