//! Nodes that run more than they have: what their total costs those that run there.
//!
//! The total of a node is enforced from the moment that it was set to what a decommissioning node
//! had allocated. A total that is set by hand only says what the node has.
//!
//! Tests: `tests/inputs/requests.rs`.

use crate::cluster::NodeState;
use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::NodeSlot;
use crate::queue::EndCause;

impl Ledger {
    /// Whether a report of a node brings nothing about.
    #[must_use]
    pub fn reports_nothing(&self, slot: NodeSlot) -> bool {
        let row = &self.state.nodes[slot];
        self.containers.is_nothing_due(slot)
            && row.takes_containers()
            && !row.enforced
            && self.outbox.is_drained()
    }

    /// Whether it is noted from now on which nodes have something to report.
    pub fn note_due_nodes(&mut self, noted: bool) {
        self.containers.note_due_nodes(noted);
    }

    /// Takes the nodes that have something to report since this was last asked; some may come twice.
    pub fn take_due_nodes(&mut self) -> Vec<NodeSlot> {
        self.containers.take_due_nodes()
    }

    /// Whether a report of a node may end containers or change the node.
    #[must_use]
    #[inline]
    pub fn report_ends(&self, slot: NodeSlot) -> bool {
        let row = &self.state.nodes[slot];
        let (_, to_stop) = self.containers.due(slot);
        let changes = row.state == NodeState::Decommissioning;
        !to_stop.is_empty() || changes || row.enforced || !self.outbox.is_drained()
    }

    /// Kills containers beyond the total of a node after the present report.
    // As AbstractYarnScheduler.nodeUpdate.
    #[cold]
    pub(super) fn kill_overcommitted(&mut self, slot: NodeSlot) {
        for container in self.containers.overcommitted(&self.state, slot) {
            self.outbox.follow_up(FollowUpEvent::Kill(container));
        }
    }

    /// Kills a container, or lets others kill it where preemption is lazy.
    // As CapacityScheduler.markContainerForKillable.
    pub(in crate::commit) fn kill_or_mark(&mut self, slot: ContainerSlot) {
        let container = self.container(slot);
        let live = [
            ContainerState::Allocated,
            ContainerState::Acquired,
            ContainerState::Running,
        ];
        if self.state.settings.lazy_preemption {
            let (node, id) = (container.node, container.id);
            self.containers.make_killable(&mut self.state, node, id);
        } else if live.contains(&container.state) {
            self.end_container(slot, EndCause::Overcommitted);
        }
    }
}
