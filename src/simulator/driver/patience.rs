//! Patience: how often every node is looked at before looks alone change nothing any more.
//!
//! A scheduler may change its answer though nothing happens, because it counts its looks:
//!
//! * An ask that names hosts goes to other nodes after some missed opportunities, at most one for each node.
//! * An ask of the default partition borrows from a shared partition after as many missed opportunities as the
//!   cluster has nodes. A round may count one alone, where the partition has one node.
//! * An application whose reservations are kept long enough reserves on a further node. A key with `n`
//!   reservations counts `n` in each round and needs `(2 n - 1) * f` more for the next one. The factor `f` is
//!   the largest allocation in smallest ones. That is less than `2 f` rounds.

use crate::api::TreeSettings;

/// Rounds beside those that are counted, for what a round begins and the next one ends.
const SPARE: u64 = 2;

/// Missed opportunities after which the rules of locality have relaxed, with room to spare.
const OPPORTUNITIES: u64 = 100;

/// Most rounds that are waited for where an allocation may be large without bound.
const MOST: u64 = 100_000;

/// Rounds, or heartbeats of every node, after which missed opportunities change nothing any more on so many
/// nodes. `borrows`: idle nodes of a shared partition may be borrowed.
// As RegularContainerAllocator.canAssign.
#[must_use]
pub fn rounds_for_opportunities(nodes: u64, borrows: bool) -> u64 {
    let by_locality = OPPORTUNITIES.div_ceil(nodes.max(1));
    let by_borrowing = if borrows { nodes } else { 0 };
    SPARE + by_locality.max(by_borrowing)
}

/// Rounds, or heartbeats of every node, after which reservations that are kept change nothing any more, unless
/// they let an application reserve on a further node before. At most some 100,000.
// As RegularContainerAllocator.shouldAllocOrReserveNewContainer.
#[must_use]
pub fn rounds_for_reservations(settings: &TreeSettings) -> u64 {
    let scheduler = &settings.scheduler;
    let types = scheduler.calculator.fitting_types();
    let (least, most) = (&scheduler.minimum_allocation, &scheduler.maximum_allocation);
    let steps = |index: usize| u64::try_from(most[index] / least[index].max(1)).unwrap_or(0);
    let factor = (0..types).map(steps).max().unwrap_or(0);
    factor.saturating_add(1).saturating_mul(2).min(MOST) + SPARE
}
