//! Nodes that run more than they have: what their total costs those that run there.
//!
//! The total of a node is enforced from the moment that it was set to what a decommissioning node
//! had allocated. A total that is set by hand only says what the node has.
//!
//! Tests: `tests/inputs/requests.rs`.

use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::commit::ledger::Ledger;
use crate::commit::outbox::{FollowUpEvent, Outbox};
use crate::id::NodeSlot;
use crate::queue::EndCause;
use crate::snapshot::State;

impl Ledger {
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

/// Kills containers beyond the total of a node after the present report.
// As AbstractYarnScheduler.nodeUpdate.
#[cold]
pub(super) fn kill_overcommitted(
    containers: &Containers,
    state: &State,
    outbox: &mut Outbox,
    slot: NodeSlot,
) {
    for container in containers.overcommitted(state, slot) {
        outbox.follow_up(FollowUpEvent::Kill(container));
    }
}
