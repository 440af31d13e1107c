//! How containers end: their space, their charges, and what is asked again.
//!
//! Tests: `tests/commit/property.rs`.

use super::container::{Container, ContainerState};
use crate::accounting::{FairChange, mark_moved};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::{Ending, Event, UnreserveReason};
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::id::{ContainerId, NodeSlot};
use crate::queue::{AppStage, EndCause};
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

impl Ledger {
    /// A container ended by itself with an exit status, and its node has reported it.
    pub fn container_exited(&mut self, slot: ContainerSlot, exit_status: i32) {
        let container = self.container(slot);
        if container.master {
            let on = (container.app, container.node);
            self.masters.note_exit(&self.state, on, exit_status);
        }
        self.end_container(slot, EndCause::Exited);
        self.free_space(slot);
        self.containers.set_due(slot, false, false);
        self.containers.get_mut(slot).launched = false;
        self.settle_node_queue(self.container(slot).node);
    }

    /// Ends a container, or drops a reservation.
    // As AbstractYarnScheduler.completedContainer with AbstractLeafQueue.completedContainer.
    pub(in crate::commit) fn end_container(&mut self, slot: ContainerSlot, cause: EndCause) {
        self.end_as(slot, cause, UnreserveReason::Kill);
    }

    /// Ends a container, or drops a reservation for a reason of its own.
    pub(in crate::commit) fn end_as(
        &mut self,
        slot: ContainerSlot,
        cause: EndCause,
        reason: UnreserveReason,
    ) {
        let ending = Ending::of(cause);
        let container = self.container(slot);
        let (app, node, size) = (container.app, container.node, container.size.get());
        let partition = self.state.nodes[node].partition;
        if container.state == ContainerState::Reserved {
            if !self
                .containers
                .drop_reservation(&mut self.state, &mut self.outbox, slot, reason)
            {
                return;
            }
        } else if !self.end_running(slot, cause) {
            return;
        }
        mark_moved(&mut self.state, app, FairChange::Use);
        if injected(Mutant::KilledStaysCharged) && ending == Ending::Killed {
            return;
        }
        self.leaves.charge(&mut self.state, app, partition, -size);
        self.drop_reserved_increase(slot, cause);
        // What ran to its end was needed once.
        if ending != Ending::Finished {
            let container = self.containers.get_mut(slot);
            self.leaves.give_back_container(&mut self.state, container);
        }
    }

    /// Drops the reservation that an increase of an ended container has on its node.
    // As AbstractYarnScheduler.completeOustandingUpdatesWhichAreReserved.
    fn drop_reserved_increase(&mut self, of: ContainerSlot, cause: EndCause) {
        let container = self.container(of);
        let Some(reserved) = self.containers.reserved_on(container.node) else {
            return;
        };
        let increase = self.container(reserved);
        let same_app = increase.app == container.app && increase.id.app == container.id.app;
        let increases = increase.key.increases() == Some(container.id.number);
        if same_app && increases && self.containers.changed(of).opportunistic.is_none() {
            let reason = UnreserveReason::with(Ending::of(cause));
            self.end_as(reserved, cause, reason);
        }
    }

    /// Ends a live container; whether it was one.
    fn end_running(&mut self, slot: ContainerSlot, cause: EndCause) -> bool {
        let ending = Ending::of(cause);
        let container = self.container(slot);
        let (id, app, node, size) = (
            container.id,
            container.app,
            container.node,
            container.size.get(),
        );
        let before = container.state;
        if !self.containers.end_live(slot) {
            return false;
        }
        let partition = self.state.nodes[node].partition;
        self.state.apps[app].part_mut(partition).used -= size;
        let container = self.containers.get_mut(slot);
        container.state = ContainerState::Done;
        let (to_stop, launched) = (container.to_stop, container.launched);
        self.containers.note_rewritten(slot);
        if ending != Ending::Finished {
            self.containers.set_due(slot, false, to_stop);
        }
        if !launched {
            self.free_space(slot);
        }
        mark_ended_killable(&mut self.state, node, id);
        if before != ContainerState::Allocated && ending != Ending::Finished {
            self.outbox.follow_up(FollowUpEvent::Stop(slot));
        }
        // RMContainerImpl knows no way for a container that was not fetched to be given back.
        if before != ContainerState::Allocated || ending != Ending::Released {
            self.outbox.follow_up(FollowUpEvent::Finished(slot, cause));
        }
        self.containers.note_ended(slot);
        let event = ended_event(&self.state, self.containers.get(slot), cause);
        self.outbox.push(event);
        true
    }

    /// Frees the space of a container on its node.
    pub(in crate::commit) fn free_space(&mut self, slot: ContainerSlot) {
        if !self.containers.leave_node(slot) {
            return;
        }
        let container = self.container(slot);
        let (id, node, size) = (container.id, container.node, container.size.get());
        let (app, handed) = (container.app, container.handed);
        self.opportunistic.take_off(node, slot);
        let row = &mut self.state.nodes[node];
        row.killable.retain(|killable| killable.container != id);
        row.free += size;
        row.allocated -= size;
        row.containers -= 1;
        self.tags
            .release(&mut self.state, (app, node), slot, handed);
        if self.state.apps[app].stage == AppStage::Done {
            self.outbox.follow_up(FollowUpEvent::Forget(app));
        }
    }
}

fn mark_ended_killable(state: &mut State, node: NodeSlot, id: ContainerId) {
    if state.nodes[node].killable.is_empty() {
        return;
    }
    for killable in &mut state.nodes[node].killable {
        if killable.container == id {
            killable.ended = true;
        }
    }
}

/// The event of a container that ended.
fn ended_event(state: &State, container: &Container, cause: EndCause) -> Event {
    Event::Ended {
        container: container.id,
        node: state.nodes[container.node].name.clone(),
        size: container.size.get(),
        ending: Ending::of(cause),
        cause,
    }
}
