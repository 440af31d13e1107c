//! Absolute amounts of queues: which of them contradict each other.

use crate::resource::{Calculator, ResourceVector};

use super::settings::{LegacyCapacity, PartitionSettings};

/// A capacity or a maximum, as an absolute amount, that is above what it must stay within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// A maximum is above the maximum of the parent.
    MaximumAboveParent {
        /// The queue's.
        maximum: ResourceVector,
        /// The parent's.
        above: ResourceVector,
    },
    /// A capacity is above the maximum of its queue.
    MinimumAboveMaximum {
        /// The capacity.
        minimum: ResourceVector,
        /// The maximum, which may be the parent's.
        maximum: ResourceVector,
    },
}

impl Excess {
    /// A stable word for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MaximumAboveParent { .. } => "maximum_above_parent",
            Self::MinimumAboveMaximum { .. } => "minimum_above_maximum",
        }
    }

    /// What is wrong with a queue, in words.
    #[must_use]
    pub fn describe(&self, queue: &str) -> String {
        match self {
            Self::MaximumAboveParent { maximum, above } => {
                format!("the maximum {maximum} of `{queue}` is above the {above} of its parent")
            }
            Self::MinimumAboveMaximum { minimum, maximum } => {
                format!("the capacity {minimum} of `{queue}` is above its maximum {maximum}")
            }
        }
    }
}

/// The absolute amounts of a queue on one partition; nothing for what is no absolute amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// The capacity.
    pub minimum: ResourceVector,
    /// The maximum.
    pub maximum: ResourceVector,
}

impl Amounts {
    /// Those of a queue's settings.
    #[must_use]
    pub fn of(settings: &PartitionSettings) -> Self {
        let amount = |capacity: &LegacyCapacity| match capacity {
            LegacyCapacity::Absolute(amount) => *amount,
            _ => ResourceVector::NONE,
        };
        Self {
            minimum: amount(&settings.capacity.legacy),
            maximum: amount(&settings.maximum.legacy),
        }
    }

    /// The maximum that counts for the queue, and what exceeds it or exceeds `above`, the maximum
    /// that counts for the parent, in the order in which the original looks. Amounts are compared
    /// by their shares of a cluster.
    // As AbstractCSQueue.updateConfigurableResourceLimits.
    #[must_use]
    pub fn check(
        &self,
        calculator: Calculator,
        cluster: &ResourceVector,
        above: ResourceVector,
    ) -> (ResourceVector, [Option<Excess>; 2]) {
        let Self {
            minimum,
            mut maximum,
        } = *self;
        let exceeds = |a: &ResourceVector, b: &ResourceVector| {
            !b.is_none() && calculator.compare(cluster, a, b).is_gt()
        };
        let first = Excess::MaximumAboveParent { maximum, above };
        let first = exceeds(&maximum, &above).then_some(first);
        if maximum.is_none() && !minimum.is_none() {
            maximum = above;
        }
        let second = Excess::MinimumAboveMaximum { minimum, maximum };
        let second = exceeds(&minimum, &maximum).then_some(second);
        (maximum, [first, second])
    }
}
