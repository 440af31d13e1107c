//! The guarantee of a queue that its used capacity is a share of.

use crate::id::{PartitionId, QueueSlot};
use crate::queue::{Queue, QueueKind};
use crate::resource::{ResourceVector, share};
use crate::snapshot::State;

/// The guarantee of a queue as its used capacity goes by it.
// As CSQueueUtils.updateUsedCapacity: a created leaf that has none goes by that of the template.
#[inline]
pub(crate) fn guarantee_in_view<const N: usize>(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
) -> ResourceVector<N> {
    let part = state.queues[queue].part(partition);
    match creator_of(state, queue) {
        Some(parent) if share::java_order(part.absolute_capacity, 0.0).is_eq() => {
            let template = parent.template.get(&partition);
            let fraction = template.map_or(0.0, |template| template.absolute_capacity);
            share::times(&state.total(partition).narrow(), f64::from(fraction))
        }
        _ => part.guaranteed.narrow(),
    }
}

/// The managed parent that created a leaf; none for other queues.
pub(crate) fn creator_of(state: &State, queue: QueueSlot) -> Option<&Queue> {
    let row = &state.queues[queue];
    let creator = row.parent.filter(|_| row.settings.dynamic);
    let creator = creator.map(|parent| &state.queues[parent]);
    creator.filter(|parent| parent.settings.kind == QueueKind::ManagedParent)
}
