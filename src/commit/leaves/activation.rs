//! Activation: which waiting applications get room for their master.
//!
//! Tests: `tests/commit/active_users.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::accounting::{place_in_order, sort_marked};
use crate::commit::leaves::Leaves;
use crate::commit::leaves::waiting_classes::ClassHeads;
use crate::fast_path::FastPath;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{compare_active, compare_waiting, master_limit, user_master_limits};
use crate::queue::{Accessible, AppStage};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Leaves {
    /// Activates what fits in the limits for masters.
    // As AbstractLeafQueue.activateApplications.
    pub(in crate::commit) fn activate(&mut self, state: &mut State, leaf: QueueSlot) {
        for partition in state.queues[leaf].partitions() {
            if is_limited_on(state, leaf, partition) {
                compute_master_limit(state, leaf, partition);
            }
        }
        self.activate_under(state, leaf);
    }

    /// The same where the limits for masters are known.
    pub(in crate::commit) fn activate_under(&mut self, state: &mut State, leaf: QueueSlot) {
        if state.queues[leaf].as_leaf().waiting.is_empty() {
            return;
        }
        // An application that moves is explained by the leaf that it comes from.
        // Must equal [`Self::activate_all`].
        let known = if FastPath::WaitingClasses.is_taken() && self.moving.is_none() {
            self.waiting.heads(leaf)
        } else {
            None
        };
        match known {
            Some(heads) => self.activate_heads(state, leaf, heads),
            None => self.activate_all(state, leaf),
        }
    }

    /// A look at each application that waits.
    fn activate_all(&mut self, state: &mut State, leaf: QueueSlot) {
        let mut order = state.queues[leaf].as_leaf().waiting.clone();
        order.sort_by(|&a, &b| compare_waiting(&state.apps[a], &state.apps[b]));
        let mut user_limits = BTreeMap::new();
        for app in order {
            self.try_activate(state, leaf, app, &mut user_limits);
        }
    }

    /// A look at the first of each class, and at the next one as long as they get room.
    // What is not looked at would be refused, and explained as the first of its class whose master does not run.
    fn activate_heads(&mut self, state: &mut State, leaf: QueueSlot, mut heads: ClassHeads) {
        let waiting = state.queues[leaf].as_leaf().waiting.len();
        debug_assert_eq!(
            waiting,
            self.waiting.len(leaf),
            "all that wait have a class"
        );
        let mut user_limits = BTreeMap::new();
        while let Some((app, class)) = heads.next() {
            if self.try_activate(state, leaf, app, &mut user_limits) {
                self.waiting.go_on(leaf, class, &mut heads);
                continue;
            }
            let explained = self.waiting.first_without_master(leaf, class, state);
            if let Some(other) = explained.filter(|&other| other != app) {
                self.explain_waiting(state, leaf, other);
            }
        }
        debug_assert!(
            self.nobody_fits(state, leaf, &user_limits),
            "one of a class that is refused stands for all"
        );
        debug_assert!(
            all_are_shown(state, leaf),
            "the limit of the user is shown for all that are refused"
        );
    }

    /// Whether none of those that wait would be activated now.
    fn nobody_fits(
        &self,
        state: &State,
        leaf: QueueSlot,
        user_limits: &BTreeMap<PartitionId, ResourceVector>,
    ) -> bool {
        let queue = &state.queues[leaf];
        queue.as_leaf().waiting.iter().all(|&app| {
            let row = &state.apps[app];
            let (partition, size) = (row.master_partition, row.master_use());
            let used = queue.part(partition).master_used.get();
            let limit = queue.as_leaf().parts[partition].master_limit();
            let within = |limit: &ResourceVector| state.calculator.fits_in(&(size + used), limit);
            if limit.is_none_or(|limit| !within(&limit)) {
                return true;
            }
            let user = &state.users[row.user];
            let of_user = user.part(partition).master_used.get();
            let limit = user_limits.get(&partition);
            // A parked application may wait though the record of its user was removed.
            user.removed
                || limit.is_some_and(|limit| !state.calculator.fits_in(&(size + of_user), limit))
        })
    }

    /// Activates an application if the limits allow it; whether they do.
    fn try_activate(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        app: AppSlot,
        // The reference caches the user's limit by partition for the whole call, so that the first user's weight
        // counts for all.
        user_limits: &mut BTreeMap<PartitionId, ResourceVector>,
    ) -> bool {
        let row = &state.apps[app];
        let (partition, size) = (row.master_partition, row.master_use());
        let limit = known_master_limit(state, leaf, partition);
        let queue = &state.queues[leaf];
        let used = queue.part(partition).master_used.get();
        let calculator = state.calculator;
        let free_pass =
            queue.as_leaf().active.is_empty() || !calculator.above_none(&state.cluster, &used);
        if !calculator.fits_in(&(size + used), &limit) && !free_pass {
            self.explain_waiting(state, leaf, app);
            return false;
        }
        let user = self.user_here(state, leaf, app);
        let user_limit = match user_limits.get(&partition) {
            Some(&limit) => limit,
            None => {
                let limit = self.compute_user_master_limit(state, leaf, partition, app);
                user_limits.insert(partition, limit);
                limit
            }
        };
        let user_used = state.users[user].part(partition).master_used.get();
        if !calculator.fits_in(&(size + user_used), &user_limit) && !free_pass {
            self.explain_waiting(state, leaf, app);
            return false;
        }
        self.enter_active(state, leaf, app, user);
        true
    }

    /// A waiting application becomes one of the active whatever the limits say, and its master counts.
    pub(in crate::commit) fn enter_active(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        app: AppSlot,
        user: UserSlot,
    ) {
        let row = &state.apps[app];
        let (partition, size) = (row.master_partition, row.master_use());
        let record = &mut state.users[user];
        record.waiting_apps -= 1;
        record.active_apps += 1;
        record.parts[partition].master_used += size;
        state.counting(leaf, partition).master_used += size;
        state.queues[leaf]
            .as_leaf_mut()
            .waiting
            .retain(|&other| other != app);
        self.waiting.remove(leaf, app);
        self.insert_active(state, leaf, app);
        update_stage(state, app);
    }

    /// The record of an application's user in a leaf, which may list one that was moved away: a
    /// waiting one that slipped into a fair order stays in the list of those that wait.
    fn user_here(&mut self, state: &mut State, leaf: QueueSlot, app: AppSlot) -> UserSlot {
        if state.apps[app].leaf == leaf {
            return self.user_of(state, app);
        }
        let name = Arc::clone(&state.apps[app].submission.user_name);
        self.user(state, leaf, &name)
    }

    /// Puts the applications of a fair leaf in order by what they use now. A waiting one that is marked
    /// becomes one of the active.
    // As AbstractComparatorOrderingPolicy.reorderScheduleEntities.
    pub(in crate::commit) fn sort_marked(&mut self, state: &mut State, leaf: QueueSlot) {
        self.skipped.cut(state, leaf, 0);
        for app in sort_marked(state, leaf) {
            update_stage(state, app);
        }
    }

    /// Puts an application in the order of its leaf, unless it is there already.
    pub(in crate::commit) fn insert_active(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        app: AppSlot,
    ) {
        let queue = &state.queues[leaf];
        let active = &queue.as_leaf().active;
        if active.contains(&app) {
            return;
        }
        let at = place_in_order(state, leaf, app);
        self.skipped.cut(state, leaf, at);
        state.queues[leaf].as_leaf_mut().active.insert(at, app);
    }

    /// Sorts the active applications of a leaf anew.
    pub(in crate::commit) fn sort_active(&mut self, state: &mut State, leaf: QueueSlot) {
        self.skipped.cut(state, leaf, 0);
        if state.queues[leaf].as_leaf().active.len() < 2 {
            return;
        }
        let settings = Arc::clone(&state.queues[leaf].settings);
        let mut active = std::mem::take(&mut state.queues[leaf].as_leaf_mut().active);
        active.sort_by(|&a, &b| {
            compare_active(&settings.leaf.app_order, &state.apps[a], &state.apps[b])
        });
        state.queues[leaf].as_leaf_mut().active = active;
    }

    fn compute_user_master_limit(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        partition: PartitionId,
        app: AppSlot,
    ) -> ResourceVector {
        let user = self.user_in(state, leaf, app);
        let weight = user.map_or(1.0, |user| state.users[user].weight);
        let (shown, limit) = user_master_limits(state, leaf, partition, weight);
        let users = state.queues[leaf].as_leaf_mut();
        users.parts[partition].user_master_limit.set(shown);
        limit
    }

    /// The text that says why an application waits shows the user's limit, computed afresh: of
    /// the leaf that it leaves while it moves.
    pub(in crate::commit) fn explain_waiting(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        app: AppSlot,
    ) {
        let row = &state.apps[app];
        if !row.unmanaged && row.master.is_none() {
            let moving = self.moving.filter(|&(moved, _)| moved == app);
            let leaf = moving.map_or(leaf, |(_, from)| from);
            let partition = row.master_partition;
            known_master_limit(state, leaf, partition);
            self.compute_user_master_limit(state, leaf, partition, app);
        }
    }
}

/// Whether a leaf shows the limit of users on each partition where a refusal is explained.
fn all_are_shown(state: &State, leaf: QueueSlot) -> bool {
    let users = state.queues[leaf].as_leaf();
    users.waiting.iter().all(|&app| {
        let row = &state.apps[app];
        let partition = row.master_partition;
        let (limit, _) = user_master_limits(state, leaf, partition, 1.0);
        let is_shown = users.parts[partition].user_master_limit.get() == limit;
        row.unmanaged || row.master.is_some() || is_shown
    })
}

/// Where an application stands, by the lists that hold it.
pub(in crate::commit) fn update_stage(state: &mut State, app: AppSlot) {
    let row = &state.apps[app];
    if row.stage.is_over() {
        return;
    }
    let leaf = state.queues[row.leaf].as_leaf();
    let stage = if leaf.active.contains(&app) {
        AppStage::Active
    } else if leaf.waiting.contains(&app) {
        AppStage::Waiting
    } else {
        AppStage::Parked
    };
    state.apps[app].stage = stage;
}

/// Whether a leaf has a limit for masters on a partition: it may use it and has figures for it, or it is the default
/// one.
// As AbstractCSQueue.getNodeLabelsForQueue.
pub(in crate::commit) fn is_limited_on(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
) -> bool {
    let queue = &state.queues[leaf];
    let part = queue.part(partition);
    if partition == PartitionId::DEFAULT {
        return true;
    }
    // Mostly both rules say the same, and the settings are far away.
    if part.accessible == part.has_figures() || queue.settings.accessible != Accessible::All {
        return part.accessible;
    }
    part.has_figures()
}

/// The limit as it was computed last, and 0 from now on where it never was.
// As AbstractLeafQueue.getAMResourceLimitPerPartition, which reads 0 and not null there. What is computed from it
// is kept, so that the leaf has figures on the partition from now on.
fn known_master_limit(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
) -> ResourceVector {
    let known = state.queues[leaf].as_leaf().parts[partition].master_limit();
    known.unwrap_or_else(|| {
        keep_master_limit(state, leaf, partition, ResourceVector::NONE);
        ResourceVector::NONE
    })
}

fn compute_master_limit(state: &mut State, leaf: QueueSlot, partition: PartitionId) {
    let limit = master_limit(state, leaf, partition);
    keep_master_limit(state, leaf, partition, limit);
}

/// Keeps a limit for masters. The leaf has figures on the partition from now on.
pub(in crate::commit) fn keep_master_limit(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    limit: ResourceVector,
) {
    state.counting(leaf, partition);
    state.queues[leaf].as_leaf_mut().parts[partition].master_limit = Some(limit.into());
}
