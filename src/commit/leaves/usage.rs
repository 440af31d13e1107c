//! Charging use, reservations and demand to queues, users and their ancestors.
//!
//! Tests: `tests/commit/deferred_charges.rs`.

use crate::accounting::{Charge, add_queue_pending, charge_queues};
use crate::commit::containers::container::Container;
use crate::commit::leaves::Leaves;
use crate::commit::leaves::key_sums::KeySums;
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

impl Leaves {
    /// Charges an application's leaf, user and ancestors; negative amounts give back.
    // As AbstractLeafQueue.allocateResource and AbstractCSQueue.allocateResource.
    pub(in crate::commit) fn charge(
        &mut self,
        state: &mut State,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        let leaf = state.apps[app].leaf;
        let user = self.user_of(state, app);
        charge_use(state, leaf, partition, size);
        with_width!(state.calculator, N => {
            self.charge_user::<N>(state, leaf, user, partition, size.narrow());
        });
    }

    /// Outstanding asks of an application, its leaf and its ancestors.
    pub(in crate::commit) fn add_pending(
        &mut self,
        state: &mut State,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        self.add_app_pending(state, app, partition, size);
        let leaf = state.apps[app].leaf;
        add_queue_pending(state, leaf, partition, size);
    }

    /// Outstanding asks of an application alone.
    pub(in crate::commit) fn add_app_pending<const N: usize>(
        &mut self,
        state: &mut State,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector<N>,
    ) {
        self.skipped.stop(state, app);
        state.apps[app].part_mut(partition).pending += size;
        state.note_asks::<N>(app, partition);
    }

    /// Moves the charge of a container that stays on its node to another partition.
    pub(in crate::commit) fn move_charge(
        &mut self,
        state: &mut State,
        container: &Container,
        (from, to): (PartitionId, PartitionId),
    ) {
        let (app, size, master) = (container.app, container.size.get(), container.master);
        state.apps[app].part_mut(from).used -= size;
        state.apps[app].part_mut(to).used += size;
        for (partition, size) in [(from, -size), (to, size)] {
            let leaf = state.apps[app].leaf;
            let user = self.user_of(state, app);
            self.charge_user(state, leaf, user, partition, size);
            charge_use(state, leaf, partition, size);
        }
        if master {
            let user = self.user_of(state, app);
            let row = &mut state.apps[app];
            row.move_master(from, to, size);
            let leaf = row.leaf;
            for (partition, size) in [(from, -size), (to, size)] {
                state.counting(leaf, partition).master_used += size;
                state.users[user].parts[partition].master_used += size;
            }
        }
    }
}

/// Charges a leaf and its ancestors.
pub(in crate::commit) fn charge_use(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    with_width!(state.calculator, N => {
        let charge = Charge::<N> {
            used: size.narrow(),
            pending: ResourceVector::NONE,
        };
        charge_queues(state, leaf, partition, &charge);
    });
}

/// Moves what an application has outstanding to another leaf.
///
/// Cost: queues are charged once for each partition.
pub(in crate::commit) fn move_pending(
    state: &mut State,
    sums: &KeySums,
    (from, to): (QueueSlot, QueueSlot),
) {
    for (partition, size) in sums.pending() {
        add_queue_pending(state, from, partition, -size);
        add_queue_pending(state, to, partition, size);
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
        state.counting(queue, partition).reserved += size;
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
