//! What queues know of the way down to the leaf that comes first.

use std::iter;

use capsched::id::QueueSlot;
use capsched::policy::first_child;
use capsched::queue::Exclusivity;
use capsched::snapshot::State;

/// Where a queue knows the leaf that comes first below it, that is the one at the end of the way down;
/// how many do.
///
/// # Panics
///
/// When it is another one.
pub(crate) fn known_first_leaves(state: &State) -> usize {
    let mut known = 0;
    for queue in (0..state.queues.len()).map(QueueSlot::at) {
        for partition in state.partition_ids() {
            let ranks = &state.queues[queue].part(partition).ranks;
            let Some(leaf) = ranks.first_leaf().filter(|_| ranks.epoch == state.epoch) else {
                continue;
            };
            let below =
                |queue: &QueueSlot| first_child(state, *queue, partition, Exclusivity::Respect);
            let mut way = iter::successors(Some(queue), below);
            let last = way.find(|&queue| state.queues[queue].is_leaf());
            assert_eq!(
                last,
                Some(leaf),
                "below {}",
                state.queues[queue].settings.path
            );
            known += 1;
        }
    }
    known
}
