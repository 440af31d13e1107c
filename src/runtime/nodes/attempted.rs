//! An attempt that found nothing: for whom it speaks, what it moves, and the comparison with one that is carried out.
//!
//! Tests: `tests/simulation/skipping.rs`.

use super::live_order::Collected;
use crate::commit::Ledger;
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{
    Candidates, CounterMove, Fruitless, Moved, Observation, Outcome, Visited, is_still, moved_by,
    propose_reserved, propose_watched,
};
use crate::queue::Exclusivity;
use crate::snapshot::State;

/// For whom an attempt that found nothing speaks.
#[derive(Clone, Debug)]
pub(super) enum AttemptScope {
    /// For single nodes.
    Like(Fruitless),
    /// For the nodes of a partition together.
    Among(PartitionId, Collected),
}

/// An attempt that found nothing, and how often it came to the same in the present round.
#[derive(Clone, Debug)]
pub(super) struct Attempted {
    pub(super) scope: AttemptScope,
    pub(super) moved: Moved,
    pub(super) times: u64,
    /// Times that its counters do not know yet.
    pub(super) uncounted: u64,
}

impl Attempted {
    /// The counters that each time moves.
    pub(super) fn looks(&self) -> &[CounterMove] {
        if is_planted(PlantedFlaw::FruitlessAttemptsDropCounter) {
            return &[];
        }
        &self.moved.looks
    }

    /// Counts one more attempt.
    pub(super) fn repeat(&mut self, ledger: &mut Ledger) {
        self.times = self.times.saturating_add(1);
        ledger.looks().repeat(self.looks(), 1);
        ledger.looks().repeat_limits(&self.moved.limits);
    }

    /// Whether an attempt that is carried out finds nothing and moves as much.
    // Must equal [`propose_watched`].
    pub(super) fn moves_alike(&self, state: &State, candidates: &Candidates<'_>) -> bool {
        let (mut seen, mut visited) = (Vec::new(), Visited::default());
        let (mode, watch) = (Exclusivity::Respect, Some(&mut visited as _));
        let outcome = propose_watched(state, candidates, mode, &mut seen, watch);
        // Who is skipped from now on, and what they are handed once in a version, decides nothing.
        seen.retain(|seen| {
            let of_head = matches!(seen, Observation::HeadGrown { .. });
            !of_head && !matches!(seen, Observation::HeadNotice { .. })
        });
        let moved = moved_by(state, &visited, &seen);
        matches!(outcome, Outcome::Skipped(_))
            && is_still(&seen)
            && moved.is_some_and(|moved| moved.looks == self.looks() && moved == self.moved)
    }
}

/// Whether an attempt on a reserved node that is carried out keeps the reservation.
// Must equal [`propose_reserved`].
pub(super) fn keeps_alike(state: &State, node: NodeSlot) -> bool {
    propose_reserved(state, node, &mut Vec::new()).keeps_reservation()
}
