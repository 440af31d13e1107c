//! A watch over seeds that run: one that takes too long is named.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use capsched::sync::Mutex;
use capsched::time::{Clock, SystemClock};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Seeds that run, with the moments at which they began.
#[derive(Debug)]
pub(crate) struct Watchdog {
    clock: SystemClock,
    /// Longest time of one run of a seed in ns; nothing to wait for ever.
    limit_ns: Option<u64>,
    running: Mutex<BTreeMap<u64, u64>>,
}

impl Watchdog {
    /// A watch that allows a seed so many seconds; 0 allows any time.
    pub(crate) fn new(seconds: u64) -> Self {
        Self {
            clock: SystemClock::new(),
            limit_ns: (seconds > 0).then(|| seconds.saturating_mul(1_000_000_000)),
            running: Mutex::new(BTreeMap::new()),
        }
    }

    /// Runs a seed under the watch. No seed runs twice at once.
    pub(crate) fn seed<T>(&self, seed: u64, run: impl FnOnce() -> T) -> T {
        self.running().insert(seed, self.clock.now_ns());
        let result = run();
        self.running().remove(&seed);
        result
    }

    /// Does the work; calls back with a seed that takes too long.
    pub(crate) fn watching<T>(
        &self,
        stuck: impl Fn(u64) + Send + Sync,
        work: impl FnOnce() -> T,
    ) -> T {
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if let Some(seed) = self.overdue(self.clock.now_ns()) {
                        stuck(seed);
                    }
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    /// The seed that runs longest, when that is too long at `now_ns`.
    fn overdue(&self, now_ns: u64) -> Option<u64> {
        let limit = self.limit_ns?;
        let running = self.running();
        let (seed, began) = running.iter().min_by_key(|(_, began)| **began)?;
        (now_ns.saturating_sub(*began) > limit).then_some(*seed)
    }

    fn running(&self) -> capsched::sync::MutexGuard<'_, BTreeMap<u64, u64>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_that_runs_longest_is_named_once_it_takes_too_long() {
        let watchdog = Watchdog::new(10);
        let second = 1_000_000_000;
        watchdog
            .running()
            .extend([(7, 5 * second), (9, 2 * second)]);
        assert_eq!(watchdog.overdue(12 * second), None);
        assert_eq!(watchdog.overdue(12 * second + 1), Some(9));
        watchdog.running().remove(&9);
        assert_eq!(watchdog.overdue(15 * second), None);
        assert_eq!(Watchdog::new(0).overdue(u64::MAX), None);
    }

    #[test]
    fn a_seed_is_watched_while_it_runs() {
        let watchdog = Watchdog::new(1);
        let seen = watchdog.seed(3, || watchdog.overdue(u64::MAX));
        assert_eq!(seen, Some(3));
        assert_eq!(watchdog.overdue(u64::MAX), None);
        assert_eq!(watchdog.watching(|_| (), || 5), 5);
    }
}
