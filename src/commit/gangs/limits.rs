//! Limits that the minimum of a gang keeps as a whole.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::sites::members_in;
use super::waiting::WaitingGang;
use crate::accounting::charge_user;
use crate::id::{PartitionId, QueueSlot, SchedulerKey, UserSlot};
use crate::policy::{compute_user_limit, is_granted, user_value};
use crate::queue::{App, AppStage, Exclusivity, GangWait, LimitKind};
use crate::resource::{MAX_TYPES, with_width};
use crate::snapshot::State;

/// How many members application and queues allow at once, at most the minimum. Fewer than that are allowed
/// where only queues without a maximum of their own are full: the cluster is then.
///
/// # Errors
///
/// What is against it besides the room of the cluster.
// As validate_limits, for the sum of the members.
pub(super) fn check_gang_limits(state: &State, gang: &WaitingGang) -> Result<u32, GangWait> {
    let partition = gang.partition;
    let row = &state.apps[gang.slot];
    if row.stage != AppStage::Active {
        return Err(GangWait::Inactive);
    }
    if is_key_in_use(row, gang.key) {
        return Err(GangWait::KeyInUse);
    }
    let mut chain = state.chain(row.leaf);
    if !chain.all(|queue| state.queues[queue].can_access(partition)) {
        return Err(GangWait::Access);
    }
    let total = state.total(partition);
    let mut allowed = gang.minimum;
    for queue in state.chain(row.leaf) {
        let used = state.queues[queue].part(partition).used.get();
        let most = state.most_of::<MAX_TYPES>(queue, partition, Exclusivity::Respect);
        let fit = members_in(state, &gang.size, &(most - used), gang.minimum);
        if fit < gang.minimum && !total.fits_in(&most) {
            let queue = state.queues[queue].settings.path.clone();
            return Err(GangWait::QueueLimit { queue });
        }
        allowed = allowed.min(fit);
    }
    Ok(allowed)
}

/// Whether the user of a gang is within the limit before each of its members. The application asks for
/// the members already. The user is charged with them on the way, and relieved again.
///
/// Cost: that of a user limit for each member beyond what a user is granted in any case.
// As AbstractLeafQueue.canAssignToUser, which a user may exceed by the last container.
pub(super) fn is_gang_within_user_limit(state: &mut State, gang: &WaitingGang) -> bool {
    let partition = gang.partition;
    let (leaf, user) = (state.apps[gang.slot].leaf, state.apps[gang.slot].user);
    if state.users[user].removed {
        return false;
    }
    let row = state.users[user].clone();
    let figures = state.queues[leaf].as_leaf().parts[partition].clone();
    let within = with_width!(state.calculator, N => (0..gang.minimum).all(|_| {
        let within = is_within_limit::<N>(state, (leaf, user), partition);
        charge_user::<N>(state, leaf, user, partition, gang.size.narrow());
        within
    }));
    state.users[user] = row;
    let users = state.queues[leaf].as_leaf_mut();
    users.parts[partition] = figures;
    // Limits by the versions in between are of other figures.
    users.users_version += 1;
    within
}

/// Whether asks or a scheduling request of an application have a key.
pub(super) fn is_key_in_use(app: &App, key: SchedulerKey) -> bool {
    let asks = app.key(key);
    asks.is_some_and(|asks| asks.is_outstanding() || asks.constrained.is_some())
}

fn is_within_limit<const N: usize>(
    state: &State,
    (leaf, user): (QueueSlot, UserSlot),
    partition: PartitionId,
) -> bool {
    let row = &state.users[user];
    if is_granted::<N>(state, leaf, partition, row) {
        return true;
    }
    let limit = compute_user_limit::<N>(state, leaf, partition, LimitKind::Respect);
    let own = user_value(state, &limit, Some(row));
    let used = row.part(partition).used.narrow();
    state
        .calculator
        .compare(&state.cluster.narrow(), &used, &own)
        .is_le()
}
