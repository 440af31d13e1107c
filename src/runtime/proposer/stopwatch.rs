//! Where the time of sampled decisions goes: the steps of a pass, measured with a clock.

use crate::metrics::{Collector, Phase, Recorder};
use crate::proposer::{Step, Watch};
use crate::time::Clock;

/// Whether an engine measures its own latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latencies {
    /// No clock is read for it.
    Off,
    /// Some decisions are measured, at less than a fiftieth of the time.
    #[default]
    Sampled,
    /// Every decision that proposes something is measured as a whole, the steps of some, and every part of the
    /// committer's work: for runs that are looked at, where a sample of few decisions would say nothing.
    All,
}

impl Latencies {
    /// The recorder of one more thread.
    pub(in crate::runtime) fn recorder(self, collector: &mut Collector) -> Recorder {
        match self {
            Self::Off => Recorder::idle(),
            Self::Sampled | Self::All => collector.recorder(),
        }
    }
}

/// The steps of one pass.
pub(in crate::runtime) struct Stopwatch<'a, C> {
    clock: &'a C,
    began_ns: u64,
    last_ns: u64,
    /// Time in each step, in the order of [`STEPS`].
    taken_ns: [u64; STEPS.len()],
}

/// The steps with their phases, in the order of declaration.
const STEPS: [(Step, Phase); 4] = [
    (Step::QueueOrder, Phase::QueueOrder),
    (Step::AppOrder, Phase::AppOrder),
    (Step::Headroom, Phase::Headroom),
    (Step::NodePick, Phase::NodePick),
];

impl<'a, C: Clock> Stopwatch<'a, C> {
    pub(in crate::runtime) fn start(clock: &'a C) -> Self {
        let began_ns = clock.now_ns();
        Self {
            clock,
            began_ns,
            last_ns: began_ns,
            taken_ns: [0; STEPS.len()],
        }
    }

    /// Records the steps that were gone through, and the pass as a whole.
    pub(in crate::runtime) fn record(self, recorder: &mut Recorder) {
        for ((_, phase), ns) in STEPS.into_iter().zip(self.taken_ns) {
            if ns > 0 {
                recorder.record(phase, ns);
            }
        }
        let whole = self.clock.now_ns().saturating_sub(self.began_ns);
        recorder.record(Phase::Propose, whole);
    }
}

impl<C: Clock> Watch for Stopwatch<'_, C> {
    fn ended(&mut self, step: Step) {
        let now_ns = self.clock.now_ns();
        self.taken_ns[step as usize] += now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
    }
}

#[cfg(all(test, not(capsched_loom)))]
mod tests {
    use super::*;
    use crate::time::ManualClock;
    use std::time::Duration;

    #[test]
    fn steps_that_come_again_add_up_and_the_pass_is_their_sum() {
        let clock = ManualClock::at(0);
        let mut watch = Stopwatch::start(&clock);
        for (step, ns) in [
            (Step::QueueOrder, 10),
            (Step::NodePick, 5),
            (Step::QueueOrder, 7),
        ] {
            clock.advance(Duration::from_nanos(ns));
            watch.ended(step);
        }
        let mut collector = Collector::new();
        let mut recorder = Latencies::Sampled.recorder(&mut collector);
        watch.record(&mut recorder);
        recorder.hand_over();
        let found = collector.collect();
        let of = |phase| found.get(phase).map(|histogram| histogram.latency().max);
        assert_eq!(of(Phase::QueueOrder), Some(17));
        assert_eq!((of(Phase::NodePick), of(Phase::AppOrder)), (Some(5), None));
        assert_eq!(of(Phase::Propose), Some(22));
    }

    #[test]
    fn steps_stand_in_their_order() {
        for (i, (step, _)) in STEPS.into_iter().enumerate() {
            assert_eq!(step as usize, i);
        }
    }
}
