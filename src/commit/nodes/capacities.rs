//! Capacities of all queues follow the nodes, and once is enough where nothing else happened since.
//!
//! 1. A call that changes the total of the cluster or of a partition has capacities follow.
//! 2. The reference has them follow again for what its label manager sends, as a follow-up of the same call.
//! 3. That is left out while capacities follow the present epoch, nothing but labels was carried out since, and no
//!    application waits for room for its master: each time may give further ones room.
//! 4. Nor is it left out where a queue came to know a partition: fractions of that one follow the next time.
//!
//! Cost: a look at all queues, and at all of their figures where capacities follow.
//!
//! Tests: `tests/simulation/fast_paths.rs`, `tests/commit/operations.rs`.

use crate::commit::ledger::Ledger;
use crate::commit::tree::capacity::update_cluster;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::queue::QueuePart;
use crate::snapshot::State;

/// Nodes and queues up to which builds with assertions compare.
const COMPARED: usize = 64;

impl Ledger {
    /// Has capacities follow.
    pub(in crate::commit) fn capacities_follow(&mut self) {
        let before = known_parts(&self.state);
        update_cluster(&mut self.state, &mut self.leaves);
        let same = before.is_some() && known_parts(&self.state) == before;
        self.followed = same.then_some(self.state.epoch);
    }

    /// The same as a follow-up of a call.
    // Must equal [`Self::capacities_follow`].
    pub(in crate::commit) fn capacities_follow_again(&mut self) {
        if FastPath::CapacitiesFollowed.is_taken() && self.has_nothing_to_follow() {
            debug_assert!(
                self.capacities_stay(),
                "capacities follow once where nothing changed"
            );
            return;
        }
        self.capacities_follow();
    }

    /// Something happened that capacities may depend on.
    pub(in crate::commit) fn capacities_may_move(&mut self) {
        self.followed = None;
    }

    fn has_nothing_to_follow(&self) -> bool {
        let current = self.followed == Some(self.state.epoch);
        if !current && !is_planted(PlantedFlaw::CapacitiesFollowedIgnoresEpoch) {
            return false;
        }
        let mut leaves = self.state.queues.iter().filter_map(|row| row.leaf.as_ref());
        leaves.all(|leaf| leaf.waiting.is_empty())
    }

    /// Whether capacities would come to the same if they followed once more.
    fn capacities_stay(&self) -> bool {
        if self.state.queues.len() + self.state.nodes.len() > COMPARED {
            return true;
        }
        let mut again = self.trial_copy();
        update_cluster(&mut again.state, &mut again.leaves);
        figures(&again.state) == figures(&self.state)
    }
}

/// How many parts of queues have figures; nothing where one gets them the next time capacities follow.
fn known_parts(state: &State) -> Option<usize> {
    let mut known = 0;
    for queue in state.queues.iter() {
        for (at, part) in queue.parts.iter().enumerate() {
            let leaf = queue.leaf.as_ref();
            let limited = leaf.is_some_and(|leaf| {
                let part = leaf.parts.iter().nth(at);
                part.is_some_and(|part| part.master_limit.is_some())
            });
            if !part.known && (part.counted || limited) {
                return None;
            }
            known += usize::from(part.known);
        }
    }
    Some(known)
}

/// What capacities come to: the figures of each queue, and who is active.
fn figures(state: &State) -> Vec<String> {
    let queues = state.queues.iter();
    let figures = queues.map(|row| {
        let leaf = row.leaf.as_ref().map(|leaf| {
            let ratios: Vec<_> = leaf.parts.iter().map(|part| part.usage_ratio).collect();
            let limits: Vec<_> = leaf.parts.iter().map(|part| part.master_limit).collect();
            let most = (
                leaf.maximum_applications,
                leaf.maximum_applications_per_user,
            );
            let lists = (&leaf.active, &leaf.waiting);
            format!(
                "{ratios:?} {limits:?} {most:?} {lists:?} {:?}",
                leaf.published_limit
            )
        });
        let parts: Vec<_> = row.parts.iter().map(capacities).collect();
        format!("{parts:?} {leaf:?}")
    });
    figures.collect()
}

/// The figures of a queue on one partition.
fn capacities(part: &QueuePart) -> String {
    let amounts = (&part.guaranteed, &part.limit, &part.minimum_ratio);
    let fractions = [
        part.capacity,
        part.maximum_capacity,
        part.absolute_capacity,
        part.absolute_maximum,
        part.normalized_weight,
        part.used_capacity,
        part.absolute_used,
    ];
    format!("{} {amounts:?} {fractions:?}", part.known)
}
