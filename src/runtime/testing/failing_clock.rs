//! A clock that can be set to panic.

use std::panic::resume_unwind;

use crate::sync::{Arc, AtomicBool, Ordering};
use crate::time::{Clock, ManualClock};

/// What a panic of the clock carries, which differs from one of the engine.
pub(super) struct ClockFailed;

/// A clock that can be set to panic; clones fail together.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct FailingClock {
    clock: ManualClock,
    /// Whether the next reading of nanoseconds panics.
    fails: Arc<AtomicBool>,
}

impl FailingClock {
    pub(in crate::runtime) fn new(clock: ManualClock) -> Self {
        let fails = Arc::new(AtomicBool::new(false));
        Self { clock, fails }
    }

    /// Lets the next reading panic, or none.
    pub(super) fn set_failing(&self, fails: bool) {
        // Relaxed: one thread takes all steps.
        self.fails.store(fails, Ordering::Relaxed);
    }
}

impl Clock for FailingClock {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn now_ns(&self) -> u64 {
        // Relaxed: one thread takes all steps.
        if self.fails.load(Ordering::Relaxed) {
            // A panic hook would report what is meant to happen.
            resume_unwind(Box::new(ClockFailed));
        }
        self.clock.now_ns()
    }
}
