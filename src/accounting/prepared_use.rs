//! Charges of a user that are worked out before they are made.
//!
//! The usage ratio of a leaf is a sum in `f32`, so that each charge of a user counts by itself and in its place. By how
//! much the ratio moves with each depends on what the user uses before, and on nothing else of the leaf. So these
//! differences are worked out on a copy of the user's figures. Made are the charges where the user's figures still are
//! those of the beginning: what is left then is a sum of the differences.
//!
//! Tests: `tests/runtime/move_turns.rs`.

use crate::id::PartitionId;
use crate::queue::UserPart;
use crate::resource::{ResourceVector, share, with_calculator, with_width};
use crate::snapshot::State;

/// What a user of a leaf uses on a partition.
#[derive(Clone, Copy, Debug, Default)]
struct UserUse {
    used: ResourceVector,
    /// As a share of the partition.
    ratio: f32,
}

impl UserUse {
    fn of(part: &UserPart) -> Self {
        Self {
            used: part.used.get(),
            ratio: part.usage_ratio,
        }
    }

    fn is(&self, part: &UserPart) -> bool {
        self.ratio.to_bits() == part.usage_ratio.to_bits() && part.used.get() == self.used
    }
}

/// Charges of one user on one partition, one after the other.
#[derive(Debug)]
pub(crate) struct PreparedUse {
    partition: PartitionId,
    /// Of the whole partition.
    total: ResourceVector,
    before: UserUse,
    after: UserUse,
    /// By how much each charge moves the usage ratio of the leaf.
    differences: Vec<f32>,
}

impl PreparedUse {
    /// Nothing yet for a user with some figures, or for one without a record; there is room for so many charges.
    pub(crate) fn new(
        state: &State,
        partition: PartitionId,
        user: Option<&UserPart>,
        most: usize,
    ) -> Self {
        let before = user.map_or_else(UserUse::default, UserUse::of);
        Self {
            partition,
            total: state.total(partition),
            before,
            after: before,
            differences: Vec::with_capacity(most),
        }
    }

    /// Adds a charge, which may be below nothing.
    pub(crate) fn add(&mut self, state: &State, size: &ResourceVector) {
        let used = self.after.used + *size;
        let ratio = with_width!(state.calculator, N => {
            let (used, total) = (used.narrow::<N>(), self.total.narrow::<N>());
            with_calculator!(state.calculator, calculator => calculator.ratio(&used, &total))
        });
        let difference = share::difference(ratio, self.after.ratio);
        self.differences.push(difference);
        self.after = UserUse { used, ratio };
    }

    /// Whether it stands for a user with these figures, or for one without a record.
    pub(crate) fn is_for(&self, state: &State, user: Option<&UserPart>) -> bool {
        let is_same = match user {
            Some(user) => self.before.is(user),
            None => self.before.is(&UserPart::default()),
        };
        is_same && self.total == state.total(self.partition)
    }

    /// Whether another one comes to the same, step by step.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        let bits = |of: &Self| {
            of.differences
                .iter()
                .map(|by| by.to_bits())
                .collect::<Vec<_>>()
        };
        let after = |of: &Self| (of.after.used, of.after.ratio.to_bits());
        self.partition == other.partition
            && after(self) == after(other)
            && bits(self) == bits(other)
    }

    /// The partition.
    pub(crate) const fn partition(&self) -> PartitionId {
        self.partition
    }

    /// What all charges come to.
    pub(crate) fn sum(&self) -> ResourceVector {
        self.after.used - self.before.used
    }

    /// How many charges there are.
    pub(super) fn count(&self) -> u64 {
        self.differences.len() as u64
    }

    /// The user's share after them.
    pub(super) const fn ratio(&self) -> f32 {
        self.after.ratio
    }

    /// The usage ratio of a leaf after them.
    pub(super) fn moved(&self, ratio: f32) -> f32 {
        self.differences.iter().copied().fold(ratio, share::sum)
    }
}
