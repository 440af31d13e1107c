//! What comes next in virtual time: a heap ordered by time, and by order of entry at equal times. Entries of a later
//! stretch of time wait outside of the heap, so that it stays small however many there are.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

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

/// Length of a stretch of time in ms.
const STRETCH_MS: u64 = 4096;

/// Time and sequence of an entry.
type Moment = (u64, u64);

/// Entries by time. The heap is not empty unless all is but for the next heartbeat and the next round.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// The next heartbeat, and the next round: there is one of each at most, and most entries are of these two.
    beat: Option<Moment>,
    round: Option<Moment>,
    /// Other entries of the present stretch, and of earlier ones.
    heap: BinaryHeap<AgendaEntry>,
    /// The present stretch.
    stretch: u64,
    /// Entries of later stretches, in order of entry.
    later: BTreeMap<u64, Vec<AgendaEntry>>,
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
        let sequence = self.entered;
        match due {
            Due::Beat => self.beat = Some((at_ms, sequence)),
            Due::Round => self.round = Some((at_ms, sequence)),
            due => self.add_other(AgendaEntry {
                at_ms,
                sequence,
                due,
            }),
        }
    }

    fn add_other(&mut self, entry: AgendaEntry) {
        let at_ms = entry.at_ms;
        let stretch = at_ms / STRETCH_MS;
        if self.heap.is_empty() {
            self.stretch = stretch;
        }
        if stretch <= self.stretch {
            self.heap.push(entry);
        } else {
            self.later.entry(stretch).or_default().push(entry);
        }
    }

    /// Time of the next entry.
    pub(super) fn peek(&self) -> Option<u64> {
        self.first().map(|(at_ms, _)| at_ms)
    }

    /// The next entry.
    fn first(&self) -> Option<Moment> {
        let other = self.heap.peek().map(|entry| (entry.at_ms, entry.sequence));
        [self.beat, self.round, other].into_iter().flatten().min()
    }

    pub(super) fn next(&mut self) -> Option<(u64, Due)> {
        let first = self.first()?;
        for (known, due) in [(&mut self.beat, Due::Beat), (&mut self.round, Due::Round)] {
            if *known == Some(first) {
                *known = None;
                return Some((first.0, due));
            }
        }
        let next = self.heap.pop()?;
        if self.heap.is_empty()
            && let Some((stretch, entries)) = self.later.pop_first()
        {
            self.stretch = stretch;
            self.heap.extend(entries);
        }
        Some((next.at_ms, next.due))
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

/// Whose turn an entry of the agenda was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A node's heartbeat.
    Beat,
    /// A round.
    Round,
    /// Anything else.
    Other,
}

impl Turn {
    pub(super) const fn of(due: &Due) -> Self {
        match due {
            Due::Beat => Self::Beat,
            Due::Round => Self::Round,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::Random;

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

    #[test]
    fn entries_of_all_stretches_come_in_order() {
        let mut agenda = Agenda::default();
        let mut random = Random::stream(1, 2);
        let (mut entered, mut expected) = (0, Vec::new());
        for _ in 0..300 {
            for _ in 0..random.below(4) {
                entered += 1;
                let at_ms = random.below(STRETCH_MS * 9);
                agenda.add(at_ms, Due::Want(ApplicationId::new(1), entered));
                expected.push((at_ms, entered));
                expected.sort_unstable();
            }
            assert_eq!(agenda.peek(), expected.first().map(|(at_ms, _)| *at_ms));
            if random.below(2) == 0
                && let Some((at_ms, due)) = agenda.next()
            {
                let (known_ms, known) = expected.remove(0);
                assert_eq!(at_ms, known_ms);
                assert!(matches!(due, Due::Want(_, n) if n == known));
            }
        }
        assert!(entered > 300 && !expected.is_empty());
    }
}
