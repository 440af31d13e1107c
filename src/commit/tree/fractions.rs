//! Fractions of queues: from those of the parent, or from resources.
//!
//! Tests: the recordings of `tests/parity`, which `cli/tests/parity.rs` plays on the engine.

use crate::id::{PartitionId, QueueSlot};
use crate::resource::share;
use crate::snapshot::State;

/// Fractions of the partition from fractions of the parent.
// As CSQueueUtils.updateAbsoluteCapacitiesByNodeLabels.
pub(in crate::commit) fn update_absolute(state: &mut State, queue: QueueSlot) {
    state.epoch += 1;
    let legacy = state.settings.legacy_queue_mode;
    for partition in state.queues[queue].partitions() {
        let row = &state.queues[queue];
        if !row.part(partition).known {
            continue;
        }
        let (above, above_maximum) = match row.parent {
            Some(parent) => {
                let part = state.queues[parent].part(partition);
                (part.absolute_capacity, part.absolute_maximum)
            }
            None => (1.0, 1.0),
        };
        let part = state.queues[queue].part_mut(partition);
        let capacity = if legacy && part.normalized_weight > part.capacity {
            part.normalized_weight
        } else {
            part.capacity
        };
        if capacity > 0.0 || !legacy {
            part.absolute_capacity = share::product(capacity, above);
        }
        if part.maximum_capacity > 0.0 {
            part.absolute_maximum = share::product(part.maximum_capacity, above_maximum);
        }
    }
}

/// Fractions from resources, for display and order.
pub(in crate::commit) fn derive_fractions(
    state: &mut State,
    queue: QueueSlot,
    parent: QueueSlot,
    partition: PartitionId,
) {
    state.epoch += 1;
    let calculator = state.calculator;
    let legacy = state.settings.legacy_queue_mode;
    // As CapacitySchedulerQueueCapacityHandler.setQueueCapacities outside legacy mode, and in it
    // as AbstractCSQueue.deriveCapacityFromAbsoluteConfigurations.
    let cluster = if legacy {
        state.cluster
    } else {
        state.partitions[partition].total
    };
    let above = state.queues[parent].part(partition);
    let (guaranteed, limit) = (above.guaranteed.get(), above.limit.get());
    let (absolute, absolute_maximum) = (above.absolute_capacity, above.absolute_maximum);
    let finite = |x: f32| if x.is_infinite() && x > 0.0 { 0.0 } else { x };
    let part = state.queues[queue].part_mut(partition);
    part.capacity = finite(calculator.divide(&cluster, &part.guaranteed.get(), &guaranteed));
    part.maximum_capacity = finite(calculator.divide(&cluster, &part.limit.get(), &limit));
    part.absolute_capacity = share::product(part.capacity, absolute);
    // Outside legacy mode a maximum of nothing leaves the earlier fraction as it was.
    if legacy || part.maximum_capacity > 0.0 {
        part.absolute_maximum = share::product(part.maximum_capacity, absolute_maximum);
    }
}
