//! The working copy of a proposer: a snapshot's state, with its own decisions applied to it.
//!
//! 1. A refresh copies the rows that two snapshots differ in, then applies again what is still in flight.
//! 2. A proposal is applied as the ledger would: the next decision sees less room. What only the ledger can follow
//!    (reservations that are given up or exchanged) stops the round until a snapshot shows it.
//! 3. Observations are kept if the ledger needs them: counters, ends of sorted orders, limits of the present pass.
//!
//! Tests: `tests/commit/working_copies.rs`.

use std::sync::Arc;

use super::batch::{BATCH, Batch, Batches};
use crate::id::{NodeSlot, PartitionId, Version};
use crate::proposer::{
    BulkExtent, FitIndex, Observation, Outcome, OverlayResult, Proposal, Watch, apply_to_copy,
    may_starve_later, observe_on_copy, place_in_bulk,
};
use crate::runtime::nodes::index::NodeIndex;
use crate::runtime::nodes::node_candidates::NodeCandidates;
use crate::snapshot::{Snapshot, State};

/// What became of a decision in the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Noted {
    /// Something is proposed, and the copy follows it.
    OverlayResult,
    /// Something is proposed that only the ledger can follow.
    Ahead,
    /// A reservation is merely kept, or counters moved: no progress, but looks in number may bring some.
    Waiting,
    /// Something is proposed that the commit surely refuses: no progress, and counted as a conflict.
    Refused,
    /// Nothing.
    Nothing,
}

/// The working copy and what is derived from it.
#[derive(Debug)]
pub(in crate::runtime) struct WorkingCopy {
    /// The copy.
    pub(in crate::runtime) state: State,
    seen: Arc<Snapshot>,
    candidates: NodeCandidates,
}

impl WorkingCopy {
    pub(in crate::runtime) fn new(
        seen: Arc<Snapshot>,
        share: (usize, usize),
        batches: &Batches,
    ) -> Self {
        let mut copy = Self {
            state: State::new(Arc::clone(&seen.settings)),
            seen: Arc::new(Snapshot::empty(Arc::clone(&seen.settings))),
            // Nobody waits for it.
            candidates: NodeCandidates::new(share, usize::MAX),
        };
        copy.refresh(seen, batches);
        copy
    }

    /// The version of the snapshot behind the copy.
    pub(in crate::runtime) fn version(&self) -> Version {
        self.seen.version
    }

    /// The snapshot behind the copy.
    pub(in crate::runtime) fn seen(&self) -> &Snapshot {
        &self.seen
    }

    /// Takes over a newer snapshot, and on top of it what is still in flight.
    pub(in crate::runtime) fn refresh(&mut self, newer: Arc<Snapshot>, batches: &Batches) {
        let mut changed = Vec::new();
        self.state
            .refresh(&self.seen, &newer, |node| changed.push(node));
        self.seen = newer;
        for node in changed {
            self.candidates.see(&self.state, node);
        }
        for batch in batches.in_flight() {
            self.replay(batch);
        }
    }

    fn replay(&mut self, batch: &Batch) {
        for (outcome, seen) in batch.iter() {
            observe_on_copy(&mut self.state, seen);
            if let Outcome::Proposed(proposal) = outcome {
                self.follow(proposal);
            }
        }
    }

    /// Applies a proposal as far as a copy can; whether it could.
    fn follow(&mut self, proposal: &Proposal) -> bool {
        if apply_to_copy(&mut self.state, proposal) == OverlayResult::No {
            return false;
        }
        self.candidates.follow(&self.state, proposal.node);
        true
    }

    /// As [`NodeCandidates::lay_out`], at once.
    pub(in crate::runtime) fn lay_out(&mut self, index: &Arc<NodeIndex>) {
        self.candidates.lay_out(&self.state, index);
    }

    /// The candidates of a partition that has nodes.
    pub(in crate::runtime) fn candidates(&self, partition: PartitionId) -> Option<&FitIndex> {
        self.candidates.of(partition)
    }

    /// Reserved nodes of this proposer's share.
    pub(in crate::runtime) fn reserved(&self) -> Vec<NodeSlot> {
        self.candidates.reserved()
    }

    /// Reserved nodes of the shares of the other proposers.
    pub(in crate::runtime) fn reserved_by_others(&self) -> Vec<NodeSlot> {
        self.candidates.reserved_by_others()
    }

    /// Whether the commit surely refuses a decision, as long as the state is like this: another container waits for
    /// the node.
    pub(in crate::runtime) fn is_refused(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Proposed(proposal) if is_refused(&self.state, proposal))
    }

    /// Applies a decision to the copy, and adds it to the open batch when the ledger has to know.
    pub(in crate::runtime) fn note(
        &mut self,
        mut outcome: Outcome,
        seen: &mut Vec<Observation>,
        batch: &mut Batch,
    ) -> Noted {
        let keeps = outcome.keeps_reservation();
        let idle = keeps && !is_worth_keeping(&self.state, &outcome);
        if idle || matches!(outcome, Outcome::Skipped(_)) {
            seen.retain(|seen| matters(&self.state, seen));
        }
        observe_on_copy(&mut self.state, seen);
        let noted = match &mut outcome {
            Outcome::Proposed(_) if idle && !seen.iter().any(counts) => return Noted::Nothing,
            Outcome::Proposed(_) if keeps => Noted::Waiting,
            Outcome::Proposed(proposal) if is_refused(&self.state, proposal) => Noted::Refused,
            Outcome::Proposed(proposal) => {
                if self.follow(proposal) {
                    proposal.alternate = self.candidates.second(&self.state, proposal);
                    Noted::OverlayResult
                } else {
                    Noted::Ahead
                }
            }
            Outcome::GiveUp(_) => Noted::Ahead,
            Outcome::Skipped(_) => {
                seen.retain(counts);
                if seen.is_empty() {
                    return Noted::Nothing;
                }
                Noted::Waiting
            }
        };
        seen.retain(is_for_ledger);
        batch.push(outcome, seen);
        noted
    }

    /// Adds to a batch, as long as it has room, what the next passes over a partition surely place, at
    /// most so much; how much. `watch` is called after each step.
    pub(in crate::runtime) fn extend(
        &mut self,
        batch: &mut Batch,
        partition: PartitionId,
        most: usize,
        watch: Option<&mut dyn Watch>,
    ) -> usize {
        // Each container of a bulk goes by the order as it was before.
        if self.candidates.is_live() {
            return 0;
        }
        let most = most.min(BATCH.saturating_sub(batch.len()));
        let second = self.candidates.distance(partition);
        let Some(index) = self.candidates.of_mut(partition).filter(|_| most > 0) else {
            return 0;
        };
        let extent = BulkExtent {
            most,
            second,
            watch,
        };
        let state = &mut self.state;
        batch.add(|placed| place_in_bulk(state, index, partition, extent, placed))
    }
}

/// Whether a reservation that is kept often enough lets its key reserve or allocate more.
fn is_worth_keeping(state: &State, kept: &Outcome) -> bool {
    matches!(kept, Outcome::Proposed(proposal) if may_starve_later(state, proposal.node))
}

/// Whether the commit refuses a proposal as long as the state is like this: another container waits for the node.
fn is_refused(state: &State, proposal: &Proposal) -> bool {
    proposal.reserved.is_none() && state.nodes[proposal.node].reserved.is_some()
}

fn counts(seen: &Observation) -> bool {
    matches!(seen, Observation::Counters { .. })
}

/// Whether an observation may change a decision. Counters of a key that passed every limit of
/// patience, none of which is above the number of nodes, do not; they would move for ever.
pub(in crate::runtime) fn matters(state: &State, seen: &Observation) -> bool {
    let Observation::Counters {
        app,
        key,
        opportunities,
        missed,
    } = *seen
    else {
        return true;
    };
    let nodes = i32::try_from(state.node_count).unwrap_or(i32::MAX);
    let enough = nodes.saturating_add(1);
    state.apps[app].key(key).is_some_and(|asks| {
        asks.opportunities.min(enough) != opportunities.min(enough)
            || asks.missed.min(enough) != missed.min(enough)
    })
}

/// Whether an observation is sent to the ledger. What follows from a version of the users of a
/// leaf holds for the copy's version alone: other proposers' decisions may have come between.
fn is_for_ledger(seen: &Observation) -> bool {
    match seen {
        Observation::PublishedLimit { .. }
        | Observation::Served { .. }
        | Observation::Counters { .. }
        | Observation::Sorted { .. } => true,
        Observation::UserLimit { .. }
        | Observation::LimitNotice { .. }
        | Observation::HeadNotice { .. }
        | Observation::HeadGrown { .. }
        | Observation::UserUnknown { .. }
        | Observation::CachedUserLimit { .. } => false,
    }
}
