//! Capacities: guaranteed and largest resources of every queue, recomputed with the cluster.
//!
//! Tests: `tests/inputs/queues.rs`.

use crate::accounting::{recompute_usage_ratio, update_used};
use crate::commit::leaves::Leaves;
use crate::commit::leaves::records::{user_limit, users_changed};
use crate::commit::tree::fractions::{derive_fractions, update_absolute};
use crate::commit::tree::vector_capacities::{distribute, set_root_capacity};
use crate::id::{PartitionId, QueueSlot};
use crate::policy::{Limits, child_limit, queue_current_limit};
use crate::queue::{CapacityMode, Exclusivity, HeadroomProvider, QueueKind, QueuePart};
use crate::resource::{MAX_TYPES, ResourceVector, share, with_width};
use crate::snapshot::State;

/// Recomputes the whole tree for the present cluster.
// As CapacityScheduler's call of root.updateClusterResource.
pub(in crate::commit) fn update_cluster(state: &mut State, leaves: &mut Leaves) {
    if !state.settings.legacy_queue_mode {
        set_root_capacity(state);
    }
    recompute(state, leaves, State::ROOT);
}

/// Recomputes a queue and those below it for the present cluster.
pub(super) fn recompute(state: &mut State, leaves: &mut Leaves, queue: QueueSlot) {
    with_width!(state.calculator, N => {
        let mut limits = Limits::<N>::new(state.cluster.narrow());
        update_queue(state, leaves, queue, &mut limits);
    });
}

fn update_queue<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    queue: QueueSlot,
    limits: &mut Limits<N>,
) {
    state.epoch += 1;
    if state.queues[queue].is_leaf() {
        update_leaf(state, leaves, queue, limits);
    } else if state.settings.legacy_queue_mode {
        update_parent_legacy(state, leaves, queue, limits);
    } else {
        update_statistics(state, queue);
        distribute(state, queue);
        update_children(state, leaves, queue, limits);
    }
}

fn update_children<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    parent: QueueSlot,
    limits: &mut Limits<N>,
) {
    for child in state.queues[parent].children.clone() {
        let default = PartitionId::DEFAULT;
        let mut below = child_limit(state, parent, child, default, limits, false);
        update_queue(state, leaves, child, &mut below);
    }
}

// As AbstractParentQueue.updateClusterResource in legacy mode.
fn update_parent_legacy<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    queue: QueueSlot,
    limits: &mut Limits<N>,
) {
    state.epoch += 1;
    let root = queue == State::ROOT;
    if root {
        for part in state.queues[queue].parts.iter_mut() {
            if part.weight > 0.0 {
                part.normalized_weight = 1.0;
            }
        }
    }
    update_absolute(state, queue);
    normalize_weights(state, queue);
    if root {
        for partition in state.partition_ids() {
            let total = state.total(partition);
            let part = state.queues[queue].part_mut(partition);
            if part.known {
                part.guaranteed.set(total);
                part.limit.set(total);
            }
        }
    } else {
        update_effective::<N>(state, queue);
    }
    for partition in state.partition_ids() {
        update_minimum_ratio(state, queue, partition);
    }
    update_children(state, leaves, queue, limits);
    update_statistics(state, queue);
}

// As AbstractLeafQueue.updateClusterResource.
fn update_leaf<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    leaf: QueueSlot,
    limits: &Limits<N>,
) {
    if state.settings.legacy_queue_mode {
        update_absolute(state, leaf);
        update_effective::<N>(state, leaf);
    }
    update_maximum_applications(state, leaf);
    follow_leaf(state, leaves, leaf, limits);
}

/// What follows for all queues from what they use, once their capacities are set.
pub(super) fn follow_use(state: &mut State, leaves: &mut Leaves) {
    with_width!(state.calculator, N => {
        let mut limits = Limits::<N>::new(state.cluster.narrow());
        follow_queue(state, leaves, State::ROOT, &mut limits);
    });
}

fn follow_queue<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    queue: QueueSlot,
    limits: &mut Limits<N>,
) {
    if state.queues[queue].is_leaf() {
        return follow_leaf(state, leaves, queue, limits);
    }
    for child in state.queues[queue].children.clone() {
        let default = PartitionId::DEFAULT;
        let mut below = child_limit(state, queue, child, default, limits, false);
        follow_queue(state, leaves, child, &mut below);
    }
    update_statistics(state, queue);
}

/// The same for a leaf, which is handed limits.
fn follow_leaf<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    leaf: QueueSlot,
    limits: &Limits<N>,
) {
    let limit = queue_current_limit(state, leaf, &limits.limit);
    state.queues[leaf].as_leaf_mut().published_limit.set(limit);
    for partition in state.partition_ids() {
        let part = state.queues[leaf].part(partition);
        if part.known || !part.used.is_none() {
            recompute_usage_ratio(state, leaf, partition);
        }
    }
    update_statistics(state, leaf);
    leaves.activate(state, leaf);
    users_changed(state, leaf);
    for app in state.queues[leaf].as_leaf().active.clone() {
        compute_headroom_provider::<N>(state, leaves, leaf, app);
    }
}

/// Every active application has a headroom from now on, unless its user was dropped.
// As AbstractLeafQueue.computeUserLimitAndSetHeadroom.
fn compute_headroom_provider<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    leaf: QueueSlot,
    app: crate::id::AppSlot,
) {
    let Some(user) = leaves.user_in(state, leaf, app) else {
        return;
    };
    let kind = Exclusivity::Respect.limit_kind();
    user_limit::<N>(state, leaf, Some(user), PartitionId::DEFAULT, kind);
    let generation = state.users[user].generation;
    let provider = HeadroomProvider {
        leaf,
        user,
        generation,
    };
    leaves.set_provider(state, app, Some(provider));
}

/// Weights of the children as fractions of their sum, where some child has a weight.
fn normalize_weights(state: &mut State, parent: QueueSlot) {
    state.epoch += 1;
    let managed = state.queues[parent].settings.kind == QueueKind::ManagedParent;
    let children = state.queues[parent].children.clone();
    let weighted = |&child: &QueueSlot| {
        let parts = &state.queues[child].parts;
        let weighs = |part: &QueuePart| part.configured && part.weight >= 0.0;
        parts.iter().any(weighs)
    };
    if !children.iter().any(weighted) {
        return;
    }
    for partition in state.partition_ids() {
        if !state.queues[parent].part(partition).known {
            continue;
        }
        for &child in &children {
            let row = &mut state.queues[child];
            let dynamic = row.settings.dynamic && !managed;
            let part = row.part_mut(partition);
            // As AbstractParentQueue.updateClusterResourceLegacyMode: dynamic queues weigh
            // something on every partition of their parent, of which they may have nothing.
            if dynamic && !part.configured {
                (part.known, part.weight) = (true, 1.0);
            }
        }
        let known: Vec<_> = children
            .iter()
            .copied()
            .filter(|&child| state.queues[child].part(partition).known)
            .collect();
        let sum = known.iter().fold(0.0, |sum, &child| {
            let weight = state.queues[child].part(partition).weight;
            share::sum(sum, if weight > 0.0 { weight } else { 0.0 })
        });
        if sum.abs() > 1e-6 {
            for child in known {
                let part = state.queues[child].part_mut(partition);
                part.normalized_weight = share::quotient(part.weight, sum);
            }
        }
    }
}

/// Guaranteed and largest resources of a queue.
// As AbstractCSQueue.updateEffectiveResources.
fn update_effective<const N: usize>(state: &mut State, queue: QueueSlot) {
    state.epoch += 1;
    let absolute = state.queues[queue].mode == CapacityMode::Absolute;
    for partition in state.partition_ids() {
        if !state.queues[queue].part(partition).configured {
            continue;
        }
        match state.queues[queue].parent.filter(|_| absolute) {
            Some(parent) => update_effective_absolute(state, queue, parent, partition),
            None => {
                let total: ResourceVector<N> = state.total(partition).narrow();
                let part = state.queues[queue].part_mut(partition);
                part.guaranteed
                    .set(share::times(&total, f64::from(part.absolute_capacity)));
                part.limit
                    .set(share::times(&total, f64::from(part.absolute_maximum)));
            }
        }
    }
}

fn update_effective_absolute(
    state: &mut State,
    queue: QueueSlot,
    parent: QueueSlot,
    partition: PartitionId,
) {
    state.epoch += 1;
    let calculator = state.calculator;
    let above = state.queues[parent].part(partition);
    let ratios = above.minimum_ratio.as_deref().copied();
    let highest = if above.amounts.maximum().is_none() {
        above.limit.get()
    } else {
        above.amounts.maximum()
    };
    // As AbstractCSQueue.getOrInheritMaxResource, which compares by shares of the partition.
    let total = state.total(partition);
    let part = state.queues[queue].part_mut(partition);
    let configured = part.amounts.minimum();
    let guaranteed = |i| match ratios.and_then(|ratios: [_; MAX_TYPES]| ratios[i]) {
        Some(ratio) => share::scale_f32(configured[i], ratio),
        None => configured[i],
    };
    part.guaranteed = ResourceVector::<MAX_TYPES>::build(guaranteed).into();
    part.limit.set(if part.amounts.maximum().is_none() {
        highest
    } else {
        calculator.min(&total, &part.amounts.maximum(), &highest)
    });
    derive_fractions(state, queue, parent, partition);
}

/// How far the children's absolute minimums are scaled down.
// As AbstractParentQueue's calculation of effectiveMinResourceRatio.
fn update_minimum_ratio(state: &mut State, queue: QueueSlot, partition: PartitionId) {
    let row = &state.queues[queue];
    let sum = row
        .children
        .iter()
        .fold(ResourceVector::NONE, |sum, &child| {
            sum + state.queues[child].part(partition).amounts.minimum()
        });
    let own = row.part(partition).guaranteed.get();
    let root_without_nodes = row.parent.is_none() && own.is_none();
    let calculator = state.calculator;
    let too_little = calculator.compare(&state.cluster, &own, &sum).is_lt();
    state.queues[queue].part_mut(partition).minimum_ratio = (too_little && !root_without_nodes)
        .then(|| {
            let ratio = |i: usize| (sum[i] != 0).then(|| share::safe_div(own[i], sum[i]));
            Box::new(std::array::from_fn::<_, MAX_TYPES, _>(ratio))
        });
}

/// Used shares on every partition that the queue has figures for.
pub(in crate::commit) fn update_statistics(state: &mut State, queue: QueueSlot) {
    for partition in state.partition_ids() {
        let row = &state.queues[queue];
        let part = row.part(partition);
        // A limit for masters counts as use.
        let limited = row.leaf.as_ref().is_some_and(|leaf| {
            let of = leaf.parts.get(partition);
            of.is_some_and(|of| of.master_limit.is_some())
        });
        if part.known || part.counted || limited {
            update_used(state, queue, partition);
        }
    }
}

// As LeafQueue.updateMaximumApplications.
pub(in crate::commit) fn update_maximum_applications(state: &mut State, leaf: QueueSlot) {
    let settings = &state.settings;
    let system = settings.maximum_applications;
    let every = settings.global_queue_maximum_applications;
    let base = every.map_or(system, |every| every.min(system));
    let queue = &state.queues[leaf];
    let not_ready = !settings.legacy_queue_mode && state.cluster.is_none();
    let most = match queue.settings.leaf.maximum_applications {
        Some(most) => most,
        None if not_ready => base,
        None if every.is_some() && queue.mode != CapacityMode::Absolute => base,
        None => queue
            .parts
            .iter()
            .filter(|part| part.configured)
            .map(|part| share::portion(base, part.absolute_capacity))
            .fold(-1, i32::max),
    };
    let of = &queue.settings.leaf;
    let unbounded = of.user_limit_factor.to_bits() == (-1.0f32).to_bits();
    let per_user = if unbounded {
        most
    } else {
        let (percent, factor) = (of.user_limit_percent, of.user_limit_factor);
        most.min(share::applications_per_user(most, percent, factor))
    };
    let users = state.queues[leaf].as_leaf_mut();
    users.maximum_applications = most;
    users.maximum_applications_per_user = per_user;
}
