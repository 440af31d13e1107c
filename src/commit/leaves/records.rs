//! Users of a leaf: records, activity, usage ratios, limits (`UsersManager`).
//!
//! Tests: `tests/commit/active_users.rs`.

use std::ops::Range;
use std::sync::Arc;

use super::user_limit_cache::known_limits;
use crate::accounting::{
    charge_user, count_own_weights, deactivate_user, follow_active_weight, note_user_limit,
    renew_bounds, sum_weights,
};
use crate::commit::leaves::Leaves;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{compute_user_limit, user_value};
use crate::queue::{HeadroomProvider, LimitKind, User};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

impl Leaves {
    /// The record of an application's user in a leaf, if there is one.
    pub(in crate::commit) fn user_in(
        &self,
        state: &State,
        leaf: QueueSlot,
        app: AppSlot,
    ) -> Option<UserSlot> {
        let row = &state.apps[app];
        let record = &state.users[row.user];
        // Mostly the application knows it.
        if !record.removed && record.leaf == leaf {
            debug_assert_eq!(
                self.names.user(leaf, &row.submission.user_name),
                Some(row.user)
            );
            return Some(row.user);
        }
        self.names.user(leaf, &row.submission.user_name)
    }

    /// The dropped record of an application's user in a leaf, if it still asks.
    fn dropped_user(&self, state: &State, leaf: QueueSlot, app: AppSlot) -> Option<UserSlot> {
        let name = &state.apps[app].submission.user_name;
        self.removed.asking(leaf, name)
    }

    /// The record of a user in a leaf, created on first use.
    pub(in crate::commit) fn user(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        name: &str,
    ) -> UserSlot {
        let name: Arc<str> = name.into();
        if let Some(user) = self.names.user(leaf, &name) {
            return user;
        }
        let queue = &state.queues[leaf];
        let weight = queue.settings.user_weights.get(name.as_ref()).copied();
        let record = User {
            weight: weight.unwrap_or(1.0),
            ..User::new(leaf, Arc::clone(&name))
        };
        let slot = self.store_user(state, record);
        self.skipped.cut(state, leaf, 0);
        self.take_over(state, leaf, &name, slot);
        self.names.add(leaf, name, slot);
        let users = state.queues[leaf].as_leaf_mut();
        users.users.push(slot);
        users.most_users = users.most_users.max(users.users.len());
        let (total, own) = (
            sum_weights(state, leaf, false),
            count_own_weights(state, leaf),
        );
        let users = state.queues[leaf].as_leaf_mut();
        (users.total_weight, users.own_weights) = (total, own);
        slot
    }

    /// Stores a record in a slot that is free, or in a new one.
    fn store_user(&mut self, state: &mut State, mut record: User) -> UserSlot {
        let Some(slot) = self.names.take_free() else {
            return UserSlot::at(state.users.push(record));
        };
        debug_assert!(
            self.is_unused(state, slot),
            "somebody refers to a freed user"
        );
        record.generation = state.users[slot].generation + 1;
        state.users[slot] = record;
        slot
    }

    /// Whether no application refers to a record: none asks by it, is counted by it or has its headroom from it.
    fn is_unused(&self, state: &State, user: UserSlot) -> bool {
        let record = &state.users[user];
        let mut apps = state.queues[record.leaf].leaf.iter().flat_map(|leaf| {
            let lists = [&leaf.active, &leaf.waiting, &leaf.parked, &leaf.between];
            lists.into_iter().flatten()
        });
        record.removed
            && record.asking_apps <= 0
            && record.providers == 0
            && apps.all(|&app| state.apps[app].user != user)
    }

    /// Who asks and what passes found is kept by name: a new record takes over what is left of a
    /// dropped one, and the applications of the user in the leaf refer to it from now on.
    fn take_over(&mut self, state: &mut State, leaf: QueueSlot, name: &Arc<str>, slot: UserSlot) {
        let dropped = self.removed.take_asking(leaf, name);
        if let Some(dropped) = dropped {
            let asking = std::mem::take(&mut state.users[dropped].asking_apps);
            state.users[slot].asking_apps = asking;
        }
        let mut before: Vec<_> = dropped.into_iter().collect();
        let mut cached = self.removed.take_limits(leaf, name);
        for app in entered(state, leaf).collect::<Vec<_>>() {
            let row = &state.apps[app];
            if row.submission.user_name != *name || row.user == slot || row.leaf != leaf {
                continue;
            }
            let old = row.user;
            cached = Some(known_limits(&state.users[old]));
            state.apps[app].user = slot;
            before.push(old);
        }
        if let Some(cached) = cached {
            for (at, cached) in cached.into_iter().enumerate() {
                let part = &mut state.users[slot].parts[PartitionId::at(at)];
                (part.limit_version, part.cached_limits) =
                    (cached.limit_version, cached.cached_limits);
            }
        }
        for old in before {
            self.free_user(state, old);
        }
    }

    /// The record of an application's user, created anew when it was dropped.
    #[inline]
    pub(in crate::commit) fn user_of(&mut self, state: &mut State, app: AppSlot) -> UserSlot {
        let row = &state.apps[app];
        let record = &state.users[row.user];
        if !record.removed && record.leaf == row.leaf {
            return row.user;
        }
        self.renew_user(state, app)
    }

    #[cold]
    fn renew_user(&mut self, state: &mut State, app: AppSlot) -> UserSlot {
        let row = &state.apps[app];
        let (leaf, before) = (row.leaf, row.user);
        let name = Arc::clone(&row.submission.user_name);
        let user = self.user(state, leaf, &name);
        state.apps[app].user = user;
        if before != user {
            self.free_user(state, before);
        }
        user
    }

    /// Drops the record of a user without applications.
    pub(in crate::commit) fn remove_user(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        user: UserSlot,
    ) {
        self.skipped.cut(state, leaf, 0);
        self.keep_limits(state, leaf, user);
        let record = &mut state.users[user];
        record.removed = true;
        record.active = false;
        let (name, asking) = (Arc::clone(&record.name), record.asking_apps > 0);
        self.names.remove(leaf, &name);
        state.queues[leaf]
            .as_leaf_mut()
            .users
            .retain(|&other| other != user);
        update_weights(state, leaf);
        if asking {
            self.removed.keep_asking(leaf, name, user);
        } else {
            self.free_user(state, user);
        }
    }

    /// Frees the slot of a dropped record once nobody refers to it.
    fn free_user(&mut self, state: &mut State, user: UserSlot) {
        let record = &state.users[user];
        let needed = !record.removed || record.providers > 0;
        let of_app = |app| state.apps[app].user == user;
        if needed || entered(state, record.leaf).any(of_app) {
            return;
        }
        debug_assert!(
            record.asking_apps <= 0,
            "an application that asks is in the leaf and refers to the record that counts it"
        );
        self.names.free(user);
    }

    /// Notes whom an application's headroom is computed for. A dropped record stays for it with
    /// what it last said.
    pub(in crate::commit) fn set_provider(
        &mut self,
        state: &mut State,
        app: AppSlot,
        provider: Option<HeadroomProvider>,
    ) {
        if state.apps[app].provider == provider {
            return;
        }
        self.skipped.stop(state, app);
        let before = std::mem::replace(&mut state.apps[app].provider, provider);
        if let Some(provider) = provider {
            state.users[provider.user].providers += 1;
        }
        if let Some(before) = before {
            state.users[before.user].providers -= 1;
            self.free_user(state, before.user);
        }
    }

    /// Takes over the weights of the configuration.
    pub(in crate::commit) fn refresh_weights(&mut self, state: &mut State, leaf: QueueSlot) {
        self.skipped.cut(state, leaf, 0);
        for at in 0..state.queues[leaf].as_leaf().users.len() {
            let row = &state.queues[leaf];
            let record = &mut state.users[row.as_leaf().users[at]];
            let weight = row.settings.user_weights.get(record.name.as_ref()).copied();
            record.weight = weight.unwrap_or(1.0);
        }
        update_weights(state, leaf);
        users_changed(state, leaf);
    }

    /// A key of an application has outstanding asks.
    // As UsersManager.activateApplication: not while the user has no activated application.
    pub(in crate::commit) fn start_asking(&mut self, state: &mut State, app: AppSlot) {
        let row = &state.apps[app];
        let leaf = row.leaf;
        let known = self.user_in(state, leaf, app);
        let idle = known.is_some_and(|user| state.users[user].active_apps <= 0);
        if idle || row.asking {
            return;
        }
        state.apps[app].asking = true;
        let holder = known.or_else(|| self.dropped_user(state, leaf, app));
        if let Some(holder) = holder.filter(|&user| state.users[user].asking_apps > 0) {
            state.users[holder].asking_apps += 1;
            return;
        }
        let user = known.unwrap_or_else(|| {
            let name = Arc::clone(&state.apps[app].submission.user_name);
            self.user(state, leaf, &name)
        });
        state.users[user].asking_apps = 1;
        state.queues[leaf].as_leaf_mut().asking_users += 1;
        users_changed(state, leaf);
        if state.users[user].active {
            return;
        }
        state.users[user].active = true;
        follow_active_weight(state, leaf, true);
        for partition in state.users[user].parts.partitions() {
            let used = state.users[user].part(partition).used.get();
            let users = state.queues[leaf].as_leaf_mut();
            users.parts[partition].active_used += used;
        }
    }

    /// No key of an application has outstanding asks any more.
    // As UsersManager.deactivateApplication.
    pub(in crate::commit) fn stop_asking(
        &mut self,
        state: &mut State,
        app: AppSlot,
        leaf: QueueSlot,
    ) {
        let row = &state.apps[app];
        if !row.asking {
            return;
        }
        let known = self.user_in(state, leaf, app);
        let Some(user) = known.or_else(|| self.dropped_user(state, leaf, app)) else {
            return;
        };
        state.apps[app].asking = false;
        state.users[user].asking_apps -= 1;
        if state.users[user].asking_apps > 0 {
            return;
        }
        if state.users[user].removed {
            state.queues[leaf].as_leaf_mut().asking_users -= 1;
            users_changed(state, leaf);
            let name = Arc::clone(&state.apps[app].submission.user_name);
            self.removed.take_asking(leaf, &name);
            self.free_user(state, user);
        } else {
            deactivate_user(state, leaf, user);
        }
    }

    /// Charges a user; the usage ratio of the leaf moves by the difference, in `f32`.
    // As UsersManager.updateUserResourceUsage.
    pub(in crate::commit) fn charge_user<const N: usize>(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        user: UserSlot,
        partition: PartitionId,
        size: ResourceVector<N>,
    ) {
        if !ResourceVector::NONE.fits_in(&size) {
            self.skipped.recheck(state, leaf);
        }
        charge_user(state, leaf, user, partition, size);
    }
}

/// The applications that a leaf holds; one may be in two of its lists.
pub(in crate::commit) fn entered(
    state: &State,
    leaf: QueueSlot,
) -> impl Iterator<Item = AppSlot> + '_ {
    let users = state.queues[leaf].as_leaf();
    let lists = [&users.active, &users.waiting, &users.parked, &users.between];
    lists.into_iter().flatten().copied()
}

fn update_weights(state: &mut State, leaf: QueueSlot) {
    let (active, total) = (
        sum_weights(state, leaf, true),
        sum_weights(state, leaf, false),
    );
    let own = count_own_weights(state, leaf);
    let users = state.queues[leaf].as_leaf_mut();
    users.own_weights = own;
    users.active_weight = active;
    users.total_weight = total;
    users.weights_moved_in = Some(users.users_version);
}

/// Something that user limits depend on changed.
pub(in crate::commit) fn users_changed(state: &mut State, leaf: QueueSlot) {
    state.queues[leaf].as_leaf_mut().users_version += 1;
}

/// The limit of a user, through the cache by version; what is computed is remembered, and so
/// is the limit that the user was handed.
// As UsersManager.getComputedResourceLimitForActiveUsers (and …ForAllUsers).
pub(in crate::commit) fn user_limit<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    user: Option<UserSlot>,
    partition: PartitionId,
    kind: LimitKind,
) -> ResourceVector<N> {
    renew_bounds(state, leaf, partition);
    let users = state.queues[leaf].as_leaf();
    let version = users.users_version;
    let limit = match &users.parts[partition].limits[kind as usize] {
        Some((known, limit)) if *known == version => limit.narrow(),
        _ => {
            let limit = compute_user_limit(state, leaf, partition, kind);
            keep_user_limit(state, leaf, partition, kind, version, limit.into());
            count_waiting_users(state, leaf);
            limit
        }
    };
    let own = user_value(state, &limit, user.map(|user| &state.users[user]));
    if let Some(user) = user
        && kind != LimitKind::All
    {
        note_user_limit(state, user, own.into());
    }
    own
}

/// Renews the bounds of the user limits of some queues, so that no copy has to.
pub(in crate::commit) fn renew_bounds_of(state: &mut State, queues: Range<usize>) {
    for queue in queues.map(QueueSlot::at) {
        for partition in state.partition_ids() {
            if state.queues[queue].is_leaf() {
                renew_bounds(state, queue, partition);
            }
        }
    }
}

/// Remembers a computed limit.
pub(in crate::commit) fn keep_user_limit(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    kind: LimitKind,
    version: u64,
    limit: PackedVector,
) {
    renew_bounds(state, leaf, partition);
    let users = state.queues[leaf].as_leaf_mut();
    users.parts[partition].limits[kind as usize] = Some((version, limit));
}

/// Counts the users of a leaf whose applications all wait.
///
/// Cost: where an application waits, a look at each user of the leaf.
// As UsersManager.computeNumActiveUsersWithOnlyPendingApps, after each computation of a limit.
pub(in crate::commit) fn count_waiting_users(state: &mut State, leaf: QueueSlot) {
    let users = state.queues[leaf].as_leaf();
    if users.waiting.is_empty() && users.waiting_users == 0 {
        return;
    }
    let known = if users.waiting.is_empty() {
        &[][..]
    } else {
        &users.users
    };
    let waiting = known
        .iter()
        .map(|&user| &state.users[user])
        .filter(|user| user.waiting_apps > 0 && user.active_apps <= 0)
        .count();
    let users = state.queues[leaf].as_leaf_mut();
    users.waiting_users = i32::try_from(waiting).unwrap_or(i32::MAX);
}
