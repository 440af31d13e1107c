//! Charging use, reservations and demand to queues, users and their ancestors.
//!
//! Tests: `tests/commit/deferred_charges.rs`.

use crate::accounting::{Charge, add_queue_pending, charge_queues};
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

impl Ledger {
    /// Charges an application's leaf, user and ancestors; negative amounts give back.
    // As AbstractLeafQueue.allocateResource and AbstractCSQueue.allocateResource.
    pub(in crate::commit) fn charge(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        let leaf = self.state.apps[app].leaf;
        let user = self.user_of(app);
        self.charge_queues(leaf, partition, size);
        with_width!(self.state.calculator, N => {
            self.charge_user::<N>(leaf, user, partition, size.narrow());
        });
    }

    /// Charges a leaf and its ancestors.
    pub(in crate::commit) fn charge_queues(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        with_width!(self.state.calculator, N => {
            let charge = Charge::<N> {
                used: size.narrow(),
                pending: ResourceVector::NONE,
            };
            charge_queues(&mut self.state, leaf, partition, &charge);
        });
    }

    /// Outstanding asks of an application, its leaf and its ancestors.
    pub(in crate::commit) fn add_pending(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        self.add_app_pending(app, partition, size);
        let leaf = self.state.apps[app].leaf;
        self.add_queue_pending(leaf, partition, size);
    }

    /// Outstanding asks of an application alone.
    pub(in crate::commit) fn add_app_pending<const N: usize>(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector<N>,
    ) {
        self.skipped.stop(&mut self.state, app);
        self.state.apps[app].part_mut(partition).pending += size;
        self.state.note_asks::<N>(app, partition);
    }

    pub(in crate::commit) fn add_queue_pending(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        add_queue_pending(&mut self.state, leaf, partition, size);
    }
}

/// Reserved resources of a leaf and its ancestors.
pub(in crate::commit) fn add_reserved(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    let mut next = Some(leaf);
    while let Some(queue) = next {
        let part = state.queues[queue].part_mut(partition);
        part.counting().reserved += size;
        next = state.queues[queue].parent;
    }
    if partition == PartitionId::DEFAULT {
        add_reserved_by_present(state, leaf, size);
    }
}

/// What the applications that a leaf and its ancestors hold now have reserved.
// As QueueMetrics.reserveResource.
pub(in crate::commit) fn add_reserved_by_present(
    state: &mut State,
    leaf: QueueSlot,
    size: ResourceVector,
) {
    let mut next = Some(leaf);
    while let Some(queue) = next {
        state.queues[queue].reserved_by_present += size;
        next = state.queues[queue].parent;
    }
}
