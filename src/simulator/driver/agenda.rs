//! What comes next in virtual time: a heap ordered by time, and by order of entry at equal times.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::api::{ApplicationId, ContainerId, NodeName, NodeSpec};

/// Something that happens at a time.
#[derive(Debug)]
pub(super) enum Due {
    /// The next job of the workload is submitted.
    Submit,
    /// The next node in turn sends its heartbeat.
    Beat,
    /// One round of a mode without heartbeats.
    Round,
    /// An application calls: asks, takes its containers over.
    Call(ApplicationId),
    /// The delay of a group of tasks is over.
    Want(ApplicationId, usize),
    /// A container has run for its time.
    End(ContainerId),
    /// An application whose master is gone ends.
    Finish(ApplicationId),
    /// A line of the time series is taken.
    Sample,
    /// A node registers.
    Arrive(Box<NodeSpec>),
    /// A node goes away.
    Leave(NodeName),
}

/// Entries by time.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<AgendaEntry>,
    entered: u64,
}

#[derive(Debug)]
struct AgendaEntry {
    at_ms: u64,
    sequence: u64,
    due: Due,
}

impl Agenda {
    pub(super) fn add(&mut self, at_ms: u64, due: Due) {
        self.entered += 1;
        self.heap.push(AgendaEntry {
            at_ms,
            sequence: self.entered,
            due,
        });
    }

    /// Time of the next entry.
    pub(super) fn peek(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.at_ms)
    }

    pub(super) fn next(&mut self) -> Option<(u64, Due)> {
        self.heap.pop().map(|entry| (entry.at_ms, entry.due))
    }
}

impl Ord for AgendaEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap gives its largest, and the earliest is wanted.
        (other.at_ms, other.sequence).cmp(&(self.at_ms, self.sequence))
    }
}

impl PartialOrd for AgendaEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for AgendaEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for AgendaEntry {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_the_order_of_entry() {
        let mut agenda = Agenda::default();
        agenda.add(5, Due::Sample);
        agenda.add(3, Due::Round);
        agenda.add(5, Due::Beat);
        let order: Vec<String> = std::iter::from_fn(|| agenda.next())
            .map(|(at, due)| format!("{at} {due:?}"))
            .collect();
        assert_eq!(order, ["3 Round", "5 Sample", "5 Beat"]);
    }
}
