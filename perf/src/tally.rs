//! Tallies: what was decided in a round, kept as it came and judged when the clock no longer runs.

use std::collections::BTreeMap;

use capsched::api::{ApplicationId, Decision, Threaded};
use capsched::time::{Clock, SystemClock};

use crate::hash::Hash;

/// Decisions of a round, and the moments between which they are counted.
#[derive(Debug)]
pub(crate) struct Tally {
    clock: SystemClock,
    began_ns: u64,
    /// Kept as they came; judged when the clock no longer runs.
    decisions: Vec<Decision>,
    placed: u64,
    /// Containers at the first look that saw one, and its moment.
    first: Option<(u64, u64)>,
    last_ns: u64,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let clock = SystemClock::new();
        let began_ns = clock.now_ns();
        Self {
            clock,
            began_ns,
            decisions: Vec::new(),
            placed: 0,
            first: None,
            last_ns: began_ns,
        }
    }

    /// A tally with room for this many decisions, whose memory is there before the clock starts.
    pub(crate) fn with_room(decisions: u64) -> Self {
        let room = usize::try_from(decisions).unwrap_or(0) * 9 / 8;
        let mut tally = Self::new();
        let none = Decision::MasterLost {
            app: ApplicationId::new(0),
        };
        tally.decisions.resize(room, none);
        tally.decisions.clear();
        Self {
            decisions: tally.decisions,
            ..Self::new()
        }
    }

    /// Takes in what was decided up to now; how many containers were placed.
    pub(crate) fn take(&mut self, decisions: Vec<Decision>) -> u64 {
        let known = self.decisions.len();
        self.decisions.extend(decisions);
        self.count_from(known)
    }

    /// Takes in what an engine with threads decided up to now; how many containers were placed.
    pub(crate) fn look(&mut self, engine: &Threaded) -> u64 {
        let known = self.decisions.len();
        engine.append_events(&mut self.decisions);
        self.count_from(known)
    }

    fn count_from(&mut self, known: usize) -> u64 {
        let news = self.decisions[known..].iter();
        let placed = news.filter(|one| is_container(one)).count() as u64;
        if placed > 0 {
            self.placed += placed;
            self.last_ns = self.clock.now_ns();
            self.first.get_or_insert((self.placed, self.last_ns));
        }
        placed
    }

    pub(crate) fn placed(&self) -> u64 {
        self.placed
    }

    /// Decisions after the first look that saw one, and the time that they took. Where one look
    /// saw them all it is all of them, from the beginning.
    pub(crate) fn counted(&self) -> (u64, u64) {
        match self.first {
            Some((n, from)) if n < self.placed => (self.placed - n, self.last_ns - from),
            _ => (self.placed, self.last_ns - self.began_ns),
        }
    }

    pub(crate) fn conflicts(&self) -> BTreeMap<&'static str, u64> {
        let mut conflicts = BTreeMap::new();
        for decision in &self.decisions {
            if let Decision::Rejected { conflict, .. } = decision {
                *conflicts.entry(conflict.name()).or_default() += 1;
            }
        }
        conflicts
    }

    /// Hash of every container and its node, in order.
    pub(crate) fn hash(&self) -> String {
        let mut hash = Hash::new();
        for decision in &self.decisions {
            if let Decision::Allocated {
                container, node, ..
            } = decision
            {
                hash.number(u64::from(container.app.sequence));
                hash.number(u64::from(container.number));
                hash.bytes(node.host().as_bytes());
            }
        }
        hash.hex()
    }

    /// The resources of all containers placed.
    pub(crate) fn sum(&self) -> capsched::api::ResourceVector {
        let sizes = self.decisions.iter().filter_map(|decision| match decision {
            Decision::Allocated { size, .. } => Some(*size),
            _ => None,
        });
        sizes.fold(capsched::api::ResourceVector::NONE, |sum, size| sum + size)
    }
}

fn is_container(decision: &Decision) -> bool {
    matches!(decision, Decision::Allocated { .. })
}
