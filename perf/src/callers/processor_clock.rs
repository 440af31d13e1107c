//! A clock of which the nanoseconds are the processor time of the thread that reads it.
//!
//! By it the engine measures its turns without the time in which the machine or its neighbours had the core. Readings of
//! two threads have nothing in common; a turn is on one thread.

use capsched::time::{Clock, SystemClock};
use rustix::time::{ClockId, clock_gettime};

/// Processor time in ns, and the wall time in ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessorClock(SystemClock);

impl ProcessorClock {
    pub(super) fn new() -> Self {
        Self(SystemClock::new())
    }
}

impl Clock for ProcessorClock {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn now_ns(&self) -> u64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let (seconds, ns) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
        seconds * 1_000_000_000 + ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_uses_less_time_than_passes() {
        let (clock, wall) = (ProcessorClock::new(), SystemClock::new());
        // The readings of the wall clock stand between those of the other one.
        let (used, passed) = (clock.now_ns(), wall.now_ns());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let passed = wall.now_ns() - passed;
        let slept = clock.now_ns();
        assert!(slept - used < passed);
        // It advances while the thread works.
        while clock.now_ns() == slept {}
    }
}
