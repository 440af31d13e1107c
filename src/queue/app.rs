//! An application: its asks by scheduler key, its use, its reservations.

use std::sync::Arc;

use smallvec::SmallVec;

use super::constraint::Constraint;
use super::per_partition::PerPartition;
use crate::id::{ApplicationId, NameId, NodeSlot, PartitionId, QueueSlot, SchedulerKey, UserSlot};
use crate::resource::{PackedVector, ResourceVector};

/// One application with its only attempt.
///
/// What a decision reads stands in one piece of memory, for applications of one partition with one
/// key and one place: rows are copied whenever a snapshot keeps them.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct App {
    /// The leaf.
    pub leaf: QueueSlot,
    /// The user's record in the leaf.
    pub user: UserSlot,
    /// Counts the applications of this slot.
    pub generation: u32,
    /// Number of the next container.
    pub next_container: u32,
    /// Whom the headroom is computed for, once a pass reached the application.
    pub provider: Option<HeadroomProvider>,
    /// Hosts and racks not to use.
    pub blacklist: Vec<NameId>,
    /// Where the application stands.
    pub stage: AppStage,
    /// Whether some key of the application has outstanding asks.
    pub asking: bool,
    /// Whether the attempt counts against the limits of parallel applications.
    pub runnable: bool,
    /// Whether there is no container for a master.
    pub unmanaged: bool,
    /// Larger is more important.
    pub priority: i32,
    /// Number of the master's container once it runs.
    pub master: Option<u32>,
    /// Figures by partition.
    pub parts: PerPartition<AppPart>,
    /// Everything asked, by key, ascending.
    pub keys: SmallVec<[KeyAsks; 1]>,
    /// Its number.
    pub id: ApplicationId,
    /// Position in the order in which attempts started.
    pub start: u64,
    /// What it was submitted with.
    pub submission: Arc<Submission>,
    /// Partition that the master counts on.
    pub master_partition: PartitionId,
    /// Partitions that were ever asked for, ascending.
    pub requested: SmallVec<[PartitionId; 4]>,
    /// Used memory in MiB as the fair order last saw it.
    pub fair_used: i64,
    /// Used and asked memory in MiB as the fair order last saw it.
    pub fair_demand: i64,
}

/// What an application was submitted with, and keeps.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Name of the user.
    pub user_name: Arc<str>,
    /// The priority at submission; a change back to it is not noticed.
    pub priority: i32,
    /// Container of the master: size after normalization.
    pub master_size: ResourceVector,
    /// Partition of asks that name none, as the application wished.
    pub default_partition: Option<Arc<str>>,
    /// Application tags, for placement constraints.
    pub tags: Arc<[Arc<str>]>,
}

/// Where an application stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppStage {
    /// Parked by the limit of parallel applications.
    Parked,
    /// Waits for room for its master.
    Waiting,
    /// May be served.
    Active,
    /// Over; some of its containers may still take space on nodes.
    Done,
    /// Over, and the slot may be used again.
    Gone,
}

impl AppStage {
    /// Whether the application ended.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Gone)
    }
}

impl App {
    /// The figures on a partition.
    #[inline]
    #[must_use]
    pub fn part(&self, partition: PartitionId) -> &AppPart {
        &self.parts[partition]
    }

    /// The figures on a partition, to be written.
    #[inline]
    pub fn part_mut(&mut self, partition: PartitionId) -> &mut AppPart {
        &mut self.parts[partition]
    }

    /// Whether the application's first container will run its master.
    #[inline]
    #[must_use]
    pub fn waits_for_master(&self) -> bool {
        !(self.stage.is_over() || self.unmanaged || self.master.is_some())
    }

    /// Position of a key, or where it would be.
    ///
    /// # Errors
    ///
    /// The place to insert the key at, when it was never used.
    #[inline]
    pub fn find_key(&self, key: SchedulerKey) -> Result<usize, usize> {
        // Mostly there is one key, or the first is served.
        if self.keys.first().is_some_and(|asks| asks.key == key) {
            return Ok(0);
        }
        self.keys.binary_search_by(|asks| asks.key.cmp(&key))
    }

    /// What was asked under a key, if it was ever used.
    #[inline]
    #[must_use]
    pub fn key(&self, key: SchedulerKey) -> Option<&KeyAsks> {
        self.find_key(key).ok().map(|i| &self.keys[i])
    }

    /// What was asked under a key; creates an empty entry.
    pub fn key_mut(&mut self, key: SchedulerKey) -> &mut KeyAsks {
        let at = match self.find_key(key) {
            Ok(at) => at,
            Err(at) => {
                self.keys.insert(at, KeyAsks::new(key));
                at
            }
        };
        &mut self.keys[at]
    }
}

/// Figures of an application on one partition.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct AppPart {
    /// Containers, without reservations. May drift when an ask changed under a reservation.
    pub used: PackedVector,
    /// Outstanding asks.
    pub pending: PackedVector,
    /// Reservations.
    pub reserved: PackedVector,
}

/// Whom an application's headroom is computed for.
// As CapacityHeadroomProvider, which keeps the leaf and user of its last pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadroomProvider {
    /// The leaf at that time.
    pub leaf: QueueSlot,
    /// The user's record at that time.
    pub user: UserSlot,
    /// Generation of that record.
    pub generation: u32,
}

/// Everything asked under one scheduler key, and what happened to it.
///
/// What decisions read stands in front.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct KeyAsks {
    /// Asks by place.
    pub asks: SmallVec<[PlaceAsk; 1]>,
    /// Whether an allocator for the key exists; counters survive without one.
    pub known: bool,
    /// Whether asks for `*` are outstanding, so that the key is served.
    pub outstanding: bool,
    /// The partition of the ask for `*`.
    pub partition: PartitionId,
    /// Scheduling opportunities since the last reset.
    pub opportunities: i32,
    /// Missed opportunities on the default partition since the last reset.
    pub missed: i32,
    /// Times that reservations of the key were kept.
    pub re_reservations: i32,
    /// Request priority and allocation request id.
    pub key: SchedulerKey,
    /// Set when the key belongs to a scheduling request.
    pub constrained: Option<Arc<ConstrainedKey>>,
    /// Reservations under this key, in order of making.
    pub reserved: Vec<ReservedAt>,
    /// Most reservations that the key ever had at once.
    pub most_reserved: usize,
}

impl KeyAsks {
    fn new(key: SchedulerKey) -> Self {
        Self {
            key,
            known: false,
            outstanding: false,
            partition: PartitionId::DEFAULT,
            asks: SmallVec::new(),
            constrained: None,
            opportunities: 0,
            missed: 0,
            re_reservations: 0,
            reserved: Vec::new(),
            most_reserved: 0,
        }
    }

    /// Counts a look at a node of a partition that found room for a container asked anywhere: one
    /// more opportunity, and what was missed on the default partition is forgotten.
    // As RegularContainerAllocator.preCheckForNodeCandidateSet and doAllocation.
    #[inline]
    pub fn count_found(&mut self, partition: PartitionId) {
        self.opportunities = self.opportunities.saturating_add(1);
        if partition == PartitionId::DEFAULT {
            self.missed = 0;
        }
    }

    /// The ask at a place.
    #[inline]
    #[must_use]
    pub fn at(&self, place: NameId) -> Option<&PlaceAsk> {
        self.asks.iter().find(|ask| ask.place == place)
    }

    /// The ask at a place, to be written.
    #[inline]
    pub fn at_mut(&mut self, place: NameId) -> Option<&mut PlaceAsk> {
        self.asks.iter_mut().find(|ask| ask.place == place)
    }

    /// Puts an ask at its place; returns the one that stood there.
    pub fn put(&mut self, ask: PlaceAsk) -> Option<PlaceAsk> {
        match self.at_mut(ask.place) {
            Some(place) => Some(std::mem::replace(place, ask)),
            None => {
                self.asks.push(ask);
                None
            }
        }
    }

    /// Takes one container off the ask at a place, which ends when none is left. `before`: called with the ask
    /// as it stood. Returns how many are left; 0 where nothing was asked.
    #[inline(always)]
    pub fn take_one(&mut self, place: NameId, before: impl FnOnce(&PlaceAsk)) -> i32 {
        let mut asks = self.asks.iter_mut().enumerate();
        let Some((at, ask)) = asks.find(|(_, ask)| ask.place == place) else {
            return 0;
        };
        before(ask);
        ask.count -= 1;
        let left = ask.count;
        if left == 0 {
            self.asks.remove(at);
        }
        left
    }

    /// Containers asked at a place.
    #[inline]
    #[must_use]
    pub fn count(&self, place: NameId) -> i32 {
        self.at(place).map_or(0, |ask| ask.count)
    }

    /// Whether a less local place than this one will do; yes where nothing was asked.
    #[inline]
    #[must_use]
    pub fn relaxed(&self, place: NameId) -> bool {
        self.at(place).is_none_or(|ask| ask.relax)
    }
}

/// An ask at one place under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceAsk {
    /// Host, rack, or [`NameId::ANY`].
    pub place: NameId,
    /// Size of one container.
    pub size: PackedVector,
    /// Containers outstanding.
    pub count: i32,
    /// Whether a less local place will do.
    pub relax: bool,
    /// Partition asked for; nothing when none was named.
    pub partition: Option<PartitionId>,
}

/// What a scheduling request fixed when its key was first used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstrainedKey {
    /// Size of one container.
    pub size: ResourceVector,
    /// Tags that its containers carry, ascending.
    pub tags: Vec<Arc<str>>,
    /// The request's own constraint.
    pub constraint: Option<Arc<Constraint>>,
    /// What the node of each container has to fulfil: the constraint with those of the application
    /// and of the cluster.
    pub effective: Option<Arc<Constraint>>,
}

impl ConstrainedKey {
    /// Whether another request under the key fixes the same. One without a constraint is like none,
    /// not even itself: the reference fails when it compares two of them.
    // As SchedulingRequestPBImpl.equals.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.constraint.is_some()
            && (self.size, &self.tags, &self.constraint)
                == (other.size, &other.tags, &other.constraint)
    }
}

/// A reservation under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedAt {
    /// Number of the container.
    pub number: u32,
    /// Where it waits.
    pub node: NodeSlot,
    /// `NodeId.hashCode` of that node.
    pub java_hash: i32,
    /// Its size.
    pub size: ResourceVector,
}

/// Takes over what the fair order compares: used memory over all partitions, and with it what is
/// still asked for.
// As AbstractComparatorOrderingPolicy.updateSchedulingResourceUsage.
pub fn refresh_fair_figures(app: &mut App) {
    let used: i64 = app.parts.iter().map(|part| part.used.memory()).sum();
    let pending: i64 = app.parts.iter().map(|part| part.pending.memory()).sum();
    app.fair_used = used;
    app.fair_demand = used + pending;
}
