//! The clock of a part of the server, and for tests a machine whose wall clock jumps.
//!
//! Leases and rates count nanoseconds, which no step of the wall clock changes.

use std::fmt;
use std::sync::Arc;

use capsched::time::{Clock, SystemClock};

/// A clock that parts share. It can be shown.
#[derive(Clone)]
pub(crate) struct SharedClock(Arc<dyn Clock>);

impl SharedClock {
    /// Shares a clock.
    pub(crate) fn of(clock: Arc<dyn Clock>) -> Self {
        Self(clock)
    }

    /// The machine's clock.
    pub(crate) fn system() -> Self {
        Self(Arc::new(SystemClock::new()))
    }

    /// Nanoseconds since an origin of its own; they never go back and never jump.
    pub(crate) fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    /// Milliseconds since the Unix epoch, as of the wall clock.
    pub(crate) fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }
}

impl fmt::Debug for SharedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::time::Duration;

    use capsched::sync::{AtomicU64, Ordering};
    use capsched::time::ManualClock;

    use super::*;

    /// A machine whose wall clock is set while its counter goes on.
    #[derive(Debug)]
    pub(crate) struct SteppedClock {
        counter: ManualClock,
        wall_ms: AtomicU64,
    }

    impl SteppedClock {
        /// A wall clock that shows a time in ms since the Unix epoch.
        pub(crate) fn at(wall_ms: u64) -> Arc<Self> {
            Arc::new(Self {
                counter: ManualClock::default(),
                wall_ms: AtomicU64::new(wall_ms),
            })
        }

        /// Sets the wall clock, forwards or backwards.
        pub(crate) fn set(&self, wall_ms: u64) {
            self.wall_ms.store(wall_ms, Ordering::Relaxed);
        }

        /// Time passes.
        pub(crate) fn advance(&self, by: Duration) {
            self.counter.advance(by);
        }

        /// The same clock as a part of the server has it.
        pub(crate) fn shared(self: &Arc<Self>) -> SharedClock {
            SharedClock::of(Arc::clone(self) as Arc<dyn Clock>)
        }
    }

    impl Clock for SteppedClock {
        fn now_ms(&self) -> u64 {
            self.wall_ms.load(Ordering::Relaxed)
        }

        fn now_ns(&self) -> u64 {
            self.counter.now_ns()
        }
    }
}
