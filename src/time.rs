//! Clocks: the only way to ask what time it is.
//!
//! Decisions take time as a value. What must measure or stamp takes a [`Clock`], so that the
//! simulator and the tests choose the time.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_utils::atomic::AtomicCell;

const NS_PER_MS: u64 = 1_000_000;

/// A source of time that never goes back.
///
/// The two readings advance together; they differ in origin and in cost of overflow.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch, as YARN stamps its applications and containers.
    fn now_ms(&self) -> u64;

    /// Nanoseconds since an origin of the clock's own; only differences mean something.
    fn now_ns(&self) -> u64;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now_ms(&self) -> u64 {
        (**self).now_ms()
    }

    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now_ms(&self) -> u64 {
        (**self).now_ms()
    }

    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }
}

/// The machine's clock: the wall time of its making, carried on by the monotonic counter.
///
/// A step of the wall clock after that is not followed, because a deadline must not jump.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: Instant,
    origin_ms: u64,
}

impl SystemClock {
    /// Starts at the present wall time; a wall time before 1970 counts as 1970.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock that everything else takes"
    )]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            origin: Instant::now(),
            origin_ms: wall.map_or(0, |since| saturating_u64(since.as_millis())),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let elapsed = saturating_u64(self.origin.elapsed().as_millis());
        self.origin_ms.saturating_add(elapsed)
    }

    fn now_ns(&self) -> u64 {
        saturating_u64(self.origin.elapsed().as_nanos())
    }
}

/// A clock that moves only when it is set; clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    elapsed_ns: Arc<AtomicCell<u64>>,
    origin_ms: u64,
}

impl ManualClock {
    /// Shows `origin_ms` (milliseconds since the Unix epoch) and zero nanoseconds.
    #[must_use]
    pub fn at(origin_ms: u64) -> Self {
        Self {
            elapsed_ns: Arc::new(AtomicCell::new(0)),
            origin_ms,
        }
    }

    /// Moves all clones forward.
    ///
    /// # Panics
    ///
    /// After 584 years of virtual time, where the nanoseconds would wrap around.
    pub fn advance(&self, by: Duration) {
        let by = saturating_u64(by.as_nanos());
        let before = self.elapsed_ns.fetch_add(by);
        assert!(
            before.checked_add(by).is_some(),
            "virtual time overflowed: {before} ns advanced by {by} ns"
        );
    }

    /// Moves all clones forward to a millisecond; an earlier one leaves the clock where it is.
    pub fn advance_to_ms(&self, ms: u64) {
        let target = ms.saturating_sub(self.origin_ms).saturating_mul(NS_PER_MS);
        self.elapsed_ns.fetch_max(target);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(0)
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.origin_ms
            .saturating_add(self.elapsed_ns.load() / NS_PER_MS)
    }

    fn now_ns(&self) -> u64 {
        self.elapsed_ns.load()
    }
}

fn saturating_u64(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_it_is_set() {
        let clock = ManualClock::at(1_000);
        assert_eq!((clock.now_ms(), clock.now_ns()), (1_000, 0));
        clock.advance(Duration::from_micros(2_500));
        assert_eq!((clock.now_ms(), clock.now_ns()), (1_002, 2_500_000));
    }

    #[test]
    fn clones_of_a_manual_clock_show_the_same_time() {
        let clock = ManualClock::default();
        let shown: Arc<dyn Clock> = Arc::new(clock.clone());
        clock.advance(Duration::from_secs(1));
        assert_eq!(shown.now_ms(), 1_000);
    }

    #[test]
    fn advancing_to_an_earlier_millisecond_changes_nothing() {
        let clock = ManualClock::at(50);
        clock.advance_to_ms(80);
        clock.advance_to_ms(60);
        assert_eq!(clock.now_ms(), 80);
        clock.advance_to_ms(10);
        assert_eq!(clock.now_ms(), 80);
    }

    #[test]
    #[should_panic(expected = "virtual time overflowed")]
    fn a_manual_clock_refuses_to_wrap_around() {
        let clock = ManualClock::default();
        clock.advance(Duration::from_nanos(u64::MAX));
        clock.advance(Duration::from_nanos(1));
    }

    #[test]
    fn the_system_clock_never_goes_back() {
        let clock = SystemClock::new();
        let (first_ms, first_ns) = (clock.now_ms(), clock.now_ns());
        assert!(clock.now_ms() >= first_ms);
        assert!(clock.now_ns() >= first_ns);
    }
}
