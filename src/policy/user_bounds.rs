//! Bounds of user limits: what of a leaf's user limits stays while capacities and settings do.

use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{PartitionId, QueueSlot};
use crate::queue::UserBounds;
use crate::resource::{ResourceVector, share, with_calculator};
use crate::snapshot::State;

/// What of a leaf's user limits stays while capacities and settings do.
#[must_use]
pub fn user_bounds(state: &State, leaf: QueueSlot, partition: PartitionId) -> UserBounds {
    let (calculator, total) = (state.calculator, state.total(partition));
    let queue = &state.queues[leaf];
    let settings = &queue.settings.leaf;
    let guaranteed = queue.part(partition).guaranteed.get();
    let capacity = calculator.max(&total, &guaranteed, &state.minimum);
    let maximum: ResourceVector = maximum_rounded_down(state, leaf, partition);
    let most = if unbounded(settings.user_limit_factor) || guaranteed.is_none() {
        maximum
    } else {
        share::times(&capacity, f64::from(settings.user_limit_factor))
    };
    let least = least_share(state, leaf, &capacity);
    let granted = most.component_min(&least);
    UserBounds {
        epoch: state.epoch,
        capacity: capacity.into(),
        maximum: maximum.into(),
        most: most.into(),
        least: least.into(),
        calm: calculator.surely_within(&total, &capacity, &state.minimum),
        is_whole: total == state.cluster,
        granted: granted.into(),
        surely_granted: calculator
            .surely_covered((&total, &state.cluster), &granted, &state.minimum)
            .into(),
    }
}

/// The bounds that a leaf remembers, where they hold.
pub(super) fn known_bounds(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
) -> Option<&UserBounds> {
    // Must equal [`user_bounds`].
    if !FastPath::UserBounds.is_taken() {
        return None;
    }
    let parts = &state.queues[leaf].as_leaf().parts;
    let known = &parts.get(partition)?.bounds;
    let holds = known.epoch == state.epoch || is_planted(PlantedFlaw::UserBoundsSurviveEpoch);
    debug_assert!(!holds || *known == user_bounds(state, leaf, partition));
    holds.then_some(known)
}

/// A leaf's maximum on a partition, rounded down to the allocation step.
#[inline]
#[must_use]
pub fn maximum_rounded_down<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
) -> ResourceVector<N> {
    let limit = state.queues[leaf].part(partition).limit.narrow();
    let minimum = state.minimum.narrow();
    with_calculator!(state.calculator, calculator => calculator.round_down(&limit, &minimum))
}

/// The minimum user limit percent of what a leaf has.
pub(super) fn least_share<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    current: &ResourceVector<N>,
) -> ResourceVector<N> {
    let percent = state.queues[leaf].settings.leaf.user_limit_percent;
    let part = share::times(current, f64::from(percent));
    state.calculator.divide_ceil(&part, 100)
}

/// Whether a user limit factor is the one that means "no bound".
#[expect(
    clippy::float_cmp,
    reason = "the setting -1 is a word, not a measurement"
)]
pub(super) fn unbounded(factor: f32) -> bool {
    factor == -1.0
}
