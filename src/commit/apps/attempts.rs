//! Attempts: how applications enter and leave a leaf, and how their priority changes.
//!
//! Tests: `tests/commit/property.rs`.

use crate::commit::apps::activation::update_stage;
use crate::commit::ledger::Ledger;
use crate::id::AppSlot;

impl Ledger {
    /// Enters an application in its leaf: parked, or waiting for room for its master.
    pub(in crate::commit) fn add_attempt(&mut self, app: AppSlot) {
        let row = &self.state.apps[app];
        let (leaf, runnable) = (row.leaf, row.runnable);
        let user = self.user_of(app);
        let users = self.state.queues[leaf].as_leaf_mut();
        if !runnable {
            users.parked.push(app);
            update_stage(&mut self.state, app);
            return;
        }
        // A priority change may have put a parked one there before.
        if !users.waiting.contains(&app) {
            users.waiting.push(app);
        }
        self.state.queues[leaf].runnable += 1;
        self.state.users[user].waiting_apps += 1;
        update_stage(&mut self.state, app);
        if self
            .state
            .calculator
            .above_none(&self.state.cluster, &self.state.cluster)
        {
            self.activate(leaf);
        } else {
            self.explain_waiting(leaf, app);
        }
    }

    /// Takes an application out of its leaf; `moved`: it goes on elsewhere.
    // As AbstractLeafQueue.removeApplicationAttempt.
    pub(in crate::commit) fn remove_attempt(&mut self, app: AppSlot, moved: bool) {
        let row = &self.state.apps[app];
        let (leaf, runnable) = (row.leaf, row.runnable);
        let (partition, size) = (row.master_partition, row.submission.master_size);
        let user = self.user_of(app);
        self.skipped.cut_before(&mut self.state, leaf, app);
        self.state.queues[leaf].runnable -= i32::from(runnable);
        let users = self.state.queues[leaf].as_leaf_mut();
        users.dirty.retain(|&other| other != app);
        users.parked.retain(|&other| other != app);
        let before = users.active.len();
        users.active.retain(|&other| other != app);
        if users.active.len() < before {
            self.state.queues[leaf].part_mut(partition).master_used -= size;
            let record = &mut self.state.users[user];
            record.parts[partition].master_used -= size;
            record.active_apps -= 1;
        } else {
            users.waiting.retain(|&other| other != app);
            self.state.users[user].waiting_apps -= 1;
        }
        let record = &self.state.users[user];
        if record.active_apps + record.waiting_apps == 0 && !record.removed {
            self.remove_user(leaf, user);
        }
        self.activate(leaf);
        if runnable && !moved {
            self.runnable_ended(app);
        }
    }

    /// Changes an application's priority, capped to the cluster's; returns the capped one.
    ///
    /// A change to the priority at submission is not noticed: the reference compares with the
    /// application's own field, which no change touches.
    // As CapacityScheduler.updateApplicationPriority, AbstractLeafQueue.updateApplicationPriority.
    pub fn change_priority(&mut self, app: AppSlot, wanted: i32) -> i32 {
        let priority = wanted.min(self.state.settings.maximum_application_priority);
        let row = &mut self.state.apps[app];
        if priority == row.submission.priority {
            return priority;
        }
        row.priority = priority;
        let leaf = row.leaf;
        self.skipped.cut_before(&mut self.state, leaf, app);
        let users = self.state.queues[leaf].as_leaf_mut();
        users.dirty.retain(|&other| other != app);
        if users.active.contains(&app) {
            users.active.retain(|&other| other != app);
            self.insert_active(leaf, app);
        } else if !users.waiting.contains(&app) {
            // An attempt that is parked enters the list of waiting ones and is in both.
            users.waiting.push(app);
        }
        update_stage(&mut self.state, app);
        priority
    }
}
