//! Bounds of user limits: what of a leaf's user limits stays while capacities and settings do.

use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{PartitionId, QueueSlot};
use crate::queue::UserBounds;
use crate::resource::{Calculator, ResourceVector, share, with_calculator, with_width};
use crate::snapshot::State;

/// What of a leaf's user limits stays while capacities and settings do.
#[must_use]
pub fn user_bounds(state: &State, leaf: QueueSlot, partition: PartitionId) -> UserBounds {
    with_width!(state.calculator, N => {
        let calculator = state.calculator;
        with_calculator!(
            calculator,
            calculator => bounds_of_types::<N>(state, calculator, leaf, partition)
        )
    })
}

#[inline(always)]
fn bounds_of_types<const N: usize>(
    state: &State,
    calculator: Calculator,
    leaf: QueueSlot,
    partition: PartitionId,
) -> UserBounds {
    let total: ResourceVector<N> = state.total(partition).narrow();
    let (cluster, minimum) = (state.cluster.narrow(), state.minimum.narrow());
    let queue = &state.queues[leaf];
    let settings = &queue.settings.leaf;
    let guaranteed = queue.part(partition).guaranteed.narrow();
    let capacity = calculator.max(&total, &guaranteed, &minimum);
    let maximum: ResourceVector<N> = maximum_rounded_down(state, leaf, partition);
    let most = if unbounded(settings.user_limit_factor) || guaranteed.is_none() {
        maximum
    } else {
        share::times(&capacity, f64::from(settings.user_limit_factor))
    };
    let least = least_share(state, leaf, &capacity);
    let granted = most.component_min(&least);
    UserBounds {
        epoch: state.epoch,
        capacity: capacity.widen().into(),
        maximum: maximum.widen().into(),
        most: most.widen().into(),
        least: least.widen().into(),
        calm: calculator.surely_within(&total, &capacity, &minimum),
        is_whole: total == cluster,
        granted: granted.widen().into(),
        surely_granted: calculator
            .surely_covered((&total, &cluster), &granted, &minimum)
            .widen()
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
    let known = &parts[partition].bounds;
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
