//! Asks of an application under one key: by place, with the counters of the key.

use std::sync::Arc;

use smallvec::SmallVec;

use super::constraint::Constraint;
use crate::id::{NameId, NodeSlot, PartitionId, SchedulerKey};
use crate::resource::{PackedVector, ResourceVector};

/// Everything asked under one scheduler key, and what happened to it.
///
/// What decisions read stands in front.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct KeyAsks {
    /// Asks by place, ascending; that for `*` comes first.
    pub asks: SmallVec<[PlaceAsk; 1]>,
    /// Whether an allocator for the key exists; counters survive without one.
    pub known: bool,
    /// Whether asks for `*` are outstanding, so that the key is served. The tree of the keys counts them.
    pub(super) outstanding: bool,
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
    /// The port of the only node of its host that may serve the key, where it asks for the increase of a container.
    // Differs: the reference may place it on another node of the same host, and gives that back.
    pub only_port: Option<u16>,
    /// Whether the key ever had a reservation.
    pub was_reserved: bool,
    /// Set when the key belongs to a scheduling request.
    pub constrained: Option<Arc<ConstrainedKey>>,
    /// Reservations under this key, in order of making.
    pub reserved: Vec<ReservedAt>,
}

impl KeyAsks {
    /// A key under which nothing happened.
    #[must_use]
    pub fn new(key: SchedulerKey) -> Self {
        Self {
            key,
            known: false,
            outstanding: false,
            partition: PartitionId::DEFAULT,
            asks: SmallVec::new(),
            only_port: None,
            constrained: None,
            opportunities: 0,
            missed: 0,
            re_reservations: 0,
            reserved: Vec::new(),
            was_reserved: false,
        }
    }

    /// Whether asks for `*` are outstanding, so that the key is served.
    #[inline]
    #[must_use]
    pub fn is_outstanding(&self) -> bool {
        self.outstanding
    }

    /// An allocator for the key exists from now on.
    pub fn know(&mut self) {
        if !self.known {
            self.known = true;
            self.partition = PartitionId::DEFAULT;
        }
    }

    /// Nothing is asked under the key any more.
    pub fn forget_asks(&mut self) {
        self.known = false;
        self.asks.clear();
        self.constrained = None;
        self.partition = PartitionId::DEFAULT;
    }

    /// Whether anything ever happened under the key that is remembered.
    pub(super) fn is_used(&self) -> bool {
        let counts = [self.opportunities, self.missed, self.re_reservations];
        self.known
            || self.outstanding
            || counts != [0; 3]
            || self.was_reserved
            || !self.reserved.is_empty()
            || !self.asks.is_empty()
            || self.constrained.is_some()
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

    /// Counts so many of these looks.
    pub fn count_found_often(&mut self, partition: PartitionId, looks: u32) {
        let looks = i32::try_from(looks).unwrap_or(i32::MAX);
        self.opportunities = self.opportunities.saturating_add(looks);
        if partition == PartitionId::DEFAULT && looks > 0 {
            self.missed = 0;
        }
    }

    /// Whether a node with this port may serve the key, as far as its port says.
    #[inline]
    #[must_use]
    pub fn takes_port(&self, port: u16) -> bool {
        self.only_port.is_none_or(|only| only == port)
    }

    /// Position of the ask at a place, or where it would be.
    #[inline(always)]
    fn find(&self, place: NameId) -> Result<usize, usize> {
        // Mostly there is one ask, for `*`.
        match self.asks.as_slice() {
            [first, ..] if first.place == place => Ok(0),
            [only] => Err(usize::from(only.place < place)),
            asks => search(asks, place),
        }
    }

    /// The ask at a place.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, place: NameId) -> Option<&PlaceAsk> {
        match self.asks.as_slice() {
            [first, ..] if first.place == place => Some(first),
            [_] => None,
            asks => search(asks, place).ok().map(|at| &asks[at]),
        }
    }

    /// The ask at a place, to be written.
    #[inline]
    pub fn at_mut(&mut self, place: NameId) -> Option<&mut PlaceAsk> {
        self.find(place).ok().map(|at| &mut self.asks[at])
    }

    /// Puts an ask at its place; returns the one that stood there.
    pub fn put(&mut self, ask: PlaceAsk) -> Option<PlaceAsk> {
        match self.find(ask.place) {
            Ok(at) => Some(std::mem::replace(&mut self.asks[at], ask)),
            Err(at) => {
                self.asks.insert(at, ask);
                None
            }
        }
    }

    /// Puts asks at their places, all at once; of two at one place the later one counts.
    ///
    /// Cost: that of sorting the new ones, and one move of all asks of the key.
    pub fn put_all(&mut self, mut asks: Vec<PlaceAsk>) {
        if let [only] = asks.as_slice() {
            self.put(only.clone());
            return;
        }
        asks.sort_by_key(|ask| ask.place);
        self.asks.extend(asks);
        // Two sorted runs, which a stable sort merges.
        self.asks.sort_by_key(|ask| ask.place);
        self.asks.dedup_by(|later, kept| {
            let same = later.place == kept.place;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
    }

    /// Takes one container off the ask at a place, which ends when none is left. `before`: called with the ask
    /// as it stood. Returns how many are left; 0 where nothing was asked.
    #[inline(always)]
    pub fn take_one(&mut self, place: NameId, before: impl FnOnce(&PlaceAsk)) -> i32 {
        let Ok(at) = self.find(place) else {
            return 0;
        };
        let ask = &mut self.asks[at];
        before(ask);
        ask.count -= 1;
        let left = ask.count;
        if left == 0 {
            self.asks.remove(at);
        }
        left
    }

    /// Takes several containers off the ask for `*`, which ends when none is left; returns how many are. There must be as
    /// many.
    pub fn take_anywhere(&mut self, count: i32) -> i32 {
        let Ok(at) = self.find(NameId::ANY) else {
            return 0;
        };
        let ask = &mut self.asks[at];
        debug_assert!(ask.count >= count, "as many are asked for");
        ask.count -= count;
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

/// Position of the ask at a place among several, or where it would be.
#[inline(never)]
fn search(asks: &[PlaceAsk], place: NameId) -> Result<usize, usize> {
    asks.binary_search_by_key(&place, |ask| ask.place)
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
