//! What an observation changes in any state: in the ledger's, and in a working copy.

use super::assignment::Observation;
use crate::id::QueueSlot;
use crate::resource::PackedVector;
use crate::snapshot::State;

/// Keeps what a pass found about a user; other observations change nothing.
pub(crate) fn note_cached_limit(state: &mut State, observation: &Observation) {
    if let Observation::CachedUserLimit {
        user,
        partition,
        exclusivity,
        ref cached,
    } = *observation
    {
        let part = &mut state.users[user].parts[partition];
        part.cached_limits[exclusivity as usize] = Some(cached.clone());
    }
}

/// Sets the counters of a key; other observations change nothing.
pub(crate) fn note_counters(state: &mut State, observation: &Observation) {
    if let Observation::Counters {
        app,
        key,
        opportunities,
        missed,
    } = *observation
        && let Ok(at) = state.apps[app].keys.find(key)
    {
        let asks = &mut state.apps[app].keys[at];
        (asks.opportunities, asks.missed) = (opportunities, missed);
    }
}

/// The limit that a pass computed for a leaf becomes the one that headroom reads.
pub(crate) fn publish_limit(state: &mut State, leaf: QueueSlot, limit: &PackedVector) {
    let users = state.queues[leaf].as_leaf_mut();
    users.published_limit.clone_from(limit);
}
