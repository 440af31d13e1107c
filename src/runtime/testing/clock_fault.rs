//! Clock faults: a proposer panics in the midst of a turn, because its clock does.
//!
//! Where every decision is measured, a proposer reads its clock before and after each and before it hands
//! a batch over, so that a reading that panics ends its round at any of these places.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::pipeline::Pipeline;
use crate::metrics::{Collector, Recorder};
use crate::runtime::proposer::stopwatch::Latencies;
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::time::{Clock, ManualClock};

/// What a panic of the clock carries, which differs from one of the engine.
struct Failed;

/// A clock that can be set to panic; clones fail together.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct FailingClock {
    clock: ManualClock,
    /// Readings of nanoseconds until it panics; 0 when it does not.
    left: Arc<AtomicU64>,
}

impl FailingClock {
    pub(in crate::runtime) fn new(clock: ManualClock) -> Self {
        let left = Arc::new(AtomicU64::new(0));
        Self { clock, left }
    }

    /// Lets the reading of that number panic, or none when it is 0.
    fn fail_at(&self, reading: u64) {
        // Relaxed: one thread takes all steps.
        self.left.store(reading, Ordering::Relaxed);
    }
}

impl Clock for FailingClock {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn now_ns(&self) -> u64 {
        // Relaxed: one thread takes all steps.
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 {
            // A panic hook would report what is meant to happen.
            resume_unwind(Box::new(Failed));
        }
        self.clock.now_ns()
    }
}

impl Pipeline {
    /// A turn of a proposer in which it dies when it reads its clock for the `reading`-th time, from 1; how
    /// many decisions it had made and not closed a batch with. Nothing when the turn ended before.
    pub fn die_in_turn(&mut self, proposer: usize, reading: u64) -> Option<usize> {
        let measuring = self.seats[proposer].proposer.measuring_mut();
        measuring.replace(Collector::new().recorder(), Latencies::All);
        measuring.clock().fail_at(reading);
        let turn = catch_unwind(AssertUnwindSafe(|| self.turn(proposer)));
        let own = &mut self.seats[proposer].proposer;
        own.measuring_mut().clock().fail_at(0);
        own.measuring_mut()
            .replace(Recorder::idle(), Latencies::Off);
        match turn {
            Ok(_) => None,
            Err(panic) if panic.is::<Failed>() => {
                let lost = own.undecided();
                self.note_turn(proposer);
                self.restart(proposer);
                Some(lost)
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}
