//! Containers of applications: those that are fetched, corrected or moved along.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::container::{ContainerState, GiveBack};
use super::slot::ContainerSlot;
use super::store::Containers;
use crate::id::{AppSlot, SchedulerKey, java_order};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Containers {
    /// Hands an application its new containers, which their nodes will launch.
    pub(in crate::commit) fn fetch(&mut self, app: AppSlot) -> Vec<ContainerSlot> {
        let fetched = self.take_unfetched(app);
        for &slot in &fetched {
            let container = self.get_mut(slot);
            container.state = ContainerState::Acquired;
            container.handed = true;
            container.give_back = GiveBack::Nothing;
            let to_stop = container.to_stop;
            self.set_due(slot, true, to_stop);
        }
        fetched
    }

    /// Containers of a key and a size that an application has not fetched, the oldest first.
    pub(in crate::commit) fn unfetched_like(
        &self,
        app: AppSlot,
        key: SchedulerKey,
        size: &ResourceVector,
    ) -> Vec<ContainerSlot> {
        let unfetched = self.unfetched(app).iter().copied();
        unfetched
            .filter(|&slot| {
                let container = self.get(slot);
                container.key == key && container.size.get() == *size
            })
            .collect()
    }

    /// Live containers in the order of a hash map of their ids, then reservations.
    pub(in crate::commit) fn to_move(&self, state: &State, app: AppSlot) -> Vec<ContainerSlot> {
        let mut live: Vec<_> = self.live_of(app).collect();
        java_order::sort(&mut live, 0, |&slot| {
            let id = self.get(slot).id;
            java_order::container_hash(id.app.cluster, id.app.sequence, id.number)
        });
        live.extend(self.reservations_of(state, app));
        live
    }
}
