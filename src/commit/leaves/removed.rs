//! Users whose records were removed: who of them still asks, and what passes found about them.
//!
//! Tests: `tests/commit/property.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{Map, QueueSlot, UserSlot};
use crate::queue::CachedUserLimit;

/// What passes found about one user on one partition, respecting and ignoring exclusivity.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct LimitsFound {
    pub(in crate::commit) limit_version: [Option<u64>; 2],
    pub(in crate::commit) cached_limits: [Option<Box<CachedUserLimit>>; 2],
}

/// What passes found about removed users, for one version of a leaf's users.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct RemovedUserLimits {
    pub(in crate::commit) version: u64,
    pub(in crate::commit) by_name: Vec<(Arc<str>, Vec<LimitsFound>)>,
}

/// Users whose records were removed, as far as something of them still counts.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct RemovedUsers {
    /// Records of those that still have outstanding asks.
    asking: Map<(QueueSlot, Arc<str>), UserSlot>,
    /// What passes found about them, for one version of a leaf's users.
    limits: BTreeMap<QueueSlot, RemovedUserLimits>,
}

impl RemovedUsers {
    /// The removed record of a user that still asks.
    pub(in crate::commit) fn asking(&self, leaf: QueueSlot, name: &Arc<str>) -> Option<UserSlot> {
        self.asking.get(&(leaf, Arc::clone(name))).copied()
    }

    /// Keeps the record of a user that still asks.
    pub(in crate::commit) fn keep_asking(
        &mut self,
        leaf: QueueSlot,
        name: Arc<str>,
        user: UserSlot,
    ) {
        self.asking.insert((leaf, name), user);
    }

    /// Takes the removed record of a user that still asks.
    pub(in crate::commit) fn take_asking(
        &mut self,
        leaf: QueueSlot,
        name: &Arc<str>,
    ) -> Option<UserSlot> {
        self.asking.remove(&(leaf, Arc::clone(name)))
    }

    /// What is kept of a leaf; what was found for another version is forgotten.
    pub(in crate::commit) fn limits(
        &mut self,
        leaf: QueueSlot,
        version: u64,
    ) -> &mut RemovedUserLimits {
        let kept = self.limits.entry(leaf).or_default();
        if kept.version != version {
            kept.version = version;
            kept.by_name.clear();
        }
        kept
    }

    /// Takes what passes found about a user whose record was removed.
    pub(in crate::commit) fn take_limits(
        &mut self,
        leaf: QueueSlot,
        name: &str,
    ) -> Option<Vec<LimitsFound>> {
        let kept = self.limits.get_mut(&leaf)?;
        let mut known = kept.by_name.iter();
        let at = known.position(|(known, _)| **known == *name)?;
        Some(kept.by_name.swap_remove(at).1)
    }
}
