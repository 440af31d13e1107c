//! Waves on a working copy: containers of one class, placed one after the other and charged at once.

use super::overlay::{Followed, apply_to_copy, observe_on_copy, put_on_node};
use super::usage::{Charge, charge_queues};
use super::users::charge_user;
use crate::id::NameId;
use crate::proposer::{Candidates, FitIndex, Observation, Outcome, Proposal, propose, wave_node};
use crate::queue::Exclusivity;
use crate::resource::with_width;
use crate::snapshot::State;

/// The most nodes of a state that builds with assertions copy, to compare a wave with single passes.
const COMPARED: usize = 64;

/// Places further containers of the class of a proposal that a working copy shows already: at most
/// `most`, which [`wave_length`](crate::proposer::wave_length) allows, as long as a node of the lane has
/// room and the user's gate is open. `placed` gets each of them; returns how many there are.
///
/// Cost: for each container a node and the user; application and queues once.
pub fn place_wave(
    state: &mut State,
    lane: &mut FitIndex,
    class: &Proposal,
    most: usize,
    placed: impl FnMut(Proposal),
) -> usize {
    with_width!(state.calculator, N => place_in::<N>(state, lane, class, most, placed))
}

fn place_in<const N: usize>(
    state: &mut State,
    lane: &mut FitIndex,
    class: &Proposal,
    most: usize,
    mut placed: impl FnMut(Proposal),
) -> usize {
    let compared = cfg!(debug_assertions) && state.nodes.len() <= COMPARED;
    let mut before = compared.then(|| (state.clone(), lane.clone(), Vec::new()));
    let (size, partition) = (class.size.narrow::<N>(), state.nodes[class.node].partition);
    let (leaf, user) = (state.apps[class.app].leaf, state.apps[class.app].user);
    let mut length = 0;
    while length < most
        && let Some(node) = wave_node::<N>(state, lane, class)
    {
        put_on_node(state, node, size);
        charge_user(state, leaf, user, partition, size);
        lane.lessen(node, &state.nodes[node].free);
        let next = Proposal {
            node,
            incarnation: state.nodes[node].incarnation,
            alternate: None,
            ..class.clone()
        };
        if let Some((_, _, wave)) = &mut before {
            wave.push(next.clone());
        }
        placed(next);
        length += 1;
    }
    if length == 0 {
        return 0;
    }
    let count = i32::try_from(length).expect("a wave is no longer than what a key asks");
    charge_wave::<N>(state, class, count);
    debug_assert!(
        before.is_none_or(|(single, lane, wave)| { comes_one_by_one(state, single, lane, &wave) })
    );
    length
}

/// Charges application and queues with all containers of a wave.
fn charge_wave<const N: usize>(state: &mut State, class: &Proposal, count: i32) {
    let partition = state.nodes[class.node].partition;
    let all = class.size.narrow::<N>().times(i64::from(count));
    let row = &mut state.apps[class.app];
    let part = row.part_mut(partition);
    part.used += all;
    part.pending -= all;
    // It goes on asking here: a wave never holds the last container of a key.
    debug_assert!(!part.pending.is_none());
    let leaf = row.leaf;
    let asks = row.key_mut(class.key);
    asks.opportunities += count;
    if let Some(any) = asks.at_mut(NameId::ANY) {
        any.count -= count;
    }
    let charge = Charge {
        used: all,
        pending: -all,
    };
    charge_queues(state, leaf, partition, &charge);
}

/// Whether single passes over the state before a wave come to its containers and to the state after
/// it, where it moved.
fn comes_one_by_one(
    after: &State,
    mut state: State,
    mut lane: FitIndex,
    wave: &[Proposal],
) -> bool {
    let Some(class) = wave.first() else {
        return true;
    };
    let (app, partition) = (class.app, state.nodes[class.node].partition);
    let alike = wave.iter().all(|expected| {
        let mut seen = Vec::new();
        let candidates = Candidates::indexed(&lane, partition);
        let outcome = propose(&state, &candidates, Exclusivity::Respect, &mut seen);
        observe_on_copy(&mut state, &seen);
        // Limits that a pass computed are no news to anybody.
        seen.retain(|seen| !matches!(seen, Observation::UserLimit { .. }));
        let Outcome::Proposed(single) = &outcome else {
            return false;
        };
        let followed = apply_to_copy(&mut state, single);
        lane.lessen(single.node, &state.nodes[single.node].free);
        single == expected && seen.is_empty() && followed == Followed::Wholly
    });
    let leaf = state.apps[app].leaf;
    let queues = state.chain(leaf).all(|queue| {
        let (one, other) = (&state.queues[queue], &after.queues[queue]);
        let (one, other) = (one.part(partition), other.part(partition));
        (&one.used, &one.pending, &one.ranks) == (&other.used, &other.pending, &other.ranks)
    });
    let mut nodes = state.nodes.iter().zip(after.nodes.iter());
    let nodes = nodes.all(|(one, other)| one.free == other.free);
    let users = [&state, after].map(|state| {
        let part = state.users[state.apps[app].user].part(partition);
        let users = state.queues[leaf].as_leaf();
        let ratio = users.parts[partition.index()].usage_ratio;
        (
            part.used.get(),
            part.usage_ratio.to_bits(),
            ratio.to_bits(),
            users.users_version,
        )
    });
    let (one, other) = (&state.apps[app], &after.apps[app]);
    let keys = one.keys.iter().zip(&other.keys).all(|(one, other)| {
        (&one.asks, one.opportunities, one.missed)
            == (&other.asks, other.opportunities, other.missed)
    });
    let (part, in_wave) = (one.part(partition), other.part(partition));
    let same_app = (&part.used, &part.pending) == (&in_wave.used, &in_wave.pending);
    alike && queues && keys && nodes && users[0] == users[1] && same_app
}
