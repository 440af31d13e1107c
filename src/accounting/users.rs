//! Figures of users: what they use in a leaf, usage ratios, activity, and bounds of their limits.
//!
//! The leaf keeps sums over its users, so that no pass adds them up. Each function here moves a
//! user's figure and the sums of the leaf together.
//!
//! Tests: `tests/commit/user_bounds.rs`.

use super::prepared_use::PreparedUse;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{PartitionId, QueueSlot, UserSlot, java_order};
use crate::policy::user_bounds;
use crate::queue::{User, UserPart};
use crate::resource::{Calculator, ResourceVector, share, with_calculator, with_width};
use crate::snapshot::State;

/// Sum of the weights of the users of a leaf, in the order of a hash map of their names.
pub(crate) fn sum_weights(state: &State, leaf: QueueSlot, only_active: bool) -> f32 {
    let users = state.queues[leaf].as_leaf().users.iter();
    let users = users
        .map(|&user| &state.users[user])
        .filter(|user| user.active || !only_active);
    let add = |sum, user: &User| share::sum(sum, user.weight);
    let in_any_order = |(sum, ones), user| (add(sum, user), ones && has_weight_one(user));
    // Ones add up exactly, whatever their order.
    let (sum, ones) = users.clone().fold((0.0, true), in_any_order);
    if ones {
        return sum;
    }
    let mut users: Vec<&User> = users.collect();
    java_order::sort(&mut users, 0, |user| java_order::string_hash(&user.name));
    users.into_iter().fold(0.0, add)
}

/// Updates the weight of a leaf's active users, one of whom just became active or stopped being so.
pub(crate) fn follow_active_weight(state: &mut State, leaf: QueueSlot, became: bool) {
    let users = state.queues[leaf].as_leaf();
    let ones = users.own_weights == 0 || is_planted(PlantedFlaw::UnitWeightsIgnoreOwn);
    // Must equal [`sum_weights`]: ones add up exactly.
    let weight = if ones && FastPath::UnitWeights.is_taken() {
        let weight = share::sum(users.active_weight, if became { 1.0 } else { -1.0 });
        debug_assert_eq!(weight.to_bits(), sum_weights(state, leaf, true).to_bits());
        weight
    } else {
        sum_weights(state, leaf, true)
    };
    state.queues[leaf].as_leaf_mut().active_weight = weight;
}

/// Users of a leaf that have a weight of their own, which is not 1.
pub(crate) fn count_own_weights(state: &State, leaf: QueueSlot) -> usize {
    let users = state.queues[leaf].as_leaf().users.iter();
    users
        .filter(|&&user| !has_weight_one(&state.users[user]))
        .count()
}

fn has_weight_one(user: &User) -> bool {
    user.weight.to_bits() == 1.0f32.to_bits()
}

/// The last application of a user that asked for something in a leaf does not any more: the user's use is
/// not that of an active one from now on.
// As UsersManager.deactivateApplication, where the user's last application stops.
pub(crate) fn deactivate_user(state: &mut State, leaf: QueueSlot, user: UserSlot) {
    let users = state.queues[leaf].as_leaf_mut();
    users.asking_users -= 1;
    users.users_version += 1;
    if !std::mem::take(&mut state.users[user].active) {
        return;
    }
    follow_active_weight(state, leaf, false);
    for partition in state.users[user].parts.partitions() {
        let used = state.users[user].part(partition).used.get();
        let users = state.queues[leaf].as_leaf_mut();
        users.parts[partition].active_used -= used;
    }
}

/// Charges a user; the usage ratio of the leaf moves by the difference.
#[inline(always)]
pub(crate) fn charge_user<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    user: UserSlot,
    partition: PartitionId,
    size: ResourceVector<N>,
) {
    let (total, epoch) = (state.partitions[partition].total.narrow::<N>(), state.epoch);
    let record = &mut state.users[user];
    let active = record.active;
    let part = &mut record.parts[partition];
    part.used += size;
    let delta = update_usage_ratio(state.calculator, &total, part);
    let users = state.queues[leaf].as_leaf_mut();
    users.users_version += 1;
    let part = &mut users.parts[partition];
    if active {
        part.active_used += size;
    }
    part.usage_ratio = share::sum(part.usage_ratio, delta);
    // As [`renew_bounds`], with the row at hand.
    if part.bounds.epoch != epoch {
        compute_bounds(state, leaf, partition);
    }
}

/// Charges a user of a leaf with several amounts, one after the other, at first with those that are prepared. The usage
/// ratio of the leaf is a sum in `f32`: what it comes to depends on each step and on their order. All other figures
/// depend on the sum of the amounts alone.
///
/// Cost: a share of the partition for each that is not prepared, and a sum for each that is.
pub(crate) fn charge_user_each<const N: usize>(
    state: &mut State,
    (leaf, user): (QueueSlot, UserSlot),
    partition: PartitionId,
    prepared: Option<&PreparedUse>,
    sizes: impl Iterator<Item = ResourceVector<N>>,
) {
    debug_assert!(
        prepared.is_none_or(|all| all.is_for(state, Some(state.users[user].part(partition)))),
        "charges are prepared for what the user uses"
    );
    let total = state.partitions[partition].total.narrow::<N>();
    let ratio = state.queues[leaf].as_leaf().parts[partition].usage_ratio;
    let mut ratio = prepared.map_or(ratio, |prepared| prepared.moved(ratio));
    let record = &mut state.users[user];
    let active = record.active;
    let part = &mut record.parts[partition];
    let before = part.used.narrow::<N>();
    let mut count = prepared.map_or(0, PreparedUse::count);
    let mut used = before + prepared.map_or(ResourceVector::NONE, |all| all.sum().narrow());
    let mut own = prepared.map_or(part.usage_ratio, PreparedUse::ratio);
    with_calculator!(state.calculator, calculator => for size in sizes {
        used += size;
        let after = calculator.ratio(&used, &total);
        ratio = share::sum(ratio, share::difference(after, own));
        own = after;
        count += 1;
    });
    let all = used - before;
    part.used += all;
    part.usage_ratio = own;
    let users = state.queues[leaf].as_leaf_mut();
    users.users_version += count;
    let part = &mut users.parts[partition];
    if active {
        part.active_used += all;
    }
    part.usage_ratio = ratio;
    renew_bounds(state, leaf, partition);
}

/// Sums the usage ratios of a leaf again, in the order of a hash map of its users.
// As UsersManager.updateUsageRatio.
pub(crate) fn recompute_usage_ratio(state: &mut State, leaf: QueueSlot, partition: PartitionId) {
    let users = state.queues[leaf].as_leaf_mut();
    if users.users.is_empty() {
        users.parts[partition].usage_ratio = 0.0;
        return;
    }
    let (mut order, most) = (users.users.clone(), users.most_users);
    java_order::sort(&mut order, most, |&user| {
        java_order::string_hash(&state.users[user].name)
    });
    let (calculator, total) = (state.calculator, state.total(partition));
    let sum = with_width!(calculator, N => {
        let total: ResourceVector<N> = total.narrow();
        order.into_iter().fold(0.0, |sum, user| {
            let part = &mut state.users[user].parts[partition];
            part.usage_ratio = 0.0;
            share::sum(sum, update_usage_ratio(calculator, &total, part))
        })
    });
    let users = state.queues[leaf].as_leaf_mut();
    users.parts[partition].usage_ratio = sum;
}

/// Renews the bounds of a leaf's user limits, unless they hold: where limits matter and before
/// publications, not whenever capacities change, which is many times for each node that comes.
#[inline]
pub(crate) fn renew_bounds(state: &mut State, leaf: QueueSlot, partition: PartitionId) {
    let known = state.queues[leaf].as_leaf().parts[partition].bounds.epoch;
    if known != state.epoch {
        compute_bounds(state, leaf, partition);
    }
}

#[cold]
fn compute_bounds(state: &mut State, leaf: QueueSlot, partition: PartitionId) {
    let bounds = user_bounds(state, leaf, partition);
    state.queues[leaf].as_leaf_mut().parts[partition].bounds = bounds;
}

/// Recomputes a user's share of a partition; returns how much it moved.
#[inline]
fn update_usage_ratio<const N: usize>(
    calculator: Calculator,
    total: &ResourceVector<N>,
    part: &mut UserPart,
) -> f32 {
    let (before, used) = (part.usage_ratio, part.used.narrow());
    part.usage_ratio = with_calculator!(calculator, calculator => calculator.ratio(&used, total));
    share::difference(part.usage_ratio, before)
}
