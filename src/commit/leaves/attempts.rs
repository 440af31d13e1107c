//! Attempts: how applications enter and leave a leaf, and how their priority changes.
//!
//! Tests: `tests/commit/property.rs`.

use super::activation::update_stage;
use super::key_sums::KeySums;
use crate::accounting::{FairChange, add_queue_pending, mark_moved};
use crate::commit::leaves::Leaves;
use crate::id::{AppSlot, QueueSlot};
use crate::queue::AppStage;
use crate::resource::PackedVector;
use crate::snapshot::State;

impl Leaves {
    /// Enters an attempt in its leaf.
    pub(in crate::commit) fn enter_attempt(&mut self, state: &mut State, app: AppSlot) {
        state.apps[app].runnable = self.may_run(state, app);
        if state.apps[app].runnable {
            self.count_runnable(state, app, 1);
        }
        self.add_attempt(state, app);
    }

    /// Enters an application in its leaf: parked, or waiting for room for its master.
    pub(in crate::commit) fn add_attempt(&mut self, state: &mut State, app: AppSlot) {
        let row = &state.apps[app];
        let (leaf, runnable) = (row.leaf, row.runnable);
        let user = self.user_of(state, app);
        let users = state.queues[leaf].as_leaf_mut();
        if !runnable {
            users.parked.push(app);
            update_stage(state, app);
            return;
        }
        // A priority change may have put a parked one there before.
        if !users.waiting.contains(&app) {
            users.waiting.push(app);
        }
        self.waiting.add(leaf, app, &state.apps[app]);
        state.queues[leaf].runnable += 1;
        state.users[user].waiting_apps += 1;
        update_stage(state, app);
        if state.calculator.above_none(&state.cluster, &state.cluster) {
            self.activate(state, leaf);
        } else {
            self.explain_waiting(state, leaf, app);
        }
    }

    /// Takes an application out of its leaf; `moved`: it goes on elsewhere.
    // As AbstractLeafQueue.removeApplicationAttempt.
    pub(in crate::commit) fn remove_attempt(
        &mut self,
        state: &mut State,
        app: AppSlot,
        moved: bool,
    ) {
        let row = &state.apps[app];
        let (leaf, runnable) = (row.leaf, row.runnable);
        let (partition, size) = (row.master_partition, row.master_use());
        let user = self.user_of(state, app);
        self.skipped.cut_before(state, leaf, app);
        count_out(state, leaf, app);
        let users = state.queues[leaf].as_leaf_mut();
        users.dirty.retain(|&other| other != app);
        users.parked.retain(|&other| other != app);
        let before = users.active.len();
        users.active.retain(|&other| other != app);
        if users.active.len() < before {
            state.queues[leaf].part_mut(partition).master_used -= size;
            let record = &mut state.users[user];
            record.parts[partition].master_used -= size;
            record.active_apps -= 1;
            self.waiting.leave(leaf, app);
        } else {
            users.waiting.retain(|&other| other != app);
            self.waiting.remove(leaf, app);
            state.users[user].waiting_apps -= 1;
        }
        let record = &state.users[user];
        debug_assert!(
            !record.removed,
            "the application's user has a record, made anew if need be"
        );
        if record.active_apps + record.waiting_apps + record.keeping_apps == 0 {
            self.remove_user(state, leaf, user);
        }
        self.activate(state, leaf);
        if runnable && !moved {
            self.runnable_ended(state, app);
        }
    }

    /// Counts an application that keeps containers between attempts at its user, who stays as long as it is in the
    /// leaf.
    // The reference drops the user between two attempts, and what the containers use with the record.
    pub(in crate::commit) fn count_keeping(&mut self, state: &mut State, app: AppSlot, by: i32) {
        if state.apps[app].keeps_containers() {
            let user = self.user_of(state, app);
            state.users[user].keeping_apps += by;
        }
    }

    /// An application that leaves its leaf between two attempts.
    pub(in crate::commit) fn leave_between(&mut self, state: &mut State, app: AppSlot) {
        let row = &state.apps[app];
        let (leaf, keeps) = (row.leaf, row.keeps_containers());
        let users = state.queues[leaf].as_leaf_mut();
        users.between.retain(|&other| other != app);
        if !keeps {
            return;
        }
        let user = self.user_of(state, app);
        let record = &state.users[user];
        if record.active_apps + record.waiting_apps + record.keeping_apps == 0 {
            self.remove_user(state, leaf, user);
        }
    }

    /// Changes an application's priority, capped to the cluster's; returns the capped one.
    ///
    /// A change to the priority at submission is not noticed: the reference compares with the
    /// application's own field, which no change touches.
    // As CapacityScheduler.updateApplicationPriority, AbstractLeafQueue.updateApplicationPriority.
    pub(in crate::commit) fn change_priority(
        &mut self,
        state: &mut State,
        app: AppSlot,
        wanted: i32,
    ) -> i32 {
        let priority = wanted.min(state.settings.maximum_application_priority);
        let row = &mut state.apps[app];
        if priority == row.submission.priority {
            return priority;
        }
        row.priority = priority;
        let leaf = row.leaf;
        if row.stage == AppStage::Between {
            return priority;
        }
        self.skipped.cut_before(state, leaf, app);
        let users = state.queues[leaf].as_leaf_mut();
        users.dirty.retain(|&other| other != app);
        if users.active.contains(&app) {
            users.active.retain(|&other| other != app);
            self.insert_active(state, leaf, app);
        } else {
            if !users.waiting.contains(&app) {
                // An attempt that is parked enters the list of waiting ones and is in both.
                users.waiting.push(app);
            }
            self.waiting.add(leaf, app, &state.apps[app]);
        }
        update_stage(state, app);
        priority
    }
}

impl Leaves {
    /// Withdraws what an application that is about to end asks for under its last keys, as many places as the budget has;
    /// whether that was anything. Keys with reservations stay until these end, without asks.
    pub(in crate::commit) fn withdraw_last_asks(
        &mut self,
        state: &mut State,
        app: AppSlot,
        budget: &mut usize,
    ) -> bool {
        self.skipped.stop(state, app);
        let keys = &state.apps[app].keys;
        let goes = |&at: &usize| keys[at].reserved.is_empty() || !keys[at].places.is_empty();
        let last = (0..keys.len()).rev().filter(goes).take_while(|&at| {
            let goes = *budget > 0;
            *budget = budget.saturating_sub(1 + keys[at].places.len());
            goes
        });
        let last: Vec<_> = last.map(|at| &keys[at]).collect();
        let sums = KeySums::of(last.iter().copied());
        let gone: Vec<_> = last.iter().map(|asks| asks.key).collect();
        for &key in &gone {
            self.forgotten.add_places(state.apps[app].withdraw(key));
        }
        for (partition, size) in sums.pending() {
            self.add_pending(state, app, partition, -size);
        }
        self.stop_asking_without_keys(state, app);
        mark_moved(state, app, FairChange::Demand);
        !gone.is_empty()
    }

    /// Forgets everything that an application asked for.
    pub(in crate::commit) fn drop_asks(&mut self, state: &mut State, app: AppSlot) {
        let row = &mut state.apps[app];
        let (leaf, keys) = (row.leaf, row.take_keys());
        let sums = KeySums::of(&keys);
        self.forgotten.add_keys(keys);
        for (partition, size) in sums.pending() {
            add_queue_pending(state, leaf, partition, -size);
        }
        for part in state.apps[app].parts.iter_mut() {
            part.pending = PackedVector::default();
        }
        let leaf = state.queues[leaf].as_leaf_mut();
        leaf.dirty.retain(|&other| other != app);
    }
}

/// A leaf counts an application no more that it does not list as parked, whatever its mark says.
// As AbstractLeafQueue.runnableApps.
fn count_out(state: &mut State, leaf: QueueSlot, app: AppSlot) {
    let row = &mut state.queues[leaf];
    let runs = !row.as_leaf().parked.contains(&app);
    row.runnable -= i32::from(runs);
}
