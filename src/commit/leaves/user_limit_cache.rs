//! The limits of removed users: what passes found about a user holds for its next record.
//!
//! # What
//!
//! A pass caches whether a user reached its limit, once in a version of the leaf's users
//! ([`CachedUserLimit`]). The record of a user without applications is removed; what was found stays here.
//!
//! # When it is valid
//!
//! For the version of the leaf's users in which it was found. Another version drops it.
//!
//! # Why
//!
//! The reference caches by name. A user who comes back within a version meets the cached answer.
//!
//! Tests: `tests/commit/property.rs`.
// As AbstractLeafQueue.CachedUserLimit.

use std::sync::Arc;

use super::removed::LimitsFound;
use crate::commit::leaves::Leaves;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{compute_user_limit, user_value};
use crate::queue::{CachedUserLimit, Exclusivity, User};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// What passes found about a user, by partition.
pub(in crate::commit) fn known_limits(record: &User) -> Vec<LimitsFound> {
    let parts = record.parts.iter();
    let found = parts.map(|part| LimitsFound {
        limit_version: part.limit_version,
        cached_limits: part.cached_limits.clone(),
    });
    found.collect()
}

impl Leaves {
    /// Keeps what passes found about a user whose record is removed: it holds for a new record until
    /// something changes.
    pub(in crate::commit) fn keep_limits(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        user: UserSlot,
    ) {
        let version = state.queues[leaf].as_leaf().users_version;
        for partition in state.partition_ids() {
            for exclusivity in [Exclusivity::Respect, Exclusivity::Ignore] {
                let part = &state.users[user].parts[partition];
                let cached = part.cached_limits[exclusivity as usize].as_ref();
                let known = cached.is_some_and(|cached| cached.version == version);
                let noted = part.limit_version[exclusivity as usize] == Some(version)
                    || was_notified_with_head(state, leaf, user, (partition, exclusivity));
                if noted && !known {
                    let cached = limit_found(state, leaf, user, partition, exclusivity);
                    let part = &mut state.users[user].parts[partition];
                    part.cached_limits[exclusivity as usize] = Some(Box::new(cached));
                }
            }
        }
        let record = &state.users[user];
        let kept = self.removed.limits(leaf, version);
        kept.by_name.retain(|(name, _)| *name != record.name);
        let cached_by_partition = known_limits(record);
        kept.by_name
            .push((Arc::clone(&record.name), cached_by_partition));
    }

    /// A pass over a leaf found that it has no record of an application's user; that the user may
    /// be assigned nothing holds for a new record too, until something changes.
    pub(in crate::commit) fn refuse_unknown_user(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        app: AppSlot,
        partition: PartitionId,
        exclusivity: Exclusivity,
    ) {
        let version = state.queues[leaf].as_leaf().users_version;
        let (partitions, row) = (state.partitions.len(), &state.apps[app]);
        let counted = state.continue_looking_on(partition);
        let held = row.part(counted).reserved.get();
        let kept = self.removed.limits(leaf, version);
        let mut known = kept.by_name.iter();
        let at = known.position(|(name, _)| *name == row.submission.user_name);
        let at = at.unwrap_or_else(|| {
            let none = vec![LimitsFound::default(); partitions];
            kept.by_name
                .push((Arc::clone(&row.submission.user_name), none));
            kept.by_name.len() - 1
        });
        let cached_by_partition = &mut kept.by_name[at].1;
        cached_by_partition.resize_with(partitions, LimitsFound::default);
        let cached =
            &mut cached_by_partition[partition.index()].cached_limits[exclusivity as usize];
        let mut found = cached.as_deref().copied();
        found = found.filter(|cached| cached.version == version);
        let mut found = found.unwrap_or(CachedUserLimit {
            version,
            limit: ResourceVector::NONE,
            can_assign: true,
            reserved: ResourceVector::NONE,
        });
        if found.reserved.fits_in(&held) {
            (found.can_assign, found.reserved) = (false, held);
        }
        *cached = Some(Box::new(found));
    }
}

/// Whether a pass handed the limit to an application of a user in the head of a leaf, together
/// with the others there.
fn was_notified_with_head(
    state: &State,
    leaf: QueueSlot,
    user: UserSlot,
    here: (PartitionId, Exclusivity),
) -> bool {
    let users = state.queues[leaf].as_leaf();
    let head = &users.head;
    let mut front = users.active.iter().take(head.len);
    head.version == users.users_version
        && head.notified.contains(&here)
        && front.any(|&app| state.apps[app].user == user)
}

/// What the last pass over a leaf found about a user. Nothing that decides it has changed
/// since, so that it is worked out here, for the few users whose record is removed.
// As AbstractLeafQueue.canAssignToUser with its CachedUserLimit.
fn limit_found(
    state: &State,
    leaf: QueueSlot,
    user: UserSlot,
    partition: PartitionId,
    exclusivity: Exclusivity,
) -> CachedUserLimit {
    let users = state.queues[leaf].as_leaf();
    let kind = exclusivity.limit_kind();
    let known = users.parts[partition].limits[kind as usize].as_ref();
    let compute = || compute_user_limit(state, leaf, partition, kind);
    let common = known.map_or_else(compute, |known| known.1.get());
    let record = &state.users[user];
    let mut cached = CachedUserLimit {
        version: users.users_version,
        limit: user_value(state, &common, Some(record)),
        can_assign: true,
        reserved: ResourceVector::NONE,
    };
    let above = |used: &ResourceVector| {
        let (calculator, limit) = (state.calculator, &cached.limit);
        calculator.compare(&state.cluster, used, limit).is_gt()
    };
    if !above(&record.part(partition).used.get()) {
        return cached;
    }
    let counted = state.continue_looking_on(partition);
    let used = record.part(counted).used.get();
    let apps = users.active.iter().map(|&app| &state.apps[app]);
    let held = apps
        .filter(|app| app.user == user)
        .map(|app| app.part(counted).reserved.get())
        .filter(|held| !state.settings.continue_looking || above(&(used - *held)))
        .reduce(|most, held| if most.fits_in(&held) { held } else { most });
    if let Some(held) = held {
        cached.can_assign = false;
        cached.reserved = held;
    }
    cached
}
