//! Calls that may hold others, and a caller that fetches beside them.

use std::hint::spin_loop;
use std::time::Duration;

use anyhow::{Result, anyhow};
use capsched::api::{ApplicationId, AskCall, Threaded};
use capsched::metrics::{Histogram, Phase};
use capsched::sync::{AtomicBool, Ordering};
use capsched::time::{Clock, SystemClock};

use crate::open::Schedule;

/// The application that only fetches.
pub(super) const FETCHES: ApplicationId = ApplicationId::new(u32::MAX);

/// How long a call takes after which it is read what the committer did. It is also the pause in which the next one is
/// prepared.
const LONG_NS: u64 = 1_000_000;

/// Within this time a fetch falls due several times.
const HAND_OVER: Duration = Duration::from_millis(2);

/// How long before its moment a fetch no longer sleeps: timers of Linux are late by some 50 us.
const NEAR_NS: u64 = 100_000;

/// What a scene came to.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) calls: usize,
    pub(super) longest_ns: u64,
    /// Of fetches that fell due during a call.
    pub(super) latency: Histogram,
    /// What the committer did during `counted` of the calls.
    pub(super) worked: Worked,
    pub(super) counted: usize,
}

/// What the committer did at a time, in processor time.
#[derive(Clone, Debug, Default)]
pub(super) struct Worked {
    /// While it served nobody else, but for fetches.
    pub(super) parts: Histogram,
    /// From one pause for fetches to the next.
    pub(super) stretches: Histogram,
}

impl Worked {
    fn since(&self, before: &Self) -> Self {
        Self {
            parts: self.parts.since(&before.parts),
            stretches: self.stretches.since(&before.stretches),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.parts.merge(&other.parts);
        self.stretches.merge(&other.stretches);
    }
}

impl Held {
    /// A part or stretch so long that a quarter as many took longer as there were calls: about the longest one of most
    /// calls. A neighbour that takes the core makes single ones longer, and some rows have two calls in turn.
    #[expect(
        clippy::float_arithmetic,
        reason = "a share of the parts, for the report"
    )]
    pub(super) fn long_ns(&self, all: &Histogram) -> u64 {
        let count = all.len();
        let longer = (self.counted as u64 / 4).min(count.saturating_sub(1));
        all.quantile(1.0 - longer as f64 / count.max(1) as f64)
    }
}

/// Measures calls beside fetches.
#[derive(Debug)]
pub(super) struct Holds {
    clock: SystemClock,
    rate: u64,
    seconds: u64,
    /// When the calls began and ended.
    spans: Vec<(u64, u64)>,
    /// When fetches were due, and when they were answered.
    fetches: Vec<(u64, u64)>,
    /// What the committer did during so many of the calls.
    worked: Worked,
    counted: usize,
}

/// The calls of one engine while fetches go on.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    clock: SystemClock,
    until_ns: u64,
    spans: &'a mut Vec<(u64, u64)>,
    engine: &'a Threaded,
    worked: &'a mut Worked,
    /// How many calls that is of.
    counted: &'a mut usize,
    /// What does not count: what it did before the present calls.
    before: Worked,
    /// The present calls.
    present: usize,
    /// When the last call ended and what the committer did was read.
    idle_since_ns: u64,
}

impl Calls<'_> {
    /// Whether there is time for a further call. There is for the first one.
    pub(super) fn go_on(&self) -> bool {
        self.spans.is_empty() || self.clock.now_ns() < self.until_ns
    }

    /// Makes a call that may hold others.
    pub(super) fn make<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let prepared = self.clock.now_ns() - self.idle_since_ns > LONG_NS;
        if prepared {
            // What was done to prepare the call.
            (self.before, self.present) = (worked(self.engine), 0);
        }
        let began = self.clock.now_ns();
        let came_to = call();
        let ended = self.clock.now_ns();
        self.spans.push((began, ended));
        self.present += 1;
        if prepared || ended - began > LONG_NS {
            self.count_work();
        }
        self.idle_since_ns = self.clock.now_ns();
        came_to
    }

    /// Counts what the committer did since the calls began.
    fn count_work(&mut self) {
        let now = worked(self.engine);
        self.worked.merge(&now.since(&self.before));
        *self.counted += std::mem::take(&mut self.present);
        self.before = now;
    }
}

impl Holds {
    pub(super) fn new(rate: u64, seconds: u64) -> Self {
        Self {
            clock: SystemClock::new(),
            rate,
            seconds,
            spans: Vec::new(),
            fetches: Vec::new(),
            worked: Worked::default(),
            counted: 0,
        }
    }

    /// Has calls made on an engine, on which [`FETCHES`] lives, while another thread fetches.
    pub(super) fn beside_fetches(
        &mut self,
        engine: &Threaded,
        calls: impl FnOnce(&mut Calls<'_>) -> Result<()>,
    ) -> Result<()> {
        let ended = AtomicBool::new(false);
        let (clock, rate) = (self.clock, self.rate);
        std::thread::scope(|scope| {
            let fetching = scope.spawn(|| fetch(engine, &clock, rate, &ended));
            let mut calling = Calls {
                clock: self.clock,
                until_ns: self.clock.now_ns() + self.seconds * 1_000_000_000,
                spans: &mut self.spans,
                engine,
                worked: &mut self.worked,
                counted: &mut self.counted,
                present: 0,
                idle_since_ns: 0,
                before: worked(engine),
            };
            let made = calls(&mut calling);
            calling.count_work();
            // Relaxed: nothing else is handed over by it.
            ended.store(true, Ordering::Relaxed);
            let fetched = fetching.join();
            let fetched = fetched.map_err(|_| anyhow!("the caller that fetches panicked"))??;
            self.fetches.extend(fetched);
            made
        })
    }

    /// The same for one call of an engine that takes it once; whether there is time for another engine.
    pub(super) fn beside_fetches_once(
        &mut self,
        engine: &Threaded,
        call: impl FnOnce() -> Result<()>,
    ) -> Result<bool> {
        self.beside_fetches(engine, |calls| {
            // Fetches go on when the call begins.
            std::thread::sleep(Duration::from_millis(20));
            calls.make(call)
        })?;
        Ok(self.has_time())
    }

    /// Whether there is time for another engine. Making it takes longer than its calls.
    pub(super) fn has_time(&self) -> bool {
        let took = self.spans.iter().map(|(began, ended)| ended - began);
        took.sum::<u64>() < self.seconds * 1_000_000_000 / 5
    }

    /// What became of the fetches that fell due during a call.
    pub(super) fn into_held(self) -> Held {
        let mut held = Held {
            calls: self.spans.len(),
            worked: self.worked,
            counted: self.counted,
            ..Held::default()
        };
        let mut fetches = self.fetches.into_iter().peekable();
        for (began, ended) in self.spans {
            held.longest_ns = held.longest_ns.max(ended - began);
            while fetches.next_if(|&(due, _)| due < began).is_some() {}
            while let Some((due, answered)) = fetches.next_if(|&(due, _)| due <= ended) {
                held.latency.record(answered.saturating_sub(due));
            }
        }
        held
    }
}

/// What the committer did so far.
fn worked(engine: &Threaded) -> Worked {
    // The committer hands over what it measured at its next pause, and with each fetch. `quiesce` would do so at once, and
    // make a snapshot of what the call wrote.
    std::thread::sleep(HAND_OVER);
    let latencies = engine.latencies();
    let of = |phase| latencies.get(phase).cloned().unwrap_or_default();
    Worked {
        parts: of(Phase::Part),
        stretches: of(Phase::Stretch),
    }
}

/// Fetches at its moments until the calls ended: when each was due, and when it was answered. What fell due together is
/// answered by one call.
fn fetch(
    engine: &Threaded,
    clock: &SystemClock,
    rate: u64,
    ended: &AtomicBool,
) -> Result<Vec<(u64, u64)>> {
    let mut schedule = Schedule::new(clock.now_ns(), rate);
    let mut fetched = Vec::new();
    // Relaxed: as above.
    while !ended.load(Ordering::Relaxed) {
        wait_until(clock, schedule.next());
        let due = schedule.due(clock.now_ns(), usize::MAX);
        engine.ask(FETCHES, AskCall::default())?;
        let answered = clock.now_ns();
        fetched.extend(due.into_iter().map(|due| (due, answered)));
    }
    Ok(fetched)
}

/// Waits for a moment: sleeps as long as it is far, and spins then.
// It does not yield: Linux takes a yield for the use of a whole slice, and later lets others run for as long.
fn wait_until(clock: &SystemClock, moment: u64) {
    let far = moment.saturating_sub(clock.now_ns() + NEAR_NS);
    if far > 0 {
        std::thread::sleep(Duration::from_nanos(far));
    }
    while clock.now_ns() < moment {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_part_is_the_longest_of_most_calls() {
        let held = Held {
            counted: 10,
            ..Held::default()
        };
        let mut parts = Histogram::new();
        parts.record_n(1_000, 500);
        assert_eq!(held.long_ns(&parts), 1_000);
        parts.record_n(250_000, 3);
        parts.record_n(9_000_000, 1);
        let long = held.long_ns(&parts);
        assert!((249_000..251_000).contains(&long), "{long}");
        assert_eq!(held.long_ns(&Histogram::new()), 0);
    }

    #[test]
    fn fetches_count_that_fell_due_during_a_call() {
        let holds = Holds {
            spans: vec![(10, 20), (40, 50)],
            fetches: vec![(5, 6), (10, 21), (20, 22), (30, 31), (45, 46), (60, 61)],
            ..Holds::new(1, 0)
        };
        let held = holds.into_held();
        assert_eq!(
            (held.calls, held.longest_ns, held.latency.len()),
            (2, 10, 3)
        );
    }
}
