//! A queue of the tree, with its figures by partition.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::configured_amounts::ConfiguredAmounts;
use super::leaf::Leaf;
use super::per_partition::{PerPartition, blank};
use super::ranks::Ranks;
use super::settings::QueueSettings;
use crate::id::{PartitionId, QueueSlot};
use crate::resource::{Divisor, PackedVector, share};

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
    /// Figures by partition.
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

    /// The partitions of which the queue may have settings or figures.
    #[inline]
    pub fn partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        self.parts.partitions()
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

blank!(QueuePart);

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
