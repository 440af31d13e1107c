//! Waves: further containers of the class that was just placed, without a walk for each of them.
//!
//! Where several leaves are equally hungry, the next container is another leaf's each time. A wave is
//! for the stretches where the next passes surely come to the same key of the same application: its
//! queues come first among their siblings all the while, no limit is near, and nobody stands before it.

use super::ample::{left_below, used};
use super::assignment::Proposal;
use super::fit::FitIndex;
use super::plain::plain_node;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId, QueueSlot};
use crate::policy::{in_order, is_first, is_granted, stays_first};
use crate::queue::{KeyAsks, PlaceAsk};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

/// How many further containers of the class of the last proposal, which the state shows already, the
/// next passes over the indexed nodes surely serve, at most `most`, should nodes have room and its
/// user stay within what it is granted: [`wave_node`] tells. The last container of a key is none of
/// them: others follow from it.
///
/// Cost: a look where another queue comes next; otherwise about that of a short way.
#[must_use]
pub fn wave_length(state: &State, last: &Proposal, most: usize) -> usize {
    with_width!(state.calculator, N => length_in::<N>(state, last, most))
}

fn length_in<const N: usize>(state: &State, last: &Proposal, most: usize) -> usize {
    let (app, partition) = (&state.apps[last.app], state.nodes[last.node].partition);
    let leaf = app.leaf;
    if !(last.counted
        && state
            .chain(leaf)
            .all(|queue| is_first(state, queue, partition)))
    {
        return 0;
    }
    let asks = app.keys.iter().find(|asks| asks.outstanding);
    let Some(asks) = asks.filter(|asks| asks.key == last.key) else {
        return 0;
    };
    let alone = !state.tells_leaves()
        && in_order(state, leaf)
        && comes_first(state, leaf, last.app)
        && app.part(partition).reserved.is_none()
        && !state.users[app.user].removed
        && is_granted::<N>(state, leaf, partition, &state.users[app.user]);
    if !alone {
        return 0;
    }
    let size = last.size.narrow::<N>();
    // Mostly there is none, or many: each step looks twice as far.
    let (most, mut length, mut next) = (most.min(further(asks, partition)), 0, 1);
    while length < most && holds(state, last.app, partition, &size, next) {
        length = next;
        next = most.min(2 * next);
    }
    length
}

/// The node for the next container of a wave; the wave is over where there is none, or where its
/// user's gate is not surely open.
#[must_use]
pub fn wave_node<const N: usize>(
    state: &State,
    index: &FitIndex,
    last: &Proposal,
) -> Option<NodeSlot> {
    let (app, partition) = (&state.apps[last.app], state.nodes[last.node].partition);
    if !is_granted::<N>(state, app.leaf, partition, &state.users[app.user]) {
        return None;
    }
    plain_node(state, index, partition, &last.size.narrow::<N>())
}

/// Whether a pass that comes to a leaf looks at an application first, and learns nothing new on the
/// way: of those at the front, all ask for nothing.
fn comes_first(state: &State, leaf: QueueSlot, app: AppSlot) -> bool {
    let users = state.queues[leaf].as_leaf();
    let front = users.prefix.next;
    let known = |&app: &AppSlot| {
        let row = &state.apps[app];
        row.leaf == leaf
            && row.provider.is_some_and(|provider| {
                let generation = state.users[row.user].generation;
                (provider.leaf, provider.user, provider.generation) == (leaf, row.user, generation)
            })
    };
    let skips = front == 0 || users.users_version > users.prefix.since;
    skips
        && users.prefix.bound.is_none()
        && users.active.get(front) == Some(&app)
        && [users.active[0], app].iter().all(known)
}

/// How many containers a plain key can get and go on asking.
fn further(asks: &KeyAsks, partition: PartitionId) -> usize {
    let plain = asks.known && asks.partition == partition && asks.reserved.is_empty();
    let here = |ask: &&PlaceAsk| ask.partition.unwrap_or(PartitionId::DEFAULT) == partition;
    let ask = asks.at(NameId::ANY).filter(|_| plain).filter(here);
    let looks = i32::MAX - 1 - asks.opportunities;
    let count = ask.map_or(0, |ask| (ask.count - 1).min(looks));
    usize::try_from(count).unwrap_or(0)
}

/// Whether so many containers more are found by the short way, each as the first one is: what holds
/// before the last of them holds before each, because use only grows.
fn holds<const N: usize>(
    state: &State,
    app: AppSlot,
    partition: PartitionId,
    size: &ResourceVector<N>,
    length: usize,
) -> bool {
    let Ok(length) = i64::try_from(length) else {
        return false;
    };
    let (before, all) = (size.times(length - 1), size.times(length));
    let app = &state.apps[app];
    let asks_on = all.fits_in(&app.part(partition).pending.narrow());
    let left = left_after(state, app.leaf, partition, &before);
    asks_on && left.is_some_and(|left| size.fits_in(&left))
}

/// What all queues down to one leave it at least when it has got `more`, if all of them are below
/// their maxima, ask on and come first among their siblings until then.
fn left_after<const N: usize>(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    more: &ResourceVector<N>,
) -> Option<ResourceVector<N>> {
    let row = &state.queues[queue];
    let used = used(state, queue, partition) + *more;
    let above = match row.parent {
        Some(parent) => left_after(state, parent, partition, more)? - state.minimum.narrow(),
        None => state.total(partition).narrow() - used,
    };
    let left = left_below(state, queue, partition, &above, more)?;
    let pending = row.part(partition).pending.narrow();
    let asks_on = more.fits_in(&pending) && pending != *more;
    (asks_on && stays_first(state, queue, partition, &used)).then_some(left)
}
