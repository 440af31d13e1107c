//! What a proposer measures of itself: some decisions as a whole, fewer step by step.
//!
//! Tests: `tests/runtime/threads.rs`.

use super::stopwatch::{Latencies, Stopwatch};
use crate::fast_path::{PlantedFlaw, is_planted};
use crate::metrics::{Phase, Recorder};
use crate::proposer::{Observation, Outcome, Watch};
use crate::time::Clock;

/// One decision in so many is timed.
pub(super) const SAMPLE: u32 = 512;

/// Rounds after which the clock is asked whether latencies are to be handed over.
const ROUNDS: u32 = 256;

/// How long a busy proposer keeps its latencies, in ns: adding them takes as long as a thousand decisions.
const HAND_OVER_NS: u64 = 100_000_000;

/// The clock of a proposer and what it records.
pub(in crate::runtime) struct Measuring<C> {
    clock: C,
    recorder: Recorder,
    latencies: Latencies,
    /// Decisions and rounds so far, for sampling.
    decisions: u32,
    rounds: u32,
    /// When latencies were handed over between two rounds, in ns.
    handed_ns: u64,
}

impl<C> Measuring<C> {
    pub(in crate::runtime) fn new(clock: C, recorder: Recorder, latencies: Latencies) -> Self {
        Self {
            clock,
            recorder,
            latencies,
            decisions: 0,
            rounds: 0,
            handed_ns: 0,
        }
    }

    pub(in crate::runtime) fn clock(&self) -> &C {
        &self.clock
    }

    /// Measures otherwise from now on.
    pub(in crate::runtime) fn replace(&mut self, recorder: Recorder, latencies: Latencies) {
        (self.recorder, self.latencies) = (recorder, latencies);
    }

    /// Whether anything is measured.
    pub(super) fn is_active(&self) -> bool {
        self.recorder.is_active()
    }

    /// Hands over what was recorded.
    pub(super) fn hand_over(&mut self) {
        self.recorder.hand_over();
    }

    /// Measures the steps of the decision that many ahead, from 1, and of one in [`SAMPLE`] from there.
    pub(in crate::runtime) fn measure_ahead(&mut self, decision: u8) {
        self.decisions = SAMPLE - u32::from(decision.max(1));
    }

    /// Decisions that can be made before the next one whose steps are measured.
    pub(super) fn unmeasured(&self) -> u32 {
        SAMPLE - 1 - self.decisions % SAMPLE
    }
}

impl<C: Clock> Measuring<C> {
    /// The time if a batch is measured on its way, in ns.
    pub(super) fn sent_ns(&self, sampled: bool) -> Option<u64> {
        let measured = self.recorder.is_active() && sampled;
        measured.then(|| self.clock.now_ns())
    }

    /// Hands over latencies after a round, when it is time.
    pub(super) fn end_round(&mut self) {
        self.rounds = self.rounds.wrapping_add(1);
        if !self.recorder.is_active() || !self.rounds.is_multiple_of(ROUNDS) {
            return;
        }
        let now_ns = self.clock.now_ns();
        if now_ns.saturating_sub(self.handed_ns) >= HAND_OVER_NS {
            self.handed_ns = now_ns;
            self.recorder.hand_over();
        }
    }

    /// Decides, and records where the time went for some of the decisions. `seen` is passed on.
    pub(super) fn timed(
        &mut self,
        seen: &mut Vec<Observation>,
        decide: impl FnOnce(&mut Vec<Observation>, Option<&mut dyn Watch>) -> Outcome,
    ) -> Outcome {
        self.decisions = self.decisions.wrapping_add(1);
        if !self.recorder.is_active() {
            return decide(seen, None);
        }
        if !self.decisions.is_multiple_of(SAMPLE) {
            if self.latencies != Latencies::All {
                return decide(seen, None);
            }
            let before = self.clock.now_ns();
            let outcome = decide(seen, None);
            if matches!(outcome, Outcome::Proposed(_)) {
                let took = self.clock.now_ns().saturating_sub(before);
                self.recorder.record(Phase::Propose, took);
            }
            return outcome;
        }
        let mut watch = Stopwatch::start(&self.clock);
        let outcome = decide(seen, Some(&mut watch));
        if matches!(outcome, Outcome::Proposed(_)) {
            watch.record(&mut self.recorder);
        }
        outcome
    }

    /// Makes one decision by `place`, which returns how many it made, and measures its steps; whether it
    /// was made.
    pub(super) fn watched(&mut self, place: impl FnOnce(&mut dyn Watch) -> usize) -> bool {
        // Counted before, as everywhere: should it panic, the next one is not measured again.
        self.decisions = self.decisions.wrapping_add(1);
        let mut watch = Stopwatch::start(&self.clock);
        if place(&mut watch) == 0 {
            // It takes a whole pass, which is measured instead.
            self.decisions = self.decisions.wrapping_sub(1);
            return false;
        }
        watch.record(&mut self.recorder);
        true
    }

    /// Makes decisions by `place`, which returns how many it made; each is recorded with an equal part of
    /// the time if all decisions are measured.
    pub(super) fn unwatched(&mut self, place: impl FnOnce() -> usize) -> u32 {
        let all = self.latencies == Latencies::All;
        let before = if all { self.clock.now_ns() } else { 0 };
        let placed = u32::try_from(place()).expect("no more than a batch holds");
        if all && placed > 0 {
            let took = self.clock.now_ns().saturating_sub(before) / u64::from(placed);
            (0..placed).for_each(|_| self.recorder.record(Phase::Propose, took));
        }
        let counted = if is_planted(PlantedFlaw::BulkPlacementCountsOneDecision) {
            placed.min(1)
        } else {
            placed
        };
        self.decisions = self.decisions.wrapping_add(counted);
        placed
    }
}
