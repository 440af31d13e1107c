//! The working copy of a proposer: its own proposals, applied until the next snapshot shows them.
//!
//! # What
//!
//! A proposer passes over a copy of the state that it owns. [`apply_to_copy`] places a proposed container in
//! the copy with the function that the ledger uses, [`place`]; containers, events and names belong to
//! the ledger alone. [`observe_on_copy`] applies what a pass observed.
//!
//! # When it is valid
//!
//! Until the copy is refreshed: the rows that the ledger wrote replace what was applied here, and the
//! proposals in flight are applied again. What a copy cannot follow is [`OverlayResult::No`].
//!
//! # Cost
//!
//! As [`place`]; no row is copied.
//!
//! `tests/commit/working_copies.rs` compares a copy with the ledger.

use super::observed::{note_cached_limit, note_counters, publish_limit};
use super::{Observation, Proposal, ProposalKind};
use crate::accounting::{
    ContainerPlacement, Sink, deactivate_user, grow_head, move_to_place, place, sort_copy,
};
use crate::id::{AppSlot, QueueSlot};
use crate::resource::with_width;
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

/// What a working copy adds to a placed container: the place of its application in a fair order.
pub(super) struct CopySink;

impl<const N: usize> Sink<N> for CopySink {
    #[inline]
    fn reorder(&mut self, state: &mut State, leaf: QueueSlot, app: AppSlot) {
        move_to_place(state, leaf, app);
    }
}

// Must equal the ledger's path in what limits and orders read.
fn apply_allocation<const N: usize>(state: &mut State, proposal: &Proposal) -> OverlayResult {
    let app = proposal.app;
    let Ok(key) = state.apps[app].keys.find(proposal.key) else {
        return OverlayResult::No;
    };
    let placement = ContainerPlacement::<N> {
        counted: proposal.counted,
        locality: proposal.locality,
        ..ContainerPlacement::anywhere(app, key, proposal.node, proposal.size.narrow())
    };
    place(state, &placement, &mut CopySink);
    if !state.apps[app].keys[key].is_outstanding() {
        follow_end_of_asks(state, app);
    }
    OverlayResult::Yes
}

/// Follows an application of which a key was served: it may ask for nothing more, nor its user.
// Must equal `Ledger::stop_asking` for a user with a record.
fn follow_end_of_asks(state: &mut State, app: AppSlot) {
    let row = &mut state.apps[app];
    if !row.asking || row.has_open_key() {
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
        observe_one(state, observation);
    }
}

fn observe_one(state: &mut State, observation: &Observation) {
    match *observation {
        Observation::PublishedLimit { leaf, ref limit } => publish_limit(state, leaf, limit),
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
        Observation::CachedUserLimit { .. } => note_cached_limit(state, observation),
        Observation::Counters { .. } => note_counters(state, observation),
        Observation::HeadGrown { leaf, ref growth } => grow_head(state, leaf, growth),
        Observation::Served { app, provider } => state.apps[app].provider = Some(provider),
        Observation::Sorted { leaf } => sort_copy(state, leaf),
        // Passes on copies hand out no limits.
        Observation::UserUnknown { .. }
        | Observation::LimitNotice { .. }
        | Observation::HeadNotice { .. } => {}
    }
}
