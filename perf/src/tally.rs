//! Tallies: what was decided in a round, kept as it came and judged when the clock no longer runs.

use std::collections::BTreeMap;

use capsched::api::{ApplicationId, DeliveredEvents, Event, ResourceVector, Threaded};
use capsched::metrics::Closed;
use capsched::time::{Clock, SystemClock};

use crate::conserve::Containers;
use crate::hash::Hash;

/// Decisions of a round, and the moments between which they are counted.
#[derive(Debug)]
pub(crate) struct Tally {
    clock: SystemClock,
    began_ns: u64,
    /// Containers after which nothing is counted.
    target: u64,
    /// Kept as they came; judged when the clock no longer runs.
    decisions: Vec<Event>,
    delivered: Vec<DeliveredEvents>,
    placed: u64,
    /// Containers up to the first moment at which there was one, and that moment.
    first: Option<(u64, u64)>,
    /// The same for the moment at which the target was reached, or the last one before it.
    last: (u64, u64),
}

impl Tally {
    pub(crate) fn new() -> Self {
        let clock = SystemClock::new();
        let began_ns = clock.now_ns();
        Self {
            clock,
            began_ns,
            target: u64::MAX,
            decisions: Vec::new(),
            delivered: Vec::new(),
            placed: 0,
            first: None,
            last: (0, began_ns),
        }
    }

    /// A tally up to a target, with room for what is decided until then; its memory is there before
    /// the clock starts.
    pub(crate) fn up_to(target: u64) -> Self {
        let room = usize::try_from(target).unwrap_or(0) * 9 / 8;
        let mut decisions = Vec::new();
        let none = Event::MasterLost {
            app: ApplicationId::new(0),
        };
        decisions.resize(room, none);
        decisions.clear();
        Self {
            decisions,
            delivered: Vec::with_capacity(room / 16),
            target,
            ..Self::new()
        }
    }

    /// The clock of its moments; an engine with threads has to have the same.
    pub(crate) fn clock(&self) -> SystemClock {
        self.clock
    }

    /// Takes in what was decided up to now; how many containers were placed.
    pub(crate) fn take(&mut self, decisions: Vec<Event>) -> u64 {
        let known = self.decisions.len();
        self.decisions.extend(decisions);
        let placed = containers(&self.decisions[known..]);
        if placed > 0 {
            self.count(placed, self.clock.now_ns());
        }
        placed
    }

    /// Takes in what an engine with threads decided up to now, as of when it delivered the events.
    pub(crate) fn look(&mut self, engine: &Threaded) {
        let mut from = self.decisions.len();
        let mut delivered = std::mem::take(&mut self.delivered);
        engine.append_deliveries(&mut self.decisions, &mut delivered);
        for DeliveredEvents { at_ns, end } in delivered.drain(..) {
            let placed = containers(&self.decisions[from..end]);
            if placed > 0 {
                self.count(placed, at_ns);
            }
            from = end;
        }
        self.delivered = delivered;
    }

    fn count(&mut self, placed: u64, at_ns: u64) {
        let over = self.placed >= self.target;
        self.placed += placed;
        if !over {
            self.last = (self.placed, at_ns);
            self.first.get_or_insert(self.last);
        }
    }

    pub(crate) fn placed(&self) -> u64 {
        self.placed
    }

    /// Containers after the first moment at which there was one, up to the target, and the time
    /// that they took. Where there was one moment only it is all of them, from the beginning.
    pub(crate) fn counted(&self) -> (u64, u64) {
        let (last, until) = self.last;
        match self.first {
            Some((n, from)) if n < last => (last - n, until - from),
            _ => (last, until - self.began_ns),
        }
    }

    pub(crate) fn conflicts(&self) -> BTreeMap<&'static str, u64> {
        let mut conflicts = BTreeMap::new();
        for decision in &self.decisions {
            if let Event::Rejected { conflict, .. } = decision {
                *conflicts.entry(conflict.name()).or_default() += 1;
            }
        }
        conflicts
    }

    /// Hash of every container and its node, in order.
    pub(crate) fn hash(&self) -> String {
        let mut hash = Hash::new();
        for decision in &self.decisions {
            if let Event::Allocated {
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

    /// Hash of what each leaf queue got of the containers up to the target: for modes whose order of
    /// decisions is not the same twice.
    pub(crate) fn queue_hash(&self) -> String {
        let mut leaves = BTreeMap::new();
        let target = usize::try_from(self.target).unwrap_or(usize::MAX);
        let placed = self.decisions.iter().filter_map(|decision| match decision {
            Event::Allocated { queue, size, .. } => Some((queue, size)),
            _ => None,
        });
        for (queue, size) in placed.take(target) {
            let (count, sum): &mut (u64, ResourceVector) = leaves.entry(queue).or_default();
            *count += 1;
            *sum += *size;
        }
        let mut hash = Hash::new();
        for (queue, (count, sum)) in leaves {
            hash.bytes(queue.as_bytes());
            hash.number(count);
            hash.bytes(sum.to_string().as_bytes());
        }
        hash.hex()
    }

    /// All containers placed.
    pub(crate) fn containers(&self) -> Containers {
        Containers {
            count: self.placed,
            sum: self.sum(),
        }
    }

    /// The resources of all containers placed.
    pub(crate) fn sum(&self) -> ResourceVector {
        let sizes = self.decisions.iter().filter_map(|decision| match decision {
            Event::Allocated { size, .. } => Some(*size),
            _ => None,
        });
        sizes.fold(ResourceVector::NONE, |sum, size| sum + size)
    }
}

fn containers(decisions: &[Event]) -> u64 {
    let placed = |decision: &&Event| matches!(decision, Event::Allocated { .. });
    decisions.iter().filter(placed).count() as u64
}
