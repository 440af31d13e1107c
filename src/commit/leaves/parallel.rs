//! The limits of parallel applications: who is parked, and who goes on when one ends.
//!
//! Tests: `tests/commit/active_users.rs`.

use std::sync::Arc;

use crate::commit::leaves::Leaves;
use crate::id::{AppSlot, QueueSlot};
use crate::snapshot::State;

impl Leaves {
    /// Whether an application may run beside those that do.
    // As CSMaxRunningAppsEnforcer.checkRunnabilityWithUpdate.
    pub(in crate::commit) fn may_run(&self, state: &State, app: AppSlot) -> bool {
        let row = &state.apps[app];
        let running = self
            .running_of
            .get(&row.submission.user_name)
            .copied()
            .unwrap_or(0);
        running < state.settings.user_parallel.of(&row.submission.user_name)
            && state.chain(row.leaf).all(|queue| {
                let queue = &state.queues[queue];
                queue.runnable < queue.settings.maximum_parallel
            })
    }

    /// Counts an application as running, or no longer, for its user and above its leaf.
    ///
    /// The leaf counts those that it holds, also after a move; the parents of the leaf that an
    /// application left keep counting it, and those of its new leaf count one too few at its end.
    // As CSMaxRunningAppsEnforcer.trackRunnableApp, untrackRunnableApp.
    pub(in crate::commit) fn count_runnable(&mut self, state: &mut State, app: AppSlot, by: i32) {
        let row = &state.apps[app];
        let (leaf, name) = (row.leaf, Arc::clone(&row.submission.user_name));
        *self.running_of.entry(name).or_default() += by;
        let mut next = state.queues[leaf].parent;
        while let Some(queue) = next {
            state.queues[queue].runnable += by;
            next = state.queues[queue].parent;
        }
    }

    /// A running application ended and left its leaf: others may go on in its place.
    // As CSMaxRunningAppsEnforcer.updateRunnabilityOnAppRemoval.
    pub(in crate::commit) fn runnable_ended(&mut self, state: &mut State, app: AppSlot) {
        let row = &state.apps[app];
        let (leaf, name) = (row.leaf, Arc::clone(&row.submission.user_name));
        self.count_runnable(state, app, -1);
        let top = state
            .chain(leaf)
            .filter(|&queue| was_at_parallel_limit(state, queue))
            .last();
        let running = self.running_of.get(&name).copied().unwrap_or(0);
        let mut lists = Vec::new();
        if let Some(top) = top {
            gather_parked(state, top, &mut lists);
        }
        if running == state.settings.user_parallel.of(&name).saturating_sub(1) {
            let mut parked = all_parked(state);
            parked.retain(|&app| state.apps[app].submission.user_name == name);
            lists.push(parked);
        }
        let most = lists.len();
        self.promote(state, &lists, most);
    }

    /// Reconsiders every parked application whose queues have slack; after a refresh.
    pub(in crate::commit) fn reconsider_parked(&mut self, state: &mut State) {
        let mut lists = Vec::new();
        gather_parked(state, State::ROOT, &mut lists);
        self.promote(state, &lists, usize::MAX);
    }

    /// Lets parked applications run, `most` of them at most: the older of the first ones of the
    /// lists goes first. A list is in order of arrival, which differs from age after a move.
    // As CSMaxRunningAppsEnforcer.updateAppsRunnability.
    fn promote(&mut self, state: &mut State, lists: &[Vec<AppSlot>], most: usize) {
        let mut lists: Vec<_> = lists.iter().map(|list| list.iter().peekable()).collect();
        let start = |app: AppSlot| state.apps[app].start;
        let mut merged = Vec::new();
        while let Some(first) = lists
            .iter_mut()
            .filter_map(|list| list.peek().copied().copied().map(|app| (start(app), list)))
            .min_by_key(|&(start, _)| start)
        {
            merged.extend(first.1.next());
        }
        merged.dedup();
        let mut promoted = 0;
        for &app in merged {
            if promoted >= most {
                break;
            }
            // A list of a queue and that of a user may both hold an application, and an older one may stand between
            // the two: one that was let in is looked at again then, and marked as one that may not run.
            if !self.may_run(state, app) {
                state.apps[app].runnable = false;
                continue;
            }
            self.count_runnable(state, app, 1);
            state.apps[app].runnable = true;
            let leaf = state.apps[app].leaf;
            state.queues[leaf]
                .as_leaf_mut()
                .parked
                .retain(|&other| other != app);
            self.add_attempt(state, app);
            promoted += 1;
        }
    }
}

fn was_at_parallel_limit(state: &State, queue: QueueSlot) -> bool {
    let queue = &state.queues[queue];
    queue.runnable == queue.settings.maximum_parallel.saturating_sub(1)
}

/// Parked applications of all leaves, in the order of their submission.
fn all_parked(state: &State) -> Vec<AppSlot> {
    let queues = state.subtree(State::ROOT);
    let leaves = queues
        .iter()
        .filter_map(|&queue| state.queues[queue].leaf.as_ref());
    let mut parked: Vec<_> = leaves
        .flat_map(|leaf| leaf.parked.iter().copied())
        .collect();
    parked.sort_by_key(|&app| state.apps[app].start);
    parked
}

/// The parked applications of each leaf that has slack, up to a queue; empty lists count.
fn gather_parked(state: &State, queue: QueueSlot, lists: &mut Vec<Vec<AppSlot>>) {
    let row = &state.queues[queue];
    if row.runnable >= row.settings.maximum_parallel {
        return;
    }
    if let Some(leaf) = &row.leaf {
        lists.push(leaf.parked.clone());
    }
    for &child in &row.children {
        gather_parked(state, child, lists);
    }
}
