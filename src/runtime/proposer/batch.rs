//! Batches: decisions of one proposer on their way to the committer, in buffers that are reused.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::id::Version;
use crate::proposer::{Observation, Outcome};

/// Decisions that are handed to the committer together.
pub(in crate::runtime) const BATCH: usize = 64;

/// One batch in so many is measured on its way, the first among them.
const SAMPLE: u64 = 8;

/// Decisions of one proposer, in order.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Batch {
    /// The snapshot that the decisions were made on.
    pub(in crate::runtime) version: Version,
    /// Decisions that the proposer has sent with this batch and before.
    pub(in crate::runtime) end: u64,
    /// When it was handed over, in ns; nothing unless it is one of those that are measured.
    pub(in crate::runtime) sent_ns: Option<u64>,
    /// Apart from `ends`: a record of both is put together on the stack, and reading it back at once, in wide pieces, stalls
    /// until the narrow writes have left the store buffer, which took a seventh of a proposer's time.
    outcomes: Vec<Outcome>,
    /// For each outcome, the end of what was observed with it.
    ends: Vec<usize>,
    observations: Vec<Observation>,
}

impl Batch {
    fn with_room() -> Self {
        Self {
            outcomes: Vec::with_capacity(BATCH),
            ends: Vec::with_capacity(BATCH),
            observations: Vec::with_capacity(4 * BATCH),
            ..Self::default()
        }
    }

    /// Number of decisions.
    pub(in crate::runtime) fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Adds a decision with what was observed on the way to it.
    pub(in crate::runtime) fn push(&mut self, outcome: Outcome, seen: &mut Vec<Observation>) {
        self.observations.append(seen);
        self.ends.push(self.observations.len());
        self.outcomes.push(outcome);
    }

    /// Adds decisions with which nothing was observed; how many `add` says.
    pub(in crate::runtime) fn add(
        &mut self,
        add: impl FnOnce(&mut Vec<Outcome>) -> usize,
    ) -> usize {
        let count = add(&mut self.outcomes);
        self.ends
            .resize(self.outcomes.len(), self.observations.len());
        count
    }

    /// The decisions, each with its observations.
    pub(in crate::runtime) fn iter(&self) -> impl Iterator<Item = (&Outcome, &[Observation])> {
        let mut from = 0;
        let decisions = self.outcomes.iter().zip(&self.ends);
        decisions.map(move |(outcome, end)| {
            let seen = &self.observations[from..*end];
            from = *end;
            (outcome, seen)
        })
    }

    /// The same batch with other decisions, for fault injection.
    pub(in crate::runtime) fn with(&self, other: impl FnMut(&Outcome) -> Outcome) -> Self {
        Self {
            version: self.version,
            end: self.end,
            sent_ns: self.sent_ns,
            outcomes: self.outcomes.iter().map(other).collect(),
            ends: self.ends.clone(),
            observations: self.observations.clone(),
        }
    }

    fn clear(&mut self) {
        self.outcomes.clear();
        self.ends.clear();
        self.observations.clear();
        self.sent_ns = None;
    }
}

/// The batches of one proposer: the open one, those in flight, and buffers to use again.
#[derive(Debug)]
pub(in crate::runtime) struct Batches {
    /// Takes decisions.
    pub(in crate::runtime) open: Batch,
    /// Sent, and not yet in any snapshot that this proposer has seen.
    in_flight: VecDeque<Arc<Batch>>,
    spare: Vec<Arc<Batch>>,
    /// Decisions that were sent, and batches.
    sent: u64,
    closed: u64,
}

impl Batches {
    pub(in crate::runtime) fn new() -> Self {
        Self {
            open: Batch::with_room(),
            in_flight: VecDeque::new(),
            spare: Vec::new(),
            sent: 0,
            closed: 0,
        }
    }

    /// Drops what was not sent.
    pub(in crate::runtime) fn reopen(&mut self) {
        self.open.clear();
    }

    /// Decisions sent so far.
    pub(in crate::runtime) fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether the open batch is one of those that are measured, where batches are.
    pub(in crate::runtime) fn is_sampled(&self) -> bool {
        self.closed.is_multiple_of(SAMPLE)
    }

    /// Closes the open batch, to be sent; nothing when it is empty.
    pub(in crate::runtime) fn close(&mut self, version: Version) -> Option<Arc<Batch>> {
        if self.open.len() == 0 {
            return None;
        }
        self.sent += self.open.len() as u64;
        self.closed += 1;
        (self.open.version, self.open.end) = (version, self.sent);
        let mut sent = self
            .spare
            .pop()
            .unwrap_or_else(|| Arc::new(Batch::with_room()));
        match Arc::get_mut(&mut sent) {
            Some(unused) => std::mem::swap(unused, &mut self.open),
            None => sent = Arc::new(std::mem::replace(&mut self.open, Batch::with_room())),
        }
        self.in_flight.push_back(Arc::clone(&sent));
        Some(sent)
    }

    /// Forgets the batches that a snapshot has seen; their buffers are used again.
    pub(in crate::runtime) fn landed(&mut self, taken: u64) {
        while self
            .in_flight
            .front()
            .is_some_and(|batch| batch.end <= taken)
        {
            let Some(mut batch) = self.in_flight.pop_front() else {
                return;
            };
            if let Some(unused) = Arc::get_mut(&mut batch) {
                unused.clear();
                self.spare.push(batch);
            }
        }
    }

    /// What is still in flight, in order.
    pub(in crate::runtime) fn in_flight(&self) -> impl Iterator<Item = &Batch> {
        self.in_flight.iter().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::QueueSlot;
    use crate::proposer::SkipReason;

    fn skipped(batches: &mut Batches, leaves: &[u32]) {
        let seen = leaves.iter().map(|&leaf| Observation::Sorted {
            leaf: QueueSlot(leaf),
        });
        let outcome = Outcome::Skipped(SkipReason::Other);
        batches.open.push(outcome, &mut seen.collect());
    }

    #[test]
    fn every_decision_keeps_its_own_observations() {
        let mut batches = Batches::new();
        skipped(&mut batches, &[1, 2]);
        skipped(&mut batches, &[]);
        skipped(&mut batches, &[3]);
        let batch = batches.close(Version(1)).expect("it is not empty");
        let counts: Vec<_> = batch.iter().map(|(_, seen)| seen.len()).collect();
        assert_eq!((counts, batch.end), (vec![2, 0, 1], 3));
        assert!(batches.close(Version(1)).is_none());
    }

    #[test]
    fn one_batch_in_eight_is_measured_and_empty_ones_do_not_count() {
        let mut batches = Batches::new();
        let sampled = (0..17).map(|_| {
            let sampled = batches.is_sampled();
            assert!(batches.close(Version(1)).is_none());
            skipped(&mut batches, &[1]);
            drop(batches.close(Version(1)));
            sampled
        });
        let sampled: Vec<bool> = sampled.collect();
        let expected: Vec<bool> = (0..17).map(|i| [0, 8, 16].contains(&i)).collect();
        assert_eq!(sampled, expected);
    }

    #[test]
    fn a_landed_batch_gives_its_buffers_back_once_nobody_reads_it() {
        let mut batches = Batches::new();
        skipped(&mut batches, &[1]);
        let first = batches.close(Version(1)).expect("it is not empty");
        skipped(&mut batches, &[2]);
        drop(batches.close(Version(1)));
        assert_eq!(batches.in_flight().count(), 2);
        batches.landed(1);
        assert_eq!((batches.in_flight().count(), batches.spare.len()), (1, 0));
        drop(first);
        batches.landed(2);
        assert_eq!((batches.in_flight().count(), batches.spare.len()), (0, 1));
    }
}
