//! The end of an engine with threads: asked for, waited for, or brought about by dropping it.
//!
//! Tests: `tests/runtime/panics.rs`.

use std::sync::Arc as StdArc;

use super::engine::Threaded;
use crate::runtime::panics::PanicCause;
use crate::snapshot::Snapshot;
use crate::sync::Ended;

/// How an engine with threads ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum EngineEnd {
    /// Every accepted call was answered.
    Stopped,
    /// The committer panicked before it had answered them all; those that waited were refused as closed.
    Poisoned(PanicCause),
}

impl Threaded {
    /// Asks for the end and returns at once: commands that were accepted are still answered, later
    /// ones are refused as closed.
    pub fn request_stop(&self) {
        let _ = self.shutdown.request();
        self.wake_monitor();
    }

    /// Ends the engine: every accepted command has its answer, all threads are joined.
    /// What was delivered, measured and published up to then stays readable. Events that found no room in
    /// the queue of events are handed over behind those that did.
    pub fn end(&mut self) -> EngineEnd {
        let _ = self.shutdown.request();
        self.wake_monitor();
        let ended = if self.threads.is_empty() {
            Ended::Stopped
        } else {
            self.shutdown.wait()
        };
        for thread in self.threads.drain(..) {
            // A panic of a thread was printed by its own hook; its cause is noted.
            drop(thread.join());
        }
        match ended {
            Ended::Stopped => EngineEnd::Stopped,
            Ended::Poisoned => EngineEnd::Poisoned(self.panics.fatal()),
        }
    }

    /// The same as [`Threaded::end`], of an engine that nobody reads any more.
    pub fn stop(self) -> EngineEnd {
        self.stop_with_state().0
    }

    /// The same as [`Threaded::stop`], with the state that it ended in; everything that was
    /// answered is in it.
    pub fn stop_with_state(mut self) -> (EngineEnd, StdArc<Snapshot>) {
        (self.end(), self.snapshots.load())
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        let _: EngineEnd = self.end();
    }
}
