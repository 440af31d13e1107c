//! Charging use, reservations and demand to queues, users and their ancestors.

use super::ledger::Ledger;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::policy::{child_rank, user_bounds};
use crate::queue::{Divisors, Ranks};
use crate::resource::ResourceVector;
use crate::snapshot::State;

impl Ledger {
    /// Charges an application's leaf, user and ancestors; negative amounts give back.
    // As AbstractLeafQueue.allocateResource and AbstractCSQueue.allocateResource.
    pub(super) fn charge(&mut self, app: AppSlot, partition: PartitionId, size: ResourceVector) {
        let leaf = self.state.apps[app].leaf;
        let user = self.user_of(app);
        self.charge_leaf(leaf, partition, size);
        self.charge_user(leaf, user, partition, size);
        self.charge_ancestors(leaf, partition, size);
    }

    pub(super) fn charge_leaf(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        charge_queue(&mut self.state, leaf, partition, size);
    }

    pub(super) fn charge_ancestors(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        charge_ancestors(&mut self.state, leaf, partition, size);
    }

    /// Recomputes the used shares of a queue on a partition.
    pub(super) fn update_used(&mut self, queue: QueueSlot, partition: PartitionId) {
        self.state.epoch += 1;
        update_used(&mut self.state, queue, partition);
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
            self.state.queues[queue].part_mut(partition).reserved += size;
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

/// Charges one queue.
pub(super) fn charge_queue(
    state: &mut State,
    queue: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    state.queues[queue].part_mut(partition).used += size;
    update_used(state, queue, partition);
    rank_among_siblings(state, queue, partition);
}

/// Keeps the order of a parent's children after the use of one of them moved.
fn rank_among_siblings(state: &mut State, queue: QueueSlot, partition: PartitionId) {
    let Some(parent) = state.queues[queue].parent else {
        return;
    };
    let row = &state.queues[parent];
    let (order, ranks) = (row.settings.child_order, &row.part(partition).ranks);
    if ranks.epoch != state.epoch {
        rank_children(state, parent, partition);
    } else if !ranks.keys.is_empty()
        && let Some(rank) = child_rank(state, order, partition, queue)
    {
        let place = state.queues[queue].place;
        state.queues[parent].part_mut(partition).ranks.keys[place] = rank;
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
        .map(|&child| child_rank(state, order, partition, child));
    let keys = ranks.collect::<Option<Vec<_>>>().unwrap_or_default();
    let epoch = state.epoch;
    state.queues[parent].part_mut(partition).ranks = Ranks { epoch, keys };
}

/// Charges everything above a leaf.
pub(super) fn charge_ancestors(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    let mut above = state.queues[leaf].parent;
    while let Some(queue) = above {
        charge_queue(state, queue, partition, size);
        above = state.queues[queue].parent;
    }
}

/// Recomputes the used shares of a queue on a partition.
// As CSQueueUtils.updateUsedCapacity.
fn update_used(state: &mut State, queue: QueueSlot, partition: PartitionId) {
    let calculator = state.calculator;
    let total = state.total(partition);
    let minimum = state.minimum;
    let epoch = state.epoch;
    let part = state.queues[queue].part_mut(partition);
    part.known = true;
    if !calculator.above_none(&total, &total) {
        part.absolute_used = 0.0;
        part.used_capacity = 0.0;
        return;
    }
    if part.divisors.epoch != epoch {
        let guaranteed = calculator.max(&total, &part.guaranteed, &minimum);
        part.divisors = Divisors {
            epoch,
            total: calculator.divisor(&total, &total),
            guaranteed: calculator.divisor(&total, &guaranteed),
        };
        if state.queues[queue].is_leaf() {
            let bounds = user_bounds(state, queue, partition);
            state.queues[queue].as_leaf_mut().parts[partition.index()].bounds = bounds;
        }
    }
    let part = state.queues[queue].part_mut(partition);
    let used = calculator.divisor(&total, &part.used);
    part.absolute_used = calculator.quotient(used, part.divisors.total);
    part.used_capacity = calculator.quotient(used, part.divisors.guaranteed);
    debug_assert_eq!(
        part.absolute_used.to_bits(),
        calculator.divide(&total, &part.used, &total).to_bits()
    );
    debug_assert_eq!(
        part.used_capacity.to_bits(),
        calculator
            .divide(
                &total,
                &part.used,
                &calculator.max(&total, &part.guaranteed, &minimum)
            )
            .to_bits()
    );
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
        state.queues[queue].part_mut(partition).pending += size;
        next = state.queues[queue].parent;
    }
}
