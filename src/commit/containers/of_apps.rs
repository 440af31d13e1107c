//! Containers of applications: those that are fetched, corrected or moved along.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::container::{ContainerState, GiveBack};
use super::slot::ContainerSlot;
use super::store::Containers;
use crate::id::{AppSlot, Map, PartitionId, SchedulerKey, java_order};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// Containers of one kind have the same key and size.
pub(in crate::commit) type ContainerKind = (SchedulerKey, ResourceVector);

/// What a container or a reservation is charged with.
#[derive(Debug)]
pub(in crate::commit) struct ContainerCharge {
    /// Of its id.
    hash: i32,
    /// Of its node.
    pub(in crate::commit) partition: PartitionId,
    /// Whether it counts as reserved by the applications that a queue holds now.
    pub(in crate::commit) by_present: bool,
    pub(in crate::commit) size: PackedVector,
}

impl Containers {
    /// Hands an application a new container, which its node will launch.
    pub(in crate::commit) fn acquire(&mut self, slot: ContainerSlot) {
        let container = self.get_mut(slot);
        container.state = ContainerState::Acquired;
        container.handed = true;
        container.give_back = GiveBack::Nothing;
        let to_stop = container.to_stop;
        self.set_due(slot, true, to_stop);
    }

    /// Containers that an application has not fetched, by key and size, the oldest first.
    pub(in crate::commit) fn unfetched_by_kind(
        &self,
        app: AppSlot,
    ) -> Map<ContainerKind, Vec<ContainerSlot>> {
        let mut kinds: Map<ContainerKind, Vec<_>> = Map::default();
        for slot in self.unfetched(app) {
            let container = self.get(slot);
            let kind = (container.key, container.size.get());
            kinds.entry(kind).or_default().push(slot);
        }
        kinds
    }

    /// What an application is charged for its containers: for live ones in the order of a hash map of their ids, then
    /// for reservations.
    ///
    /// Cost: a look at each, and a sort where sizes differ. Equal amounts add up to the same in any order.
    pub(in crate::commit) fn charges_of(
        &self,
        state: &State,
        app: AppSlot,
    ) -> Vec<ContainerCharge> {
        let charge = |slot| self.charge_of(state, slot);
        let mut charges: Vec<_> = self.live_of(app).map(charge).collect();
        if charges.windows(2).any(|pair| pair[0].size != pair[1].size) {
            java_order::sort(&mut charges, 0, |charge| charge.hash);
        }
        charges.extend(self.reservations_of(state, app).into_iter().map(charge));
        charges
    }

    fn charge_of(&self, state: &State, slot: ContainerSlot) -> ContainerCharge {
        let container = self.get(slot);
        let by_present = container.state == ContainerState::Reserved
            && container.requested_partition == PartitionId::DEFAULT;
        ContainerCharge {
            hash: java_order::container_hash(container.id),
            partition: state.nodes[container.node].partition,
            by_present,
            size: container.size.clone(),
        }
    }
}
