//! Deaths in a turn: a proposer panics before one of its decisions, because its clock does.
//!
//! # What
//!
//! A proposer reads its clock where it begins a decision whose steps are measured, and where it hands over a batch
//! that is measured on its way. [`Pipeline::die_in_turn`] has the decision measured at which the proposer dies.
//!
//! # Why
//!
//! A fast path reads the clock less often than the passes that it replaces. A reading with a number would end the
//! turn after more decisions there, and whole runs could not be compared. Decisions are the same on each path.
//!
//! Tests: `tests/simulation/fast_paths.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::failing_clock::ClockFailed;
use super::pipeline::Pipeline;
use crate::metrics::{Collector, Recorder};
use crate::runtime::proposer::stopwatch::Latencies;

impl Pipeline {
    /// A turn of a proposer in which it dies before its decision of that number, from 1, or as it hands over a batch
    /// that is measured, should that come first. Passes that find nothing are decisions, too.
    ///
    /// How many decisions it had made and not closed a batch with; nothing when the turn ended before.
    pub fn die_in_turn(&mut self, proposer: usize, decision: u8) -> Option<usize> {
        let measuring = self.seats[proposer].proposer.measuring_mut();
        measuring.replace(Collector::new().recorder(), Latencies::Sampled);
        measuring.measure_ahead(decision);
        measuring.clock().set_failing(true);
        let turn = catch_unwind(AssertUnwindSafe(|| self.turn(proposer)));
        let own = &mut self.seats[proposer].proposer;
        own.measuring_mut().clock().set_failing(false);
        own.measuring_mut()
            .replace(Recorder::idle(), Latencies::Off);
        match turn {
            Ok(_) => None,
            Err(panic) if panic.is::<ClockFailed>() => {
                let lost = own.undecided();
                self.note_turn(proposer);
                self.restart(proposer);
                Some(lost)
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}
