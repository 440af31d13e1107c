//! The order of the children of a parent (`PriorityUtilizationQueueOrderingPolicy`).

use std::cmp::Ordering;

use crate::fast_path::FastPath;
use crate::id::{PartitionId, QueueSlot};
use crate::queue::{ChildClaim, ChildOrder, ChildUse, Exclusivity, QueuePart, Ranks};
use crate::resource::share;
use crate::snapshot::State;

/// The children of `parent` in the order in which they are served on `partition`.
pub fn order_children(state: &State, parent: QueueSlot, partition: PartitionId) -> Vec<QueueSlot> {
    order_among(state, parent, partition, |_| true)
}

/// The children that a pass comes to after the first, in the order of [`order_children`].
pub fn order_others(
    state: &State,
    parent: QueueSlot,
    partition: PartitionId,
    exclusivity: Exclusivity,
    first: QueueSlot,
) -> Vec<QueueSlot> {
    order_among(state, parent, partition, |child| {
        child != first && may_ask(state, child, partition, exclusivity)
    })
}

fn order_among(
    state: &State,
    parent: QueueSlot,
    partition: PartitionId,
    among: impl Fn(QueueSlot) -> bool,
) -> Vec<QueueSlot> {
    let queue = &state.queues[parent];
    let children = queue.children.iter().copied();
    let mut children: Vec<_> = children.filter(|&child| among(child)).collect();
    children.sort_by(|&a, &b| compare_children(state, queue.settings.child_order, partition, a, b));
    children
}

/// Whether a pass comes to a queue: it may ask for something.
fn may_ask(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    exclusivity: Exclusivity,
) -> bool {
    let asked_on = match exclusivity {
        Exclusivity::Respect => partition,
        Exclusivity::Ignore => PartitionId::DEFAULT,
    };
    // Must equal a visit of every child.
    !FastPath::WinnerTree.is_taken() || !is_idle(state.queues[queue].part(asked_on))
}

/// The children that a pass comes to, in the order of [`order_children`] and without those that need
/// not be visited; nothing where keys do not express it.
pub fn visited_children(
    state: &State,
    parent: QueueSlot,
    partition: PartitionId,
    exclusivity: Exclusivity,
) -> Option<impl Iterator<Item = QueueSlot> + '_> {
    let ranks = ranks_of(state, parent, partition, exclusivity)?;
    debug_assert!({
        let asks = |child| may_ask(state, child, partition, exclusivity);
        ranks.in_order().next() == least_child(state, parent, partition, asks)
    });
    Some(ranks.in_order())
}

/// The ranks of a queue's children where they hold. Passes that ignore exclusivity look at what is asked
/// elsewhere.
#[inline]
fn ranks_of(
    state: &State,
    parent: QueueSlot,
    partition: PartitionId,
    exclusivity: Exclusivity,
) -> Option<&Ranks> {
    let ranks = &state.queues[parent].part(partition).ranks;
    let known = ranks.epoch == state.epoch && ranks.first().is_some();
    let respects = exclusivity == Exclusivity::Respect;
    // Must equal [`order_children`].
    (known && respects && FastPath::WinnerTree.is_taken()).then_some(ranks)
}

/// The child that [`order_children`] puts first among those that a pass comes to, without sorting
/// the others.
///
/// The comparison is a weak order (nothing compares differently by the company it is in), so that
/// the first of the least ones in the list is the first of the sorted list.
#[inline(always)]
#[must_use]
pub fn first_child(
    state: &State,
    parent: QueueSlot,
    partition: PartitionId,
    exclusivity: Exclusivity,
) -> Option<QueueSlot> {
    let Some(ranks) = ranks_of(state, parent, partition, exclusivity) else {
        let asks = |child| may_ask(state, child, partition, exclusivity);
        return least_child(state, parent, partition, asks);
    };
    let first = ranks.first();
    debug_assert!({
        let asks = |child| may_ask(state, child, partition, exclusivity);
        let least = least_child(state, parent, partition, asks);
        first == least.or_else(|| least_child(state, parent, partition, |_| true))
    });
    first
}

#[inline(never)]
fn least_child(
    state: &State,
    parent: QueueSlot,
    partition: PartitionId,
    among: impl Fn(QueueSlot) -> bool,
) -> Option<QueueSlot> {
    let queue = &state.queues[parent];
    let order = queue.settings.child_order;
    let children = queue.children.iter().copied();
    let children = children.filter(|&child| among(child));
    children.reduce(|best, next| {
        if compare_children(state, order, partition, next, best).is_lt() {
            next
        } else {
            best
        }
    })
}

/// What [`compare_children`] compares of a child, as far as keys express it; nothing for absolute
/// capacities, whose ties are decided by vectors.
#[must_use]
pub fn child_claim(
    state: &State,
    child: QueueSlot,
    order: ChildOrder,
    partition: PartitionId,
) -> Option<ChildClaim> {
    let queue = &state.queues[child];
    let part = queue.part(partition);
    let priority = match order {
        ChildOrder::Utilization => 0,
        ChildOrder::PriorityUtilization => queue.settings.priority,
    };
    part.amounts.minimum().is_none().then(|| ChildClaim {
        child,
        accessible: queue.can_access(partition),
        absolute_capacity: part.absolute_capacity,
        priority,
        of: ChildUse {
            used: part.used_in_order(),
            idle: is_idle(part),
        },
    })
}

/// Whether passes that respect partition exclusivity need not come to a queue: it asks for nothing.
#[inline]
#[must_use]
pub fn is_idle(part: &QueuePart) -> bool {
    part.pending.is_none()
}

/// Which of two siblings goes first; equal ones keep their place in the list.
#[must_use]
pub fn compare_children(
    state: &State,
    order: ChildOrder,
    partition: PartitionId,
    a: QueueSlot,
    b: QueueSlot,
) -> Ordering {
    let (a, b) = (&state.queues[a], &state.queues[b]);
    if partition != PartitionId::DEFAULT {
        let access = b.can_access(partition).cmp(&a.can_access(partition));
        if access.is_ne() {
            return access;
        }
    }
    let (x, y) = (a.part(partition), b.part(partition));
    let (guaranteed, other) = (x.is_guaranteed(), y.is_guaranteed());
    if guaranteed != other {
        return other.cmp(&guaranteed);
    }
    let (used, used_other) = (x.used_in_order(), y.used_in_order());
    let (priority, priority_other) = match order {
        ChildOrder::Utilization => (0, 0),
        ChildOrder::PriorityUtilization => (a.settings.priority, b.settings.priority),
    };
    let by_use = if priority != priority_other && (used < 1.0) == (used_other < 1.0) {
        priority_other.cmp(&priority)
    } else {
        share::java_order(used, used_other)
    };
    by_use.then_with(|| {
        if x.amounts.minimum().is_none() && y.amounts.minimum().is_none() {
            share::java_order(y.absolute_capacity, x.absolute_capacity)
        } else {
            y.amounts.minimum().cmp(&x.amounts.minimum())
        }
    })
}
