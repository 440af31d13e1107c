//! The order of applications inside a leaf.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::queue::{App, AppOrder, Leaf, Queue, refresh_fair_figures};
use crate::resource::share;
use crate::snapshot::State;

/// The order of applications that wait for room for their master: priority, then submission.
#[must_use]
pub fn compare_waiting(a: &App, b: &App) -> Ordering {
    b.priority.cmp(&a.priority).then(a.id.cmp(&b.id))
}

/// The order of active applications under a leaf's policy, on their cached figures.
#[must_use]
pub fn compare_active(order: &AppOrder, a: &App, b: &App) -> Ordering {
    match order {
        AppOrder::Fair { size_based_weight } => {
            let size = *size_based_weight;
            let (x, y) = (fair_key(a, size), fair_key(b, size));
            x.total_cmp(&y)
                .then(a.start.cmp(&b.start))
                .then(a.id.cmp(&b.id))
        }
        AppOrder::Fifo | AppOrder::FifoForPendingApps | AppOrder::FifoWithPartitions { .. } => {
            compare_waiting(a, b)
        }
    }
}

/// Magnitude of an application in the fair order, in MiB or weighted MiB.
#[must_use]
pub fn fair_key(app: &App, size_based_weight: bool) -> f64 {
    share::fair_magnitude(app.fair_used, app.fair_demand, size_based_weight)
}

/// Whether the applications of a leaf stand in the order in which they are served.
#[inline]
#[must_use]
pub fn in_order(state: &State, leaf: QueueSlot) -> bool {
    let queue = &state.queues[leaf];
    match &queue.settings.leaf.app_order {
        AppOrder::Fifo => true,
        order => order.own_lists().is_empty() && queue.as_leaf().dirty.is_empty(),
    }
}

/// The applications that a leaf serves on a partition, where it has lists of their own for some
/// partitions: an application stands in the list of the label that it was submitted with. Nothing
/// where one list holds all. Cost: a look at each active application.
// As FifoOrderingPolicyWithExclusivePartitions.getAssignmentIterator.
#[inline]
#[must_use]
pub fn served_on(state: &State, leaf: QueueSlot, partition: PartitionId) -> Option<Vec<AppSlot>> {
    let queue = &state.queues[leaf];
    let lists = queue.settings.leaf.app_order.own_lists();
    (!lists.is_empty()).then(|| in_list_of(state, queue, lists, partition))
}

/// The applications of a leaf in the list of a partition.
fn in_list_of(
    state: &State,
    queue: &Queue,
    lists: &[Arc<str>],
    partition: PartitionId,
) -> Vec<AppSlot> {
    let list_of = |label: &str| lists.iter().find(|list| &***list == label);
    let here = list_of(&state.partitions[partition].name);
    let apps = queue.as_leaf().active.iter().copied().filter(|&app| {
        let label = state.apps[app].submission.default_partition.as_deref();
        label.and_then(list_of) == here
    });
    apps.collect()
}

/// The order of the applications of a fair leaf when some of them moved since it was sorted;
/// waiting ones that moved are among them. Nothing when the leaf's list is in order.
// As AbstractComparatorOrderingPolicy.reorderScheduleEntities.
#[must_use]
pub fn resorted(state: &State, leaf: QueueSlot) -> Option<Vec<AppSlot>> {
    let queue = &state.queues[leaf];
    let AppOrder::Fair { size_based_weight } = queue.settings.leaf.app_order else {
        return None;
    };
    let users: &Leaf = queue.as_leaf();
    if users.dirty.is_empty() {
        return None;
    }
    let mut apps: Vec<_> = users.active.clone();
    apps.extend(users.dirty.iter().filter(|app| !users.active.contains(app)));
    let mut keyed: Vec<_> = apps
        .into_iter()
        .map(|slot| {
            let app = &state.apps[slot];
            let key = current_fair_key(app, users.dirty.contains(&slot), size_based_weight);
            (key, app.start, app.id, slot)
        })
        .collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    Some(keyed.into_iter().map(|(_, _, _, slot)| slot).collect())
}

/// Magnitude of an application in the fair order; `moved`: of its figures now, not as last cached.
#[must_use]
pub fn current_fair_key(app: &App, moved: bool, size_based_weight: bool) -> f64 {
    if !moved {
        return fair_key(app, size_based_weight);
    }
    let mut now = app.clone();
    refresh_fair_figures(&mut now);
    fair_key(&now, size_based_weight)
}
