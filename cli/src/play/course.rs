//! The course of latencies over a run: intervals of wall time, at most so many.

use std::time::Duration;

use capsched::metrics::{HistogramSet, Interval, Phase};

/// Most intervals that are kept; with more, two neighbours become one.
const INTERVALS: usize = 120;

/// Width of an interval at first, in ns. Each one costs a copy of all histograms.
const FIRST_NS: u64 = 250_000_000;

/// Intervals of a run so far.
#[derive(Debug)]
pub(super) struct Course {
    began_ns: u64,
    /// Begin of the interval that goes on.
    from_ns: u64,
    width_ns: u64,
    /// What was recorded before it.
    known: HistogramSet<Phase>,
    intervals: Vec<Interval<Phase>>,
}

impl Course {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            began_ns: now_ns,
            from_ns: now_ns,
            width_ns: FIRST_NS,
            known: HistogramSet::new(),
            intervals: Vec::new(),
        }
    }

    /// Whether the interval that goes on is as long as it gets.
    pub(super) const fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.from_ns.saturating_add(self.width_ns)
    }

    /// Ends the interval; `all` is what was recorded so far.
    pub(super) fn end(&mut self, now_ns: u64, all: HistogramSet<Phase>) {
        let start = self.from_ns.saturating_sub(self.began_ns);
        self.intervals.push(Interval {
            start: Duration::from_nanos(start),
            length: Duration::from_nanos(now_ns.saturating_sub(self.from_ns)),
            latencies: all.since(&self.known),
        });
        (self.known, self.from_ns) = (all, now_ns);
        if self.intervals.len() >= INTERVALS {
            self.halve();
        }
    }

    /// Two neighbours become one, and further intervals are as long as they are.
    fn halve(&mut self) {
        let mut merged: Vec<Interval<Phase>> = Vec::with_capacity(INTERVALS);
        for (at, interval) in std::mem::take(&mut self.intervals).into_iter().enumerate() {
            match merged.last_mut().filter(|_| at % 2 == 1) {
                Some(last) => {
                    last.length += interval.length;
                    last.latencies.merge(&interval.latencies);
                }
                None => merged.push(interval),
            }
        }
        self.intervals = merged;
        self.width_ns = self.width_ns.saturating_mul(2);
    }

    /// All intervals, with the last one up to now.
    pub(super) fn finish(mut self, now_ns: u64, all: HistogramSet<Phase>) -> Vec<Interval<Phase>> {
        self.end(now_ns, all);
        self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_few_and_hold_everything_once() {
        let mut all = HistogramSet::new();
        let mut course = Course::new(7);
        for at in 1..=1_000 {
            all.record_n(Phase::Apply, at, 2);
            let now_ns = 7 + at * FIRST_NS;
            if course.is_due(now_ns) {
                course.end(now_ns, all.clone());
            }
        }
        all.record_n(Phase::Propose, 5, 1);
        let intervals = course.finish(7 + 1_001 * FIRST_NS, all.clone());
        assert!((INTERVALS / 2..=INTERVALS).contains(&intervals.len()));
        let mut sum = HistogramSet::new();
        let mut end = Duration::ZERO;
        for interval in &intervals {
            assert_eq!(interval.start, end);
            end += interval.length;
            sum.merge(&interval.latencies);
        }
        assert_eq!(end, Duration::from_nanos(1_001 * FIRST_NS));
        for phase in [Phase::Apply, Phase::Propose] {
            let of = |set: &HistogramSet<Phase>| set.get(phase).map(|one| one.latency());
            assert_eq!(of(&sum), of(&all));
        }
    }
}
