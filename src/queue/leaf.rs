//! What only leaf queues have: their applications, their users, and the figures that limits follow from.
//!
//! Tests: `tests/commit/property.rs`.

use super::per_partition::{PerPartition, blank};
use super::settings::LeafSettings;
use crate::id::{AppSlot, PartitionId, UserSlot};
use crate::resource::{PackedVector, ResourceVector};

/// What only leaf queues have.
///
/// What decisions read stands in front. Behind it stands what a change of the cluster reads of every leaf: its visit is
/// bound by cache misses.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Leaf {
    /// Active applications in the order in which they are served, as last sorted.
    pub active: Vec<AppSlot>,
    /// Applications whose place in a fair order is looked up anew at the next pass.
    pub dirty: Vec<AppSlot>,
    /// Counts what may change a user limit.
    pub users_version: u64,
    /// Applications at the front of the order that passes need not look at.
    pub head: SkippableHead,
    /// Sum of the weights of active users.
    pub active_weight: f32,
    /// Whether the order is a fair one, which every container moves; as the settings say.
    pub fair: bool,
    /// Figures by partition.
    pub parts: PerPartition<LeafPart>,
    /// Applications that wait for room for their master.
    pub waiting: Vec<AppSlot>,
    /// Records of users, in order of creation.
    pub users: Vec<UserSlot>,
    /// Limit of the queue on the default partition that headroom and the limit for masters read, as it was last
    /// computed for an application: by passes only where
    /// [`State::updates_leaf_limits`](crate::snapshot::State::updates_leaf_limits).
    pub published_limit: PackedVector,
    /// What the next two follow from; as the settings say, which are further away.
    pub application_rule: ApplicationRule,
    /// Most applications of the queue.
    pub maximum_applications: i32,
    /// Most applications of one user.
    pub maximum_applications_per_user: i32,
    /// Applications parked by the limit of parallel ones.
    pub parked: Vec<AppSlot>,
    /// Applications whose attempt ended, until the next one starts.
    pub between: Vec<AppSlot>,
    /// Most user records that there ever were at once.
    pub most_users: usize,
    /// Users with an application that has outstanding asks.
    pub asking_users: i32,
    /// Users whose applications all wait, as last counted.
    pub waiting_users: i32,
    /// Sum of the weights of all users.
    pub total_weight: f32,
    /// Users that have a weight of their own, which is not 1.
    pub own_weights: usize,
    /// The last version of the users in which weights were summed anew since a record went, or a weight was set: that
    /// begins no version, and a limit that was computed before stands until the next one.
    pub weights_moved_in: Option<u64>,
    /// How often a limit was handed to users.
    pub notices: u64,
}

/// What the settings of a leaf say of the numbers of its applications.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApplicationRule {
    /// Most applications of the queue; derived when unset.
    pub maximum_applications: Option<i32>,
    /// `minimum-user-limit-percent`.
    pub user_limit_percent: f32,
    /// `user-limit-factor`; −1: no bound by the factor.
    pub user_limit_factor: f32,
}

/// By the bits of fractions, since settings may have one that is no number.
impl PartialEq for ApplicationRule {
    fn eq(&self, other: &Self) -> bool {
        let bits =
            |rule: &Self| [rule.user_limit_percent, rule.user_limit_factor].map(f32::to_bits);
        self.maximum_applications == other.maximum_applications && bits(self) == bits(other)
    }
}

impl ApplicationRule {
    /// Those of some settings.
    #[must_use]
    pub const fn of(settings: &LeafSettings) -> Self {
        Self {
            maximum_applications: settings.maximum_applications,
            user_limit_percent: settings.user_limit_percent,
            user_limit_factor: settings.user_limit_factor,
        }
    }
}

/// Applications at the front of a leaf's order that get nothing, whatever the node: they ask for
/// nothing, or their user is at the limit, or what they ask fits on no node. A pass that would
/// look at each of them in vain takes note of all at once instead.
///
/// What decisions read stands in front.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SkippableHead {
    /// Number from the first version of the leaf's users after `since`: what a pass handed them
    /// one by one holds for the version in which it did.
    pub next: usize,
    /// See `next`.
    pub since: u64,
    /// What those that do ask depend on; nothing while all ask for nothing.
    pub bound: Option<Bound>,
    /// Number of these applications.
    pub len: usize,
    /// The partition and mode of the pass that handed it in that version.
    pub grown: Option<(PartitionId, Exclusivity)>,
    /// Version of the leaf's users in which all were last handed their limit.
    pub version: u64,
    /// For which partitions and modes they were handed it in that version.
    pub notified: Vec<(PartitionId, Exclusivity)>,
    /// The limit of a user of weight 1 that they were handed.
    pub limit: Option<ResourceVector>,
    /// The notice, by the leaf's count.
    pub notice: u64,
}

/// On what it depends that applications which ask get nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The partition.
    pub partition: PartitionId,
    /// The mode.
    pub exclusivity: Exclusivity,
    /// What holds of all users at their limit; nothing while there are none.
    pub floor: Option<Floor>,
    /// Most that applications ask which no node is large enough for, by type.
    pub largest: ResourceVector,
}

/// Users at their limit who share a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// The weight.
    pub weight: f32,
    /// Least that any of them uses, by type.
    pub used: ResourceVector,
    /// While the active users of the leaf weigh at least so much in this epoch and have no more than
    /// its guarantee, all of them are at their limit without a look. Infinite where nothing is known.
    pub surely_from: f32,
    /// The epoch.
    pub epoch: u64,
}

impl Leaf {
    /// `getNumActiveUsers`: users with asks and users whose applications all wait.
    #[must_use]
    pub fn active_users(&self) -> i32 {
        self.asking_users + self.waiting_users
    }
}

blank!(LeafPart);

/// Figures of a leaf on one partition.
///
/// What decisions read stands in front.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct LeafPart {
    /// Sum of the users' usage ratios, kept by adding differences.
    pub usage_ratio: f32,
    /// Use of the users with outstanding asks.
    pub active_used: PackedVector,
    /// What user limits are computed from and use does not move.
    pub bounds: UserBounds,
    /// User limits by [`LimitKind`], each with the users' version it was computed at.
    pub limits: [Option<(u64, PackedVector)>; 3],
    /// Limit for the masters of one user of weight 1, as last computed.
    pub user_master_limit: PackedVector,
    /// Limit for application masters, once computed.
    pub master_limit: Option<PackedVector>,
}

impl LeafPart {
    /// Limit for application masters, once computed.
    #[must_use]
    pub fn master_limit(&self) -> Option<ResourceVector> {
        self.master_limit.as_ref().map(PackedVector::get)
    }
}

/// What of a leaf's user limits on a partition follows from capacities and settings alone.
///
/// What decisions read stands in front.
#[derive(Clone, Debug, Default, PartialEq)]
#[repr(C)]
pub struct UserBounds {
    /// It holds while the state counts this epoch.
    pub epoch: u64,
    /// Usage ratio below which users certainly have less than the guarantee, all together.
    pub calm: f32,
    /// Whether the partition is the whole cluster.
    pub is_whole: bool,
    /// What every user of weight 1 may have while the usage ratio is below that: neither `most` nor
    /// `least` is smaller in any type.
    pub granted: PackedVector,
    /// Most that one user may have by the user limit factor.
    pub most: PackedVector,
    /// The same for users of any weight from 1 on, times their weight, also where the partition is not
    /// the whole cluster: a little less, or nothing.
    pub surely_granted: PackedVector,
    /// The guarantee, at least the smallest allocation.
    pub capacity: PackedVector,
    /// The maximum, rounded down to the allocation step.
    pub maximum: PackedVector,
    /// The least share of a user while no more than the guarantee is used.
    pub least: PackedVector,
}

/// Which user limit: of active users in the two ways to use a partition, or of all users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Of active users, partition exclusivity respected.
    Respect = 0,
    /// Of active users on borrowed capacity.
    Ignore = 1,
    /// Of all users; serves preemption.
    All = 2,
}

/// Whether requests must name the partition, or idle capacity is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusivity {
    /// `RESPECT_PARTITION_EXCLUSIVITY`.
    Respect,
    /// `IGNORE_PARTITION_EXCLUSIVITY`: requests for the default partition.
    Ignore,
}

impl Exclusivity {
    /// The user limit that gates allocations in this mode.
    #[inline]
    #[must_use]
    pub const fn limit_kind(self) -> LimitKind {
        match self {
            Self::Respect => LimitKind::Respect,
            Self::Ignore => LimitKind::Ignore,
        }
    }
}
