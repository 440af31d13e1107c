//! A queue of the tree: its figures on every partition, and what only leaves have.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::configured_amounts::ConfiguredAmounts;
use super::per_partition::PerPartition;
use super::ranks::Ranks;
use super::settings::QueueSettings;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::resource::{Divisor, PackedVector, ResourceVector, share};

/// One queue.
///
/// What a decision reads of each queue on its way stands in front, in the order of memory: a tree of
/// some hundred queues stays in the nearest cache then.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Queue {
    /// The queue above; nothing for root.
    pub parent: Option<QueueSlot>,
    /// Position in the parent's list, as far as its ranks hold; [`Queue::NOWHERE`] once removed.
    pub place: usize,
    /// What only leaves have.
    pub leaf: Option<Box<Leaf>>,
    /// Figures by partition; every known partition has a place.
    pub parts: PerPartition<QueuePart>,
    /// What the configuration says.
    pub settings: Arc<QueueSettings>,
    /// The queues below, in list order: that of the configuration, later that of a hash map.
    pub children: Vec<QueueSlot>,
    /// Applications below a parent.
    pub apps: i32,
    /// Running applications that count against the parallel limit.
    pub runnable: i32,
    /// Most children that the list ever had.
    pub most_children: usize,
    /// Present state.
    pub state: QueueState,
    /// Mode of the capacities, over all partitions.
    pub mode: CapacityMode,
    /// Reserved on the default partition by applications that are below now. Unlike `reserved` it
    /// moves along with them; the original reads it from its metrics.
    pub reserved_by_present: PackedVector,
    /// What leaves may be given, by partition; only of managed parents.
    pub template: BTreeMap<PartitionId, TemplatePart>,
    /// Whether the queue is no child of its parent: it was deleted, or never became one. Its slot stays.
    pub removed: bool,
    /// Whether a refresh listed the queue below a managed parent. It is known by its name and takes no applications. A
    /// refresh that does not list it is refused unless it began as stopped.
    // As CapacitySchedulerQueueManager.updateQueues: ManagedParentQueue.reinitialize adds no child.
    pub stray: bool,
}

// The hot fields of all queues share few sets of a cache where rows have the size of a power of two.
const _: () = assert!(!size_of::<Queue>().is_multiple_of(128));

impl Queue {
    /// The place of a queue that is in no list any more.
    pub const NOWHERE: usize = usize::MAX;

    /// Whether the queue holds applications.
    #[inline]
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.leaf.is_some()
    }

    /// Whether requests for a partition are served here.
    #[inline]
    #[must_use]
    pub fn can_access(&self, partition: PartitionId) -> bool {
        partition == PartitionId::DEFAULT || self.parts[partition].accessible
    }

    /// The figures on a partition.
    #[inline]
    #[must_use]
    pub fn part(&self, partition: PartitionId) -> &QueuePart {
        &self.parts[partition]
    }

    /// The figures on a partition, to be written.
    #[inline]
    pub fn part_mut(&mut self, partition: PartitionId) -> &mut QueuePart {
        &mut self.parts[partition]
    }

    /// The leaf part of a leaf queue.
    ///
    /// # Panics
    ///
    /// For a parent: callers know what they hold.
    #[inline]
    #[must_use]
    pub fn as_leaf(&self) -> &Leaf {
        self.leaf.as_ref().expect("only leaves hold applications")
    }

    /// The leaf part of a leaf queue, to be written.
    ///
    /// # Panics
    ///
    /// For a parent: callers know what they hold.
    #[inline]
    pub fn as_leaf_mut(&mut self) -> &mut Leaf {
        self.leaf.as_mut().expect("only leaves hold applications")
    }
}

/// State of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueState {
    /// Accepts applications.
    Running,
    /// Accepts none and waits for those it has.
    Draining,
    /// Accepts none and has none.
    Stopped,
}

/// How a queue's capacity is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityMode {
    /// Percent of the parent.
    Percent,
    /// Weight among siblings.
    Weight,
    /// An amount of each type.
    Absolute,
}

/// Figures of a queue on one partition, what decisions read in front, then what changes of the cluster read. Fractions
/// are the reference's `f32`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct QueuePart {
    /// Containers and reservations of the queue.
    pub used: PackedVector,
    /// Whether requests for the partition are served here.
    pub accessible: bool,
    /// Whether the queue has settings of its own for the partition.
    pub configured: bool,
    /// Whether the partition has capacity figures, configured or from use.
    pub known: bool,
    /// Whether anything was ever asked, reserved or used here, or a limit for masters computed: the queue knows the
    /// partition once its used shares are next computed.
    // As the labels that ResourceUsage has, which stay.
    pub counted: bool,
    /// Whether the two used shares are those of before the last containers: in the ledger, while it
    /// commits what others decided, those of a leaf whose ancestors are not charged yet; in copies, those
    /// of root.
    pub behind: bool,
    /// Mode of the capacity on this partition.
    pub mode: CapacityMode,
    /// Most that the queue may use.
    pub limit: PackedVector,
    /// Outstanding asks of the queue.
    pub pending: PackedVector,
    /// Used resources as a fraction of the guarantee. In copies that of the snapshot where it does not decide
    /// among siblings, unless passes publish limits of leaves.
    pub used_capacity: f32,
    /// Used resources as a fraction of the partition; the same in copies.
    pub absolute_used: f32,
    /// Capacity as a fraction of the partition.
    pub absolute_capacity: f32,
    /// The children in the order in which they are served; only of parents.
    pub ranks: Ranks,
    /// What use is divided by.
    pub divisors: Divisors,
    /// Capacity as a fraction of the parent's.
    pub capacity: f32,
    /// Maximum as a fraction of the parent's.
    pub maximum_capacity: f32,
    /// Maximum as a fraction of the partition.
    pub absolute_maximum: f32,
    /// Weight; −1 when unset.
    pub weight: f32,
    /// Weight as a fraction of the siblings' sum.
    pub normalized_weight: f32,
    /// Share for application masters.
    pub master_share: f32,
    /// Guaranteed resources.
    pub guaranteed: PackedVector,
    /// What the configuration gives as amounts.
    pub amounts: ConfiguredAmounts,
    /// Reservations of the queue.
    pub reserved: PackedVector,
    /// Application masters that count against the limit for masters.
    pub master_used: PackedVector,
    /// How far the children's absolute minimums are scaled down, by type; only of parents.
    pub minimum_ratio: Option<Box<[Option<f32>; crate::resource::MAX_TYPES]>>,
    /// The reading of the template that the leaf shares its guarantee with, outside legacy mode.
    // As AutoCreatedLeafQueue.mergeCapacities, which takes over the object of the template.
    pub shares_guarantee: Option<NonZeroU64>,
}

/// What a managed parent may give each of its leaves on one partition. Fractions are the
/// reference's `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TemplatePart {
    /// Capacity as a fraction of the parent's.
    pub capacity: f32,
    /// Maximum as a fraction of the parent's.
    pub maximum_capacity: f32,
    /// Capacity as a fraction of the partition, as of the last creation or refresh.
    pub absolute_capacity: f32,
    /// Absolute capacities given since the last refresh, each as it was then.
    pub given: f32,
    /// Which reading of the settings it is.
    pub reading: u64,
}

/// Divisors of the used shares of a queue on a partition.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Divisors {
    /// They hold while the state counts this epoch.
    pub epoch: u64,
    /// The guarantee, at least the smallest allocation.
    pub guaranteed: Divisor,
    /// The partition.
    pub total: Divisor,
}

impl QueuePart {
    /// Whether anything is guaranteed here: of siblings, those come first of which that is so.
    #[inline]
    #[must_use]
    pub fn is_guaranteed(&self) -> bool {
        share::above_none(self.absolute_capacity)
    }

    /// The used share that decides among siblings: that of the guarantee, if there is any.
    #[inline]
    #[must_use]
    pub fn used_in_order(&self) -> f32 {
        if self.is_guaranteed() {
            self.used_capacity
        } else {
            self.absolute_used
        }
    }

    /// The part, for a figure of use that is about to move: from now on it counts here.
    pub fn counting(&mut self) -> &mut Self {
        self.counted = true;
        self
    }

    /// Whether the queue has figures for the partition. A limit for masters counts as use.
    #[inline]
    #[must_use]
    pub const fn has_figures(&self) -> bool {
        self.known || self.counted
    }
}

impl Default for QueuePart {
    fn default() -> Self {
        let none = PackedVector::default;
        Self {
            accessible: false,
            configured: false,
            known: false,
            counted: false,
            mode: CapacityMode::Percent,
            capacity: 0.0,
            absolute_capacity: 0.0,
            maximum_capacity: 0.0,
            absolute_maximum: 0.0,
            behind: false,
            used_capacity: 0.0,
            absolute_used: 0.0,
            weight: -1.0,
            normalized_weight: 0.0,
            master_share: 0.0,
            used: none(),
            reserved: none(),
            pending: none(),
            master_used: none(),
            guaranteed: none(),
            limit: none(),
            amounts: ConfiguredAmounts::default(),
            minimum_ratio: None,
            shares_guarantee: None,
            divisors: Divisors::default(),
            ranks: Ranks::default(),
        }
    }
}

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
