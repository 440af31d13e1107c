//! A clock that stands still until it fails.

use capsched::sync::{Arc, AtomicBool, Ordering};
use capsched::time::Clock;

/// Stands at 0 ms until it is made to fail; every reading panics from then on. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailingClock(Arc<AtomicBool>);

impl FailingClock {
    pub(crate) fn fail(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn read(&self) -> u64 {
        assert!(!self.0.load(Ordering::SeqCst), "the clock has failed");
        0
    }
}

impl Clock for FailingClock {
    fn now_ms(&self) -> u64 {
        self.read()
    }

    fn now_ns(&self) -> u64 {
        self.read()
    }
}
