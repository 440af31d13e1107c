//! Charging use, reservations and demand to queues, users and their ancestors.

use super::managed::guarantee_in_view;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{child_claim, is_idle, known_first_leaf};
use crate::queue::{Divisors, QueuePart, Ranks, Use};
use crate::resource::{Calculator, MAX_TYPES, ResourceVector, with_calculator, with_width};
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

    /// The same for a container that was asked: in the same walk upwards, what was asked for it is
    /// taken off what is outstanding, where both count on one partition.
    pub(in crate::commit) fn charge_served<const N: usize>(
        &mut self,
        app: AppSlot,
        partition: PartitionId,
        size: ResourceVector<N>,
        served: Option<(PartitionId, ResourceVector<N>)>,
    ) {
        let leaf = self.state.apps[app].leaf;
        let user = self.user_of(app);
        let mut asked = ResourceVector::NONE;
        match served {
            Some((of, size)) if of == partition => asked = size,
            Some((of, size)) => self.add_queue_pending(leaf, of, -size.widen()),
            None => {}
        }
        debug_assert!(self.arrears.are_none());
        let charge = Charge {
            used: size,
            pending: -asked,
        };
        charge_queues(&mut self.state, leaf, partition, &charge);
        self.charge_user(leaf, user, partition, size);
    }

    /// Charges a leaf, a user and the leaf's ancestors, at once or later, with a plain container that was
    /// asked for.
    pub(in crate::commit) fn charge_plain<const N: usize>(
        &mut self,
        leaf: QueueSlot,
        user: UserSlot,
        partition: PartitionId,
        size: ResourceVector<N>,
    ) {
        let charge = Charge {
            used: size,
            pending: -size,
        };
        if self.defers {
            self.charge_leaf(leaf, partition, &charge);
        } else {
            self.settle_arrears();
            charge_queues(&mut self.state, leaf, partition, &charge);
        }
        self.charge_user(leaf, user, partition, size);
    }

    /// Charges a leaf and its ancestors.
    pub(in crate::commit) fn charge_queues(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        debug_assert!(self.arrears.are_none());
        with_width!(self.state.calculator, N => {
            let charge = Charge::<N> {
                used: size.narrow(),
                pending: ResourceVector::NONE,
            };
            charge_queues(&mut self.state, leaf, partition, &charge);
        });
    }

    /// Recomputes the used shares of a queue on a partition.
    pub(in crate::commit) fn update_used(&mut self, queue: QueueSlot, partition: PartitionId) {
        self.state.epoch += 1;
        let state = &mut self.state;
        let divides = renew_divisors(state, queue, partition);
        let account: Account<MAX_TYPES> = Account::of(state, partition);
        let part = state.queues[queue].part_mut(partition);
        part.known = true;
        share_part(&account, part, divides, Asked::Both);
    }

    /// Reserved resources of a leaf and its ancestors.
    pub(in crate::commit) fn add_reserved(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        let mut next = Some(leaf);
        while let Some(queue) = next {
            let part = self.state.queues[queue].part_mut(partition);
            part.counting().reserved += size;
            next = self.state.queues[queue].parent;
        }
        if partition == PartitionId::DEFAULT {
            self.add_reserved_by_present(leaf, size);
        }
    }

    /// What the applications that a leaf and its ancestors hold now have reserved.
    // As QueueMetrics.reserveResource.
    pub(in crate::commit) fn add_reserved_by_present(
        &mut self,
        leaf: QueueSlot,
        size: ResourceVector,
    ) {
        let mut next = Some(leaf);
        while let Some(queue) = next {
            self.state.queues[queue].reserved_by_present += size;
            next = self.state.queues[queue].parent;
        }
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
        self.stop_skipping(app);
        self.state.apps[app].part_mut(partition).pending += size;
        self.state.note_asks::<N>(app, partition);
    }

    pub(in crate::commit) fn add_queue_pending(
        &mut self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: ResourceVector,
    ) {
        debug_assert!(self.arrears.are_none());
        add_queue_pending(&mut self.state, leaf, partition, size);
    }
}

/// What queues use and have outstanding more than before; less where it is negative.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commit) struct Charge<const N: usize> {
    pub(in crate::commit) used: ResourceVector<N>,
    pub(in crate::commit) pending: ResourceVector<N>,
}

/// What charging has in common for all queues of a state on a partition.
#[derive(Clone, Copy)]
pub(in crate::commit) struct Account<const N: usize> {
    calculator: Calculator,
    partition: PartitionId,
    total: ResourceVector<N>,
    epoch: u64,
    /// Whether passes need not come to queues that ask for nothing, and tell leaves nothing.
    skips: bool,
    /// What anybody asks for of queues below root, and of root.
    asked: [Asked; 2],
}

impl<const N: usize> Account<N> {
    pub(in crate::commit) fn of(state: &State, partition: PartitionId) -> Self {
        let skips = !state.tells_leaves();
        Self {
            calculator: state.calculator,
            partition,
            total: state.total(partition).narrow(),
            epoch: state.epoch,
            skips,
            asked: match (state.copied, skips) {
                (false, _) => [Asked::Both; 2],
                // Root has no siblings.
                (true, false) => [Asked::Both, Asked::Neither],
                (true, true) => [Asked::Deciding, Asked::Neither],
            },
        }
    }
}

/// Which used shares of a queue are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Both,
    /// The one that decides among siblings.
    Deciding,
    Neither,
}

/// Charges a leaf and everything above it, and keeps the order among siblings.
// As CSQueueUtils.updateUsedCapacity for each of them.
pub(in crate::commit) fn charge_queues<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    charge: &Charge<N>,
) {
    charge_on(state, leaf, &Account::of(state, partition), charge);
}

/// The same on an account that was made since the state last changed but for charges.
pub(in crate::commit) fn charge_on<const N: usize>(
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
pub(in crate::commit) fn charge_queue<const N: usize>(
    state: &mut State,
    queue: QueueSlot,
    account: &Account<N>,
    charge: &Charge<N>,
    mut child: Option<Moved>,
) -> Moved {
    let &Account {
        partition, epoch, ..
    } = account;
    let mut row = &mut state.queues[queue];
    let part = row.part(partition);
    let mut divides = true;
    if part.divisors.epoch != epoch || (child.is_some() && part.ranks.epoch != epoch) {
        divides = prepare(state, queue, partition, &mut child);
        row = &mut state.queues[queue];
    }
    let (parent, place, is_leaf) = (row.parent, row.place, row.is_leaf());
    let part = row.part_mut(partition);
    add(part, charge);
    let asked = account.asked[usize::from(parent.is_none())];
    let used = share_part(account, part, divides, asked);
    let first_leaf = match child {
        Some(child) => part.ranks.follow(child.place, child.of),
        None if is_leaf => Some(queue),
        None => part
            .ranks
            .first_leaf()
            .filter(|_| part.ranks.epoch == epoch),
    };
    let moved = Moved {
        parent,
        place,
        of: Use {
            used,
            idle: account.skips && part.pending.is_none(),
            first_leaf,
        },
    };
    debug_assert_eq!(first_leaf, known_first_leaf(state, queue, partition));
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
    child: &mut Option<Moved>,
) -> bool {
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
pub(in crate::commit) struct Moved {
    pub(in crate::commit) parent: Option<QueueSlot>,
    place: usize,
    of: Use,
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

/// Adds to what a queue uses and has outstanding.
#[inline(always)]
pub(in crate::commit) fn add<const N: usize>(part: &mut QueuePart, charge: &Charge<N>) {
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
    asked: Asked,
) -> f32 {
    part.behind = asked == Asked::Neither;
    if asked == Asked::Neither {
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
    if asked == Asked::Both {
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
fn shares_hold(state: &State, queue: QueueSlot, partition: PartitionId, asked: Asked) -> bool {
    let part = state.queues[queue].part(partition);
    let (used, total) = (part.used.get(), state.total(partition));
    let exact = |by: &ResourceVector| state.calculator.divide(&total, &used, by);
    let used_capacity = exact(&used_of(state, queue, partition));
    let expected = match (asked, part.is_guaranteed()) {
        (Asked::Both, _) => [used_capacity, exact(&total)],
        (Asked::Deciding, true) => [used_capacity, part.absolute_used],
        (Asked::Deciding, false) => [part.used_capacity, exact(&total)],
        (Asked::Neither, _) => return part.behind,
    };
    [part.used_capacity, part.absolute_used].map(f32::to_bits) == expected.map(f32::to_bits)
}

/// The amount that the used capacity of a queue is a share of.
fn used_of(state: &State, queue: QueueSlot, partition: PartitionId) -> ResourceVector {
    let guaranteed = guarantee_in_view(state, queue, partition);
    let total = &state.partitions[partition].total;
    state.calculator.max(total, &guaranteed, &state.minimum)
}

/// Computes anew what follows from the capacity of a queue, not from its use; whether there is
/// anything in the partition to divide by.
#[cold]
fn renew_divisors(state: &mut State, queue: QueueSlot, partition: PartitionId) -> bool {
    let (calculator, total) = (state.calculator, state.total(partition));
    if !calculator.above_none(&total, &total) {
        return false;
    }
    let guaranteed = used_of(state, queue, partition);
    let divisors = Divisors {
        epoch: state.epoch,
        total: calculator.divisor(&total, &total),
        guaranteed: calculator.divisor(&total, &guaranteed),
    };
    state.queues[queue].part_mut(partition).divisors = divisors;
    true
}

/// Outstanding asks of a leaf and its ancestors.
pub(in crate::commit) fn add_queue_pending(
    state: &mut State,
    leaf: QueueSlot,
    partition: PartitionId,
    size: ResourceVector,
) {
    let (mut next, mut moved) = (Some(leaf), false);
    while let Some(queue) = next {
        let row = &mut state.queues[queue];
        next = row.parent;
        let part = row.part_mut(partition).counting();
        let before = part.pending.is_none();
        part.pending += size;
        if moved || part.pending.is_none() != before {
            moved = follow_demand(state, queue, partition);
        }
    }
}

/// Follows a child that asks for something now, or for nothing more, or below which another leaf comes
/// first now; whether that is so of its parent, too.
fn follow_demand(state: &mut State, child: QueueSlot, partition: PartitionId) -> bool {
    let row = &state.queues[child];
    let (parent, place, part) = (row.parent, row.place, row.part(partition));
    let of = Use {
        used: part.used_in_order(),
        idle: is_idle(state, part),
        first_leaf: known_first_leaf(state, child, partition),
    };
    let epoch = state.epoch;
    let Some(parent) = parent else {
        return false;
    };
    let ranks = &mut state.queues[parent].part_mut(partition).ranks;
    if ranks.epoch != epoch {
        return false;
    }
    let before = ranks.first_leaf();
    ranks.follow(place, of);
    before != ranks.first_leaf()
}
