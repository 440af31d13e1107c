//! Capacities: guaranteed and largest resources of every queue, recomputed with the cluster.
//!
//! A visit of all queues is one step for decisions, which would see both capacities otherwise. Between two queues it may
//! pause for calls that decide nothing ([`VisitedQueues::pause`]).
//!
//! Tests: `tests/inputs/queues.rs`.

use crate::accounting::{recompute_usage_ratio, update_used};
use crate::commit::leaves::Leaves;
use crate::commit::leaves::activation::{is_limited_on, keep_master_limit};
use crate::commit::leaves::records::{user_limit, users_changed};
use crate::commit::tree::effective::{
    ChildrenSettings, normalize_weights, update_effective, update_maximum_applications,
    update_minimum_ratio,
};
use crate::commit::tree::fractions::update_absolute;
use crate::commit::tree::vector_capacities::{distribute, set_root_capacity};
use crate::commit::tree::visited_queues::VisitedQueues;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{
    Limits, ParentRoom, limit_under, master_limit_under, maximum_rounded_down, published_limit,
};
use crate::queue::{Exclusivity, HeadroomProvider};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

/// Recomputes the whole tree for the present cluster.
// As CapacityScheduler's call of root.updateClusterResource.
pub(in crate::commit) fn update_cluster(visited: &mut impl VisitedQueues) {
    let (state, _) = visited.rows();
    if !state.settings.legacy_queue_mode {
        set_root_capacity(state);
    }
    recompute(visited, State::ROOT);
}

/// Recomputes a queue and those below it for the present cluster.
pub(super) fn recompute(visited: &mut impl VisitedQueues, queue: QueueSlot) {
    let (state, _) = visited.rows();
    with_width!(state.calculator, N => {
        let limit: ResourceVector<N> = state.cluster.narrow();
        update_queue(visited, queue, Handed { limit, of_pass: None });
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
    visited: &mut impl VisitedQueues,
    queue: QueueSlot,
    handed: Handed<N>,
) {
    let (state, _) = visited.rows();
    state.epoch += 1;
    if state.queues[queue].is_leaf() {
        update_leaf(visited, queue, handed);
    } else if state.settings.legacy_queue_mode {
        update_parent_legacy(visited, queue, handed);
    } else {
        update_statistics::<N>(state, queue);
        distribute(visited, queue);
        update_children(visited, queue, handed);
    }
}

fn update_children<const N: usize>(
    visited: &mut impl VisitedQueues,
    parent: QueueSlot,
    handed: Handed<N>,
) {
    let (state, _) = visited.rows();
    let down = HandedDown::of(state, parent, handed);
    for at in 0..state.queues[parent].children.len() {
        visited.pause();
        let (state, _) = visited.rows();
        let child = state.queues[parent].children[at];
        let handed = down.to(state, child);
        update_queue(visited, child, handed);
    }
}

// As AbstractParentQueue.updateClusterResource in legacy mode.
fn update_parent_legacy<const N: usize>(
    visited: &mut impl VisitedQueues,
    queue: QueueSlot,
    handed: Handed<N>,
) {
    let (state, _) = visited.rows();
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
    update_children(visited, queue, handed);
    update_statistics::<N>(visited.rows().0, queue);
}

// As AbstractLeafQueue.updateClusterResource.
fn update_leaf<const N: usize>(
    visited: &mut impl VisitedQueues,
    leaf: QueueSlot,
    handed: Handed<N>,
) {
    let (state, _) = visited.rows();
    if state.settings.legacy_queue_mode {
        update_absolute(state, leaf);
        update_effective::<N>(state, leaf);
    }
    update_maximum_applications(state, leaf);
    follow_leaf_figures(state, leaf, handed);
    follow_apps::<N>(visited, leaf);
}

/// What follows for all queues from what they use. `enter` sets what a queue is configured with: those above it are
/// entered before.
///
/// Cost: a visit of each queue in the order of their memory, since lists are in that of a hash map after a refresh. Then
/// one of each leaf with applications and of those above it: applications become active in the order of the lists.
pub(super) fn follow_use(
    visited: &mut impl VisitedQueues,
    enter: impl FnMut(&mut State, &mut Leaves, QueueSlot),
) {
    with_width!(visited.rows().0.calculator, N => follow_figures::<N>(visited, enter));
}

fn follow_figures<const N: usize>(
    visited: &mut impl VisitedQueues,
    mut enter: impl FnMut(&mut State, &mut Leaves, QueueSlot),
) {
    let (state, _) = visited.rows();
    let limit: ResourceVector<N> = state.cluster.narrow();
    let mut parents: Vec<(QueueSlot, HandedDown<N>)> = Vec::new();
    let mut in_order = vec![false; state.queues.len()];
    for queue in (0..state.queues.len()).map(QueueSlot::at) {
        visited.pause();
        let (state, leaves) = visited.rows();
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
                follow_apps::<N>(visited, queue);
                in_order[queue.index()] = false;
            }
        } else {
            parents.push((queue, HandedDown::of(state, queue, handed)));
            update_statistics::<N>(state, queue);
        }
    }
    follow_apps_below::<N>(visited, State::ROOT, &in_order);
}

/// What follows for applications below a queue, in the order of its list. `in_order`: the queues to be visited, by slot.
fn follow_apps_below<const N: usize>(
    visited: &mut impl VisitedQueues,
    queue: QueueSlot,
    in_order: &[bool],
) {
    let (state, _) = visited.rows();
    for at in 0..state.queues[queue].children.len() {
        let (state, _) = visited.rows();
        let child = state.queues[queue].children[at];
        if !in_order[child.index()] {
            continue;
        }
        if state.queues[child].is_leaf() {
            visited.pause();
            follow_apps::<N>(visited, child);
        } else {
            follow_apps_below::<N>(visited, child, in_order);
        }
    }
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
fn follow_apps<const N: usize>(visited: &mut impl VisitedQueues, leaf: QueueSlot) {
    let (state, leaves) = visited.rows();
    leaves.activate_under(state, leaf);
    users_changed(state, leaf);
    let mut handed = None;
    for at in 0..state.queues[leaf].as_leaf().active.len() {
        if at > 0 {
            visited.pause();
        }
        let (state, leaves) = visited.rows();
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
/// computed last on this partition, and which holds: no fetch in a pause moves it.
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

/// Used shares on every partition that the queue has figures for.
pub(in crate::commit) fn update_statistics<const N: usize>(state: &mut State, queue: QueueSlot) {
    for partition in state.queues[queue].partitions() {
        if state.queues[queue].part(partition).has_figures() {
            update_used::<N>(state, queue, partition);
        }
    }
}
