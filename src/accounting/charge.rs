//! Charges of queues: what leaves and their ancestors use, have reserved and have outstanding.
//!
//! # What
//!
//! A [`Charge`] moves the used and the pending amounts of a leaf and of each of its ancestors on one
//! partition. Used shares and the order among siblings follow in the same walk.
//!
//! # Steps of a charge, from the leaf upwards
//!
//! 1. Where the epoch of the state moved, compute the divisors and the ranks of the queue.
//! 2. Add the charge to the figures of the queue.
//! 3. Divide: the used capacity and the absolute used capacity, as far as anybody reads them.
//! 4. Replay the path of the child in the winner tree of its siblings ([`crate::queue::Ranks`]).
//!
//! # Cost
//!
//! For each queue on the way up two divisions at most, and a comparison for each doubling of the
//! number of siblings.
//!
//! Tests: `tests/commit/deferred_charges.rs`.

use super::guarantee::guarantee_in_view;
use crate::id::{PartitionId, QueueSlot};
use crate::policy::{child_claim, is_idle};
use crate::queue::{ChildUse, Divisors, QueuePart, Ranks};
use crate::resource::{Calculator, ResourceVector, with_calculator};
use crate::snapshot::State;

/// What queues use and have outstanding more than before; less where it is negative.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charge<const N: usize> {
    pub(crate) used: ResourceVector<N>,
    pub(crate) pending: ResourceVector<N>,
}

/// What charging has in common for all queues of a state on a partition.
#[derive(Clone, Copy)]
pub(crate) struct Account<const N: usize> {
    calculator: Calculator,
    partition: PartitionId,
    total: ResourceVector<N>,
    epoch: u64,
    /// What anybody asks for of queues below root, and of root.
    asked: [SharesRead; 2],
}

impl<const N: usize> Account<N> {
    pub(crate) fn of(state: &State, partition: PartitionId) -> Self {
        Self {
            calculator: state.calculator,
            partition,
            total: state.total(partition).narrow(),
            epoch: state.epoch,
            asked: match (state.copied, state.updates_leaf_limits()) {
                (false, _) => [SharesRead::Both; 2],
                // Root has no siblings.
                (true, true) => [SharesRead::Both, SharesRead::Neither],
                (true, false) => [SharesRead::Deciding, SharesRead::Neither],
            },
        }
    }
}

/// Which used shares of a queue are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharesRead {
    Both,
    /// The one that decides among siblings.
    Deciding,
    Neither,
}

/// Charges a leaf and everything above it, and keeps the order among siblings.
// As CSQueueUtils.updateUsedCapacity for each of them.
pub(crate) fn charge_queues<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    charge: &Charge<N>,
) {
    charge_on(state, leaf, &Account::of(state, partition), charge);
}

/// The same on an account that was made since the state last changed but for charges.
pub(crate) fn charge_on<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    account: &Account<N>,
    charge: &Charge<N>,
) {
    with_calculator!(account.calculator, calculator => {
        let account = &Account { calculator, ..*account };
        let mut moved = charge_queue(state, leaf, account, charge, None);
        while let Some(parent) = moved.parent {
            moved = charge_queue(state, parent, account, charge, Some(moved));
        }
    });
}

/// Charges a queue, and follows a child of it whose use moved.
#[inline(always)]
pub(crate) fn charge_queue<const N: usize>(
    state: &mut State,
    queue: QueueSlot,
    account: &Account<N>,
    charge: &Charge<N>,
    mut child: Option<ChildMove>,
) -> ChildMove {
    let (partition, epoch) = (account.partition, account.epoch);
    let mut row = &mut state.queues[queue];
    let part = row.part(partition);
    let mut divides = true;
    if part.divisors.epoch != epoch || (child.is_some() && part.ranks.epoch != epoch) {
        divides = prepare(state, queue, partition, &mut child);
        row = &mut state.queues[queue];
    } else {
        debug_assert!(part.known, "divisors come with figures");
    }
    let (parent, place) = (row.parent, row.place);
    let part = row.part_mut(partition);
    add(part, charge);
    let asked = account.asked[usize::from(parent.is_none())];
    let used = share_part(account, part, divides, asked);
    if let Some(child) = child {
        part.ranks.follow(child.place, child.of);
    }
    let moved = ChildMove {
        parent,
        place,
        of: ChildUse {
            used,
            idle: is_idle(part),
        },
    };
    debug_assert!(!divides || shares_hold(state, queue, partition, asked));
    moved
}

/// Computes what a queue is charged by, as far as that does not hold any more; whether there is anything
/// in the partition to divide by. A child that is ranked anew, perhaps at another place, need not be
/// followed.
#[cold]
#[inline(never)]
fn prepare(
    state: &mut State,
    queue: QueueSlot,
    partition: PartitionId,
    child: &mut Option<ChildMove>,
) -> bool {
    state.note_known(queue, partition);
    let part = state.queues[queue].part(partition);
    let known = part.divisors.epoch == state.epoch;
    if child.is_some() && part.ranks.epoch != state.epoch {
        rank_children(state, queue, partition);
        *child = None;
    }
    known || renew_divisors(state, queue, partition)
}

/// A queue of which the use moved.
#[derive(Clone, Copy)]
pub(crate) struct ChildMove {
    pub(crate) parent: Option<QueueSlot>,
    place: usize,
    of: ChildUse,
}

/// Keeps the order of a parent's children, found out anew.
#[cold]
fn rank_children(state: &mut State, parent: QueueSlot, partition: PartitionId) {
    let row = &state.queues[parent];
    let (order, children) = (row.settings.child_order, row.children.clone());
    for (place, &child) in children.iter().enumerate() {
        if state.queues[child].place != place {
            state.queues[child].place = place;
        }
    }
    let claims: Option<Vec<_>> = children
        .iter()
        .map(|&child| child_claim(state, child, order, partition))
        .collect();
    let ranks = Ranks::new(state.epoch, claims.as_deref());
    state.queues[parent].part_mut(partition).ranks = ranks;
}

/// Recomputes the used shares of a queue on a partition.
// Without divisors: they would hold for this one division.
pub(crate) fn update_used<const N: usize>(
    state: &mut State,
    queue: QueueSlot,
    partition: PartitionId,
) {
    state.epoch += 1;
    let guaranteed: ResourceVector<N> = used_of(state, queue, partition);
    let (calculator, total) = (state.calculator, state.total(partition).narrow());
    state.note_known(queue, partition);
    let part = state.queues[queue].part_mut(partition);
    let used = part.used.narrow();
    (part.known, part.behind) = (true, false);
    (part.used_capacity, part.absolute_used) = with_calculator!(calculator, calculator => {
        if calculator.above_none(&total, &total) {
            let share = |by| calculator.divide(&total, &used, by);
            (share(&guaranteed), share(&total))
        } else {
            (0.0, 0.0)
        }
    });
}

/// Adds to what a queue uses and has outstanding; [`State::note_known`] comes before.
#[inline(always)]
pub(crate) fn add<const N: usize>(part: &mut QueuePart, charge: &Charge<N>) {
    part.used += charge.used;
    part.pending += charge.pending;
    part.known = true;
}

/// Recomputes the used shares of a queue that are asked for; returns the one that decides among siblings: who
/// reads it back at once waits until the store is through. `divides`: whether there is anything in the
/// partition to divide by.
#[inline(always)]
fn share_part<const N: usize>(
    account: &Account<N>,
    part: &mut QueuePart,
    divides: bool,
    asked: SharesRead,
) -> f32 {
    part.behind = asked == SharesRead::Neither;
    if asked == SharesRead::Neither {
        return 0.0;
    }
    let (calculator, total, by) = (account.calculator, &account.total, &part.divisors);
    let used = part.used.narrow();
    let share = |by| {
        if divides {
            calculator.quotient(total, &used, by)
        } else {
            0.0
        }
    };
    let guaranteed = part.is_guaranteed();
    if asked == SharesRead::Both {
        let shares = (share(&by.guaranteed), share(&by.total));
        (part.used_capacity, part.absolute_used) = shares;
        part.used_in_order()
    } else if guaranteed {
        let used_capacity = share(&by.guaranteed);
        part.used_capacity = used_capacity;
        used_capacity
    } else {
        let absolute_used = share(&by.total);
        part.absolute_used = absolute_used;
        absolute_used
    }
}

/// Whether the used shares of a queue that are asked for are what a division without preparation comes to.
fn shares_hold(state: &State, queue: QueueSlot, partition: PartitionId, asked: SharesRead) -> bool {
    let part = state.queues[queue].part(partition);
    let (used, total) = (part.used.get(), state.total(partition));
    let exact = |by: &ResourceVector| state.calculator.divide(&total, &used, by);
    let used_capacity = exact(&used_of(state, queue, partition));
    let expected = match (asked, part.is_guaranteed()) {
        (SharesRead::Both, _) => [used_capacity, exact(&total)],
        (SharesRead::Deciding, true) => [used_capacity, part.absolute_used],
        (SharesRead::Deciding, false) => [part.used_capacity, exact(&total)],
        (SharesRead::Neither, _) => return part.behind,
    };
    [part.used_capacity, part.absolute_used].map(f32::to_bits) == expected.map(f32::to_bits)
}

/// The amount that the used capacity of a queue is a share of.
#[inline]
fn used_of<const N: usize>(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
) -> ResourceVector<N> {
    let guaranteed = guarantee_in_view(state, queue, partition);
    let (total, minimum) = (state.total(partition).narrow(), state.minimum.narrow());
    with_calculator!(
        state.calculator,
        calculator => calculator.max(&total, &guaranteed, &minimum)
    )
}

/// Computes anew what follows from the capacity of a queue, not from its use; whether there is
/// anything in the partition to divide by.
#[cold]
fn renew_divisors(state: &mut State, queue: QueueSlot, partition: PartitionId) -> bool {
    let (calculator, total) = (state.calculator, state.total(partition));
    if !calculator.above_none(&total, &total) {
        return false;
    }
    let guaranteed: ResourceVector = used_of(state, queue, partition);
    let divisors = Divisors {
        epoch: state.epoch,
        total: calculator.divisor(&total, &total),
        guaranteed: calculator.divisor(&total, &guaranteed),
    };
    state.queues[queue].part_mut(partition).divisors = divisors;
    true
}

/// Outstanding asks of a leaf and its ancestors.
pub(crate) fn add_queue_pending(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    let mut next = Some(leaf);
    while let Some(queue) = next {
        next = state.queues[queue].parent;
        let part = state.counting(queue, partition);
        let before = part.pending.is_none();
        part.pending += size;
        if part.pending.is_none() != before {
            follow_demand(state, queue, partition);
        }
    }
}

/// Follows a child that asks for something now, or for nothing more.
fn follow_demand(state: &mut State, child: QueueSlot, partition: PartitionId) {
    let row = &state.queues[child];
    let (parent, place, part) = (row.parent, row.place, row.part(partition));
    let of = ChildUse {
        used: part.used_in_order(),
        idle: is_idle(part),
    };
    let (epoch, Some(parent)) = (state.epoch, parent) else {
        return;
    };
    let ranks = &mut state.queues[parent].part_mut(partition).ranks;
    if ranks.epoch == epoch {
        ranks.follow(place, of);
    }
}
