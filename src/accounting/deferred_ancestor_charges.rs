//! Deferred charges of ancestors: in a batch of commits only leaves are charged at once.
//!
//! # What
//!
//! Nearly every container moves the queues near root. In a batch the ledger charges the leaf alone, and
//! notes what the queues above it were last charged with. [`DeferredAncestorCharges::settle`] charges the
//! ancestors with the sum, once for all containers of the batch.
//!
//! # When it is valid
//!
//! * All deferred charges are on one partition.
//! * The sum of the deferred charges fits into the smallest room that any ancestor had when the first of
//!   them was deferred. A container beyond that is checked after settling.
//! * Nothing reads the use of a queue above a leaf before settling. What passes observe is about leaves
//!   and below.
//!
//! # Why
//!
//! A charge writes each queue up to root; thousands of containers of a batch write the same few rows.
//!
//! # Steps
//!
//! 1. [`DeferredAncestorCharges::leave_room`] checks a container against the smallest room.
//! 2. [`DeferredAncestorCharges::charge_leaf`] charges the leaf and opens an entry for it.
//! 3. [`DeferredAncestorCharges::settle`] adds the difference of each entry to the ancestors, then computes
//!    the used shares of all queues that moved.
//!
//! # Cost
//!
//! For each container a comparison; for each leaf that was charged, that of charging it once.
//!
//! Builds with assertions charge a second set of figures of the ancestors for each container, and compare them with
//! what settling comes to. `tests/commit/deferred_charges.rs` compares a ledger that defers with one that does not.

use super::charge::{Account, Charge, add, charge_queue};
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{PartitionId, QueueSlot};
use crate::resource::{PackedVector, ResourceVector, with_width};
use crate::snapshot::State;

/// What the queues above some leaves were not charged with, on one partition.
#[derive(Debug, Default)]
pub(crate) struct DeferredAncestorCharges {
    /// The partition of the deferred charges; nothing while there are none.
    partition: Option<PartitionId>,
    /// Leaves that were charged alone.
    leaves: Vec<DeferredCharge>,
    /// Sum of the deferred charges.
    uncharged: PackedVector,
    /// Smallest room of any ancestor of these leaves, before the first deferred charge.
    room: PackedVector,
    /// Queues of which the used shares are to be computed; empty between calls.
    moved: Vec<QueueSlot>,
    /// In builds with assertions: what the ancestors would have, had each container been charged at once.
    charged_at_once: Vec<ChargedAncestor>,
}

/// What a queue uses and has outstanding when each container is charged at once.
#[derive(Debug)]
struct ChargedAncestor {
    queue: QueueSlot,
    used: ResourceVector,
    pending: ResourceVector,
}

/// What the queues above a leaf were last charged with.
#[derive(Debug)]
struct DeferredCharge {
    leaf: QueueSlot,
    used: PackedVector,
    pending: PackedVector,
}

impl DeferredAncestorCharges {
    /// Whether there is no deferred charge on another partition.
    pub(crate) fn are_on(&self, partition: PartitionId) -> bool {
        self.partition.is_none_or(|on| on == partition)
    }

    /// Whether there is no deferred charge.
    pub(crate) fn are_none(&self) -> bool {
        self.partition.is_none()
    }

    /// Whether every queue above a leaf surely has room for one more container. Deferred charges must be
    /// on the same partition.
    ///
    /// Cost: a look at each of these queues, unless the leaf has an entry.
    // Must equal the look at the maximum of each queue in [`crate::commit`]'s validation after settling;
    // it may say no where that says yes, and is asked again then.
    #[inline(always)]
    pub(crate) fn leave_room<const N: usize>(
        &self,
        state: &State,
        leaf: QueueSlot,
        partition: PartitionId,
        size: &ResourceVector<N>,
    ) -> bool {
        let (used, calculator) = (self.uncharged.narrow() + *size, state.calculator);
        let known = self.are_none()
            || is_planted(PlantedFlaw::DeferredChargesIgnoreRoom)
            || calculator.fits_in(&used, &self.room.narrow());
        // The ancestors of a leaf with an entry were looked at when it was opened.
        let has_entry = state.queues[leaf].part(partition).behind;
        let room = known && (has_entry || has_room_above(state, leaf, partition, &used));
        debug_assert!(!room || self.have_room_at_once(state, leaf, partition, &size.widen()));
        room
    }

    /// Whether every queue above a leaf has room for one more container, by all that was deferred.
    fn have_room_at_once(
        &self,
        state: &State,
        leaf: QueueSlot,
        partition: PartitionId,
        size: &ResourceVector,
    ) -> bool {
        state.chain(leaf).skip(1).all(|queue| {
            let used = self.use_of(state, queue, partition) + *size;
            let limit = state.queues[queue].part(partition).limit.get();
            state.calculator.fits_in(&used, &limit)
        })
    }

    /// What a queue uses on a partition, with what it was not charged with yet.
    ///
    /// Cost: a walk up the tree for each leaf with an entry.
    pub(crate) fn use_of(
        &self,
        state: &State,
        queue: QueueSlot,
        partition: PartitionId,
    ) -> ResourceVector {
        let used = |queue: QueueSlot| state.queues[queue].part(partition).used.get();
        let below = self.below(state, queue, partition);
        below.fold(used(queue), |sum, entry| {
            sum + used(entry.leaf) - entry.used.get()
        })
    }

    /// What a queue has outstanding on a partition, by all that was deferred.
    ///
    /// Cost: a walk up the tree for each leaf with an entry.
    pub(crate) fn pending_of(
        &self,
        state: &State,
        queue: QueueSlot,
        partition: PartitionId,
    ) -> ResourceVector {
        let pending = |queue: QueueSlot| state.queues[queue].part(partition).pending.get();
        let below = self.below(state, queue, partition);
        below.fold(pending(queue), |sum, entry| {
            sum + pending(entry.leaf) - entry.pending.get()
        })
    }

    /// Entries of leaves below a queue, on a partition.
    fn below<'a>(
        &'a self,
        state: &'a State,
        queue: QueueSlot,
        partition: PartitionId,
    ) -> impl Iterator<Item = &'a DeferredCharge> {
        let entries = self.leaves.iter();
        let entries = entries.filter(move |_| self.partition == Some(partition));
        entries.filter(move |entry| state.chain(entry.leaf).skip(1).any(|above| above == queue))
    }

    /// Charges a leaf; the queues above it wait for [`Self::settle`]. No charge may be deferred on another
    /// partition.
    #[inline(always)]
    pub(crate) fn charge_leaf<const N: usize>(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        partition: PartitionId,
        charge: &Charge<N>,
    ) {
        debug_assert!(self.are_on(partition));
        if cfg!(debug_assertions) {
            self.charge_at_once(state, leaf, partition, charge);
        }
        let part = state.queues[leaf].part_mut(partition);
        if part.behind {
            debug_assert!(part.known, "it was charged before");
            add(part, charge);
        } else {
            self.open_entry::<N>(state, leaf, partition);
            state.note_known(leaf, partition);
            add(state.queues[leaf].part_mut(partition), charge);
        }
        self.uncharged += charge.used;
    }

    /// Charges the second set of figures, which begins with what the queues were last charged with.
    fn charge_at_once<const N: usize>(
        &mut self,
        state: &State,
        leaf: QueueSlot,
        partition: PartitionId,
        charge: &Charge<N>,
    ) {
        for queue in state.chain(leaf).skip(1) {
            let known = &mut self.charged_at_once;
            let at = known.iter().position(|charged| charged.queue == queue);
            let at = at.unwrap_or_else(|| {
                let part = state.queues[queue].part(partition);
                known.push(ChargedAncestor {
                    queue,
                    used: part.used.get(),
                    pending: part.pending.get(),
                });
                known.len() - 1
            });
            known[at].used += charge.used.widen();
            known[at].pending += charge.pending.widen();
        }
    }

    /// Whether settled ancestors have what they would have, had each container been charged at once; used shares are
    /// compared where they are computed. The second set of figures ends.
    // Must equal [`charge_queues`](super::charge_queues) for each container.
    fn equals_charges_at_once(&mut self, state: &State, partition: PartitionId) -> bool {
        self.charged_at_once.drain(..).all(|charged| {
            let part = state.queues[charged.queue].part(partition);
            (part.used.get(), part.pending.get()) == (charged.used, charged.pending) && !part.behind
        })
    }

    /// Notes what the queues above a leaf were last charged with.
    #[inline(never)]
    fn open_entry<const N: usize>(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        partition: PartitionId,
    ) {
        let mut room = (!self.are_none()).then(|| self.room.narrow::<N>());
        self.partition = Some(partition);
        for queue in state.chain(leaf).skip(1) {
            let part = state.queues[queue].part(partition);
            let left = part.limit.narrow() - part.used.narrow();
            room = Some(room.map_or(left, |room| room.component_min(&left)));
        }
        self.room = room.unwrap_or_default().into();
        let part = state.queues[leaf].part_mut(partition);
        part.behind = true;
        self.leaves.push(DeferredCharge {
            leaf,
            used: part.used.clone(),
            pending: part.pending.clone(),
        });
    }

    /// Charges the ancestors with all deferred charges, and computes the used shares of all queues that
    /// moved.
    ///
    /// Cost: for each leaf with an entry, that of charging it once.
    // As CSQueueUtils.updateQueueStatistics.
    #[inline]
    pub(crate) fn settle(&mut self, state: &mut State) {
        if !self.are_none() {
            with_width!(state.calculator, N => self.settle_entries::<N>(state));
        }
    }

    fn settle_entries<const N: usize>(&mut self, state: &mut State) {
        let Some(partition) = self.partition.take() else {
            return;
        };
        (self.uncharged, self.room) = Default::default();
        for entry in self.leaves.drain(..) {
            charge_ancestors::<N>(state, &entry, partition, &mut self.moved);
        }
        let (none, account) = (Charge::<N>::default(), Account::of(state, partition));
        for queue in self.moved.drain(..) {
            let moved = charge_queue(state, queue, &account, &none, None);
            if let Some(parent) = moved.parent {
                charge_queue(state, parent, &account, &none, Some(moved));
            }
        }
        debug_assert!(self.equals_charges_at_once(state, partition));
    }
}

/// Whether every queue above a leaf has room for an amount, by what the queues were charged with.
#[inline(always)]
pub(crate) fn has_room_above<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: &ResourceVector<N>,
) -> bool {
    let mut next = state.queues[leaf].parent;
    while let Some(queue) = next {
        let row = &state.queues[queue];
        let part = row.part(partition);
        let used = part.used.narrow() + *size;
        if !state.calculator.fits_in(&used, &part.limit.narrow()) {
            return false;
        }
        next = row.parent;
    }
    true
}

/// Adds what a leaf was charged with since its entry was opened to the queues above it.
fn charge_ancestors<const N: usize>(
    state: &mut State,
    entry: &DeferredCharge,
    partition: PartitionId,
    moved: &mut Vec<QueueSlot>,
) {
    let row = &state.queues[entry.leaf];
    let (part, mut above) = (row.part(partition), row.parent);
    let charge = Charge::<N> {
        used: part.used.narrow() - entry.used.narrow(),
        pending: if is_planted(PlantedFlaw::DeferredChargesLosePending) {
            ResourceVector::NONE
        } else {
            part.pending.narrow() - entry.pending.narrow()
        },
    };
    moved.push(entry.leaf);
    while let Some(queue) = above {
        state.note_known(queue, partition);
        let row = &mut state.queues[queue];
        above = row.parent;
        let part = row.part_mut(partition);
        add(part, &charge);
        if !std::mem::replace(&mut part.behind, true) {
            moved.push(queue);
        }
    }
}
