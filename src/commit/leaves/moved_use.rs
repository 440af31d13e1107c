//! What a user of a leaf uses moves along with an application: what is charged, and how.
//!
//! Tests: `tests/commit/movement.rs`, `tests/runtime/move_turns.rs`.

use super::Leaves;
use crate::accounting::{PreparedUse, charge_user_each};
use crate::commit::containers::of_apps::ChargeRun;
use crate::id::{PartitionId, QueueSlot, UserSlot};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

/// Charges of containers on one partition that are worked out before they are made.
#[derive(Debug)]
pub(in crate::commit) struct PreparedMove {
    sum: ResourceVector,
    /// To the user that they leave.
    from: PreparedUse,
    /// To the user that they come to; nothing where it is the same one, to whom each is charged there and back.
    to: Option<PreparedUse>,
}

impl PreparedMove {
    /// Nothing yet for two users of different leaves, or for one of one leaf.
    pub(in crate::commit) const fn new(from: PreparedUse, to: Option<PreparedUse>) -> Self {
        let sum = ResourceVector::NONE;
        Self { sum, from, to }
    }

    /// Adds a container.
    pub(in crate::commit) fn add(&mut self, state: &State, size: &ResourceVector) {
        self.sum += *size;
        self.from.add(state, &-*size);
        self.to.as_mut().unwrap_or(&mut self.from).add(state, size);
    }

    pub(in crate::commit) const fn partition(&self) -> PartitionId {
        self.from.partition()
    }

    /// What both users are charged; one where it is the same one.
    pub(in crate::commit) const fn of_users(&self) -> (&PreparedUse, Option<&PreparedUse>) {
        (&self.from, self.to.as_ref())
    }

    /// Whether another one comes to the same, step by step.
    pub(in crate::commit) fn equals(&self, other: &Self) -> bool {
        let to = match (&self.to, &other.to) {
            (Some(one), Some(other)) => one.equals(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.sum == other.sum && self.from.equals(&other.from) && to
    }
}

/// What an application is charged on one partition: what is prepared, then the runs.
#[derive(Debug)]
pub(in crate::commit) struct PartitionCharges<'a> {
    pub(in crate::commit) partition: PartitionId,
    pub(in crate::commit) prepared: Option<&'a PreparedMove>,
    pub(in crate::commit) runs: &'a [ChargeRun],
}

impl PartitionCharges<'_> {
    /// What all of it comes to.
    pub(in crate::commit) fn sum(&self) -> ResourceVector {
        let prepared = self.prepared.map_or(ResourceVector::NONE, |of| of.sum);
        self.runs.iter().fold(prepared, |sum, run| sum + run.sum())
    }
}

impl Leaves {
    /// Moves what a user uses to a user of another leaf, or of the same one: amount by amount.
    // As LeafQueue.detachContainer and attachContainer, for each container.
    pub(in crate::commit) fn move_use(
        &mut self,
        state: &mut State,
        (from, to): ((QueueSlot, UserSlot), (QueueSlot, UserSlot)),
        charges: &PartitionCharges<'_>,
    ) {
        // Sizes are not below nothing.
        if !charges.sum().is_none() {
            self.skipped.recheck(state, from.0);
        }
        let (partition, runs) = (charges.partition, charges.runs);
        let (of_from, of_to) = match charges.prepared.map(PreparedMove::of_users) {
            Some((of_from, of_to)) => (Some(of_from), of_to),
            None => (None, None),
        };
        let each = |run: &ChargeRun| {
            std::iter::repeat_n(run.size, usize::try_from(run.count).unwrap_or(usize::MAX))
        };
        with_width!(state.calculator, N => {
            let sizes = runs.iter().flat_map(each).map(|size| size.narrow::<N>());
            if from == to {
                let there_and_back = sizes.flat_map(|size| [-size, size]);
                return charge_user_each(state, from, partition, of_from, there_and_back);
            }
            charge_user_each(state, from, partition, of_from, sizes.clone().map(|size| -size));
            charge_user_each(state, to, partition, of_to, sizes);
        });
    }
}
