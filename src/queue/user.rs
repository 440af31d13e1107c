//! A user's record in one leaf queue.

use std::sync::Arc;

use super::per_partition::{PerPartition, blank};
use crate::id::{PartitionId, QueueSlot};
use crate::resource::{PackedVector, ResourceVector};

/// A user of one leaf.
///
/// What decisions read stands in front.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct User {
    /// The leaf.
    pub leaf: QueueSlot,
    /// Counts the records of this slot.
    pub generation: u32,
    /// Weight of the user limit.
    pub weight: f32,
    /// Whether the user's use counts as that of an active user.
    pub active: bool,
    /// Whether the record was dropped; it stays until nobody refers to it.
    pub removed: bool,
    /// Figures by partition.
    pub parts: PerPartition<UserPart>,
    /// The partition of the last commit that was checked against the user's limit, until the limit is
    /// noted. In the ledger alone, while it commits what others decided.
    pub notice_pending: Option<PartitionId>,
    /// Name of the user.
    pub name: Arc<str>,
    /// Applications that wait for room for their master.
    pub waiting_apps: i32,
    /// Active applications.
    pub active_apps: i32,
    /// Applications whose containers outlive attempts.
    pub keeping_apps: i32,
    /// Applications with outstanding asks.
    pub asking_apps: i32,
    /// Applications whose headroom is computed for this record.
    pub providers: u32,
    /// User limit as last handed to an application of the user, unless all at the front of the
    /// leaf's order were handed one later.
    pub last_limit: PackedVector,
    /// That notice, by the leaf's count.
    pub notice: u64,
}

impl User {
    /// The record of a user without applications, of the usual weight.
    #[must_use]
    pub fn new(leaf: QueueSlot, name: Arc<str>) -> Self {
        Self {
            leaf,
            generation: 0,
            weight: 1.0,
            active: false,
            removed: false,
            parts: PerPartition::default(),
            notice_pending: None,
            name,
            waiting_apps: 0,
            active_apps: 0,
            keeping_apps: 0,
            asking_apps: 0,
            providers: 0,
            last_limit: PackedVector::default(),
            notice: 0,
        }
    }

    /// The figures on a partition.
    #[inline]
    #[must_use]
    pub fn part(&self, partition: PartitionId) -> &UserPart {
        &self.parts[partition]
    }
}

/// Figures of a user on one partition.
///
/// What decisions read stands in front.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct UserPart {
    /// Containers and reservations of the user.
    pub used: PackedVector,
    /// Use as a share of the partition.
    pub usage_ratio: f32,
    /// What passes found about a user whose record went, respecting and ignoring exclusivity.
    pub cached_limits: [Option<Box<CachedUserLimit>>; 2],
    /// Version of the leaf's users at which the limit was last handed, respecting and ignoring
    /// exclusivity.
    pub limit_version: [Option<u64>; 2],
    /// Masters of the user that count against the limit for masters.
    pub master_used: PackedVector,
}

blank!(UserPart);

/// What a pass found about a user: the limit, and whether it was reached.
// As AbstractLeafQueue.CachedUserLimit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedUserLimit {
    /// Version of the users for which this holds.
    pub version: u64,
    /// The user's limit.
    pub limit: ResourceVector,
    /// Whether the user may be assigned more.
    pub can_assign: bool,
    /// Reserved resources up to which a refusal holds.
    pub reserved: ResourceVector,
}
