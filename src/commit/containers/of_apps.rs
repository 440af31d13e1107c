//! Containers of applications: those that are fetched, corrected or moved along.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::container::{ContainerState, GiveBack};
use super::slot::ContainerSlot;
use super::store::Containers;
use crate::id::{AppSlot, Map, SchedulerKey, java_order};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Containers of one kind have the same key and size.
pub(in crate::commit) type ContainerKind = (SchedulerKey, ResourceVector);

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

    /// Live containers in the order of a hash map of their ids, then reservations.
    pub(in crate::commit) fn to_move(&self, state: &State, app: AppSlot) -> Vec<ContainerSlot> {
        let mut live: Vec<_> = self.live_of(app).collect();
        java_order::sort(&mut live, 0, |&slot| {
            java_order::container_hash(self.get(slot).id)
        });
        live.extend(self.reservations_of(state, app));
        live
    }
}
