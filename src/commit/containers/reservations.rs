//! Reservations: containers that wait for room on a node.
//!
//! Tests: `tests/commit/property.rs`.

use super::container::{Container, ContainerState};
use super::preempt::Verdict;
use super::slot::ContainerSlot;
use super::store::Containers;
use crate::cluster::{NodeState, Reservation};
use crate::commit::event::{Event, UnreserveReason};
use crate::commit::leaves::usage::add_reserved;
use crate::commit::outbox::Outbox;
use crate::id::{AppSlot, ContainerId, NodeSlot};
use crate::proposer::Proposal;
use crate::queue::ReservedAt;
use crate::snapshot::State;

impl Containers {
    /// Containers that wait for room, of one application, by number.
    pub(in crate::commit) fn reservations_of(
        &self,
        state: &State,
        app: AppSlot,
    ) -> Vec<ContainerSlot> {
        let keys = state.apps[app].keys.iter();
        let held: Vec<_> = keys.flat_map(|asks| &asks.reserved).copied().collect();
        self.reservations_among(&held)
    }

    /// The same for reservations that are listed.
    pub(in crate::commit) fn reservations_among(&self, held: &[ReservedAt]) -> Vec<ContainerSlot> {
        let held = held.iter().map(|held| (held.number, held.node));
        let mut held: Vec<_> = held.collect();
        held.sort_unstable();
        held.into_iter()
            .filter_map(|(_, node)| self.reserved_on(node))
            .collect()
    }

    /// A reservation on a node, by its number.
    pub(in crate::commit) fn reservation(
        &self,
        node: NodeSlot,
        id: ContainerId,
    ) -> Option<ContainerSlot> {
        let slot = self.reserved_on(node)?;
        (self.get(slot).id == id).then_some(slot)
    }

    /// Reserves the node of a proposal for a container.
    pub(in crate::commit) fn new_reservation(
        &mut self,
        state: &mut State,
        proposal: &Proposal,
        now_ms: u64,
    ) -> ContainerSlot {
        let (app, node, key) = (proposal.app, proposal.node, proposal.key);
        let row = &mut state.apps[app];
        let number = row.take_number();
        let id = row.container(number);
        let stamps = (self.next_stamp(), now_ms);
        let size = proposal.size.clone();
        let container = || Container::waiting(id, (app, key), (node, size), stamps);
        let slot = self.store(container);
        let size = proposal.size.get();
        let row = &state.nodes[node];
        let (partition, java_hash) = (row.partition, row.java_hash);
        let asks = state.apps[app].key_mut(key);
        asks.re_reservations = 0;
        asks.reserve(id.number, (node, java_hash), size);
        asks.was_reserved = true;
        state.apps[app].part_mut(partition).reserved += size;
        state.nodes[node].reserved = Some(Reservation {
            app,
            key,
            number: id.number,
            size,
        });
        self.set_reserved(node, Some(slot));
        slot
    }

    /// The container that was reserved for a proposal, taken off its node; nothing where none was.
    pub(in crate::commit) fn take_reserved(
        &mut self,
        state: &mut State,
        proposal: &Proposal,
    ) -> Option<ContainerSlot> {
        proposal.reserved?;
        let reserved = self.reserved_on(proposal.node);
        let slot = reserved.expect("validation found the reservation on the node");
        self.unreserve(state, slot);
        Some(slot)
    }

    /// Takes a reservation off its node and its application; whether it was still there.
    /// What queues and users are charged for it stays.
    pub(in crate::commit) fn drop_reservation(
        &mut self,
        state: &mut State,
        outbox: &mut Outbox,
        slot: ContainerSlot,
        reason: UnreserveReason,
    ) -> bool {
        let container = self.get(slot);
        let (id, node, size) = (container.id, container.node, container.size.get());
        if !self.unreserve(state, slot) {
            return false;
        }
        self.get_mut(slot).state = ContainerState::Done;
        self.note_ended(slot);
        let node = state.nodes[node].name.clone();
        outbox.push(Event::Unreserved {
            container: id,
            node,
            size,
            reason,
        });
        true
    }

    /// Takes a reservation off its node and its application without ending the container.
    // As FiCaSchedulerApp.unreserve and LeafQueue's share of it.
    pub(in crate::commit) fn unreserve(&mut self, state: &mut State, slot: ContainerSlot) -> bool {
        let container = self.get(slot);
        let (id, app, key) = (container.id, container.app, container.key);
        let (node, size) = (container.node, container.size.get());
        let partition = state.nodes[node].partition;
        let asks = state.apps[app].key_mut(key);
        if !asks.unreserve(id.number, node) {
            return false;
        }
        asks.re_reservations = 0;
        state.apps[app].part_mut(partition).reserved -= size;
        state.nodes[node].reserved = None;
        self.set_reserved(node, None);
        let leaf = state.apps[app].leaf;
        add_reserved(state, leaf, partition, -size);
        true
    }

    /// Moves a reservation to a node of the same partition without one.
    // As CapacityScheduler.moveReservedContainer.
    pub(in crate::commit) fn move_reservation(
        &mut self,
        state: &mut State,
        outbox: &mut Outbox,
        verdict: &Verdict,
        to: NodeSlot,
    ) {
        let from = verdict.node;
        let Some(slot) = self.reservation(verdict.node, verdict.container) else {
            return;
        };
        let (source, target) = (&state.nodes[from], &state.nodes[to]);
        let closed = matches!(target.state, NodeState::Lost | NodeState::Held);
        let free = target.reserved.is_none() && !closed;
        let reserved = source.reserved;
        if source.partition != target.partition || !free {
            return;
        }
        let (from_name, to_name) = (source.name.clone(), target.name.clone());
        let container = self.get_mut(slot);
        container.node = to;
        let (id, size) = (container.id, container.size.get());
        move_at_key(state, container, from);
        state.nodes[from].reserved = None;
        state.nodes[to].reserved = reserved;
        self.set_reserved(from, None);
        self.set_reserved(to, Some(slot));
        outbox.push(Event::ReservationMoved {
            container: id,
            from: from_name,
            to: to_name,
            size,
        });
    }
}

/// Notes with the key of a container that it waits on another node than before.
fn move_at_key(state: &mut State, container: &Container, from: NodeSlot) {
    let (number, node, size) = (container.id.number, container.node, container.size.get());
    let java_hash = state.nodes[node].java_hash;
    let asks = state.apps[container.app].key_mut(container.key);
    asks.unreserve(number, from);
    asks.reserve(number, (node, java_hash), size);
}
