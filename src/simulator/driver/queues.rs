//! What the driver counts by leaf queue.

use std::collections::BTreeMap;

use super::record::Waits;
use crate::id::{QueuePath, Set};
use crate::simulator::statistics::{Numbered, Tally};

/// The leaf queues that jobs were placed in, by number.
#[derive(Debug, Default)]
pub(super) struct LeafQueues {
    leaves: Numbered<QueuePath, LeafQueue>,
    waiting: u64,
}

/// What is counted of one of them.
#[derive(Debug, Default)]
struct LeafQueue {
    /// Containers asked for and not placed.
    waiting: u64,
    /// From submission to the first container, in virtual ms.
    first: Tally,
}

impl LeafQueues {
    /// The number of a leaf.
    pub(super) fn number(&mut self, path: &QueuePath) -> usize {
        let known = self.leaves.find(path);
        known.unwrap_or_else(|| self.leaves.add(path.clone(), LeafQueue::default()))
    }

    /// Containers asked for and not placed, in all queues.
    pub(super) const fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The queues in which, or below which, a container waits.
    pub(super) fn unmet(&self) -> Set<&str> {
        let mut unmet = Set::default();
        let waiting = self.leaves.rows().iter();
        for (path, _) in waiting.filter(|(_, leaf)| leaf.waiting > 0) {
            let above = path.rmatch_indices('.').map(|(at, _)| &path[..at]);
            unmet.extend(std::iter::once(path.as_ref()).chain(above));
        }
        unmet
    }

    /// Waits for first containers by queue.
    pub(super) fn first_waits(&self) -> BTreeMap<String, Waits> {
        let leaves = self.leaves.rows().iter();
        let served = leaves.filter(|(_, leaf)| leaf.first.len() > 0);
        served
            .map(|(path, leaf)| (path.to_string(), Waits::of(&leaf.first)))
            .collect()
    }

    /// More containers of a leaf wait.
    pub(super) fn more_waiting(&mut self, leaf: usize, n: u64) {
        self.waiting += n;
        self.leaves.row_mut(leaf).waiting += n;
    }

    /// Fewer containers of a leaf wait.
    pub(super) fn fewer_waiting(&mut self, leaf: usize, n: u64) {
        self.waiting = self.waiting.saturating_sub(n);
        let leaf = self.leaves.row_mut(leaf);
        leaf.waiting = leaf.waiting.saturating_sub(n);
    }

    /// Notes how long an application of a leaf waited for its first container.
    pub(super) fn first_after(&mut self, leaf: usize, waited_ms: u64) {
        self.leaves.row_mut(leaf).first.record(waited_ms, 1);
    }
}
