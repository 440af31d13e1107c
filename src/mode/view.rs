//! A proposer's view: its working copy of the state, with its own decisions applied to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::batch::{Batch, Batches};
use super::index::NodeIndex;
use crate::cluster::NodeState;
use crate::commit::{apply_to_copy, observe_on_copy};
use crate::id::{NodeSlot, PartitionId, Version};
use crate::proposer::{FitIndex, Observation, Outcome};
use crate::snapshot::{Snapshot, State};

/// What became of a decision in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// Something is proposed, and the view follows it.
    Followed,
    /// Something is proposed that only the ledger can follow.
    Ahead,
    /// A reservation is merely kept, or counters moved: no progress.
    Waiting,
    /// Nothing.
    Nothing,
}

/// The working copy and what is derived from it.
#[derive(Debug)]
pub(super) struct View {
    /// The copy.
    pub(super) state: State,
    seen: Arc<Snapshot>,
    /// Nodes of each partition, this proposer's share first; only where asks look for nodes.
    lanes: Vec<FitIndex>,
    sorted: Option<Arc<NodeIndex>>,
    /// Reserved nodes.
    reserved: BTreeSet<NodeSlot>,
    /// Position among the proposers, and their number.
    share: (usize, usize),
}

impl View {
    pub(super) fn new(seen: Arc<Snapshot>, share: (usize, usize), batches: &Batches) -> Self {
        let mut view = Self {
            state: State::new(Arc::clone(&seen.settings)),
            seen: Arc::new(Snapshot::empty(Arc::clone(&seen.settings))),
            lanes: Vec::new(),
            sorted: None,
            reserved: BTreeSet::new(),
            share,
        };
        view.refresh(seen, batches);
        view
    }

    /// The version of the snapshot behind the view.
    pub(super) fn version(&self) -> Version {
        self.seen.version
    }

    /// The snapshot behind the view.
    pub(super) fn seen(&self) -> &Snapshot {
        &self.seen
    }

    /// Takes over a newer snapshot, and on top of it what is still in flight.
    pub(super) fn refresh(&mut self, newer: Arc<Snapshot>, batches: &Batches) {
        let mut changed = Vec::new();
        self.state
            .refresh(&self.seen, &newer, |node| changed.push(node));
        self.seen = newer;
        for node in changed {
            self.note_total(node);
            self.look_at(node);
        }
        for batch in batches.in_flight() {
            self.replay(batch);
        }
    }

    fn replay(&mut self, batch: &Batch) {
        for (outcome, seen) in batch.iter() {
            observe_on_copy(&mut self.state, seen);
            if let Outcome::Proposed(proposal) = outcome
                && apply_to_copy(&mut self.state, proposal)
            {
                self.look_at(proposal.node);
            }
        }
    }

    /// Notes what a node offers in all.
    fn note_total(&mut self, node: NodeSlot) {
        let row = &self.state.nodes[node];
        if let Some(lane) = self.lanes.get_mut(row.partition.index()) {
            lane.note_total(&row.total);
        }
    }

    /// Notes what a node has free now, and whether it is reserved.
    fn look_at(&mut self, node: NodeSlot) {
        let row = &self.state.nodes[node];
        let reserved = row.reserved.is_some();
        if reserved {
            self.reserved.insert(node);
        } else if !self.reserved.is_empty() {
            self.reserved.remove(&node);
        }
        let runs = row.state == NodeState::Running;
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            let here = row.partition.index() == i;
            if here && runs && !lane.contains(node) {
                // A node that the order does not know: the lanes are laid out anew.
                self.sorted = None;
            }
            let free = (here && runs && !reserved).then_some(&row.free);
            lane.set(node, free);
        }
    }

    /// Lays out the lanes when the nodes were sorted anew or others joined.
    pub(super) fn lay_out(&mut self, index: &Arc<NodeIndex>) {
        if self
            .sorted
            .as_ref()
            .is_some_and(|sorted| Arc::ptr_eq(sorted, index))
        {
            return;
        }
        let (own, of) = self.share;
        let state = &self.state;
        let types = state.calculator.types();
        let lanes = state.partition_ids().map(|partition| {
            let sorted = index.nodes(state, partition);
            let (mine, others): (Vec<_>, Vec<_>) =
                sorted.iter().partition(|node| node.index() % of == own);
            FitIndex::new([mine, others].concat(), types)
        });
        self.lanes = lanes.collect();
        self.sorted = Some(Arc::clone(index));
        for partition in self.state.partition_ids() {
            for node in self.state.partitions[partition].nodes.clone() {
                self.note_total(node);
                self.look_at(node);
            }
        }
    }

    /// The lane of a partition that has nodes.
    pub(super) fn lane(&self, partition: PartitionId) -> Option<&FitIndex> {
        let lane = self.lanes.get(partition.index());
        lane.filter(|lane| !lane.order().is_empty())
    }

    /// Reserved nodes of this proposer's share.
    pub(super) fn reserved(&self) -> Vec<NodeSlot> {
        let (own, of) = self.share;
        let mine = |node: &&NodeSlot| node.index() % of == own;
        self.reserved.iter().filter(mine).copied().collect()
    }

    /// Lets the view follow a decision, and adds it to the open batch when the ledger has to know.
    pub(super) fn note(
        &mut self,
        outcome: Outcome,
        seen: &mut Vec<Observation>,
        batch: &mut Batch,
    ) -> Noted {
        if matches!(outcome, Outcome::Skipped(_)) {
            seen.retain(|seen| self.matters(seen));
        }
        observe_on_copy(&mut self.state, seen);
        let noted = match &outcome {
            Outcome::Proposed(proposal) => {
                if outcome.keeps_reservation() {
                    Noted::Waiting
                } else if apply_to_copy(&mut self.state, proposal) {
                    let node = proposal.node;
                    self.look_at(node);
                    Noted::Followed
                } else {
                    Noted::Ahead
                }
            }
            Outcome::GiveUp(_) => Noted::Ahead,
            Outcome::Skipped(_) => {
                let counters = |seen: &Observation| matches!(seen, Observation::Counters { .. });
                seen.retain(counters);
                if seen.is_empty() {
                    return Noted::Nothing;
                }
                Noted::Waiting
            }
        };
        seen.retain(is_told);
        batch.push(outcome, seen);
        noted
    }
}

impl View {
    /// Whether an observation may change a decision. Counters of a key that passed every limit of
    /// patience, none of which is above the number of nodes, do not; they would move for ever.
    fn matters(&self, seen: &Observation) -> bool {
        let Observation::Counters {
            app,
            key,
            opportunities,
            missed,
        } = *seen
        else {
            return true;
        };
        let nodes = i32::try_from(self.state.node_count).unwrap_or(i32::MAX);
        let enough = nodes.saturating_add(1);
        self.state.apps[app].key(key).is_some_and(|asks| {
            asks.opportunities.min(enough) != opportunities.min(enough)
                || asks.missed.min(enough) != missed.min(enough)
        })
    }
}

/// Whether the ledger is told of an observation. What follows from a version of the users of a
/// leaf holds for the copy's version alone: other proposers' decisions may have come between.
fn is_told(seen: &Observation) -> bool {
    match seen {
        Observation::CurrentLimit { .. }
        | Observation::Served { .. }
        | Observation::Counters { .. }
        | Observation::Sorted { .. } => true,
        Observation::UserLimit { .. }
        | Observation::LimitTold { .. }
        | Observation::PrefixTold { .. }
        | Observation::PrefixGrown { .. }
        | Observation::Gate { .. } => false,
    }
}
