//! Places of applications in leaves with a fair order, which every container moves.
//!
//! # What
//!
//! A fair order compares figures that [`refresh_fair_figures`] copies from the accounts. The ledger
//! marks a moved application ([`mark_moved`]) and looks its place up before the next pass over the leaf
//! ([`sort_marked`]), as the reference does. A working copy looks it up at once ([`move_to_place`]).
//!
//! # Why both give the same order
//!
//! No pass comes between the container and the look-up, and only the figures of the moved application
//! differ. `tests/commit/working_copies.rs` compares the two.

use super::skippable_head::shorten;
use crate::id::{AppSlot, QueueSlot};
use crate::policy::compare_active;
use crate::queue::{AppOrder, refresh_fair_figures};
use crate::snapshot::State;

/// What moved an application in a fair order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FairChange {
    /// What it uses.
    Use,
    /// What it asks for, which counts only with size-based weights.
    Demand,
}

/// Marks an application whose place in a fair order is to be looked up.
#[inline]
pub(crate) fn mark_moved(state: &mut State, app: AppSlot, moved: FairChange) {
    let leaf = state.apps[app].leaf;
    mark_moved_in(state, leaf, app, moved);
}

/// The same for an application of a leaf.
#[inline]
pub(crate) fn mark_moved_in(state: &mut State, leaf: QueueSlot, app: AppSlot, moved: FairChange) {
    if state.queues[leaf].as_leaf().fair {
        mark_in_fair_leaf(state, leaf, app, moved);
    }
}

#[inline(never)]
fn mark_in_fair_leaf(state: &mut State, leaf: QueueSlot, app: AppSlot, moved: FairChange) {
    let queue = &mut state.queues[leaf];
    let by_demand = AppOrder::Fair {
        size_based_weight: true,
    };
    let moves = moved == FairChange::Use || queue.settings.leaf.app_order == by_demand;
    let marked = &mut queue.as_leaf_mut().dirty;
    if moves && !marked.contains(&app) {
        marked.push(app);
    }
}

/// Gives the marked applications of a leaf their places by what they use now. Returns them. A waiting one
/// that is marked becomes one of the active.
// As AbstractComparatorOrderingPolicy.reorderScheduleEntities.
pub(crate) fn sort_marked(state: &mut State, leaf: QueueSlot) -> Vec<AppSlot> {
    let marked = std::mem::take(&mut state.queues[leaf].as_leaf_mut().dirty);
    for &app in &marked {
        refresh_fair_figures(&mut state.apps[app]);
    }
    let active = &mut state.queues[leaf].as_leaf_mut().active;
    active.retain(|app| !marked.contains(app));
    for &app in &marked {
        let at = place_in_order(state, leaf, app);
        state.queues[leaf].as_leaf_mut().active.insert(at, app);
    }
    marked
}

/// Puts the applications of a fair leaf of a working copy in order by what they use now.
// Must equal [`sort_marked`] on the ledger, but for the stage of applications, which copies do not read.
pub(crate) fn sort_copy(state: &mut State, leaf: QueueSlot) {
    shorten(state.queues[leaf].as_leaf_mut(), 0);
    sort_marked(state, leaf);
}

/// Moves an application of a leaf of a working copy to the place that its use gives it.
// Must equal [`mark_moved`] and then [`sort_marked`].
#[inline]
pub(crate) fn move_to_place(state: &mut State, leaf: QueueSlot, app: AppSlot) {
    if state.queues[leaf].as_leaf().fair {
        move_in_fair_leaf(state, leaf, app);
    }
}

fn move_in_fair_leaf(state: &mut State, leaf: QueueSlot, app: AppSlot) {
    let active = &mut state.queues[leaf].as_leaf_mut().active;
    let Some(from) = active.iter().position(|&other| other == app) else {
        return;
    };
    active.remove(from);
    refresh_fair_figures(&mut state.apps[app]);
    let to = place_in_order(state, leaf, app);
    let users = state.queues[leaf].as_leaf_mut();
    users.active.insert(to, app);
    shorten(users, from.min(to));
}

/// The place of an application among the active ones of its leaf, which it is not yet one of, by the
/// figures that all of them were last sorted by.
pub(crate) fn place_in_order(state: &State, leaf: QueueSlot, app: AppSlot) -> usize {
    let queue = &state.queues[leaf];
    let (order, app) = (&queue.settings.leaf.app_order, &state.apps[app]);
    let active = &queue.as_leaf().active;
    active.partition_point(|&other| compare_active(order, &state.apps[other], app).is_le())
}
