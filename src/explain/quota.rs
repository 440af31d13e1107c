//! Limits that stop an application: for masters, of queues, of users.

use super::finding::{Finding, amounts};
use super::reason::Reason;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::policy::{
    Limits, child_limit, compute_user_limit, master_limit, passes_maximum, user_master_limits,
    user_value,
};
use crate::queue::{App, Exclusivity, LimitKind};
use crate::resource::{MAX_TYPES, ResourceVector};
use crate::snapshot::State;

/// Why an application waits for room for its master.
// As AbstractLeafQueue.activateApplications.
pub(super) fn of_master(state: &State, app: &App) -> Finding {
    let types = &state.settings.resource_types;
    let (partition, size) = (app.master_partition, app.submission.master_size);
    let queue = &state.queues[app.leaf];
    let path = &queue.settings.path;
    let known = queue.as_leaf().parts[partition].master_limit;
    let limit = known.unwrap_or_else(|| master_limit(state, app.leaf, partition));
    let used = queue.part(partition).master_used.get();
    let asked = amounts(&size, types);
    let said = |whose: &str, used: &ResourceVector, limit: &ResourceVector| {
        format!(
            "masters {whose} use {} of at most {}; the next needs {asked}",
            amounts(used, types),
            amounts(limit, types)
        )
    };
    if !state.calculator.fits_in(&(size + used), &limit) {
        let whose = format!("in {path}");
        return Finding::new(Reason::AmLimitQueue, said(&whose, &used, &limit))
            .by_queue_setting(path, "maximum-am-resource-percent");
    }
    let user = &state.users[app.user];
    let (_, limit) = user_master_limits(state, app.leaf, partition, user.weight);
    let used = user.part(partition).master_used.get();
    if !state.calculator.fits_in(&(size + used), &limit) {
        let whose = format!("of user {} in {path}", user.name);
        return Finding::new(Reason::AmLimitUser, said(&whose, &used, &limit))
            .by_queue_setting(path, "user-limit-factor");
    }
    let detail = format!("the next change in {path} activates it");
    Finding::new(Reason::NotYetEvaluated, detail)
}

/// The queue above an application whose maximum is smaller than one container.
pub(super) fn never_within(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    let types = &state.settings.resource_types;
    let too_small = |queue: &QueueSlot| {
        let limit = state.queues[*queue].part(partition).limit.get();
        *queue != State::ROOT && !state.calculator.fits_in(size, &limit)
    };
    let queue = &state.queues[state.chain(leaf).find(too_small)?];
    let (path, limit) = (&queue.settings.path, queue.part(partition).limit.get());
    let detail = format!(
        "one container of {} is more than {path} may use in all: {}",
        amounts(size, types),
        amounts(&limit, types)
    );
    let setting = maximum_setting(state, partition);
    Some(Finding::new(Reason::ExceedsQueueMax, detail).by_queue_setting(path, &setting))
}

/// The setting of a queue's maximum on a partition.
fn maximum_setting(state: &State, partition: PartitionId) -> String {
    if partition == PartitionId::DEFAULT {
        return "maximum-capacity".to_owned();
    }
    let label = &state.partitions[partition].name;
    format!("accessible-node-labels.{label}.maximum-capacity")
}

/// The queue above an application that leaves no room for one more container; nothing where only
/// the whole cluster does.
pub(super) fn of_queues(
    state: &State,
    app: &App,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    let mut path: Vec<QueueSlot> = state.chain(app.leaf).collect();
    path.reverse();
    let held = app.part(partition).reserved.get();
    let mut limits: Limits<MAX_TYPES> = Limits::new(state.total(partition));
    let respect = Exclusivity::Respect;
    for (index, &queue) in path.iter().enumerate() {
        let passes = passes_maximum(state, queue, partition, &mut limits, &held, respect);
        if !passes {
            return at_maximum(state, queue, partition, size);
        }
        if let Some(&child) = path.get(index + 1) {
            limits = child_limit(state, queue, child, partition, &mut limits, true);
        }
    }
    let room = limits.headroom + held;
    if state.calculator.fits_in(size, &room) {
        return None;
    }
    let full = |queue: &&QueueSlot| {
        let part = state.queues[**queue].part(partition);
        let used = part.used.get() - held;
        !state.calculator.fits_in(&(used + *size), &part.limit.get())
    };
    at_maximum(state, *path.iter().find(full)?, partition, size)
}

/// That a queue is at its maximum; root is at it when the cluster is full, which is no quota.
fn at_maximum(
    state: &State,
    slot: QueueSlot,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    if slot == State::ROOT {
        return None;
    }
    let types = &state.settings.resource_types;
    let queue = &state.queues[slot];
    let (path, part) = (&queue.settings.path, queue.part(partition));
    let detail = format!(
        "{path} uses {} of at most {}; one container needs {}",
        amounts(&part.used.get(), types),
        amounts(&part.limit.get(), types),
        amounts(size, types)
    );
    let setting = maximum_setting(state, partition);
    Some(Finding::new(Reason::QueueMaxCapacity, detail).by_queue_setting(path, &setting))
}

/// That the user of an application has more than the user limit.
// As AbstractLeafQueue.canAssignToUser: what the user has now is compared, not what is asked.
pub(super) fn of_user(state: &State, slot: AppSlot, partition: PartitionId) -> Option<Finding> {
    let app = &state.apps[slot];
    let user = &state.users[app.user];
    let common: ResourceVector = compute_user_limit(state, app.leaf, partition, LimitKind::Respect);
    let limit = user_value(state, &common, Some(user));
    let held = app.part(PartitionId::DEFAULT).reserved.get();
    let used = user.part(partition).used.get() - held;
    let order = state.calculator.compare(&state.cluster, &used, &limit);
    if order.is_le() {
        return None;
    }
    let types = &state.settings.resource_types;
    let path = &state.queues[app.leaf].settings.path;
    let detail = format!(
        "user {} uses {} in {path}, above the user limit of {}",
        user.name,
        amounts(&used, types),
        amounts(&limit, types)
    );
    Some(Finding::new(Reason::UserLimit, detail).by_queue_setting(path, "user-limit-factor"))
}
