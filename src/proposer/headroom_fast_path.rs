//! The headroom fast path: the way down the queues by a lower bound of the headroom.
//!
//! It is valid while no limit of a queue on the way is near. It saves computing the limits of each level.
//!
//!
//! Passes that publish limits of leaves do not take it.
//!
//! Tests: `tests/simulation/fast_paths.rs`.

use super::assignment::{Observation, Outcome, ProposalKind};
use super::leaf_visit::LeafVisit;
use super::walk::{NOTHING_YET, Pass, WalkStep};
use super::watch::Step;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{PartitionId, QueueSlot};
use crate::policy::{Limits, first_child, in_order};
use crate::queue::Exclusivity;
use crate::resource::{ResourceVector, with_calculator};
use crate::snapshot::State;

impl<const N: usize> Pass<'_, N> {
    /// Looks for a container below the queues that come first, where their limits leave room enough
    /// not to be computed. Whether one is found; otherwise nothing was observed.
    pub(super) fn pass_by_lower_bound(&mut self) -> bool {
        let state = self.state;
        // Must equal [`Pass::queue`] from the root.
        let may = FastPath::HeadroomLowerBound.is_taken()
            && !state.updates_leaf_limits()
            && self.exclusivity == Exclusivity::Respect
            && self.candidates.index().is_some();
        if !may {
            return false;
        }
        let first = first_leaf(state, self.partition);
        self.ended(Step::QueueOrder);
        let Some((leaf, headroom)) = first.filter(|&(leaf, _)| in_order(state, leaf)) else {
            return false;
        };
        let before = self.observations.len();
        let mut visit = LeafVisit::without_notice(leaf);
        self.by_lower_bound = true;
        let found = self.behind_head(&mut visit, &mut Limits::of_leaf(leaf, headroom));
        self.by_lower_bound = false;
        let placed = matches!(found, WalkStep::Proposal)
            && matches!(&*self.outcome, Outcome::Proposed(proposal)
                if proposal.kind == ProposalKind::Allocate);
        if placed {
            debug_assert!(self.is_found_at_length(before));
        } else {
            self.observations.truncate(before);
            self.strays = false;
        }
        placed
    }

    /// Whether the whole walk finds the same, but for limits of leaves that it publishes. It may find the
    /// container by the steps of the slow path, which observe counters.
    fn is_found_at_length(&self, before: usize) -> bool {
        let (state, mut observations, mut outcome) = (self.state, Vec::new(), NOTHING_YET);
        let mut pass = self.fork(&mut observations, &mut outcome);
        pass.strays = false;
        let limits = &mut Limits::new(state.total(self.partition).narrow());
        let found = pass.queue(State::ROOT, limits);
        let (Outcome::Proposed(mut long), Outcome::Proposed(by_lower_bound)) =
            (outcome, &*self.outcome)
        else {
            return false;
        };
        long.counted = by_lower_bound.counted;
        let is_news = |seen: &&Observation| match **seen {
            Observation::PublishedLimit { .. } | Observation::Counters { .. } => false,
            Observation::Served { app, provider } => state.apps[app].provider != Some(provider),
            _ => true,
        };
        let observations = observations.iter().filter(is_news);
        let known = self.observations[before..].iter().filter(is_news);
        matches!(found, WalkStep::Proposal) && long == *by_lower_bound && observations.eq(known)
    }
}

/// The leaf behind the queues that come first, and what all of them leave it at least; nothing
/// where one of them may be at its maximum.
// Must not exceed what [`child_limit`] and [`passes_maximum`] leave, whichever amounts are the smaller ones
// there; rounding to steps takes less than a step at each level.
pub(super) fn first_leaf<const N: usize>(
    state: &State,
    partition: PartitionId,
) -> Option<(QueueSlot, ResourceVector<N>)> {
    let mut queue = State::ROOT;
    let used = state.queues[queue].part(partition).used.narrow();
    let mut left = state.total(partition).narrow() - used;
    loop {
        left = left_below(state, queue, partition, &left)?;
        if state.queues[queue].is_leaf() {
            return Some((queue, left));
        }
        queue = first_child(state, queue, partition, Exclusivity::Respect)?;
        left -= state.minimum.narrow();
    }
}

/// What is left below a queue at least, of what is left above it; nothing where it may be at its
/// maximum.
#[inline(always)]
fn left_below<const N: usize>(
    state: &State,
    queue: QueueSlot,
    partition: PartitionId,
    above: &ResourceVector<N>,
) -> Option<ResourceVector<N>> {
    let row = &state.queues[queue];
    let part = row.part(partition);
    let used = part.used.narrow();
    let room = part.limit.narrow() - used;
    let left = if row.is_leaf() && is_planted(PlantedFlaw::HeadroomBoundIgnoresLeaf) {
        *above
    } else {
        above.component_min(&room)
    };
    let cluster = state.cluster.narrow();
    let below_maximum = with_calculator!(state.calculator, calculator => {
        calculator.compare(&cluster, &used, &(used + left)).is_lt()
    });
    (below_maximum && row.can_access(partition)).then_some(left)
}
