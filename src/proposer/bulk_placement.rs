//! Bulk placement: containers that the next passes surely place, found and charged without a pass each.
//!
//! # What
//!
//! A run of containers on the nodes of a index. Each goes to whom the next pass would serve; each may serve
//! another leaf. [`next_in_bulk`] finds it, [`crate::accounting::place`] applies it to the working copy.
//!
//! # When it is valid
//!
//! On a state for concurrent proposers ([`State::concurrent`]), as long as [`next_in_bulk`] answers: leaf and
//! application know what passes handed them, no limit is near, and the pass observes nothing. The run ends
//! where only a pass can say.
//!
//! # Why
//!
//! A pass computes limits and writes observations that are the same for each container of a run.
//!
//! # Steps for each container
//!
//! 1. Find the application, key and node.
//! 2. Place the container in the copy, on one [`Account`] for the whole run.
//! 3. Take its room in the index.
//! 4. Make the proposal, with its alternate.
//!
//! # Cost
//!
//! Some reads for each level of queues, a look at the index, and one charge.
//!
//! Builds with assertions compare a run on a small cluster with single passes; so does `tests/commit/bulk_placement.rs`.

use std::iter;

use super::next_in_bulk::{NextPlacement, next_in_bulk};
use super::working_copy::{OverlayResult, apply_to_copy, observe_on_copy};
use super::{Candidates, FitIndex, Observation, Outcome, Proposal, Watch, propose, second_node};
use crate::accounting::{
    Account, Charge, ContainerPlacement, Sink, charge_on, move_to_place, place,
};
use crate::cluster::Node;
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::queue::{App, Exclusivity, Leaf, LeafPart, Queue, User};
use crate::resource::with_width;
use crate::snapshot::State;

/// Most nodes of a state that builds with assertions copy, to compare a run with single passes.
const COMPARED: usize = 64;

/// How far a run goes, and who watches it.
pub struct BulkExtent<'a> {
    /// The most containers.
    pub most: usize,
    /// How many places behind the node of a container its alternate stands; nothing where none is named.
    pub second: Option<usize>,
    /// Watches the steps of each decision.
    pub watch: Option<&'a mut dyn Watch>,
}

impl std::fmt::Debug for BulkExtent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("BulkExtent");
        shown
            .field("most", &self.most)
            .field("second", &self.second);
        shown.finish_non_exhaustive()
    }
}

/// Places what `next_in_bulk` finds on the nodes of a index, one after the other, on a working copy. The
/// decisions are added to `placed`; returns how many there are.
pub fn place_in_bulk(
    state: &mut State,
    index: &mut FitIndex,
    partition: PartitionId,
    extent: BulkExtent<'_>,
    placed: &mut Vec<Outcome>,
) -> usize {
    with_width!(state.calculator, N => place_in::<N>(state, index, partition, extent, placed))
}

fn place_in<const N: usize>(
    state: &mut State,
    index: &mut FitIndex,
    partition: PartitionId,
    mut extent: BulkExtent<'_>,
    placed: &mut Vec<Outcome>,
) -> usize {
    let compared = cfg!(debug_assertions) && state.nodes.len() <= COMPARED;
    let before = compared.then(|| (state.clone(), index.clone()));
    let from = placed.len();
    let mut sink = BulkSink(Account::<N>::of(state, partition));
    while placed.len() - from < extent.most {
        // The object may live longer than this look does; only a cast makes it shorter.
        let watch = extent
            .watch
            .as_mut()
            .map(|watch| -> &mut dyn Watch { *watch });
        let Some(next) = next_in_bulk::<N>(state, index, partition, watch) else {
            break;
        };
        place_next(state, index, &next, &mut sink);
        // Made where it stays: pushed, it would be put together elsewhere and read back at once.
        let proposed = || Outcome::Proposed(proposal_of(state, index, &next, extent.second));
        placed.extend(iter::once_with(proposed));
    }
    debug_assert!(before.is_none_or(|(single, index)| equals_single_passes(
        state,
        single,
        index,
        &placed[from..]
    )));
    placed.len() - from
}

/// What bulk placement adds to a placed container: the account of the run, and fair orders.
struct BulkSink<const N: usize>(Account<N>);

impl<const N: usize> Sink<N> for BulkSink<N> {
    // As [`next_in_bulk`] found.
    const GOES_ON: bool = true;

    #[inline(always)]
    fn charge(
        &mut self,
        state: &mut State,
        leaf: QueueSlot,
        _partition: PartitionId,
        charge: &Charge<N>,
    ) {
        charge_on(state, leaf, &self.0, charge);
    }

    #[inline(always)]
    fn reorder(&mut self, state: &mut State, leaf: QueueSlot, app: AppSlot) {
        move_to_place(state, leaf, app);
    }
}

/// Places a container in the copy and in its index.
#[inline(always)]
fn place_next<const N: usize>(
    state: &mut State,
    index: &mut FitIndex,
    next: &NextPlacement<N>,
    sink: &mut BulkSink<N>,
) {
    let placement = ContainerPlacement {
        counted: !is_planted(PlantedFlaw::BulkPlacementDropsCounter),
        ..ContainerPlacement::anywhere(next.app, next.key, next.node, next.size)
    };
    place(state, &placement, sink);
    index.lessen(next.node, &state.nodes[next.node].free);
}

/// The proposal of a container that was placed. `second`: the distance of its alternate.
#[inline(always)]
fn proposal_of<const N: usize>(
    state: &State,
    index: &FitIndex,
    next: &NextPlacement<N>,
    second: Option<usize>,
) -> Proposal {
    let first = (next.node, &next.size);
    let asks = &state.apps[next.app].keys[next.key];
    Proposal {
        alternate: second.and_then(|distance| second_node(state, index, first, distance)),
        ..Proposal::anywhere(state, next.app, asks, next.node, next.size.into())
    }
}

/// Whether single passes over the state before a run find its containers and lead to the state after it.
fn equals_single_passes(
    after: &State,
    mut state: State,
    mut index: FitIndex,
    run: &[Outcome],
) -> bool {
    run.iter().all(|expected| {
        let Outcome::Proposed(expected) = expected else {
            return false;
        };
        let mut seen = Vec::new();
        let partition = state.nodes[expected.node].partition;
        let candidates = Candidates::indexed(&index, partition);
        let outcome = propose(&state, &candidates, Exclusivity::Respect, &mut seen);
        observe_on_copy(&mut state, &seen);
        // A limit that a pass computed is the same for every pass, and a slow path observes the counters that
        // a fast path moves with the container.
        seen.retain(|seen| {
            let same = matches!(seen, Observation::UserLimit { .. });
            !same && !matches!(seen, Observation::Counters { .. })
        });
        let Outcome::Proposed(single) = outcome else {
            return false;
        };
        let followed = apply_to_copy(&mut state, &single);
        index.lessen(single.node, &state.nodes[single.node].free);
        let single = Proposal {
            alternate: expected.alternate,
            counted: expected.counted,
            ..single
        };
        single == *expected && seen.is_empty() && followed == OverlayResult::Yes
    }) && is_alike(&state, after)
}

/// Whether two copies are alike in what containers move.
fn is_alike(one: &State, other: &State) -> bool {
    let alike_nodes = |(one, other): (&Node, &Node)| one.free == other.free;
    one.queues.iter().zip(&other.queues).all(are_alike_queues)
        && one.nodes.iter().zip(&other.nodes).all(alike_nodes)
        && one.users.iter().zip(&other.users).all(are_alike_users)
        && one.apps.iter().zip(&other.apps).all(are_alike_apps)
}

fn are_alike_queues((one, other): (&Queue, &Queue)) -> bool {
    let moved = |leaf: &Leaf| {
        let users = (leaf.users_version, leaf.asking_users);
        (users, leaf.active_weight.to_bits(), leaf.active.clone())
    };
    let of_users = |part: &LeafPart| (part.usage_ratio.to_bits(), part.active_used.clone());
    let alike_leaves = match (&one.leaf, &other.leaf) {
        (Some(one), Some(other)) => {
            let mut parts = one.parts.pairs(&other.parts);
            moved(one) == moved(other) && parts.all(|(one, other)| of_users(one) == of_users(other))
        }
        (one, other) => one.is_none() && other.is_none(),
    };
    let mut parts = one.parts.pairs(&other.parts);
    alike_leaves
        && parts.all(|(one, other)| {
            (&one.used, &one.pending, &one.ranks) == (&other.used, &other.pending, &other.ranks)
        })
}

fn are_alike_users((one, other): (&User, &User)) -> bool {
    let mut parts = one.parts.pairs(&other.parts);
    (one.active, one.asking_apps) == (other.active, other.asking_apps)
        && parts.all(|(one, other)| {
            (&one.used, one.usage_ratio.to_bits()) == (&other.used, other.usage_ratio.to_bits())
        })
}

fn are_alike_apps((one, other): (&App, &App)) -> bool {
    let mut parts = one.parts.pairs(&other.parts);
    let mut keys = one.keys.iter().zip(&other.keys);
    one.asking == other.asking
        && parts.all(|(one, other)| (&one.used, &one.pending) == (&other.used, &other.pending))
        && keys.all(|(one, other)| {
            (&one.places, one.opportunities, one.missed)
                == (&other.places, other.opportunities, other.missed)
        })
}
