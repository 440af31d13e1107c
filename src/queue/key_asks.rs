//! Asks of an application under one key: by place, with the counters of the key.

use std::sync::Arc;

use super::constraint::Constraint;
use super::key_reservations::{KeyReservations, ReservedAt};
use super::places::{PlaceAsk, Places};
use crate::id::{NameId, NodeSlot, PartitionId, SchedulerKey};
use crate::resource::ResourceVector;

/// Everything asked under one scheduler key, and what happened to it.
///
/// What decisions read stands in front.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct KeyAsks {
    /// Asks by place, ascending; that for `*` comes first.
    pub places: Places,
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
    /// Reservations under this key.
    pub reserved: KeyReservations,
    /// How many were made or moved so far; counts around.
    reservations_made: u32,
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
            places: Places::default(),
            only_port: None,
            constrained: None,
            opportunities: 0,
            missed: 0,
            re_reservations: 0,
            reserved: KeyReservations::default(),
            reservations_made: 0,
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

    /// Nothing is asked under the key any more; what was.
    #[must_use]
    pub fn forget_asks(&mut self) -> Places {
        self.known = false;
        self.constrained = None;
        self.partition = PartitionId::DEFAULT;
        std::mem::take(&mut self.places)
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

    /// Adds a reservation, which comes after all others.
    ///
    /// Where it waits comes with `NodeId.hashCode` of that node.
    pub fn reserve(
        &mut self,
        number: u32,
        (node, java_hash): (NodeSlot, i32),
        size: ResourceVector,
    ) {
        let reservation = ReservedAt {
            number,
            made: self.reservations_made,
            node,
            java_hash,
            size,
        };
        self.reservations_made = self.reservations_made.wrapping_add(1);
        match self.reserved.find(number) {
            Ok(at) => *self.reserved.entry_mut(at) = reservation,
            Err(at) => self.reserved.insert(at, reservation),
        }
    }

    /// Takes off the reservation with a number on a node; whether there was one.
    pub fn unreserve(&mut self, number: u32, node: NodeSlot) -> bool {
        let found = self.reserved.find(number).ok();
        let found = found.filter(|&at| self.reserved[at].node == node);
        if let Some(at) = found {
            self.reserved.remove(at);
        }
        found.is_some()
    }

    /// Whether a node with this port may serve the key, as far as its port says.
    #[inline]
    #[must_use]
    pub fn takes_port(&self, port: u16) -> bool {
        self.only_port.is_none_or(|only| only == port)
    }

    /// The ask at a place.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, place: NameId) -> Option<&PlaceAsk> {
        self.places.at(place)
    }

    /// Puts an ask at its place; returns the one that stood there.
    pub fn put(&mut self, ask: PlaceAsk) -> Option<PlaceAsk> {
        match self.places.find(ask.place) {
            Ok(at) => Some(self.places.change(at, |old| std::mem::replace(old, ask))),
            Err(at) => {
                self.places.insert(at, ask);
                None
            }
        }
    }

    /// Takes one container off the ask for `*`, which stays even if none is left.
    pub fn lower_anywhere(&mut self) {
        if let Ok(at) = self.places.find(NameId::ANY) {
            self.places.entry_mut(at).count -= 1;
        }
    }

    /// Takes one container off the ask at a place, which ends when none is left. `before`: called with the ask
    /// as it stood. Returns how many are left; 0 where nothing was asked.
    #[inline(always)]
    pub fn take_one(&mut self, place: NameId, before: impl FnOnce(&PlaceAsk)) -> i32 {
        self.take(place, 1, before)
    }

    /// Takes several containers off the ask for `*`, which ends when none is left; returns how many are. There must be as
    /// many.
    pub fn take_anywhere(&mut self, count: i32) -> i32 {
        let enough = |ask: &PlaceAsk| debug_assert!(ask.count >= count, "as many are asked for");
        self.take(NameId::ANY, count, enough)
    }

    #[inline(always)]
    fn take(&mut self, place: NameId, count: i32, before: impl FnOnce(&PlaceAsk)) -> i32 {
        let Ok(at) = self.places.find(place) else {
            return 0;
        };
        let ask = self.places.entry_mut(at);
        before(ask);
        ask.count -= count;
        let left = ask.count;
        if left == 0 {
            self.places.remove(at);
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
