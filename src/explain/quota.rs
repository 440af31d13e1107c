//! Limits that stop an application: for masters, of queues, of users.

use super::evidence::Evidence;
use super::finding::{Finding, amounts, amounts_beside};
use super::holders::{HolderScope, Holders};
use super::reason::Reason;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::policy::{
    Limits, child_limit, compute_user_limit, passes_maximum, user_master_limits, user_value,
};
use crate::queue::{App, Exclusivity, LimitKind};
use crate::resource::{MAX_TYPES, ResourceVector};
use crate::snapshot::State;

/// Why an application waits for room for its master.
// As AbstractLeafQueue.activateApplications.
pub(super) fn of_master(holders: &mut Holders<'_>, app: &App) -> Finding {
    let state = holders.state();
    let types = &state.settings.resource_types;
    let (partition, size) = (app.master_partition, app.master_use());
    let queue = &state.queues[app.leaf];
    let path = &queue.settings.path;
    let known = queue.as_leaf().parts[partition].master_limit();
    // As activation, which reads 0 where no limit was computed.
    let limit = known.unwrap_or_default();
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
            .by_queue_setting(path, "maximum-am-resource-percent")
            .shown_by(masters(holders, app, (&limit, &used), false));
    }
    let user = &state.users[app.user];
    let (_, limit) = user_master_limits(state, app.leaf, partition, user.weight);
    let used = user.part(partition).master_used.get();
    if !state.calculator.fits_in(&(size + used), &limit) {
        let whose = format!("of user {} in {path}", user.name);
        return Finding::new(Reason::AmLimitUser, said(&whose, &used, &limit))
            .by_queue_setting(path, "user-limit-factor")
            .shown_by(masters(holders, app, (&limit, &used), true));
    }
    let detail = format!("the next change in {path} activates it");
    Finding::new(Reason::NotYetEvaluated, detail)
}

/// The figures of a limit for masters, and whose masters hold most in the leaf or of the user. Other containers do not
/// count.
fn masters(
    holders: &mut Holders<'_>,
    app: &App,
    (limit, used): (&ResourceVector, &ResourceVector),
    of_user: bool,
) -> Evidence {
    let state = holders.state();
    let scope = if of_user {
        HolderScope::MastersOf(app.user)
    } else {
        HolderScope::Masters(app.leaf)
    };
    Evidence::of_limit(state, (limit, used, &app.master_use()))
        .binding(state, app.leaf)
        .held_by(holders, app.master_partition, scope)
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
    let binding = state.chain(leaf).find(too_small)?;
    let queue = &state.queues[binding];
    let (path, limit) = (&queue.settings.path, queue.part(partition).limit.get());
    let detail = format!(
        "one container of {} is more than {path} may use in all: {}",
        amounts(size, types),
        amounts(&limit, types)
    );
    let setting = maximum_setting(state, partition);
    let shown = Evidence::of_limit(state, (&limit, &ResourceVector::NONE, size));
    let found = Finding::new(Reason::ExceedsQueueMax, detail).by_queue_setting(path, &setting);
    Some(found.shown_by(shown.binding(state, binding)))
}

/// The setting of a queue's maximum on a partition.
fn maximum_setting(state: &State, partition: PartitionId) -> String {
    if partition == PartitionId::DEFAULT {
        return "maximum-capacity".to_owned();
    }
    let label = &state.partitions[partition].name;
    format!("accessible-node-labels.{label}.maximum-capacity")
}

/// The first queue of a path, from root on, that takes nothing more, and the headroom there; that of the leaf where
/// none does. What the queues above leave to one is counted in whole smallest allocations, so that it may be less
/// than the maximum of its own.
fn first_stop(
    state: &State,
    path: &[QueueSlot],
    partition: PartitionId,
    held: &ResourceVector,
) -> (Option<QueueSlot>, ResourceVector) {
    let mut limits: Limits<MAX_TYPES> = Limits::new(state.total(partition));
    let respect = Exclusivity::Respect;
    for (index, &queue) in path.iter().enumerate() {
        if !passes_maximum(state, queue, partition, &mut limits, held, respect) {
            return (Some(queue), limits.headroom);
        }
        if let Some(&child) = path.get(index + 1) {
            limits = child_limit(state, queue, child, partition, &mut limits, true);
        }
    }
    (None, limits.headroom)
}

/// The queue above an application that leaves no room for one more container; nothing where only
/// the whole cluster does.
pub(super) fn of_queues(
    holders: &mut Holders<'_>,
    app: &App,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    let state = holders.state();
    let mut path: Vec<QueueSlot> = state.chain(app.leaf).collect();
    path.reverse();
    let held = given_up(state, app, partition);
    let (stopped, headroom) = first_stop(state, &path, partition, &held);
    let cluster_full = stopped == Some(State::ROOT);
    if let Some(queue) = stopped
        && !cluster_full
        && reaches_maximum(state, queue, partition, &held)
    {
        return at_maximum(holders, app.leaf, queue, partition, size);
    }
    let room = headroom + held;
    if stopped.is_none() && state.calculator.fits_in(size, &room) {
        return None;
    }
    let is_full = |queue: QueueSlot| leaves_no_room(state, queue, partition, (&held, size));
    let is_bound = |queue: QueueSlot| has_maximum(state, queue, partition);
    let mut below_root = path.iter().skip(1).copied();
    match below_root.find(|&queue| is_full(queue) && is_bound(queue)) {
        Some(queue) => at_maximum(holders, app.leaf, queue, partition, size),
        None if cluster_full || is_full(State::ROOT) => None,
        None => Some(no_headroom(holders, app.leaf, partition, (&room, size))),
    }
}

/// That the queues use so much of the partition that one more container exceeds it, though a node has room.
/// Reservations count as use; so does what runs on nodes that became smaller.
pub(super) fn of_root(
    holders: &mut Holders<'_>,
    app: &App,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    let state = holders.state();
    let (root, held) = (State::ROOT, given_up(state, app, partition));
    let total = state.total(partition);
    let mut limits: Limits<MAX_TYPES> = Limits::new(total);
    let respect = Exclusivity::Respect;
    let passes = passes_maximum(state, root, partition, &mut limits, &held, respect);
    if passes && state.calculator.fits_in(size, &(limits.headroom + held)) {
        return None;
    }
    let types = &state.settings.resource_types;
    let part = state.queues[root].part(partition);
    let (used, reserved) = (part.used.get(), part.reserved.get());
    let (reason, of_which, scope) = if reserved.is_none() {
        (Reason::ParentHeadroom, String::new(), HolderScope::All)
    } else {
        let reserved = format!(", {} of it reserved", amounts(&reserved, types));
        (Reason::NodesReserved, reserved, HolderScope::Reserving)
    };
    let detail = format!(
        "all queues use {} of {}{of_which}; one container needs {}",
        amounts(&used, types),
        amounts(&total, types),
        amounts(size, types)
    );
    let shown = Evidence::of_limit(state, (&total, &used, size))
        .binding(state, root)
        .held_by(holders, partition, scope);
    Some(Finding::new(reason, detail).shown_by(shown))
}

/// What an application reserved on a partition, where it may be given up for a container on another node.
// As the setting reservations-continue-look-all-nodes, without which a reservation counts as use.
fn given_up(state: &State, app: &App, partition: PartitionId) -> ResourceVector {
    if state.settings.continue_looking {
        app.part(partition).reserved.get()
    } else {
        ResourceVector::NONE
    }
}

/// Whether the maximum of a queue is less than everything on the partition.
fn has_maximum(state: &State, queue: QueueSlot, partition: PartitionId) -> bool {
    let limit = state.queues[queue].part(partition).limit.get();
    !state.calculator.fits_in(&state.total(partition), &limit)
}

/// Whether a queue uses as much as its own maximum, without what its application reserved.
fn reaches_maximum(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    held: &ResourceVector,
) -> bool {
    let row = &state.queues[queue];
    let part = row.part(partition);
    let mut used = part.used.get() - *held;
    if !row.is_leaf() {
        used -= state.killable(queue, partition);
    }
    let order = state
        .calculator
        .compare(&state.cluster, &used, &part.limit.get());
    order.is_ge()
}

/// Whether one more container exceeds the maximum of a queue, without what its application reserved.
fn leaves_no_room(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    (held, size): (&ResourceVector, &ResourceVector),
) -> bool {
    let part = state.queues[queue].part(partition);
    let used = part.used.get() - *held;
    !state.calculator.fits_in(&(used + *size), &part.limit.get())
}

/// That the queues above a leaf leave less than one container, though each alone has room: with
/// several types the smallest of their maxima counts as a whole.
fn no_headroom(
    holders: &mut Holders<'_>,
    leaf: QueueSlot,
    partition: PartitionId,
    (room, size): (&ResourceVector, &ResourceVector),
) -> Finding {
    let state = holders.state();
    let types = &state.settings.resource_types;
    let path = &state.queues[leaf].settings.path;
    let detail = format!(
        "the queues above {path} leave it {}; one container needs {}",
        amounts(&room.component_max(&ResourceVector::NONE), types),
        amounts(size, types)
    );
    let parent = state.queues[leaf].parent.unwrap_or(State::ROOT);
    let used = state.queues[leaf].part(partition).used.get();
    let shown = Evidence::of_limit(state, (&(used + *room), &used, size))
        .binding(state, parent)
        .held_by(holders, partition, HolderScope::Queue(parent));
    let path = &state.queues[parent].settings.path;
    Finding::new(Reason::ParentHeadroom, detail)
        .by_queue_setting(path, &maximum_setting(state, partition))
        .shown_by(shown)
}

/// That a queue is at its maximum; root is at it when the cluster is full, which is no quota. Where
/// siblings below the queue use a part of it, they hold the headroom of the leaf.
fn at_maximum(
    holders: &mut Holders<'_>,
    leaf: QueueSlot,
    slot: QueueSlot,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    let state = holders.state();
    if slot == State::ROOT {
        return None;
    }
    let types = &state.settings.resource_types;
    let queue = &state.queues[slot];
    let (path, part) = (&queue.settings.path, queue.part(partition));
    let detail = format!(
        "{path} uses {} of at most {}; one container needs {}",
        amounts(&part.used.get(), types),
        amounts_beside(&part.limit.get(), size, types),
        amounts(size, types)
    );
    let setting = maximum_setting(state, partition);
    let shown = Evidence::of_limit(state, (&part.limit.get(), &part.used.get(), size))
        .binding(state, slot)
        .held_by(holders, partition, HolderScope::Queue(slot));
    let own = state.chain(leaf).take_while(|&queue| queue != slot).last();
    let own = own.map(|child| state.queues[child].part(partition).used.get());
    let shared = own.is_some_and(|own| own != part.used.get());
    let reason = if shared {
        Reason::ParentHeadroom
    } else {
        Reason::QueueMaxCapacity
    };
    let found = Finding::new(reason, detail).by_queue_setting(path, &setting);
    Some(found.shown_by(shown))
}

/// That the user of an application has more than the user limit.
// As AbstractLeafQueue.canAssignToUser: what the user has now is compared, not what is asked.
pub(super) fn of_user(
    holders: &mut Holders<'_>,
    slot: AppSlot,
    partition: PartitionId,
    size: &ResourceVector,
) -> Option<Finding> {
    let state = holders.state();
    let app = &state.apps[slot];
    let user = &state.users[app.user];
    let common: ResourceVector = compute_user_limit(state, app.leaf, partition, LimitKind::Respect);
    let limit = user_value(state, &common, Some(user));
    let is_within = |used: &ResourceVector| {
        let order = state.calculator.compare(&state.cluster, used, &limit);
        order.is_le()
    };
    let used = user.part(partition).used.get();
    // Above the limit it gets something only in exchange for what it reserved.
    let counted = state.continue_looking_on(partition);
    let reserved = given_up(state, app, counted);
    let left = user.part(counted).used.get() - reserved;
    if is_within(&used) || !reserved.is_none() && is_within(&left) {
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
    let shown = Evidence::of_limit(state, (&limit, &used, size))
        .binding(state, app.leaf)
        .held_by(holders, partition, HolderScope::User(app.user));
    let found = Finding::new(Reason::UserLimit, detail).by_queue_setting(path, "user-limit-factor");
    Some(found.shown_by(shown))
}

/// Why an application is parked by a limit of parallel applications: of its user, or of a queue.
// As CSMaxRunningAppsEnforcer.checkRunnabilityWithUpdate.
pub(super) fn of_parallel(holders: &mut Holders<'_>, app: &App) -> Finding {
    let state = holders.state();
    let name = &app.submission.user_name;
    let limits = &state.settings.user_parallel;
    let running = holders.runnable(name);
    let (running, limit) = (i32::try_from(running).unwrap_or(i32::MAX), limits.of(name));
    if running >= limit {
        let key = if limits.by_user.contains_key(&**name) {
            format!("yarn.scheduler.capacity.user.{name}.max-parallel-apps")
        } else {
            "yarn.scheduler.capacity.user.max-parallel-apps".to_owned()
        };
        let detail = format!("{running} applications of user {name} run, of at most {limit}");
        return Finding::new(Reason::MaxParallelApps, detail)
            .by_setting(key)
            .shown_by(Evidence::of_count(limit, running));
    }
    let full = |queue: &QueueSlot| {
        let queue = &state.queues[*queue];
        queue.runnable >= queue.settings.maximum_parallel
    };
    let binding = state.chain(app.leaf).find(full).unwrap_or(app.leaf);
    let queue = &state.queues[binding];
    let (path, limit) = (&queue.settings.path, queue.settings.maximum_parallel);
    let detail = format!(
        "{} applications run in {path}, of at most {limit}",
        queue.runnable
    );
    Finding::new(Reason::MaxParallelApps, detail)
        .by_queue_setting(path, "max-parallel-apps")
        .shown_by(Evidence::of_count(limit, queue.runnable).binding(state, binding))
}
