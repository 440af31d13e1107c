//! The next container of a bulk placement: whom the next pass over indexed nodes surely serves.
//!
//! Each function here is one step of a pass, without what the pass computes and observes. It answers only
//! where that changes nothing; `// Must equal` names the step of the pass.
//!
//! Tests: `tests/commit/bulk_placement.rs`, `tests/commit/too_large_asks.rs`.

use super::fit::FitIndex;
use super::headroom_fast_path::first_leaf;
use super::simple_ask::{simple_ask_of, simple_node};
use super::skippable_head::may_be_too_large;
use super::watch::{Step, Watch};
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{AppSlot, NodeSlot, PartitionId, QueueSlot};
use crate::policy::{in_order, is_granted, is_surely_over};
use crate::queue::{App, Exclusivity, KeyAsks, PlaceAsk, SkippableHead};
use crate::resource::{ResourceVector, with_calculator};
use crate::snapshot::State;

/// The container that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NextPlacement<const N: usize> {
    /// The application.
    pub(super) app: AppSlot,
    /// Position of the key that is served among those of the application.
    pub(super) key: usize,
    /// The node.
    pub(super) node: NodeSlot,
    /// Its size.
    pub(super) size: ResourceVector<N>,
}

/// The container that the next pass over the indexed nodes of a partition surely places while it
/// observes nothing; nothing where only a pass can say. The last container of a key is left to a pass,
/// since more follows from it.
///
/// Cost: some reads for each level of queues, and a look at the node.
#[inline]
#[must_use]
pub(super) fn next_in_bulk<const N: usize>(
    state: &State,
    index: &FitIndex,
    partition: PartitionId,
    mut watch: Option<&mut dyn Watch>,
) -> Option<NextPlacement<N>> {
    let mut ended = |step| {
        if let Some(watch) = &mut watch {
            watch.ended(step);
        }
    };
    // Must equal [`propose`](super::propose) with nothing observed.
    if !FastPath::BulkPlacement.is_taken() || state.updates_leaf_limits() || state.node_count == 0 {
        return None;
    }
    let (leaf, headroom) = first_leaf::<N>(state, partition)?;
    ended(Step::QueueOrder);
    let slot = first_behind_head(state, leaf, partition, &headroom)?;
    let app = &state.apps[slot];
    ended(Step::AppOrder);
    if !is_let_through::<N>(state, leaf, partition, app) {
        return None;
    }
    ended(Step::Headroom);
    let key = app.first_open();
    let size = asked_on(state, app, app.keys.get(key)?, partition)?;
    if !size.fits_in(&headroom) {
        return None;
    }
    let node = simple_node(state, index, partition, &size)?;
    ended(Step::NodePick);
    Some(NextPlacement {
        app: slot,
        key,
        node,
        size,
    })
}

/// The application that a pass looks at first in a leaf, where it skips the head and observes nothing.
fn first_behind_head<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    headroom: &ResourceVector<N>,
) -> Option<AppSlot> {
    let users = state.queues[leaf].as_leaf();
    let head = users.head.next;
    let app = *users.active.get(head)?;
    let passes = in_order(state, leaf)
        && is_known(state, leaf, app)
        && (head == 0
            || (users.users_version > users.head.since
                && head_surely_gets_nothing(state, leaf, partition, &users.head, headroom)
                && is_known(state, leaf, users.active[0])));
    passes.then_some(app)
}

/// Whether a pass that looks at an application need not note whom its headroom is for.
fn is_known(state: &State, leaf: QueueSlot, app: AppSlot) -> bool {
    let row = &state.apps[app];
    row.leaf == leaf
        && row.provider.is_some_and(|provider| {
            let generation = state.users[row.user].generation;
            (provider.leaf, provider.user, provider.generation) == (leaf, row.user, generation)
        })
}

/// Whether those at the head that ask still get nothing and stop nobody, without computing a limit.
// Must equal [`Pass::skippable_head`] and [`Pass::holds`].
fn head_surely_gets_nothing<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    head: &SkippableHead,
    headroom: &ResourceVector<N>,
) -> bool {
    head.bound.is_none_or(|bound| {
        (bound.partition, bound.exclusivity) == (partition, Exclusivity::Respect)
            && bound
                .floor
                .is_none_or(|floor| is_surely_over::<N>(state, leaf, partition, &floor))
            && may_be_too_large(state, &bound)
            && state.calculator.fits_in(&bound.largest.narrow(), headroom)
    })
}

/// Whether an application passes the user cached in any case.
// Must equal [`Pass::passes_user_limit`].
fn is_let_through<const N: usize>(
    state: &State,
    leaf: QueueSlot,
    partition: PartitionId,
    app: &App,
) -> bool {
    let user = &state.users[app.user];
    let cached = &user.part(partition).cached_limits[Exclusivity::Respect as usize];
    let version = state.queues[leaf].as_leaf().users_version;
    !user.removed
        && cached
            .as_ref()
            .is_none_or(|cached| cached.version != version)
        && (is_granted::<N>(state, leaf, partition, user)
            || is_planted(PlantedFlaw::BulkPlacementSkipsUserGate))
}

/// The size that a key asks for, where it is asked anywhere in the partition, nothing is reserved, and
/// it goes on asking after one container more.
// Must equal [`Pass::simple_ask`].
fn asked_on<const N: usize>(
    state: &State,
    app: &App,
    asks: &KeyAsks,
    partition: PartitionId,
) -> Option<ResourceVector<N>> {
    let here = |ask: &&PlaceAsk| ask.partition.unwrap_or(PartitionId::DEFAULT) == partition;
    let ask = simple_ask_of(state, app, asks).filter(here)?;
    let part = app.part(partition);
    let goes_on = ask.count > 1
        && asks.known
        && asks.opportunities < i32::MAX
        && asks.partition == partition
        && asks.reserved.is_empty()
        && part.reserved.is_none();
    let (size, cluster) = (ask.size.narrow::<N>(), state.cluster.narrow());
    let (pending, is_something) = with_calculator!(state.calculator, calculator => {
        (part.pending.narrow(), calculator.above_none(&cluster, &size))
    });
    // What is outstanding in all is more than this container, of some type.
    let asks_on = size.fits_in(&pending) && pending != size;
    (goes_on && is_something && asks_on).then_some(size)
}
