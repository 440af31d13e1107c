//! Waves on a working copy: containers that the next passes surely place, found and charged at once.

use std::iter;

use super::overlay::{OverlayResult, apply_to_copy, observe_on_copy, put_on_node};
use crate::commit::apps::fair::follow_in_order;
use crate::commit::tree::usage::{Account, Charge, charge_on};
use crate::commit::users::records::charge_user;
use crate::id::PartitionId;
use crate::policy::Locality;
use crate::proposer::{
    Candidates, FitIndex, Next, Observation, Outcome, Proposal, ProposalKind, Watch, next_in_wave,
    propose, second_node,
};
use crate::queue::Exclusivity;
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

/// The most nodes of a state that builds with assertions copy, to compare a wave with single passes.
const COMPARED: usize = 64;

/// How far a wave goes, and who hears of it.
pub struct Extent<'a> {
    /// The most containers.
    pub most: usize,
    /// How many places behind the node of a container its alternate stands; nothing where none is named.
    pub second: Option<usize>,
    /// Hears of the steps of each decision.
    pub watch: Option<&'a mut dyn Watch>,
}

impl std::fmt::Debug for Extent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Extent");
        shown
            .field("most", &self.most)
            .field("second", &self.second);
        shown.finish_non_exhaustive()
    }
}

/// Places on the nodes of a lane what [`next_in_wave`] tells, one after the other, on a working copy
/// that follows each of them; they are added to `placed`. Returns how many there are.
pub fn place_wave(
    state: &mut State,
    lane: &mut FitIndex,
    partition: PartitionId,
    extent: Extent<'_>,
    placed: &mut Vec<Outcome>,
) -> usize {
    with_width!(state.calculator, N => place_in::<N>(state, lane, partition, extent, placed))
}

fn place_in<const N: usize>(
    state: &mut State,
    lane: &mut FitIndex,
    partition: PartitionId,
    mut extent: Extent<'_>,
    placed: &mut Vec<Outcome>,
) -> usize {
    let compared = cfg!(debug_assertions) && state.nodes.len() <= COMPARED;
    let before = compared.then(|| (state.clone(), lane.clone()));
    let from = placed.len();
    let account = Account::<N>::of(state, partition);
    while placed.len() - from < extent.most {
        // The object may live longer than this look does; only a cast makes it shorter.
        let watch = extent
            .watch
            .as_mut()
            .map(|watch| -> &mut dyn Watch { *watch });
        let Some(next) = next_in_wave::<N>(state, lane, partition, watch) else {
            break;
        };
        let size = charge_next(state, next, partition, &account);
        lane.lessen(next.node, &state.nodes[next.node].free);
        // Made where it stays: pushed, it would be put together elsewhere and read back at once.
        let proposed = || {
            let app = &state.apps[next.app];
            Outcome::Proposed(Proposal {
                kind: ProposalKind::Allocate,
                app: next.app,
                generation: app.generation,
                key: app.keys[next.key].key,
                node: next.node,
                incarnation: state.nodes[next.node].incarnation,
                alternate: extent
                    .second
                    .and_then(|distance| second_node(state, lane, (next.node, &size), distance)),
                size: size.into(),
                locality: Locality::Any,
                requested: Some(Locality::Any),
                exclusivity: Exclusivity::Respect,
                counted: true,
                reserved: None,
                exchange: None,
                kill: Vec::new(),
            })
        };
        placed.extend(iter::once_with(proposed));
    }
    debug_assert!(before.is_none_or(|(single, lane)| comes_one_by_one(
        state,
        single,
        lane,
        &placed[from..]
    )));
    placed.len() - from
}

/// Charges everything that a copy follows with a container; its size.
// As apply_to_copy for one that is asked anywhere and is not the last of its key.
#[inline]
fn charge_next<const N: usize>(
    state: &mut State,
    next: Next,
    partition: PartitionId,
    account: &Account<N>,
) -> ResourceVector<N> {
    let row = &mut state.apps[next.app];
    let (leaf, user) = (row.leaf, row.user);
    let asks = &mut row.keys[next.key];
    asks.count_found(partition);
    let ask = &mut asks.asks[0];
    ask.count -= 1;
    let size = ask.size.narrow::<N>();
    let part = row.part_mut(partition);
    part.used += size;
    part.pending -= size;
    // It goes on asking here, so that nothing more follows.
    debug_assert!(!part.pending.is_none());
    put_on_node(state, next.node, size);
    let charge = Charge {
        used: size,
        pending: -size,
    };
    charge_on(state, leaf, account, &charge);
    charge_user(state, leaf, user, partition, size);
    if state.queues[leaf].as_leaf().fair {
        follow_in_order(state, leaf, next.app);
    }
    size
}

/// Whether single passes over the state before a wave come to its containers and to the state after
/// it, where it moved.
fn comes_one_by_one(after: &State, mut state: State, mut lane: FitIndex, wave: &[Outcome]) -> bool {
    wave.iter().all(|expected| {
        let Outcome::Proposed(expected) = expected else {
            return false;
        };
        let mut seen = Vec::new();
        let partition = state.nodes[expected.node].partition;
        let candidates = Candidates::indexed(&lane, partition);
        let outcome = propose(&state, &candidates, Exclusivity::Respect, &mut seen);
        observe_on_copy(&mut state, &seen);
        // Limits that a pass computed are no news to anybody.
        seen.retain(|seen| !matches!(seen, Observation::UserLimit { .. }));
        let Outcome::Proposed(mut single) = outcome else {
            return false;
        };
        single.alternate = expected.alternate;
        let followed = apply_to_copy(&mut state, &single);
        lane.lessen(single.node, &state.nodes[single.node].free);
        single == *expected && seen.is_empty() && followed == OverlayResult::Yes
    }) && is_alike(&state, after)
}

/// Whether two copies are alike in what containers move.
fn is_alike(one: &State, other: &State) -> bool {
    let mut queues = one.queues.iter().zip(&other.queues);
    let queues = queues.all(|(one, other)| {
        let mut parts = one.parts.iter().zip(&other.parts);
        let leaves = [one, other].map(|queue| {
            let leaf = queue.leaf.as_ref();
            leaf.map(|leaf| {
                let parts = leaf.parts.iter();
                let moved: Vec<_> = parts
                    .map(|part| (part.usage_ratio.to_bits(), &part.active_used))
                    .collect();
                let users = (leaf.users_version, leaf.asking_users);
                (users, leaf.active_weight.to_bits(), &leaf.active, moved)
            })
        });
        leaves[0] == leaves[1]
            && parts.all(|(one, other)| {
                (&one.used, &one.pending, &one.ranks) == (&other.used, &other.pending, &other.ranks)
            })
    });
    let mut nodes = one.nodes.iter().zip(&other.nodes);
    let nodes = nodes.all(|(one, other)| one.free == other.free);
    let mut users = one.users.iter().zip(&other.users);
    let users = users.all(|(one, other)| {
        let mut parts = one.parts.iter().zip(&other.parts);
        (one.active, one.asking_apps) == (other.active, other.asking_apps)
            && parts.all(|(one, other)| {
                (&one.used, one.usage_ratio.to_bits()) == (&other.used, other.usage_ratio.to_bits())
            })
    });
    let mut apps = one.apps.iter().zip(&other.apps);
    let apps = apps.all(|(one, other)| {
        let mut parts = one.parts.iter().zip(&other.parts);
        let mut keys = one.keys.iter().zip(&other.keys);
        one.asking == other.asking
            && parts.all(|(one, other)| (&one.used, &one.pending) == (&other.used, &other.pending))
            && keys.all(|(one, other)| {
                (&one.asks, one.opportunities, one.missed)
                    == (&other.asks, other.opportunities, other.missed)
            })
    });
    queues && nodes && users && apps
}
