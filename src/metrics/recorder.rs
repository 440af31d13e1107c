//! Recording latencies on hot threads and collecting them elsewhere.
//!
//! # Protocol
//!
//! 1. A recorder notes latencies one by one, and when there are many of them counts them in a set
//!    of its own: adding sets means going through all their cells, which a thread that rests after
//!    every decision would do for a handful of latencies.
//! 2. Between rounds, or before it parks, its thread hands over what it has: under the lock of its
//!    outbox, it exchanges the set for the outbox's when that is empty, else it adds to it, and
//!    counts the notes there. When the collector holds the lock just then, the hand-over waits for
//!    the next occasion.
//! 3. The collector exchanges each outbox for an empty set and merges what it got, outside the
//!    lock.
//! 4. A recorder that goes away hands over what it still has.

use std::fmt;
use std::mem;
use std::sync::PoisonError;

use crate::metrics::{Closed, HistogramSet, Phase};
use crate::sync::{Arc, Mutant, Mutex, injected};
use crate::time::Clock;

type Outbox<P> = Arc<Mutex<HistogramSet<P>>>;

/// Notes that a recorder keeps before it counts them in its set. The set is some hundred KiB for each
/// phase, and a thread that touches it loses what its caches hold: rarely, then, and for many at once.
const NOTES: usize = 4096;

/// The side of a hot thread.
pub struct Recorder<P: Closed = Phase> {
    /// Latencies with their numbers; there is room for [`NOTES`] from the start.
    notes: Vec<(P, u64, u64)>,
    /// What was noted before.
    local: HistogramSet<P>,
    /// Nothing is recorded without one.
    outbox: Option<Outbox<P>>,
}

impl<P: Closed> Recorder<P> {
    /// A recorder that forgets everything, for engines that nobody measures.
    #[must_use]
    pub fn idle() -> Self {
        Self {
            notes: Vec::new(),
            local: HistogramSet::new(),
            outbox: None,
        }
    }

    /// Whether latencies are wanted; an idle recorder's caller need not read its clock.
    #[inline]
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.outbox.is_some()
    }

    /// Counts a latency in nanoseconds.
    #[inline]
    pub fn record(&mut self, phase: P, ns: u64) {
        self.record_n(phase, ns, 1);
    }

    /// Counts a latency for each of the `n` items of a batch.
    #[inline]
    pub fn record_n(&mut self, phase: P, ns: u64, n: u64) {
        if !self.is_active() {
            return;
        }
        if self.notes.len() == NOTES {
            count(&mut self.notes, &mut self.local);
        }
        self.notes.push((phase, ns, n));
    }

    /// Hands over what was recorded, unless the collector is at it just now; never waits.
    pub fn hand_over(&mut self) {
        let Some(outbox) = &self.outbox else { return };
        if let Ok(mut handed) = outbox.try_lock() {
            deliver(&mut self.notes, &mut self.local, &mut handed);
        }
    }
}

fn count<P: Closed>(notes: &mut Vec<(P, u64, u64)>, set: &mut HistogramSet<P>) {
    for (phase, ns, n) in notes.drain(..) {
        set.record_n(phase, ns, n);
    }
}

fn deliver<P: Closed>(
    notes: &mut Vec<(P, u64, u64)>,
    local: &mut HistogramSet<P>,
    handed: &mut HistogramSet<P>,
) {
    if !local.is_empty() {
        if handed.is_empty() {
            mem::swap(local, handed);
        } else {
            handed.merge(local);
            local.clear();
        }
    }
    count(notes, handed);
}

impl<P: Closed> Drop for Recorder<P> {
    fn drop(&mut self) {
        if let Some(outbox) = &self.outbox {
            let mut handed = outbox.lock().unwrap_or_else(PoisonError::into_inner);
            deliver(&mut self.notes, &mut self.local, &mut handed);
        }
    }
}

impl<P: Closed> fmt::Debug for Recorder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("active", &self.is_active())
            .finish_non_exhaustive()
    }
}

/// The side that collects; it owns the totals.
pub struct Collector<P: Closed = Phase> {
    outboxes: Vec<Outbox<P>>,
    /// Exchanged for a full outbox, so that collecting allocates nothing.
    spare: HistogramSet<P>,
    totals: HistogramSet<P>,
}

impl<P: Closed> Collector<P> {
    /// A collector without recorders.
    #[must_use]
    pub fn new() -> Self {
        Self {
            outboxes: Vec::new(),
            spare: HistogramSet::new(),
            totals: HistogramSet::new(),
        }
    }

    /// A recorder for one more thread.
    pub fn recorder(&mut self) -> Recorder<P> {
        let outbox = Arc::new(Mutex::new(HistogramSet::new()));
        self.outboxes.push(Arc::clone(&outbox));
        Recorder {
            notes: Vec::with_capacity(NOTES),
            local: HistogramSet::new(),
            outbox: Some(outbox),
        }
    }

    /// Merges what was handed over since the last call; returns the totals since the start.
    pub fn collect(&mut self) -> &HistogramSet<P> {
        for outbox in &self.outboxes {
            {
                let mut handed = outbox.lock().unwrap_or_else(PoisonError::into_inner);
                if injected(Mutant::LatenciesCopiedThenEmptied) {
                    self.spare.merge(&handed);
                    drop(handed);
                    handed = outbox.lock().unwrap_or_else(PoisonError::into_inner);
                    handed.clear();
                } else {
                    mem::swap(&mut *handed, &mut self.spare);
                }
            }
            self.totals.merge(&self.spare);
            self.spare.clear();
        }
        &self.totals
    }

    /// Collects and starts anew; the result is what an interval of a log holds.
    pub fn take(&mut self) -> HistogramSet<P> {
        self.collect();
        mem::take(&mut self.totals)
    }
}

impl<P: Closed> Default for Collector<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Closed> fmt::Debug for Collector<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector")
            .field("recorders", &self.outboxes.len())
            .finish_non_exhaustive()
    }
}

/// Measures consecutive phases with one reading of the clock between them.
#[derive(Clone, Copy, Debug)]
pub struct Laps {
    last_ns: u64,
}

impl Laps {
    /// Starts the first phase.
    pub fn start(clock: &impl Clock) -> Self {
        Self {
            last_ns: clock.now_ns(),
        }
    }

    /// Ends a phase and starts the next; returns the nanoseconds it took.
    pub fn lap(&mut self, clock: &impl Clock) -> u64 {
        let now_ns = clock.now_ns();
        now_ns.saturating_sub(mem::replace(&mut self.last_ns, now_ns))
    }
}

/// Chooses one item in so many, the first among them.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    every: u32,
    left: u32,
}

impl Sampler {
    /// One item in `every`; nothing at all for 0.
    #[must_use]
    pub const fn one_in(every: u32) -> Self {
        Self { every, left: 1 }
    }

    /// Whether the next item is chosen.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.every;
        true
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;
    use crate::time::ManualClock;
    use std::time::Duration;

    fn n_of(set: &HistogramSet<Phase>, phase: Phase) -> u64 {
        set.get(phase).map_or(0, |histogram| histogram.len())
    }

    #[test]
    fn samples_of_all_recorders_are_collected_once() {
        let mut collector = Collector::new();
        let (mut first, mut second) = (collector.recorder(), collector.recorder());
        first.record(Phase::NodePick, 5);
        second.record_n(Phase::NodePick, 7, 2);
        assert_eq!(n_of(collector.collect(), Phase::NodePick), 0);
        first.hand_over();
        second.hand_over();
        assert_eq!(n_of(collector.collect(), Phase::NodePick), 3);
        assert_eq!(n_of(collector.collect(), Phase::NodePick), 3);
    }

    #[test]
    fn hand_overs_before_a_collection_add_up() {
        let mut collector = Collector::new();
        let mut recorder = collector.recorder();
        for _ in 0..3 {
            recorder.record(Phase::Apply, 9);
            recorder.hand_over();
        }
        assert_eq!(n_of(&collector.take(), Phase::Apply), 3);
        assert_eq!(n_of(&collector.take(), Phase::Apply), 0);
    }

    #[test]
    fn more_latencies_than_notes_are_all_counted() {
        let mut collector = Collector::new();
        let mut recorder = collector.recorder();
        for round in 1..=3_u64 {
            for ns in 0..1_000 {
                recorder.record_n(Phase::Validate, ns, 2);
            }
            recorder.hand_over();
            if round == 2 {
                assert_eq!(n_of(collector.collect(), Phase::Validate), 4_000);
            }
        }
        let found = collector.take();
        assert_eq!(n_of(&found, Phase::Validate), 6_000);
        let validated = found.get(Phase::Validate).unwrap().latency();
        assert_eq!(validated.max, 999);
    }

    #[test]
    fn a_recorder_that_goes_away_loses_nothing() {
        let mut collector = Collector::new();
        let mut recorder = collector.recorder();
        recorder.record(Phase::Publish, 1);
        drop(recorder);
        assert_eq!(n_of(collector.collect(), Phase::Publish), 1);
    }

    #[test]
    fn a_hand_over_during_a_collection_is_made_later() {
        let mut collector = Collector::new();
        let mut recorder = collector.recorder();
        recorder.record(Phase::QueueOrder, 4);
        let outbox = Arc::clone(&collector.outboxes[0]);
        let held = outbox.lock().unwrap();
        recorder.hand_over();
        drop(held);
        assert_eq!(n_of(collector.collect(), Phase::QueueOrder), 0);
        recorder.hand_over();
        assert_eq!(n_of(collector.collect(), Phase::QueueOrder), 1);
    }

    #[test]
    fn an_idle_recorder_keeps_nothing() {
        let mut recorder = Recorder::idle();
        recorder.record(Phase::NodePick, 5);
        assert!(recorder.notes.is_empty() && recorder.local.is_empty());
    }

    #[test]
    fn a_sampler_chooses_the_first_of_so_many() {
        let chosen = |every| {
            let mut sampler = Sampler::one_in(every);
            (0..7).filter(|_| sampler.is_due()).count()
        };
        assert_eq!([0, 1, 3, 100].map(chosen), [0, 7, 3, 1]);
    }

    #[test]
    fn laps_measure_from_one_reading_to_the_next() {
        let clock = ManualClock::default();
        let mut laps = Laps::start(&clock);
        clock.advance(Duration::from_nanos(30));
        assert_eq!(laps.lap(&clock), 30);
        clock.advance(Duration::from_nanos(12));
        assert_eq!(laps.lap(&clock), 12);
    }
}
