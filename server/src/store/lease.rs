//! The lease of a leader: it is prolonged by a thread, and its end is judged by the clock.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::sync::{AtomicBool, AtomicU64, Ordering};

use super::batch::{Store, StoreError, Token};
use crate::clock::SharedClock;

/// How long a leader waits for the answer to one renewal. With the rests of its thread a second renewal then begins, and
/// is waited for, before the lease counts as ended.
#[cfg(any(test, feature = "etcd", feature = "zookeeper"))]
pub(super) fn renewal_patience(lease: Duration) -> Duration {
    lease / 32 * 9
}

/// Between a renewal that was answered and the next one.
fn between_renewals(lease: Duration) -> Duration {
    lease / 8
}

/// Between a renewal that failed and the next one.
fn after_a_failure(lease: Duration) -> Duration {
    lease / 64
}

/// How long after the beginning of the last renewal a leader leads. Three quarters of the lease, so that clocks may
/// differ.
fn trusted(lease: Duration) -> Duration {
    lease / 4 * 3
}

/// Prolongs the lease of a leader until it is dropped; then it resigns.
#[derive(Debug)]
pub(crate) struct LeaseKeeper {
    shared: Arc<LeaseState>,
    thread: Option<thread::JoinHandle<()>>,
}

/// What is known of a lease.
#[derive(Debug)]
struct LeaseState {
    clock: SharedClock,
    lease: Duration,
    /// When the last call that prolonged it began, by the clock's ns.
    renewed_ns: AtomicU64,
    /// Another process leads.
    fenced: AtomicBool,
    ends: AtomicBool,
}

impl LeaseState {
    /// The state of a lease that a call brings, which counts from the beginning of the call.
    fn begun_by<E>(
        clock: SharedClock,
        lease: Duration,
        lead: impl FnOnce() -> Result<Token, E>,
    ) -> Result<(Token, Self), E> {
        let begun_ns = clock.now_ns();
        let token = lead()?;
        let state = Self {
            clock,
            lease,
            renewed_ns: AtomicU64::new(begun_ns),
            fenced: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        };
        Ok((token, state))
    }

    /// Whether another process may lead.
    fn may_have_ended(&self) -> bool {
        let patience = u64::try_from(trusted(self.lease).as_nanos()).unwrap_or(u64::MAX);
        let since_ns = self.renewed_ns.load(Ordering::Relaxed);
        // Relaxed: the store refuses what comes too late, whoever sees this when.
        self.fenced.load(Ordering::Relaxed)
            || self.clock.now_ns().saturating_sub(since_ns) > patience
    }

    /// Prolongs the lease until the end is wanted, or until another process leads.
    fn prolong(&self, store: &dyn Store, token: Token) {
        while !self.ends.load(Ordering::Relaxed) && !self.fenced.load(Ordering::Relaxed) {
            let begun_ns = self.clock.now_ns();
            let rest = match store.renew(token) {
                Ok(()) => {
                    self.renewed_ns.store(begun_ns, Ordering::Relaxed);
                    between_renewals(self.lease)
                }
                Err(error) => {
                    tracing::error!(%error, "the lease could not be prolonged");
                    let fenced = error == StoreError::Fenced;
                    self.fenced.store(fenced, Ordering::Relaxed);
                    after_a_failure(self.lease)
                }
            };
            thread::park_timeout(rest);
        }
    }
}

impl LeaseKeeper {
    /// Whether another process may lead.
    pub(crate) fn may_have_ended(&self) -> bool {
        self.shared.may_have_ended()
    }

    /// Leads a store, and prolongs the lease from then on. The lease counts from the beginning of the call.
    ///
    /// # Errors
    ///
    /// [`StoreError::Led`] while another process leads, or that the store failed.
    pub(crate) fn lead(
        store: Arc<dyn Store>,
        who: &str,
        lease: Duration,
        clock: SharedClock,
    ) -> Result<(Token, Self), StoreError> {
        let (token, state) = LeaseState::begun_by(clock, lease, || store.lead(who, lease))?;
        let shared = Arc::new(state);
        let of_thread = Arc::clone(&shared);
        let builder = thread::Builder::new().name("lease".to_owned());
        let thread = builder.spawn(move || {
            of_thread.prolong(&*store, token);
            // Where this fails, the lease ends by itself.
            let _ = store.resign(token);
        });
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        let keeper = Self {
            shared,
            thread: Some(thread),
        };
        Ok((token, keeper))
    }
}

impl Drop for LeaseKeeper {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Its panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::testing::SteppedClock;

    const LEASE: Duration = Duration::from_secs(8);
    const YEAR_MS: u64 = 365 * 24 * 3_600_000;
    const NOW_MS: u64 = 50 * YEAR_MS;

    /// A lease that a call of so long brought.
    fn begun(clock: &Arc<SteppedClock>, call: Duration) -> LeaseState {
        let lead = || {
            clock.advance(call);
            Ok::<_, StoreError>(Token(1))
        };
        let (token, state) = LeaseState::begun_by(clock.shared(), LEASE, lead).unwrap();
        assert_eq!(token, Token(1));
        state
    }

    #[test]
    fn a_step_of_the_wall_clock_neither_ends_a_lease_nor_prolongs_it() {
        let clock = SteppedClock::at(NOW_MS);
        let state = begun(&clock, Duration::ZERO);
        let steps = [NOW_MS + YEAR_MS, NOW_MS - YEAR_MS, 0, u64::MAX, NOW_MS];
        let ended_after = |wall_ms: u64| {
            clock.set(wall_ms);
            state.may_have_ended()
        };
        assert_eq!(steps.map(ended_after), [false; 5]);
        clock.advance(trusted(LEASE));
        assert_eq!(steps.map(ended_after), [false; 5]);
        clock.advance(Duration::from_nanos(1));
        assert_eq!(steps.map(ended_after), [true; 5]);
    }

    #[test]
    fn a_lease_counts_from_the_beginning_of_the_call_that_brought_it() {
        let clock = SteppedClock::at(NOW_MS);
        clock.advance(Duration::from_secs(100));
        assert!(!begun(&clock, trusted(LEASE)).may_have_ended());
        assert!(begun(&clock, trusted(LEASE) + Duration::from_nanos(1)).may_have_ended());
    }

    #[test]
    fn a_renewal_that_is_not_answered_leaves_time_for_a_second_one() {
        for lease_ms in [64, 1_000, 1_500, 10_000, 60_000] {
            let lease = Duration::from_millis(lease_ms);
            let one = renewal_patience(lease);
            // From the beginning of the last renewal that was answered.
            let second_ends = between_renewals(lease) + one + after_a_failure(lease) + one;
            // The rest is for the answer to the last one, which delays the next one.
            let left = trusted(lease).saturating_sub(second_ends);
            assert!(left >= lease / 32, "{lease:?}: {left:?}");
        }
    }
}
