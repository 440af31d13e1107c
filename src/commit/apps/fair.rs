//! The order of the applications of fair leaves, which every container moves.
//!
//! The ledger looks a moved application's place up before the next pass over the leaf, as the original
//! does, and keeps the figures of before until then. A working copy looks it up at once: no pass comes
//! between, so that the order is the same.

use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, QueueSlot};
use crate::policy::compare_active;
use crate::queue::{AppOrder, Leaf, refresh_fair_figures};
use crate::snapshot::State;

impl Ledger {
    /// The application's place in a fair order is to be looked up anew.
    #[inline]
    pub(in crate::commit) fn flag_for_reordering(&mut self, app: AppSlot) {
        self.flag(app, false);
    }

    /// The same for a change of demand, which counts only with size-based weights.
    pub(in crate::commit) fn flag_for_demand(&mut self, app: AppSlot) {
        self.flag(app, true);
    }

    #[inline]
    fn flag(&mut self, app: AppSlot, demand: bool) {
        let leaf = self.state.apps[app].leaf;
        let queue = &mut self.state.queues[leaf];
        if !queue.as_leaf().fair {
            return;
        }
        let by_demand = AppOrder::Fair {
            size_based_weight: true,
        };
        let moves = !demand || queue.settings.leaf.app_order == by_demand;
        let dirty = &mut queue.as_leaf_mut().dirty;
        if moves && !dirty.contains(&app) {
            dirty.push(app);
        }
    }

    /// Puts the applications of a fair leaf in order by what they use now. A waiting one that
    /// was flagged slips in.
    // As AbstractComparatorOrderingPolicy.reorderScheduleEntities.
    pub(in crate::commit) fn sort_flagged(&mut self, leaf: QueueSlot) {
        self.cut_prefix(leaf, 0);
        for app in sort_dirty(&mut self.state, leaf) {
            self.update_stage(app);
        }
    }
}

/// Puts the applications of a fair leaf of a working copy in order by what they use now.
// As Ledger::sort_flagged; how far an application has come, copies do not read.
pub(in crate::commit) fn sort_copy(state: &mut State, leaf: QueueSlot) {
    keep_front(state.queues[leaf].as_leaf_mut(), 0);
    sort_dirty(state, leaf);
}

/// Gives the flagged applications of a leaf their places; which ones these were.
fn sort_dirty(state: &mut State, leaf: QueueSlot) -> Vec<AppSlot> {
    let dirty = std::mem::take(&mut state.queues[leaf].as_leaf_mut().dirty);
    for &app in &dirty {
        refresh_fair_figures(&mut state.apps[app]);
    }
    let active = &mut state.queues[leaf].as_leaf_mut().active;
    active.retain(|app| !dirty.contains(app));
    for &app in &dirty {
        let at = place_in_order(state, leaf, app);
        state.queues[leaf].as_leaf_mut().active.insert(at, app);
    }
    dirty
}

/// An application of a fair leaf of a working copy got something: it goes to its new place.
pub(in crate::commit) fn follow_in_order(state: &mut State, leaf: QueueSlot, app: AppSlot) {
    let active = &mut state.queues[leaf].as_leaf_mut().active;
    let Some(from) = active.iter().position(|&other| other == app) else {
        return;
    };
    active.remove(from);
    refresh_fair_figures(&mut state.apps[app]);
    let to = place_in_order(state, leaf, app);
    let users = state.queues[leaf].as_leaf_mut();
    users.active.insert(to, app);
    keep_front(users, from.min(to));
}

/// The place of an application among the active ones of its leaf, which it is not yet one of, by the
/// figures that all of them were last sorted by.
pub(in crate::commit) fn place_in_order(state: &State, leaf: QueueSlot, app: AppSlot) -> usize {
    let queue = &state.queues[leaf];
    let (order, app) = (&queue.settings.leaf.app_order, &state.apps[app]);
    let active = &queue.as_leaf().active;
    active.partition_point(|&other| compare_active(order, &state.apps[other], app).is_le())
}

/// The order of a working copy changes from a place on: the front ends there at the latest.
fn keep_front(users: &mut Leaf, place: usize) {
    let front = &mut users.prefix;
    (front.len, front.next) = (front.len.min(place), front.next.min(place));
    if place == 0 {
        front.bound = None;
    }
}
