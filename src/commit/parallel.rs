//! The limits of parallel applications: who is parked, and who goes on when one ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ledger::Ledger;
use crate::id::{AppSlot, QueueSlot};
use crate::snapshot::State;

impl Ledger {
    /// Whether an application may run beside those that do.
    // As CSMaxRunningAppsEnforcer.checkRunnabilityWithUpdate.
    pub(super) fn may_run(&self, app: AppSlot) -> bool {
        let row = &self.state.apps[app];
        let running = self.running_of.get(&row.user_name).copied().unwrap_or(0);
        running < self.state.settings.user_parallel.of(&row.user_name)
            && self.state.chain(row.leaf).all(|queue| {
                let queue = &self.state.queues[queue];
                queue.runnable < queue.settings.maximum_parallel
            })
    }

    /// Counts an application as running, or no longer.
    pub(super) fn count_runnable(&mut self, app: AppSlot, by: i32) {
        let row = &self.state.apps[app];
        let (leaf, name) = (row.leaf, Arc::clone(&row.user_name));
        *self.running_of.entry(name).or_default() += by;
        let mut next = Some(leaf);
        while let Some(queue) = next {
            self.state.queues[queue].runnable += by;
            next = self.state.queues[queue].parent;
        }
    }

    /// A running application ended: others may go on in its place.
    // As CSMaxRunningAppsEnforcer.updateRunnabilityOnAppRemoval.
    pub(super) fn runnable_ended(&mut self, app: AppSlot) {
        let row = &self.state.apps[app];
        let (leaf, name) = (row.leaf, Arc::clone(&row.user_name));
        let top = self
            .state
            .chain(leaf)
            .filter(|&queue| self.at_parallel_limit(queue))
            .last();
        let running = self.running_of.get(&name).copied().unwrap_or(0);
        let user_full = running == self.state.settings.user_parallel.of(&name);
        self.count_runnable(app, -1);
        let mut lists = Vec::new();
        if let Some(top) = top {
            for queue in self.state.subtree(top) {
                let row = &self.state.queues[queue];
                if let Some(leaf) = &row.leaf
                    && !leaf.parked.is_empty()
                    && self.slack_below(queue, top)
                {
                    lists.push(leaf.parked.clone());
                }
            }
        }
        if user_full {
            let mut parked = self.all_parked();
            parked.retain(|&app| self.state.apps[app].user_name == name);
            if !parked.is_empty() {
                lists.push(parked);
            }
        }
        let most = lists.len();
        self.promote(&lists.concat(), Some(most));
    }

    fn at_parallel_limit(&self, queue: QueueSlot) -> bool {
        let queue = &self.state.queues[queue];
        queue.runnable == queue.settings.maximum_parallel
    }

    fn slack_below(&self, leaf: QueueSlot, top: QueueSlot) -> bool {
        self.state
            .chain(leaf)
            .take_while(|&queue| queue != top)
            .all(|queue| {
                let queue = &self.state.queues[queue];
                queue.runnable < queue.settings.maximum_parallel
            })
    }

    fn all_parked(&self) -> Vec<AppSlot> {
        let queues = self.state.subtree(State::ROOT);
        let leaves = queues
            .iter()
            .filter_map(|&queue| self.state.queues[queue].leaf.as_ref());
        leaves
            .flat_map(|leaf| leaf.parked.iter().copied())
            .collect()
    }

    /// Reconsiders every parked application whose queues have slack; after a refresh.
    pub(super) fn reconsider_parked(&mut self) {
        let mut parked = Vec::new();
        self.gather_parked(State::ROOT, &mut parked);
        self.promote(&parked, None);
    }

    fn gather_parked(&self, queue: QueueSlot, parked: &mut Vec<AppSlot>) {
        let row = &self.state.queues[queue];
        if row.runnable >= row.settings.maximum_parallel {
            return;
        }
        if let Some(leaf) = &row.leaf {
            parked.extend(&leaf.parked);
        }
        for &child in &row.children {
            self.gather_parked(child, parked);
        }
    }

    /// Lets parked applications run, oldest first, `most` of them at most.
    fn promote(&mut self, parked: &[AppSlot], most: Option<usize>) {
        let unique: BTreeSet<_> = parked
            .iter()
            .map(|&app| (self.state.apps[app].start, app))
            .collect();
        let mut promoted = 0;
        for (_, app) in unique {
            if most.is_some_and(|most| promoted >= most) {
                break;
            }
            if !self.may_run(app) {
                continue;
            }
            self.count_runnable(app, 1);
            self.state.apps[app].runnable = true;
            let leaf = self.state.apps[app].leaf;
            self.state.queues[leaf]
                .as_leaf_mut()
                .parked
                .retain(|&other| other != app);
            self.add_attempt(app);
            promoted += 1;
        }
    }
}
