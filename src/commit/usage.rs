//! Charging use, reservations and demand to queues, users and their ancestors.

use super::ledger::Ledger;
use super::managed::guarantee_in_view;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::policy::{child_rank, user_bounds};
use crate::queue::{Divisors, Ranks};
use crate::resource::{ResourceVector, with_calculator};
use crate::snapshot::State;

impl Ledger {
    /// Charges an application's leaf, user and ancestors; negative amounts give back.
    // As AbstractLeafQueue.allocateResource and AbstractCSQueue.allocateResource.
    pub(super) fn charge(&mut self, app: AppSlot, partition: PartitionId, size: ResourceVector) {
        let leaf = self.state.apps[app].leaf;
        let user = self.user_of(app);
        self.charge_queues(leaf, partition, size);
        self.charge_user(leaf, user, partition, size);
    }

    /// Charges a leaf and its ancestors.
    pub(super) fn charge_queues(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        let charge = Charge {
            used: size,
            pending: ResourceVector::NONE,
        };
        charge_queues(&mut self.state, leaf, partition, &charge);
    }

    /// Recomputes the used shares of a queue on a partition.
    pub(super) fn update_used(&mut self, queue: QueueSlot, partition: PartitionId) {
        self.state.epoch += 1;
        charge_queue(&mut self.state, queue, partition, &Charge::default());
    }

    /// Reserved resources of a leaf and its ancestors.
    pub(super) fn add_reserved(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        let mut next = Some(leaf);
        while let Some(queue) = next {
            let part = self.state.queues[queue].part_mut(partition);
            part.counting().reserved += size;
            next = self.state.queues[queue].parent;
        }
        if partition == PartitionId::DEFAULT {
            self.add_reserved_by_present(leaf, size);
        }
    }

    /// What the applications that a leaf and its ancestors hold now have reserved.
    // As QueueMetrics.reserveResource.
    pub(super) fn add_reserved_by_present(&mut self, leaf: QueueSlot, size: ResourceVector) {
        let mut next = Some(leaf);
        while let Some(queue) = next {
            self.state.queues[queue].reserved_by_present += size;
            next = self.state.queues[queue].parent;
        }
    }

    /// Outstanding asks of an application, its leaf and its ancestors.
    pub(super) fn add_pending(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        self.stop_skipping(app);
        self.state.apps[app].part_mut(partition).pending += size;
        let leaf = self.state.apps[app].leaf;
        self.add_queue_pending(leaf, partition, size);
    }

    pub(super) fn add_queue_pending(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        add_queue_pending(&mut self.state, leaf, partition, size);
    }
}

/// What queues use and have outstanding more than before; less where it is negative.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) used: ResourceVector,
    pub(super) pending: ResourceVector,
}

/// Charges a leaf and everything above it, and keeps the order among siblings.
pub(super) fn charge_queues(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    charge: &Charge,
) {
    let mut next = Some(leaf);
    while let Some(queue) = next {
        charge_queue(state, queue, partition, charge);
        next = state.queues[queue].parent;
        if let Some(parent) = next {
            rank_among_siblings(state, parent, queue, partition);
        }
    }
}

/// Keeps the order of a parent's children after the use of one of them moved.
fn rank_among_siblings(
    state: &mut State,
    parent: QueueSlot,
    child: QueueSlot,
    partition: PartitionId,
) {
    let (row, above) = (&state.queues[child], &state.queues[parent]);
    let ranks = &above.part(partition).ranks;
    if ranks.epoch != state.epoch {
        rank_children(state, parent, partition);
    } else if !ranks.keys.is_empty()
        && let Some(rank) = child_rank(row, above.settings.child_order, partition)
    {
        let place = row.place;
        let ranks = &mut state.queues[parent].part_mut(partition).ranks;
        if let Some(key) = ranks.keys.get_mut(place) {
            *key = rank;
        }
    }
}

fn rank_children(state: &mut State, parent: QueueSlot, partition: PartitionId) {
    let row = &state.queues[parent];
    let (order, children) = (row.settings.child_order, row.children.clone());
    for (place, &child) in children.iter().enumerate() {
        if state.queues[child].place != place {
            state.queues[child].place = place;
        }
    }
    let ranks = children
        .iter()
        .map(|&child| child_rank(&state.queues[child], order, partition));
    let keys = ranks.collect::<Option<Vec<_>>>().unwrap_or_default();
    let epoch = state.epoch;
    state.queues[parent].part_mut(partition).ranks = Ranks { epoch, keys };
}

/// Charges one queue and recomputes its used shares.
// As CSQueueUtils.updateUsedCapacity.
#[inline]
fn charge_queue(state: &mut State, queue: QueueSlot, partition: PartitionId, charge: &Charge) {
    let known = state.queues[queue].part(partition).divisors.epoch == state.epoch;
    let divides = known || renew_divisors(state, queue, partition);
    let total = &state.partitions[partition].total;
    let part = state.queues[queue].part_mut(partition);
    part.used += charge.used;
    part.pending += charge.pending;
    part.known = true;
    if !divides {
        part.absolute_used = 0.0;
        part.used_capacity = 0.0;
        return;
    }
    with_calculator!(state.calculator, calculator => {
        let used = calculator.divisor(total, &part.used);
        part.absolute_used = calculator.quotient(used, part.divisors.total);
        part.used_capacity = calculator.quotient(used, part.divisors.guaranteed);
    });
    let part = state.queues[queue].part(partition);
    let exact = |by| state.calculator.divide(total, &part.used, by).to_bits();
    debug_assert_eq!(part.absolute_used.to_bits(), exact(total));
    debug_assert_eq!(
        part.used_capacity.to_bits(),
        exact(&used_of(state, queue, partition))
    );
}

/// The amount that the used capacity of a queue is a share of.
fn used_of(state: &State, queue: QueueSlot, partition: PartitionId) -> ResourceVector {
    let guaranteed = guarantee_in_view(state, queue, partition);
    let total = &state.partitions[partition].total;
    state.calculator.max(total, &guaranteed, &state.minimum)
}

/// Computes anew what follows from the capacity of a queue, not from its use; whether there is
/// anything in the partition to divide by.
#[cold]
fn renew_divisors(state: &mut State, queue: QueueSlot, partition: PartitionId) -> bool {
    let (calculator, total) = (state.calculator, state.total(partition));
    if !calculator.above_none(&total, &total) {
        return false;
    }
    let guaranteed = used_of(state, queue, partition);
    let divisors = Divisors {
        epoch: state.epoch,
        total: calculator.divisor(&total, &total),
        guaranteed: calculator.divisor(&total, &guaranteed),
    };
    state.queues[queue].part_mut(partition).divisors = divisors;
    if state.queues[queue].is_leaf() {
        let bounds = user_bounds(state, queue, partition);
        state.queues[queue].as_leaf_mut().parts[partition.index()].bounds = bounds;
    }
    true
}

/// Outstanding asks of a leaf and its ancestors.
pub(super) fn add_queue_pending(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    let mut next = Some(leaf);
    while let Some(queue) = next {
        let part = state.queues[queue].part_mut(partition);
        part.counting().pending += size;
        next = state.queues[queue].parent;
    }
}
