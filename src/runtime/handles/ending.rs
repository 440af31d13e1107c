//! The end of an engine with threads: asked for, waited for, or brought about by dropping it.

use std::sync::Arc as StdArc;

use super::engine::Threaded;
use crate::snapshot::Snapshot;
use crate::sync::Ended;

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
    pub fn end(&mut self) -> Ended {
        let _ = self.shutdown.request();
        self.wake_monitor();
        let ended = if self.threads.is_empty() {
            Ended::Stopped
        } else {
            self.shutdown.wait()
        };
        for thread in self.threads.drain(..) {
            // A panic of a thread was printed by its own hook; the end is known to be poisoned.
            drop(thread.join());
        }
        ended
    }

    /// The same as [`Threaded::end`], of an engine that nobody reads any more.
    pub fn stop(self) -> Ended {
        self.stop_with_state().0
    }

    /// The same as [`Threaded::stop`], with the state that it ended in; everything that was
    /// answered is in it.
    pub fn stop_with_state(mut self) -> (Ended, StdArc<Snapshot>) {
        (self.end(), self.snapshots.load())
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        let _: Ended = self.end();
    }
}
