//! What passes found about users whose records go: whether their limit was reached.

use std::sync::Arc;

use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{compute_user_limit, user_value};
use crate::queue::{Exclusivity, Gate, User};
use crate::resource::ResourceVector;

/// What passes found about one user on one partition.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct Gates {
    pub(in crate::commit) told: [Option<u64>; 2],
    pub(in crate::commit) gates: [Option<Box<Gate>>; 2],
}

/// What passes found about users whose records went, for one version of a leaf's users.
#[derive(Debug, Default)]
pub(in crate::commit) struct RemovedUserLimits {
    version: u64,
    by_name: Vec<(Arc<str>, Vec<Gates>)>,
}

impl RemovedUserLimits {
    /// Forgets what was found for another version.
    fn renew(&mut self, version: u64) {
        if self.version != version {
            self.version = version;
            self.by_name.clear();
        }
    }
}

/// What passes found about a user, by partition.
pub(in crate::commit) fn gates_of(record: &User) -> Vec<Gates> {
    let parts = record.parts.iter();
    let found = parts.map(|part| Gates {
        told: part.told,
        gates: part.gates.clone(),
    });
    found.collect()
}

impl Ledger {
    /// Keeps what passes found about a user whose record goes: it holds for a new record until
    /// something changes.
    pub(in crate::commit) fn keep_gates(&mut self, leaf: QueueSlot, user: UserSlot) {
        let version = self.state.queues[leaf].as_leaf().users_version;
        for partition in self.state.partition_ids() {
            for exclusivity in [Exclusivity::Respect, Exclusivity::Ignore] {
                let part = &self.state.users[user].parts[partition];
                let gate = part.gates[exclusivity as usize].as_ref();
                let known = gate.is_some_and(|gate| gate.version == version);
                let told = part.told[exclusivity as usize] == Some(version)
                    || self.told_in_front(leaf, user, (partition, exclusivity));
                if told && !known {
                    let gate = self.gate_found(leaf, user, partition, exclusivity);
                    let part = &mut self.state.users[user].parts[partition];
                    part.gates[exclusivity as usize] = Some(Box::new(gate));
                }
            }
        }
        let record = &self.state.users[user];
        let kept = self.dropped_gates.entry(leaf).or_default();
        kept.renew(version);
        kept.by_name.retain(|(name, _)| *name != record.name);
        let gates = gates_of(record);
        kept.by_name.push((Arc::clone(&record.name), gates));
    }

    /// Whether a pass told the limit to an application of a user at the front of a leaf, together
    /// with the others there.
    fn told_in_front(
        &self,
        leaf: QueueSlot,
        user: UserSlot,
        here: (PartitionId, Exclusivity),
    ) -> bool {
        let users = self.state.queues[leaf].as_leaf();
        let prefix = &users.prefix;
        let mut front = users.active.iter().take(prefix.len);
        prefix.version == users.users_version
            && prefix.told.contains(&here)
            && front.any(|&app| self.state.apps[app].user == user)
    }

    /// What the last pass over a leaf found about a user. Nothing that decides it has changed
    /// since, so that it is worked out here, for the few users whose record goes.
    // As AbstractLeafQueue.canAssignToUser with its CachedUserLimit.
    fn gate_found(
        &self,
        leaf: QueueSlot,
        user: UserSlot,
        partition: PartitionId,
        exclusivity: Exclusivity,
    ) -> Gate {
        let state = &self.state;
        let users = state.queues[leaf].as_leaf();
        let kind = exclusivity.limit_kind();
        let common = users.parts[partition].limits[kind as usize]
            .as_ref()
            .map_or_else(
                || compute_user_limit(state, leaf, partition, kind),
                |known| known.1.get(),
            );
        let record = &state.users[user];
        let mut gate = Gate {
            version: users.users_version,
            limit: user_value(state, &common, Some(record)),
            can_assign: true,
            reserved: ResourceVector::NONE,
        };
        let above = |used: &ResourceVector| {
            let order = state.calculator.compare(&state.cluster, used, &gate.limit);
            order.is_gt()
        };
        if !above(&record.part(partition).used.get()) {
            return gate;
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
            gate.can_assign = false;
            gate.reserved = held;
        }
        gate
    }

    /// A pass over a leaf found that it has no record of an application's user; that the user may
    /// be assigned nothing holds for a new record too, until something changes.
    pub(in crate::commit) fn refuse_nobody(
        &mut self,
        leaf: QueueSlot,
        app: AppSlot,
        partition: PartitionId,
        exclusivity: Exclusivity,
    ) {
        let version = self.state.queues[leaf].as_leaf().users_version;
        let (partitions, row) = (self.state.partitions.len(), &self.state.apps[app]);
        let counted = self.state.continue_looking_on(partition);
        let held = row.part(counted).reserved.get();
        let kept = self.dropped_gates.entry(leaf).or_default();
        kept.renew(version);
        let mut known = kept.by_name.iter();
        let at = known.position(|(name, _)| *name == row.submission.user_name);
        let at = at.unwrap_or_else(|| {
            let none = vec![Gates::default(); partitions];
            kept.by_name
                .push((Arc::clone(&row.submission.user_name), none));
            kept.by_name.len() - 1
        });
        let gates = &mut kept.by_name[at].1;
        gates.resize_with(partitions, Gates::default);
        let gate = &mut gates[partition.index()].gates[exclusivity as usize];
        let mut found = gate.as_deref().copied();
        found = found.filter(|gate| gate.version == version);
        let mut found = found.unwrap_or(Gate {
            version,
            limit: ResourceVector::NONE,
            can_assign: true,
            reserved: ResourceVector::NONE,
        });
        if found.reserved.fits_in(&held) {
            (found.can_assign, found.reserved) = (false, held);
        }
        *gate = Some(Box::new(found));
    }

    /// What passes found about a user whose record went, no longer kept.
    pub(in crate::commit) fn take_dropped_gates(
        &mut self,
        leaf: QueueSlot,
        name: &str,
    ) -> Option<Vec<Gates>> {
        let kept = self.dropped_gates.get_mut(&leaf)?;
        let mut known = kept.by_name.iter();
        let at = known.position(|(known, _)| **known == *name)?;
        Some(kept.by_name.swap_remove(at).1)
    }
}
