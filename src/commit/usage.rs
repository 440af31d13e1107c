//! Charging use, reservations and demand to queues, users and their ancestors.

use super::ledger::Ledger;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::resource::ResourceVector;

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
        self.state.queues[leaf].part_mut(partition).used += size;
        self.update_used(leaf, partition);
    }

    pub(super) fn charge_ancestors(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        let mut above = self.state.queues[leaf].parent;
        while let Some(queue) = above {
            self.charge_leaf(queue, partition, size);
            above = self.state.queues[queue].parent;
        }
    }

    /// Recomputes the used shares of a queue on a partition.
    // As CSQueueUtils.updateUsedCapacity.
    pub(super) fn update_used(&mut self, queue: QueueSlot, partition: PartitionId) {
        let calculator = self.state.calculator;
        let total = self.state.total(partition);
        let minimum = self.state.minimum;
        let part = self.state.queues[queue].part_mut(partition);
        part.known = true;
        if calculator.above_none(&total, &total) {
            let guaranteed = calculator.max(&total, &part.guaranteed, &minimum);
            let guaranteed = calculator.max(&total, &guaranteed, &minimum);
            part.absolute_used = calculator.divide(&total, &part.used, &total);
            part.used_capacity = calculator.divide(&total, &part.used, &guaranteed);
        } else {
            part.absolute_used = 0.0;
            part.used_capacity = 0.0;
        }
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
    }

    /// Outstanding asks of an application, its leaf and its ancestors.
    pub(super) fn add_pending(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
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
        let mut next = Some(leaf);
        while let Some(queue) = next {
            self.state.queues[queue].part_mut(partition).pending += size;
            next = self.state.queues[queue].parent;
        }
    }
}
