//! Who is surely within a user limit or over it, without the limit being computed.

use super::limits::{compute_user_limit, user_value, weighted_value};
use super::user_bounds::known_bounds;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{PartitionId, QueueSlot};
use crate::queue::{Floor, LeafPart, LimitKind, User, UserBounds};
use crate::resource::{ResourceVector, share};
use crate::snapshot::State;

/// Whether a user is surely not over the limit: no limit is computed then. One may have what users are
/// granted in any case while they use little, and as much as the average of the active ones.
#[inline(always)]
#[must_use]
pub fn is_granted<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    user: &User,
) -> bool {
    // Must equal a comparison with [`compute_user_limit`].
    if !FastPath::GrantedUser.is_taken() {
        return false;
    }
    let Some(bounds) = known_bounds(state, leaf, partition) else {
        return false;
    };
    let used = user.part(partition).used.narrow::<N>();
    let (users, calculator) = (state.queues[leaf].as_leaf(), state.calculator);
    let figures = &users.parts[partition];
    let calm = figures.usage_ratio < bounds.calm;
    // The limit is computed by the shares of the partition, and compared by those of the cluster.
    let granted = if bounds.is_whole && user.weight.to_bits() == 1.0_f32.to_bits() {
        (calm && calculator.fits_in(&used, &bounds.granted.narrow()))
            || is_within_average(state, users.active_weight, figures, bounds, &used)
    } else {
        let covered = bounds.surely_granted.narrow();
        let granted = share::times(&covered, f64::from(user.weight));
        calm && user.weight >= 1.0 && calculator.fits_in(&used, &granted)
    };
    debug_assert!(
        !granted || {
            let limit = compute_user_limit::<N>(state, leaf, partition, LimitKind::Respect);
            let limit = user_value(state, &limit, Some(user));
            calculator
                .compare(&state.cluster.narrow(), &used, &limit)
                .is_le()
        }
    );
    granted
}

/// Whether no type of an amount is more than the average of the active users, nor than one user may
/// have by the factor. The limit of a user of weight 1 is the smaller of that and some amount that
/// compares not less than the average, rounded up.
// Must agree with [`compute_user_limit`] where it says yes.
fn is_within_average<const N: usize>(
    state: &State,
    active_weight: f32,
    figures: &LeafPart,
    bounds: &UserBounds,
    used: &ResourceVector<N>,
) -> bool {
    let calculator = state.calculator;
    let most = bounds.most.narrow();
    let below_factor =
        calculator.fits_in(used, &most) || is_planted(PlantedFlaw::GrantedUserIgnoresFactor);
    active_weight > 0.0 && below_factor && {
        let base = figures.active_used.narrow() + state.minimum.narrow();
        let equal = calculator.divide_ceil_f32(&base, active_weight);
        calculator.fits_in(used, &equal)
    }
}

/// How often the interval is halved in which [`surely_over_from`] looks for the smallest weight.
const HALVINGS: usize = 6;

/// A weight of a leaf's active users from which on users of a `weight` who use at least `used` are
/// over their limit, while active users have no more than the leaf's guarantee in this epoch: near the
/// smallest such weight, so that users who ask for nothing more do not end what is certain. Infinite
/// where it is not so at the weight of now, or not known.
#[must_use]
pub fn surely_over_from<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    (weight, used): (f32, &ResourceVector<N>),
) -> f32 {
    let active = state.queues[leaf].as_leaf().active_weight;
    let Some(bounds) =
        known_bounds(state, leaf, partition).filter(|_| active > 0.0 && weight >= 0.0)
    else {
        return f32::INFINITY;
    };
    let (calculator, step) = (state.calculator, state.minimum.narrow());
    let base = bounds.capacity.narrow() + step;
    // The more the active users weigh, the less each may have.
    let is_over = |active: f32| {
        let equal = calculator.divide_ceil_f32(&base, active);
        let most = equal.component_max(&bounds.least.narrow());
        // The limit is one of these two, if neither exceeds what a user may have by the factor.
        let limit = weighted_value(state, &calculator.round_up(&most, &step), weight);
        let over = calculator.compare(&state.cluster.narrow(), used, &limit);
        calculator.fits_in(&most, &bounds.most.narrow()) && over.is_gt()
    };
    if !is_over(active) {
        return f32::INFINITY;
    }
    let (mut open, mut sure) = (0.0, active);
    for _ in 0..HALVINGS {
        let middle = share::product(share::sum(open, sure), 0.5);
        if is_over(middle) {
            sure = middle;
        } else {
            open = middle;
        }
    }
    sure
}

/// Whether all users on a floor are surely over their limit: no limit is computed then.
#[inline]
#[must_use]
pub fn is_surely_over<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    floor: &Floor,
) -> bool {
    // Must equal a comparison with [`compute_user_limit`].
    if !FastPath::UserSurelyOver.is_taken() {
        return false;
    }
    let Some(bounds) = known_bounds(state, leaf, partition) else {
        return false;
    };
    let users = state.queues[leaf].as_leaf();
    let figures = &users.parts[partition];
    let over = floor.epoch == state.epoch
        && floor.surely_from.is_finite()
        && (users.active_weight >= floor.surely_from
            || is_planted(PlantedFlaw::UserSurelyOverIgnoresWeight))
        && figures.usage_ratio < bounds.calm
        && state.calculator.fits_in(
            &figures.active_used.narrow::<N>(),
            &bounds.capacity.narrow(),
        );
    debug_assert!(
        !over || {
            let limit = compute_user_limit::<N>(state, leaf, partition, LimitKind::Respect);
            let limit = weighted_value(state, &limit, floor.weight);
            let cluster = state.cluster.narrow();
            let order = state
                .calculator
                .compare(&cluster, &floor.used.narrow(), &limit);
            order.is_gt()
        }
    );
    over
}
