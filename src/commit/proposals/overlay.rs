//! The overlay: a proposer's own proposals, applied to its working copy until the next snapshot.
//!
//! It follows what limits and orders read: node, asks, queues, user. Containers, events and names
//! belong to the ledger alone.

use crate::commit::apps::fair::{follow_in_order, sort_copy};
use crate::commit::apps::skippable_head::grow_prefix;
use crate::commit::tree::usage::{Charge, add_queue_pending, charge_queues};
use crate::commit::users::records::{charge_user, deactivate_user};
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId};
use crate::policy::Locality;
use crate::proposer::{Observation, Proposal, ProposalKind};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

/// Whether a working copy follows a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum OverlayResult {
    /// It does not: what releases something, or concerns a reservation, waits for the ledger's answer;
    /// what an application or a node got that is gone is nothing; and only the ledger finds the records of
    /// users that were dropped, or are of another leaf.
    No,
    /// As the ledger does.
    Yes,
}

/// Applies a proposal to a working copy as the ledger would.
pub fn apply_to_copy(state: &mut State, proposal: &Proposal) -> OverlayResult {
    let simple = proposal.kind == ProposalKind::Allocate
        && proposal.reserved.is_none()
        && proposal.exchange.is_none()
        && proposal.kill.is_empty();
    let (app, node) = (&state.apps[proposal.app], &state.nodes[proposal.node]);
    let there = app.generation == proposal.generation && node.incarnation == proposal.incarnation;
    let user = &state.users[app.user];
    if !simple || !there || user.removed || user.leaf != app.leaf {
        return OverlayResult::No;
    }
    with_width!(state.calculator, N => apply_allocation::<N>(state, proposal))
}

fn apply_allocation<const N: usize>(state: &mut State, proposal: &Proposal) -> OverlayResult {
    let (app, size) = (proposal.app, proposal.size.narrow::<N>());
    put_on_node(state, proposal.node, size);
    let node = &state.nodes[proposal.node];
    let (partition, host, rack) = (node.partition, node.host, node.rack);
    let row = &mut state.apps[app];
    let (leaf, user) = (row.leaf, row.user);
    row.part_mut(partition).used += size;
    let Ok(at) = row.find_key(proposal.key) else {
        return OverlayResult::No;
    };
    let asks = &mut row.keys[at];
    if proposal.counted {
        asks.count_found(partition);
    }
    let nearer: &[NameId] = match proposal.locality {
        Locality::Node => &[host, rack],
        Locality::Rack => &[rack],
        Locality::Any => &[],
    };
    let mut served_whole = false;
    for &place in nearer {
        if let Some(ask) = asks.at_mut(place) {
            ask.count -= 1;
            served_whole |= ask.count == 0;
        }
    }
    let (mut wanted, mut pending, mut left) = (partition, ResourceVector::NONE, 0);
    if let Some(any) = asks.at_mut(NameId::ANY) {
        any.count -= 1;
        left = any.count;
        wanted = any.partition.unwrap_or(PartitionId::DEFAULT);
        pending = -any.size.narrow::<N>();
    }
    if asks.constrained.is_none() {
        asks.outstanding = left > 0;
        if served_whole || left == 0 {
            asks.asks.retain(|ask| ask.count != 0);
        }
    } else {
        (wanted, pending) = (partition, ResourceVector::NONE);
    }
    let served = !asks.outstanding;
    row.part_mut(wanted).pending += pending;
    state.note_asks::<N>(app, wanted);
    if wanted != partition {
        add_queue_pending(state, leaf, wanted, pending.widen());
        pending = ResourceVector::NONE;
    }
    let used = size;
    charge_queues(state, leaf, partition, &Charge { used, pending });
    charge_user(state, leaf, user, partition, size);
    if state.queues[leaf].as_leaf().fair {
        follow_in_order(state, leaf, app);
    }
    if served {
        follow_end_of_asks(state, app);
    }
    OverlayResult::Yes
}

/// Takes a container's room on a node.
pub(in crate::commit) fn put_on_node<const N: usize>(
    state: &mut State,
    node: NodeSlot,
    size: ResourceVector<N>,
) {
    let node = &mut state.nodes[node];
    node.free -= size;
    node.allocated += size;
    node.containers += 1;
}

/// Follows an application of which a key was served: it may ask for nothing more, nor its user.
// As Ledger::stop_asking.
fn follow_end_of_asks(state: &mut State, app: AppSlot) {
    let row = &mut state.apps[app];
    if !row.asking || row.keys.iter().any(|asks| asks.outstanding) {
        return;
    }
    row.asking = false;
    let (leaf, user) = (row.leaf, row.user);
    let record = &mut state.users[user];
    record.asking_apps -= 1;
    if record.asking_apps <= 0 {
        deactivate_user(state, leaf, user);
    }
}

/// Applies what a pass observed to a working copy, as far as its later passes read it.
pub fn observe_on_copy(state: &mut State, observations: &[Observation]) {
    for observation in observations {
        match *observation {
            Observation::CurrentLimit { leaf, ref limit } => {
                state.queues[leaf].as_leaf_mut().current_limit = limit.clone();
            }
            Observation::UserLimit {
                leaf,
                partition,
                kind,
                version,
                ref limit,
            } => {
                let users = state.queues[leaf].as_leaf_mut();
                users.parts[partition].limits[kind as usize] = Some((version, limit.clone()));
            }
            Observation::Gate {
                user,
                partition,
                exclusivity,
                ref gate,
            } => {
                let part = &mut state.users[user].parts[partition];
                part.gates[exclusivity as usize] = Some(gate.clone());
            }
            Observation::Counters {
                app,
                key,
                opportunities,
                missed,
            } => {
                let row = &mut state.apps[app];
                if let Ok(at) = row.find_key(key) {
                    row.keys[at].opportunities = opportunities;
                    row.keys[at].missed = missed;
                }
            }
            Observation::PrefixGrown { leaf, ref growth } => grow_prefix(state, leaf, growth),
            Observation::Served { app, provider } => {
                let users = state.queues[provider.leaf].as_leaf_mut();
                users.published_limit.clone_from(&users.current_limit);
                state.apps[app].provider = Some(provider);
            }
            Observation::Sorted { leaf } => sort_copy(state, leaf),
            // Passes on copies tell no limits.
            Observation::NobodyHere { .. }
            | Observation::LimitTold { .. }
            | Observation::PrefixTold { .. } => {}
        }
    }
}
