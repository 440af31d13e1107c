//! Limits that the minimum of a gang keeps as a whole.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::sites::members_in;
use super::waiting::WaitingGang;
use crate::accounting::{charge_user, charge_user_each};
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
/// the members already.
///
/// Cost: a share of the partition for each member. Where that is not enough the same again, and a user limit for each
/// member that is not granted.
// As AbstractLeafQueue.canAssignToUser, which a user may exceed by the last container.
pub(super) fn is_gang_within_user_limit(state: &mut State, gang: &WaitingGang) -> bool {
    let user = state.apps[gang.slot].user;
    if state.users[user].removed {
        return false;
    }
    // Must equal [`is_each_within`].
    let surely = charging(state, gang, is_last_granted);
    debug_assert!(
        !surely || charging(state, gang, is_each_within),
        "who is granted all members but one is granted fewer"
    );
    surely || charging(state, gang, is_each_within)
}

/// Whether the user is granted what all members but the last one come to, and fewer of them for sure: a sole active user
/// is compared with what active users have, which grows as much with each member. Charges them.
fn is_last_granted(state: &mut State, gang: &WaitingGang) -> bool {
    let (leaf, user) = (state.apps[gang.slot].leaf, state.apps[gang.slot].user);
    let partition = gang.partition;
    let others = gang.minimum.saturating_sub(1) as usize;
    let granted = with_width!(state.calculator, N => {
        let each = std::iter::repeat_n(gang.size.narrow::<N>(), others);
        charge_user_each(state, (leaf, user), partition, None, each);
        is_granted::<N>(state, leaf, partition, &state.users[user])
    });
    let users = state.queues[leaf].as_leaf();
    let base = users.parts[partition].active_used.get() + state.minimum;
    granted
        && users.active_weight.to_bits() == 1.0_f32.to_bits()
        && base.is_exact_in_steps_of(&gang.size)
}

/// The same by a look at the limit before each member.
fn is_each_within(state: &mut State, gang: &WaitingGang) -> bool {
    let (leaf, user) = (state.apps[gang.slot].leaf, state.apps[gang.slot].user);
    let partition = gang.partition;
    with_width!(state.calculator, N => (0..gang.minimum).all(|_| {
        let within = is_within_limit::<N>(state, (leaf, user), partition);
        charge_user::<N>(state, leaf, user, partition, gang.size.narrow());
        within
    }))
}

/// Runs what charges the user of a gang, and relieves the user of it.
fn charging(
    state: &mut State,
    gang: &WaitingGang,
    run: fn(&mut State, &WaitingGang) -> bool,
) -> bool {
    let (leaf, user) = (state.apps[gang.slot].leaf, state.apps[gang.slot].user);
    let row = state.users[user].clone();
    let users = state.queues[leaf].as_leaf();
    let (version, figures) = (users.users_version, users.parts[gang.partition].clone());
    let within = run(state, gang);
    state.users[user] = row;
    let users = state.queues[leaf].as_leaf_mut();
    users.parts[gang.partition] = figures;
    // Limits by the versions in between are of other figures.
    users.users_version = version + u64::from(gang.minimum) + 1;
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
