//! DeferredAncestorCharges: what leaves were charged with, and the queues above them not yet.
//!
//! Nearly every container moves the queues near root. While the ledger commits what others decided,
//! only leaves are charged at once; the queues above them are charged for many containers together.
//! Until then no more may be placed than the fullest of them has room for, whichever of them it is:
//! what goes beyond is looked at after everything was charged.

use std::cmp::Reverse;

use crate::commit::ledger::Ledger;
use crate::commit::tree::usage::{Account, Charge, add, charge_queue};
use crate::id::{PartitionId, QueueSlot};
use crate::resource::{PackedVector, ResourceVector, with_width};
use crate::snapshot::State;

/// What the queues above some leaves were not charged with, on one partition.
#[derive(Debug, Default)]
pub(in crate::commit) struct DeferredAncestorCharges {
    /// Nothing where nothing is owed.
    partition: Option<PartitionId>,
    /// Leaves whose use moved.
    leaves: Vec<DeferredCharge>,
    /// What all of them were charged with.
    owed: PackedVector,
    /// What every queue above one of them had left at least, before that.
    room: PackedVector,
    /// Queues of which the used shares are to be computed; empty between calls.
    moved: Vec<QueueSlot>,
}

/// What the queues above a leaf were last charged with.
#[derive(Debug)]
struct DeferredCharge {
    leaf: QueueSlot,
    used: PackedVector,
    pending: PackedVector,
}

impl DeferredAncestorCharges {
    /// Whether nothing is owed on any partition but this one.
    pub(in crate::commit) fn are_on(&self, partition: PartitionId) -> bool {
        self.partition.is_none_or(|on| on == partition)
    }

    /// Whether nothing is owed.
    pub(in crate::commit) fn are_none(&self) -> bool {
        self.partition.is_none()
    }

    /// Whether every queue above a leaf surely has room for a container more. What is owed must be on
    /// the same partition.
    ///
    /// Cost: a look at each of these queues, unless the leaf is among those who owe.
    pub(in crate::commit) fn leave_room<const N: usize>(
        &self,
        state: &State,
        leaf: QueueSlot,
        partition: PartitionId,
        size: &ResourceVector<N>,
    ) -> bool {
        let (used, calculator) = (self.owed.narrow() + *size, state.calculator);
        let known = self.are_none() || calculator.fits_in(&used, &self.room.narrow());
        // What is above a leaf that owes was looked at when it began to.
        let has_room = |queue| {
            let part = state.queues[queue].part(partition);
            calculator.fits_in(&(part.used.narrow() + used), &part.limit.narrow())
        };
        let owes = state.queues[leaf].part(partition).behind;
        known && (owes || state.chain(leaf).skip(1).all(has_room))
    }
}

impl Ledger {
    /// What a queue uses on a partition, with what it was not charged with yet.
    ///
    /// Cost: a walk up the tree for each leaf that owes.
    #[must_use]
    pub fn use_of(&self, queue: QueueSlot, partition: PartitionId) -> ResourceVector {
        let state = &self.state;
        let used = |queue: QueueSlot| state.queues[queue].part(partition).used.get();
        let owing = self.arrears.leaves.iter();
        let owing = owing.filter(|_| self.arrears.partition == Some(partition));
        let below = owing.filter(|arrear| state.chain(arrear.leaf).skip(1).any(|q| q == queue));
        below.fold(used(queue), |sum, arrear| {
            sum + used(arrear.leaf) - arrear.used.get()
        })
    }

    /// Charges a leaf; the queues above it wait for [`Ledger::settle_arrears`]. Nothing may be owed on
    /// another partition.
    pub(in crate::commit) fn charge_leaf<const N: usize>(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        charge: &Charge<N>,
    ) {
        debug_assert!(self.arrears.are_on(partition));
        if !self.state.queues[leaf].part(partition).behind {
            self.open_arrear::<N>(leaf, partition);
        }
        add(self.state.queues[leaf].part_mut(partition), charge);
        self.arrears.owed += charge.used;
    }

    /// Notes what the queues above a leaf were last charged with.
    fn open_arrear<const N: usize>(&mut self, leaf: QueueSlot, partition: PartitionId) {
        let (state, arrears) = (&mut self.state, &mut self.arrears);
        let mut room = (!arrears.are_none()).then(|| arrears.room.narrow::<N>());
        arrears.partition = Some(partition);
        for queue in state.chain(leaf).skip(1) {
            let part = state.queues[queue].part(partition);
            let left = part.limit.narrow() - part.used.narrow();
            room = Some(room.map_or(left, |room| room.component_min(&left)));
        }
        arrears.room = room.unwrap_or_default().into();
        let part = state.queues[leaf].part_mut(partition);
        part.behind = true;
        arrears.leaves.push(DeferredCharge {
            leaf,
            used: part.used.clone(),
            pending: part.pending.clone(),
        });
    }

    /// Charges the queues above leaves with what they owe, and computes the used shares of all of them.
    /// To be called before anything but the commit of a plain container reads or changes the use of a
    /// queue; what passes observed is about leaves and below.
    ///
    /// Cost: for each leaf that owes, that of charging it once.
    // As CSQueueUtils.updateQueueStatistics.
    pub(in crate::commit) fn settle_arrears(&mut self) {
        if !self.arrears.are_none() {
            with_width!(self.state.calculator, N => self.settle_some::<N>());
        }
    }

    fn settle_some<const N: usize>(&mut self) {
        let (state, arrears) = (&mut self.state, &mut self.arrears);
        let Some(partition) = arrears.partition.take() else {
            return;
        };
        (arrears.owed, arrears.room) = Default::default();
        for arrear in arrears.leaves.drain(..) {
            let row = &state.queues[arrear.leaf];
            let (part, mut above) = (row.part(partition), row.parent);
            let charge = Charge::<N> {
                used: part.used.narrow() - arrear.used.narrow(),
                pending: part.pending.narrow() - arrear.pending.narrow(),
            };
            arrears.moved.push(arrear.leaf);
            while let Some(queue) = above {
                let row = &mut state.queues[queue];
                above = row.parent;
                let part = row.part_mut(partition);
                add(part, &charge);
                if !std::mem::replace(&mut part.behind, true) {
                    arrears.moved.push(queue);
                }
            }
        }
        // Children before their parents, whose ranks say then what comes first below them.
        let depth = |&queue: &QueueSlot| state.chain(queue).count();
        arrears
            .moved
            .sort_unstable_by_key(|queue| Reverse(depth(queue)));
        let (none, account) = (Charge::<N>::default(), Account::of(state, partition));
        for queue in arrears.moved.drain(..) {
            let moved = charge_queue(state, queue, &account, &none, None);
            if let Some(parent) = moved.parent {
                charge_queue(state, parent, &account, &none, Some(moved));
            }
        }
    }
}
