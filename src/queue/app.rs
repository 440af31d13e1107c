//! An application: its asks by scheduler key, its use, its reservations.

use std::sync::Arc;

use smallvec::SmallVec;

use super::app_keys::AppKeys;
use super::blacklist::Blacklist;
use super::key_asks::KeyAsks;
use super::master_moves::MasterMoves;
use super::per_partition::{PerPartition, blank};

use super::places::{PlaceAsk, Places};
use super::restarts::Restarts;
use crate::id::{
    ApplicationId, ContainerId, NameId, PartitionId, QueueSlot, SchedulerKey, UserSlot,
};
use crate::resource::{PackedVector, ResourceVector};

/// Keys of an application, or places of its keys, beyond which a row is large.
const LARGE: usize = 1024;

/// One application with its present attempt.
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
    pub blacklist: Blacklist,
    /// Where the application stands.
    pub stage: AppStage,
    /// Whether some key of the application has outstanding asks.
    pub asking: bool,
    /// Whether the attempt counts against the limits of parallel applications, as its end will count it. The mark may
    /// be lost while the attempt runs.
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
    pub keys: AppKeys,
    /// Position of the first key with outstanding asks; the number of keys where none has any.
    pub first_open: u32,
    /// Its number.
    pub id: ApplicationId,
    /// Which attempt of the application it is, from 1.
    pub attempt: u32,
    /// Position in the order in which attempts started.
    pub start: u64,
    /// What it was submitted with.
    pub submission: Arc<Submission>,
    /// Partition that the master counts on.
    pub master_partition: PartitionId,
    /// What changes of labels under the master's container added to its count.
    pub master_moves: MasterMoves,
    /// Partitions that were ever asked for, ascending.
    pub requested: SmallVec<[PartitionId; 4]>,
    /// Used memory in MiB as the fair order last saw it.
    pub fair_used: i64,
    /// Used and asked memory in MiB as the fair order last saw it.
    pub fair_demand: i64,
    /// Whether keys had many places at some time.
    pub many_places: bool,
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
    /// Name of the node lookup policy of the leaf in which the attempt started. It stays through moves and refreshes.
    // As FiCaSchedulerApp.updateMultiNodeSortingPolicy.
    pub node_policy: Option<Arc<str>>,
    /// Partition of the master's container, where the submission or the leaf named one.
    pub master_label: Option<PartitionId>,
    /// What is left of the application when its attempt ends.
    pub restarts: Restarts,
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
    /// Its attempt ended and the next one has not started: it asks for nothing.
    Between,
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
    /// Whether a leaf holds an attempt of the application, one that waits or one that may be served.
    // As AbstractLeafQueue.applicationAttemptMap.
    #[must_use]
    pub fn has_attempt_in(&self, leaf: QueueSlot) -> bool {
        let held = [AppStage::Parked, AppStage::Waiting, AppStage::Active];
        self.leaf == leaf && held.contains(&self.stage)
    }

    /// What the master counts on its partition.
    // As SchedulerApplicationAttempt.getAMResource.
    #[must_use]
    pub fn master_use(&self) -> ResourceVector {
        let submission = &self.submission;
        if self.master_moves.is_empty() {
            return submission.master_size;
        }
        let asked = submission.master_label.unwrap_or(PartitionId::DEFAULT);
        let mut began = ResourceVector::NONE;
        if asked == self.master_partition {
            began = submission.master_size;
        }
        began + self.master_moves.on(self.master_partition)
    }

    /// The master's container is on another partition from now on.
    pub fn move_master(&mut self, from: PartitionId, to: PartitionId, size: ResourceVector) {
        self.master_partition = to;
        self.master_moves.add(from, -size);
        self.master_moves.add(to, size);
    }

    /// A new attempt asks for its master anew.
    pub fn reset_master(&mut self) {
        self.master_partition = self.submission.master_label.unwrap_or(PartitionId::DEFAULT);
        self.master_moves = MasterMoves::default();
    }

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

    /// The number of the next container of the application, which is used up by that.
    #[inline(always)]
    pub fn take_number(&mut self) -> u32 {
        let number = self.next_container;
        self.next_container += 1;
        number
    }

    /// The numbers of so many next containers, which are used up by that; the first of them.
    pub fn take_numbers(&mut self, count: u32) -> u32 {
        let first = self.next_container;
        self.next_container += count;
        first
    }

    /// The id of a container of the application by its number.
    #[inline]
    #[must_use]
    pub fn container(&self, number: u32) -> ContainerId {
        ContainerId {
            app: self.id,
            attempt: self.attempt,
            number,
        }
    }

    /// Whether the application's first container will run its master.
    #[inline]
    #[must_use]
    pub fn waits_for_master(&self) -> bool {
        let has_attempt = !self.stage.is_over() && self.stage != AppStage::Between;
        has_attempt && !self.unmanaged && self.master.is_none()
    }

    /// Whether the application may ask: its master has its container, or needs none.
    #[inline]
    #[must_use]
    pub fn may_ask(&self) -> bool {
        let has_attempt = self.stage != AppStage::Between;
        has_attempt && (self.unmanaged || self.master.is_some())
    }

    /// Whether containers that run outlive their attempt.
    // As RMAppAttemptImpl.BaseFinalTransition: not without a container for the master.
    #[must_use]
    pub fn keeps_containers(&self) -> bool {
        self.submission.restarts == Restarts::KeepingContainers && !self.unmanaged
    }

    /// What was asked under a key, if it was ever used.
    #[inline]
    #[must_use]
    pub fn key(&self, key: SchedulerKey) -> Option<&KeyAsks> {
        self.keys.find(key).ok().map(|at| &self.keys[at])
    }

    /// What was asked under a key; creates an empty entry.
    pub fn key_mut(&mut self, key: SchedulerKey) -> &mut KeyAsks {
        let at = self.add_key(key);
        &mut self.keys[at]
    }

    /// Creates an empty entry for a key that has none; the position of its entry.
    pub fn add_key(&mut self, key: SchedulerKey) -> usize {
        self.keys.find(key).unwrap_or_else(|at| {
            self.keys.insert(at, KeyAsks::new(key));
            // An entry without asks stands before the first open key, or behind it.
            self.first_open += u32::from(at <= self.first_open());
            at
        })
    }

    /// The keys of containers that grow, ascending. They come behind all others.
    pub fn increases(&self) -> impl Iterator<Item = &KeyAsks> {
        let lowest = SchedulerKey::FIRST.increasing(1);
        let from = self.keys.find(lowest).unwrap_or_else(|at| at);
        self.keys.iter_from(from)
    }

    /// Removes the entry of a key under which nothing is asked or reserved, with its counters.
    pub fn forget_key(&mut self, key: SchedulerKey) {
        self.remove_if(key, |asks| {
            !asks.is_outstanding() && asks.places.is_empty() && asks.reserved.is_empty()
        });
    }

    /// Forgets what is asked under a key, and its entry if nothing is reserved; what was asked.
    #[must_use]
    pub fn withdraw(&mut self, key: SchedulerKey) -> Places {
        let Ok(at) = self.keys.find(key) else {
            return Places::default();
        };
        self.close_key(at);
        let places = self.keys[at].forget_asks();
        self.remove_if(key, |asks| asks.reserved.is_empty());
        places
    }

    fn remove_if(&mut self, key: SchedulerKey, goes: impl FnOnce(&KeyAsks) -> bool) {
        let Ok(at) = self.keys.find(key) else { return };
        if goes(&self.keys[at]) {
            self.close_key(at);
            self.keys.remove(at);
            self.first_open -= u32::from(at < self.first_open());
        }
    }

    /// Position of the first key with outstanding asks; the number of keys where none has any.
    #[inline]
    #[must_use]
    pub fn first_open(&self) -> usize {
        self.first_open as usize
    }

    /// Whether some key has outstanding asks.
    #[inline]
    #[must_use]
    pub fn has_open_key(&self) -> bool {
        self.first_open() < self.keys.len()
    }

    /// The keys with outstanding asks, ascending.
    #[inline]
    pub fn open_keys(&self) -> impl Iterator<Item = &KeyAsks> {
        self.keys.open_from(self.first_open())
    }

    /// The key at a position has outstanding asks from now on.
    pub fn open_key(&mut self, at: usize) {
        self.keys.set_outstanding(at, true);
        self.first_open = self.first_open.min(position(at));
    }

    /// The key at a position has no outstanding asks any more.
    ///
    /// Cost: a search for the next one with outstanding asks, if it was the first.
    #[inline]
    pub fn close_key(&mut self, at: usize) {
        self.keys.set_outstanding(at, false);
        if at == self.first_open() {
            let next = self.keys.next_outstanding(at);
            self.first_open = position(next.unwrap_or(self.keys.len()));
        }
    }

    /// Asks at hosts and racks under a key, all at once; of two at one place the later one counts.
    ///
    /// Cost: that of sorting them, and a write to the tree for each.
    pub fn put_places(&mut self, key: SchedulerKey, mut places: Vec<PlaceAsk>) {
        let asks = self.key_mut(key);
        asks.know();
        // Hosts and racks share the label of the ask for anywhere.
        let label = asks.at(NameId::ANY).map(|any| any.partition);
        places.sort_by_key(|ask| ask.place);
        for mut ask in places {
            ask.partition = label.unwrap_or(ask.partition);
            asks.put(ask);
        }
        // An estimate: no other key has more.
        let many = asks.places.len();
        self.many_places |= many * self.keys.len() > LARGE;
    }

    /// Whether it holds so much memory that it is freed in parts.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.keys.len() > LARGE || self.many_places
    }

    /// Takes all keys away.
    pub fn take_keys(&mut self) -> AppKeys {
        self.first_open = 0;
        std::mem::take(&mut self.keys)
    }
}

/// A position among keys, whose number is bounded far below.
#[inline]
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

blank!(AppPart);

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

/// Takes over what the fair order compares: used memory over all partitions, and with it what is
/// still asked for.
// As AbstractComparatorOrderingPolicy.updateSchedulingResourceUsage.
pub fn refresh_fair_figures(app: &mut App) {
    let used: i64 = app.parts.iter().map(|part| part.used.memory()).sum();
    let pending: i64 = app.parts.iter().map(|part| part.pending.memory()).sum();
    app.fair_used = used;
    app.fair_demand = used + pending;
}
