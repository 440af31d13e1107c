//! What a queue is guaranteed and may have at most, from its configuration and the queue above.
//!
//! Tests: `tests/inputs/queues.rs`.

use crate::commit::tree::fractions::derive_fractions;
use crate::id::{PartitionId, QueueSlot};
use crate::queue::{ApplicationRule, CapacityMode, QueueKind};
use crate::resource::{MAX_TYPES, ResourceVector, share};
use crate::snapshot::State;

/// What a visit of the children of a queue depends on, read in one scan: with some thousand of them a scan is mostly
/// cache misses.
pub(super) struct ChildrenSettings {
    /// Whether any of them has a weight.
    pub(super) weigh: bool,
    /// The sum of their absolute minimums, by partition.
    pub(super) minimums: Vec<ResourceVector>,
}

impl ChildrenSettings {
    pub(super) fn of(state: &State, parent: QueueSlot) -> Self {
        let mut settings = Self {
            weigh: false,
            minimums: vec![ResourceVector::NONE; state.partitions.len()],
        };
        for &child in &state.queues[parent].children {
            let parts = &state.queues[child].parts;
            for (part, minimum) in parts.iter().zip(&mut settings.minimums) {
                settings.weigh |= part.weight >= 0.0 && part.configured;
                part.amounts.add_minimum_to(minimum);
            }
        }
        settings
    }
}

/// Weights of the children as fractions of their sum.
pub(super) fn normalize_weights(state: &mut State, parent: QueueSlot) {
    state.epoch += 1;
    let managed = state.queues[parent].settings.kind == QueueKind::ManagedParent;
    let children = state.queues[parent].children.clone();
    for partition in state.partition_ids() {
        if !state.queues[parent].part(partition).known {
            continue;
        }
        for &child in &children {
            let row = &mut state.queues[child];
            let dynamic = row.settings.dynamic && !managed;
            // As AbstractParentQueue.updateClusterResourceLegacyMode: dynamic queues weigh
            // something on every partition of their parent, of which they may have nothing.
            if dynamic && !row.part(partition).configured {
                let part = row.part_mut(partition);
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
pub(super) fn update_effective<const N: usize>(state: &mut State, queue: QueueSlot) {
    state.epoch += 1;
    let absolute = state.queues[queue].mode == CapacityMode::Absolute;
    for partition in state.queues[queue].partitions() {
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
pub(super) fn update_minimum_ratio(
    state: &mut State,
    queue: QueueSlot,
    partition: PartitionId,
    sum: &ResourceVector,
) {
    let row = &state.queues[queue];
    let own = row.part(partition).guaranteed.get();
    let root_without_nodes = row.parent.is_none() && own.is_none();
    let calculator = state.calculator;
    let too_little = calculator.compare(&state.cluster, &own, sum).is_lt();
    let ratios = (too_little && !root_without_nodes).then(|| {
        let ratio = |i: usize| (sum[i] != 0).then(|| share::safe_div(own[i], sum[i]));
        Box::new(std::array::from_fn::<_, MAX_TYPES, _>(ratio))
    });
    if ratios.is_some() || row.part(partition).minimum_ratio.is_some() {
        state.queues[queue].part_mut(partition).minimum_ratio = ratios;
    }
}

// As LeafQueue.updateMaximumApplications.
pub(super) fn update_maximum_applications(state: &mut State, leaf: QueueSlot) {
    let settings = &state.settings;
    let system = settings.maximum_applications;
    let every = settings.global_queue_maximum_applications;
    let base = every.map_or(system, |every| every.min(system));
    let queue = &state.queues[leaf];
    let rule = queue.as_leaf().application_rule;
    debug_assert_eq!(rule, ApplicationRule::of(&queue.settings.leaf));
    let not_ready = !settings.legacy_queue_mode && state.cluster.is_none();
    let most = match rule.maximum_applications {
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
    let unbounded = rule.user_limit_factor.to_bits() == (-1.0f32).to_bits();
    let per_user = if unbounded {
        most
    } else {
        let (percent, factor) = (rule.user_limit_percent, rule.user_limit_factor);
        most.min(share::applications_per_user(most, percent, factor))
    };
    let users = state.queues[leaf].as_leaf_mut();
    users.maximum_applications = most;
    users.maximum_applications_per_user = per_user;
}
