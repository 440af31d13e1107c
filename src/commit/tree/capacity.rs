//! Capacities: guaranteed and largest resources of every queue, recomputed with the cluster.
//!
//! Tests: `tests/inputs/queues.rs`.

use crate::accounting::{recompute_usage_ratio, update_used};
use crate::commit::leaves::Leaves;
use crate::commit::leaves::activation::{is_limited_on, keep_master_limit};
use crate::commit::leaves::records::{user_limit, users_changed};
use crate::commit::tree::fractions::{derive_fractions, update_absolute};
use crate::commit::tree::vector_capacities::{distribute, set_root_capacity};
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{
    Limits, ParentRoom, limit_under, master_limit_under, maximum_rounded_down, published_limit,
};
use crate::queue::{ApplicationRule, CapacityMode, Exclusivity, HeadroomProvider, QueueKind};
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
        let limit: ResourceVector<N> = state.cluster.narrow();
        update_queue(state, leaves, queue, Handed { limit, of_pass: None });
    });
}

/// What a queue may use on the default partition as its parent hands it down.
#[derive(Clone, Copy)]
struct Handed<const N: usize> {
    /// To the visit of all queues.
    limit: ResourceVector<N>,
    /// To a pass, where passes do not publish the limits of leaves.
    of_pass: Option<ResourceVector<N>>,
}

/// What a parent hands down, worked out once for all its children.
struct HandedDown<const N: usize> {
    visit: ParentRoom<N>,
    pass: Option<ParentRoom<N>>,
}

impl<const N: usize> HandedDown<N> {
    fn of(state: &State, parent: QueueSlot, handed: Handed<N>) -> Self {
        let mut limits = Limits::new(handed.limit);
        let default = PartitionId::DEFAULT;
        let of_pass = || ParentRoom::of_pass(state, parent);
        Self {
            visit: ParentRoom::of(state, parent, default, &mut limits, false),
            pass: (!state.updates_leaf_limits()).then(of_pass),
        }
    }

    fn to(&self, state: &State, child: QueueSlot) -> Handed<N> {
        Handed {
            limit: self.visit.limit_of(state, child),
            of_pass: self.pass.map(|pass| pass.limit_of(state, child)),
        }
    }
}

fn update_queue<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    queue: QueueSlot,
    handed: Handed<N>,
) {
    state.epoch += 1;
    if state.queues[queue].is_leaf() {
        update_leaf(state, leaves, queue, handed);
    } else if state.settings.legacy_queue_mode {
        update_parent_legacy(state, leaves, queue, handed);
    } else {
        update_statistics::<N>(state, queue);
        distribute(state, queue);
        update_children(state, leaves, queue, handed);
    }
}

fn update_children<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    parent: QueueSlot,
    handed: Handed<N>,
) {
    let down = HandedDown::of(state, parent, handed);
    for at in 0..state.queues[parent].children.len() {
        let child = state.queues[parent].children[at];
        update_queue(state, leaves, child, down.to(state, child));
    }
}

// As AbstractParentQueue.updateClusterResource in legacy mode.
fn update_parent_legacy<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    queue: QueueSlot,
    handed: Handed<N>,
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
    let children = ChildrenSettings::of(state, queue);
    if children.weigh {
        normalize_weights(state, queue);
    }
    if root {
        for partition in state.queues[queue].partitions() {
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
    for (partition, minimum) in state.partition_ids().zip(&children.minimums) {
        update_minimum_ratio(state, queue, partition, minimum);
    }
    update_children(state, leaves, queue, handed);
    update_statistics::<N>(state, queue);
}

// As AbstractLeafQueue.updateClusterResource.
fn update_leaf<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    leaf: QueueSlot,
    handed: Handed<N>,
) {
    if state.settings.legacy_queue_mode {
        update_absolute(state, leaf);
        update_effective::<N>(state, leaf);
    }
    update_maximum_applications(state, leaf);
    follow_leaf(state, leaves, leaf, handed);
}

/// What follows for all queues from what they use. `enter` sets what a queue is configured with: those above it are
/// entered before.
///
/// Cost: a visit of each queue in the order of their memory, since lists are in that of a hash map after a refresh. Then
/// one of each leaf with applications and of those above it: applications become active in the order of the lists.
pub(super) fn follow_use(
    state: &mut State,
    leaves: &mut Leaves,
    enter: impl FnMut(&mut State, &mut Leaves, QueueSlot),
) {
    with_width!(state.calculator, N => follow_figures::<N>(state, leaves, enter));
}

fn follow_figures<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    mut enter: impl FnMut(&mut State, &mut Leaves, QueueSlot),
) {
    let limit: ResourceVector<N> = state.cluster.narrow();
    let mut parents: Vec<(QueueSlot, HandedDown<N>)> = Vec::new();
    let mut in_order = vec![false; state.queues.len()];
    for queue in (0..state.queues.len()).map(QueueSlot::at) {
        if state.queues[queue].removed {
            continue;
        }
        enter(state, leaves, queue);
        let handed = state.queues[queue].parent.map(|parent| {
            // A queue comes after the one above it.
            let at = parents.binary_search_by_key(&parent, |&(parent, _)| parent);
            parents[at.expect("the one above was visited")]
                .1
                .to(state, queue)
        });
        let handed = handed.unwrap_or(Handed {
            limit,
            of_pass: None,
        });
        in_order[queue.index()] = true;
        if state.queues[queue].is_leaf() {
            follow_leaf_figures(state, queue, handed);
            let leaf = state.queues[queue].as_leaf();
            if leaf.waiting.is_empty() && leaf.active.is_empty() {
                follow_apps::<N>(state, leaves, queue);
                in_order[queue.index()] = false;
            }
        } else {
            parents.push((queue, HandedDown::of(state, queue, handed)));
            update_statistics::<N>(state, queue);
        }
    }
    follow_apps_below::<N>(state, leaves, State::ROOT, &in_order);
}

/// What follows for applications below a queue, in the order of its list. `in_order`: the queues to be visited, by slot.
fn follow_apps_below<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    queue: QueueSlot,
    in_order: &[bool],
) {
    for at in 0..state.queues[queue].children.len() {
        let child = state.queues[queue].children[at];
        if !in_order[child.index()] {
            continue;
        }
        if state.queues[child].is_leaf() {
            follow_apps::<N>(state, leaves, child);
        } else {
            follow_apps_below::<N>(state, leaves, child, in_order);
        }
    }
}

/// What follows for a leaf from what it uses.
fn follow_leaf<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    leaf: QueueSlot,
    handed: Handed<N>,
) {
    follow_leaf_figures(state, leaf, handed);
    follow_apps::<N>(state, leaves, leaf);
}

fn follow_leaf_figures<const N: usize>(state: &mut State, leaf: QueueSlot, handed: Handed<N>) {
    let own = maximum_rounded_down(state, leaf, PartitionId::DEFAULT);
    let limit = limit_under(state, &own, &handed.limit);
    let current = handed
        .of_pass
        .map_or(limit, |of_pass| limit_under(state, &own, &of_pass));
    let row = state.queues[leaf].as_leaf_mut();
    row.published_limit.set(limit);
    debug_assert_eq!(current, published_limit(state, leaf));
    for partition in state.queues[leaf].partitions() {
        follow_on(state, leaf, partition, &current);
    }
}

/// What follows for the applications of a leaf: which become active, and what headroom they have.
fn follow_apps<const N: usize>(state: &mut State, leaves: &mut Leaves, leaf: QueueSlot) {
    leaves.activate_under(state, leaf);
    users_changed(state, leaf);
    let mut handed = None;
    for at in 0..state.queues[leaf].as_leaf().active.len() {
        let app = state.queues[leaf].as_leaf().active[at];
        compute_headroom_provider::<N>(state, leaves, leaf, app, &mut handed);
    }
}

/// What follows for the figures of a leaf on a partition. `current`: what it may use on the default one.
fn follow_on<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    current: &ResourceVector<N>,
) {
    let part = state.queues[leaf].part(partition);
    if part.known || !part.used.is_none() {
        recompute_usage_ratio(state, leaf, partition);
    }
    if state.queues[leaf].part(partition).has_figures() {
        update_used::<N>(state, leaf, partition);
    }
    if is_limited_on(state, leaf, partition) {
        let is_default = partition == PartitionId::DEFAULT;
        let none = ResourceVector::NONE;
        let current = if is_default { current } else { &none };
        let limit = master_limit_under(state, leaf, partition, current);
        keep_master_limit(state, leaf, partition, limit.widen());
    }
}

/// Every active application has a headroom from now on, unless its user was dropped. `handed`: the user whose limit was
/// computed last, and which holds.
// As AbstractLeafQueue.computeUserLimitAndSetHeadroom.
fn compute_headroom_provider<const N: usize>(
    state: &mut State,
    leaves: &mut Leaves,
    leaf: QueueSlot,
    app: AppSlot,
    handed: &mut Option<UserSlot>,
) {
    let Some(user) = leaves.user_in(state, leaf, app) else {
        return;
    };
    if *handed != Some(user) {
        let kind = Exclusivity::Respect.limit_kind();
        user_limit::<N>(state, leaf, Some(user), PartitionId::DEFAULT, kind);
        *handed = Some(user);
    }
    let generation = state.users[user].generation;
    let provider = HeadroomProvider {
        leaf,
        user,
        generation,
    };
    if state.apps[app].provider != Some(provider) {
        leaves.set_provider(state, app, Some(provider));
        // What was handed out before may be noted with the user again.
        *handed = None;
    }
}

/// What a visit of the children of a queue depends on, read in one scan: with some thousand of them a scan is mostly
/// cache misses.
struct ChildrenSettings {
    /// Whether any of them has a weight.
    weigh: bool,
    /// The sum of their absolute minimums, by partition.
    minimums: Vec<ResourceVector>,
}

impl ChildrenSettings {
    fn of(state: &State, parent: QueueSlot) -> Self {
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
fn normalize_weights(state: &mut State, parent: QueueSlot) {
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
fn update_effective<const N: usize>(state: &mut State, queue: QueueSlot) {
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
fn update_minimum_ratio(
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

/// Used shares on every partition that the queue has figures for.
pub(in crate::commit) fn update_statistics<const N: usize>(state: &mut State, queue: QueueSlot) {
    for partition in state.queues[queue].partitions() {
        if state.queues[queue].part(partition).has_figures() {
            update_used::<N>(state, queue, partition);
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
