//! Nodes that run more than they have: what their total costs those that run there.
//!
//! The total of a node is enforced from the moment that it was set to what a decommissioning node
//! had allocated. A total that is set by hand only says what the node has.
//!
//! Tests: `tests/inputs/requests.rs`.

use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::Ending;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::NodeSlot;
use crate::resource::ResourceVector;

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
    pub fn report_ends(&self, slot: NodeSlot) -> bool {
        let row = &self.state.nodes[slot];
        let (_, to_stop) = self.containers.due(slot);
        !to_stop.is_empty() || !row.takes_containers() || row.enforced || !self.outbox.is_drained()
    }

    /// Sets a decommissioning node's total to what was allocated there; it is enforced from now on.
    // As AbstractYarnScheduler.updateNodeResource with a timeout of 0.
    pub(in crate::commit) fn shrink_to_allocated(&mut self, slot: NodeSlot, total: ResourceVector) {
        let row = &mut self.state.nodes[slot];
        row.enforced |= row.total != total;
        self.set_total(slot, total);
    }

    /// Asks for the containers back that a node has no room for.
    pub(in crate::commit) fn ask_back_overcommitted(&mut self, slot: NodeSlot) {
        for container in self.overcommitted(slot) {
            let id = self.container(container).id;
            self.ask_back(id);
        }
    }

    /// Has the containers killed, after the heartbeat, that a node has no room for.
    // As AbstractYarnScheduler.nodeUpdate.
    pub(in crate::commit) fn kill_overcommitted(&mut self, slot: NodeSlot) {
        for container in self.overcommitted(slot) {
            self.outbox.follow_up(FollowUpEvent::Kill(container));
        }
    }

    /// Containers whose end makes room for the others: the newest first, masters last.
    // As AbstractYarnScheduler.signalContainersIfOvercommitted, SchedulerNode.getContainersToKill.
    fn overcommitted(&self, slot: NodeSlot) -> Vec<ContainerSlot> {
        let row = &self.state.nodes[slot];
        let calculator = self.state.calculator;
        let enough = |free: &ResourceVector| calculator.fits_in(&ResourceVector::NONE, free);
        let mut free = row.free.get();
        if !row.enforced || enough(&free) {
            return Vec::new();
        }
        let mut held = self.containers_on(slot);
        held.sort_by_key(|&container| {
            let container = self.container(container);
            (container.master, std::cmp::Reverse(container.stamp))
        });
        let mut chosen = Vec::new();
        for container in held {
            chosen.push(container);
            free += self.container(container).size.get();
            if enough(&free) {
                break;
            }
        }
        chosen
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
            self.make_killable(node, id);
        } else if live.contains(&container.state) {
            self.end_container(slot, Ending::Killed);
        }
    }
}
