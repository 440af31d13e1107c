//! The partitions on which an application asks, as bits: passes over others need not look at it.

use super::app::App;
use crate::id::PartitionId;
use crate::resource::{MAX_TYPES, ResourceVector};

/// A set of partitions; all from the 64th on share a bit, and are in it once one of them was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand(u64);

impl Demand {
    const LAST: usize = 63;

    /// Whether the application may ask for something on a partition.
    #[inline]
    #[must_use]
    pub fn may_be_on(self, partition: PartitionId) -> bool {
        self.0 & Self::bit(partition) != 0
    }

    /// The same with or without a partition.
    #[must_use]
    pub fn with(self, partition: PartitionId, asks: bool) -> Self {
        if asks {
            Self(self.0 | Self::bit(partition))
        } else if partition.index() < Self::LAST {
            Self(self.0 & !Self::bit(partition))
        } else {
            self
        }
    }

    #[inline]
    fn bit(partition: PartitionId) -> u64 {
        1 << partition.index().min(Self::LAST)
    }
}

/// Whether an application has something outstanding for a partition.
#[inline]
#[must_use]
pub fn asks_on<const N: usize>(app: &App, partition: PartitionId) -> bool {
    let pending = app.part(partition).pending.narrow::<N>();
    if partition == PartitionId::DEFAULT {
        return !pending.minus_floored(&ResourceVector::NONE).is_none();
    }
    !pending.is_none()
}

/// The demand of an application by its figures.
#[must_use]
pub fn demand_of(app: &App) -> Demand {
    let partitions = app.parts.partitions();
    partitions.fold(Demand::default(), |demand, partition| {
        demand.with(partition, asks_on::<MAX_TYPES>(app, partition))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_beyond_the_bits_share_the_last_one() {
        let [few, last, beyond] = [0, 63, 200].map(PartitionId::at);
        let demand = Demand::default().with(few, true).with(beyond, true);
        assert!(demand.may_be_on(few) && demand.may_be_on(last) && demand.may_be_on(beyond));
        let demand = demand.with(beyond, false).with(few, false);
        assert!(
            !demand.may_be_on(few) && demand.may_be_on(last),
            "it may still"
        );
        assert!(!Demand::default().may_be_on(last));
    }
}
