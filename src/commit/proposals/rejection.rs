//! What a proposal leaves behind that did not hold: counters of its key, and an event.
//!
//! Tests: `tests/commit/property.rs`.

use super::conflict::Conflict;
use crate::commit::event::Event;
use crate::commit::nodes::registration::is_registered;
use crate::proposer::Proposal;
use crate::snapshot::State;

/// Moves the counters of a key for which room was found, though the proposal did not hold.
pub(super) fn count_found(state: &mut State, proposal: &Proposal) {
    let here = is_registered(state, proposal.node, proposal.incarnation);
    let app = &mut state.apps[proposal.app];
    if proposal.counted
        && here
        && app.generation == proposal.generation
        && let Ok(at) = app.keys.find(proposal.key)
    {
        let partition = state.nodes[proposal.node].partition;
        app.keys[at].count_found(partition);
    }
}

/// The event of a proposal that did not hold.
pub(super) fn rejection(state: &State, proposal: &Proposal, conflict: Conflict) -> Event {
    let held = proposal
        .reserved
        .and_then(|_| state.nodes[proposal.node].reserved);
    Event::Rejected {
        app: state.apps[proposal.app].id,
        node: state.nodes[proposal.node].name.clone(),
        size: held.map_or_else(|| proposal.size.get(), |held| held.size),
        kind: proposal.kind,
        again: proposal.reserved.is_some(),
        conflict,
    }
}
