//! What queues know of the way down to the leaf that comes first.

use std::iter;

use capsched::id::QueueSlot;
use capsched::policy::{first_child, known_first_leaf};
use capsched::queue::Exclusivity;
use capsched::snapshot::State;

/// Where a queue knows the leaf that comes first below it, that is the one at the end of the way down.
///
/// # Panics
///
/// When it is another one.
pub(crate) fn assert_right(state: &State) {
    for queue in (0..state.queues.len()).map(QueueSlot::at) {
        for partition in state.partition_ids() {
            let Some(leaf) = known_first_leaf(state, queue, partition) else {
                continue;
            };
            let below =
                |queue: &QueueSlot| first_child(state, *queue, partition, Exclusivity::Respect);
            let mut way = iter::successors(Some(queue), below);
            let last = way.find(|&queue| state.queues[queue].is_leaf());
            let path = &state.queues[queue].settings.path;
            assert_eq!(last, Some(leaf), "below {path}");
        }
    }
}
