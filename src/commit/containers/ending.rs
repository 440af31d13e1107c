//! How containers end: their space, their charges, and what is asked again.
//!
//! Tests: `tests/commit/property.rs`.

use super::container::ContainerState;
use crate::accounting::{FairChange, mark_moved};
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::{Ending, LedgerEvent, UnreserveReason};
use crate::commit::ledger::Ledger;
use crate::commit::outbox::FollowUpEvent;
use crate::commit::tree::usage::add_reserved;
use crate::id::{AppSlot, ContainerId, NodeSlot};
use crate::queue::AppStage;
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

impl Ledger {
    /// Ends a container, or drops a reservation.
    // As AbstractYarnScheduler.completedContainer with AbstractLeafQueue.completedContainer.
    pub(in crate::commit) fn end_container(&mut self, slot: ContainerSlot, ending: Ending) {
        self.end_as(slot, ending, UnreserveReason::Kill);
    }

    /// Ends a container, or drops a reservation for a reason of its own.
    pub(in crate::commit) fn end_as(
        &mut self,
        slot: ContainerSlot,
        ending: Ending,
        reason: UnreserveReason,
    ) {
        let container = self.container(slot);
        let (app, node, size) = (container.app, container.node, container.size.get());
        let partition = self.state.nodes[node].partition;
        if container.state == ContainerState::Reserved {
            if !self.drop_reservation(slot, reason) {
                return;
            }
        } else if !self.end_running(slot, ending) {
            return;
        }
        mark_moved(&mut self.state, app, FairChange::Use);
        if injected(Mutant::KilledStaysCharged) && ending == Ending::Killed {
            return;
        }
        self.charge(app, partition, -size);
        // What ran to its end was needed once.
        if ending != Ending::Finished {
            self.give_back_container(slot);
        }
    }

    /// Ends a live container; whether it was one.
    fn end_running(&mut self, slot: ContainerSlot, ending: Ending) -> bool {
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
        let container = self.container_mut(slot);
        container.state = ContainerState::Done;
        let (to_stop, launched) = (container.to_stop, container.launched);
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
            self.outbox.follow_up(FollowUpEvent::Finished(slot));
        }
        self.containers.note_ended(slot);
        let node = self.state.nodes[node].name.clone();
        self.outbox.push(LedgerEvent::Ended {
            container: id,
            node,
            size,
            ending,
        });
        true
    }

    /// Frees the space of a container on its node.
    pub(in crate::commit) fn free_space(&mut self, slot: ContainerSlot) {
        if !self.containers.leave_node(slot) {
            return;
        }
        let container = self.container(slot);
        let (id, node, size) = (container.id, container.node, container.size.get());
        let (app, key, handed) = (container.app, container.key, container.handed);
        let row = &mut self.state.nodes[node];
        row.killable.retain(|killable| killable.container != id);
        row.free += size;
        row.allocated -= size;
        row.containers -= 1;
        // As SchedulerNode.releaseContainer: a container has its tags from when it is fetched, so
        // that those of others are counted for ever.
        if handed {
            self.forget_tags(app, key, node);
        }
        if self.state.apps[app].stage == AppStage::Done {
            self.outbox.follow_up(FollowUpEvent::Forget(app));
        }
    }

    /// Takes a reservation off its node and its application; whether it was still there.
    /// What queues and users are charged for it stays.
    pub(in crate::commit) fn drop_reservation(
        &mut self,
        slot: ContainerSlot,
        reason: UnreserveReason,
    ) -> bool {
        let container = self.container(slot);
        let (id, node, size) = (container.id, container.node, container.size.get());
        if !self.unreserve(slot) {
            return false;
        }
        self.container_mut(slot).state = ContainerState::Done;
        self.containers.note_ended(slot);
        let node = self.state.nodes[node].name.clone();
        self.outbox.push(LedgerEvent::Unreserved {
            container: id,
            node,
            size,
            reason,
        });
        true
    }

    /// Takes a reservation off its node and its application without ending the container.
    // As FiCaSchedulerApp.unreserve and LeafQueue's share of it.
    pub(in crate::commit) fn unreserve(&mut self, slot: ContainerSlot) -> bool {
        let container = self.container(slot);
        let (id, app, key) = (container.id, container.app, container.key);
        let (node, size) = (container.node, container.size.get());
        let partition = self.state.nodes[node].partition;
        let asks = self.state.apps[app].key_mut(key);
        let Some(at) = asks
            .reserved
            .iter()
            .position(|held| held.node == node && held.number == id.number)
        else {
            return false;
        };
        asks.reserved.remove(at);
        asks.re_reservations = 0;
        self.state.apps[app].part_mut(partition).reserved -= size;
        self.state.nodes[node].reserved = None;
        self.containers.set_reserved(node, None);
        let leaf = self.state.apps[app].leaf;
        add_reserved(&mut self.state, leaf, partition, -size);
        true
    }

    /// Containers that wait for room, of one application, by number.
    pub(in crate::commit) fn reservations_of(&self, app: AppSlot) -> Vec<ContainerSlot> {
        let mut held: Vec<_> = self.state.apps[app]
            .keys
            .iter()
            .flat_map(|asks| &asks.reserved)
            .map(|held| (held.number, held.node))
            .collect();
        held.sort_unstable();
        held.into_iter()
            .filter_map(|(_, node)| self.containers.reserved_on(node))
            .collect()
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
