//! Containers of applications: those that are fetched, corrected or moved along.
//!
//! Tests: `tests/inputs/requests.rs`.

use super::container::{Container, ContainerState, GiveBack};
use super::slot::ContainerSlot;
use super::store::Containers;
use crate::id::{AppSlot, Map, PartitionId, SchedulerKey, java_order};
use crate::queue::ReservedAt;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Containers of one kind have the same key and size.
pub(in crate::commit) type ContainerKind = (SchedulerKey, ResourceVector);

/// What containers or reservations are charged with that follow each other and are charged the same.
#[derive(Debug)]
pub(in crate::commit) struct ChargeRun {
    /// Of their nodes.
    pub(in crate::commit) partition: PartitionId,
    /// Whether they count as reserved by the applications that a queue holds now.
    pub(in crate::commit) by_present: bool,
    /// Of each.
    pub(in crate::commit) size: ResourceVector,
    pub(in crate::commit) count: u64,
}

impl ChargeRun {
    /// What all of them come to.
    pub(in crate::commit) fn sum(&self) -> ResourceVector {
        self.size.times(self.count.cast_signed())
    }

    fn is_like(&self, other: &Self) -> bool {
        let place = |run: &Self| (run.partition, run.by_present);
        place(self) == place(other) && self.size == other.size
    }
}

/// Runs of charges, in the order in which they are added.
#[derive(Debug, Default)]
struct ChargeRuns(Vec<ChargeRun>);

impl ChargeRuns {
    fn add(&mut self, state: &State, container: &Container) {
        let by_present = container.state == ContainerState::Reserved
            && container.requested_partition == PartitionId::DEFAULT;
        let next = ChargeRun {
            partition: state.nodes[container.node].partition,
            by_present,
            size: container.size.get(),
            count: 1,
        };
        match self.0.last_mut() {
            Some(last) if last.is_like(&next) => last.count += 1,
            _ => self.0.push(next),
        }
    }
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

    /// A container's node reports that it was launched.
    pub(in crate::commit) fn launch(&mut self, slot: ContainerSlot) {
        let container = self.get_mut(slot);
        container.launched = true;
        if container.state == ContainerState::Acquired {
            container.state = ContainerState::Running;
        }
        let to_stop = container.to_stop;
        self.set_due(slot, false, to_stop);
        self.note_launched(slot);
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

    /// What an application is charged for its live containers, in the order of a hash map of their ids.
    ///
    /// Cost: a look at each, and a sort where sizes differ. Equal amounts add up to the same in any order.
    pub(in crate::commit) fn live_charges_of(&self, state: &State, app: AppSlot) -> Vec<ChargeRun> {
        let mut runs = ChargeRuns::default();
        for slot in self.live_of(app) {
            runs.add(state, self.get(slot));
        }
        if runs.0.windows(2).any(|pair| pair[0].size != pair[1].size) {
            runs = ChargeRuns::default();
            let mut live: Vec<ContainerSlot> = self.live_of(app).collect();
            java_order::sort(&mut live, 0, |&slot| {
                java_order::container_hash(self.get(slot).id)
            });
            for slot in live {
                runs.add(state, self.get(slot));
            }
        }
        runs.0
    }

    /// The same for reservations that are listed, in the order of their numbers.
    pub(in crate::commit) fn reserved_charges_of(
        &self,
        state: &State,
        held: &[ReservedAt],
    ) -> Vec<ChargeRun> {
        let mut runs = ChargeRuns::default();
        for slot in self.reservations_among(held) {
            runs.add(state, self.get(slot));
        }
        runs.0
    }
}
