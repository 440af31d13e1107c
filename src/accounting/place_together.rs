//! Placing many containers of one ask together: what [`place`](super::place()) comes to for one after the other.
//!
//! The containers have one size, are asked anywhere on the partition of their nodes, and nothing of them is reserved. Node,
//! application, leaf and ancestors are charged with sums. The usage ratio of the leaf is a sum in `f32` of the single ones.
//!
//! Tests: `tests/commit/gangs.rs`.

use super::charge::{Charge, charge_queues};
use super::fair_order::{FairChange, mark_moved_in};
use super::users::charge_user_each;
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, NodeSlot, PartitionId};
use crate::queue::{App, asks_on};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// Containers that are placed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedTogether<const N: usize> {
    /// The application. Its user has a record in its leaf.
    pub(crate) app: AppSlot,
    /// Position of the key that is served among those of the application.
    pub(crate) key: usize,
    /// The partition of the nodes and of the ask.
    pub(crate) partition: PartitionId,
    /// Size of one of them, and of what the key asks.
    pub(crate) size: ResourceVector<N>,
    /// How many there are; the key asks as many at least.
    pub(crate) count: u32,
}

/// Charges everybody with containers, each of which is placed on a node; those of one node come together. Returns whether
/// the key has nothing outstanding any more.
///
/// Cost: a write of each node, and a share of the partition for each container.
// Must equal [`place`](super::place()) for each container.
pub(crate) fn place_together<const N: usize>(
    state: &mut State,
    placed: &PlacedTogether<N>,
    nodes: &[NodeSlot],
) -> bool {
    let PlacedTogether {
        partition, size, ..
    } = *placed;
    let all = size.times(i64::from(placed.count));
    let row = &mut state.apps[placed.app];
    let (leaf, user) = (row.leaf, row.user);
    let ended = take_asks(row, placed);
    let part = row.part_mut(partition);
    part.used += all;
    part.pending -= all;
    let asks = asks_on::<N>(row, partition);
    state.note_demand(placed.app, partition, asks);
    for together in nodes.chunk_by(|one, other| one == other) {
        let row = &mut state.nodes[together[0]];
        let count = u32::try_from(together.len()).unwrap_or(u32::MAX);
        let taken = size.times(i64::from(count));
        row.free -= taken;
        row.allocated += taken;
        row.containers += count;
    }
    let (used, pending) = (all, -all);
    charge_queues(state, leaf, partition, &Charge { used, pending });
    let each = std::iter::repeat_n(size, placed.count as usize);
    charge_user_each(state, (leaf, user), partition, None, each);
    mark_moved_in(state, leaf, placed.app, FairChange::Use);
    ended
}

/// Takes the containers off the asks of their key; whether nothing is left of it.
fn take_asks<const N: usize>(row: &mut App, placed: &PlacedTogether<N>) -> bool {
    let asks = &mut row.keys[placed.key];
    let looks = if is_planted(PlantedFlaw::GangTogetherDropsCounter) {
        1
    } else {
        placed.count
    };
    asks.count_found_often(placed.partition, looks);
    let left = asks.take_anywhere(i32::try_from(placed.count).unwrap_or(i32::MAX));
    asks.known = !asks.places.is_empty();
    if left <= 0 {
        row.close_key(placed.key);
    }
    left <= 0
}
