//! The lease of a leader: it is prolonged by a thread, and its end is judged by the clock.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use capsched::sync::{AtomicBool, AtomicU64, Ordering};
use capsched::time::{Clock, SystemClock};

use super::batch::{Store, StoreError, Token};

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
    clock: SystemClock,
    lease: Duration,
    /// When the last call that prolonged it began, by the clock's ns.
    renewed_ns: AtomicU64,
    /// Another process leads.
    fenced: AtomicBool,
    ends: AtomicBool,
}

impl LeaseState {
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

    /// Prolongs a lease that began at a time of the clock.
    pub(crate) fn start(
        store: Arc<dyn Store>,
        token: Token,
        lease: Duration,
        begun_ns: u64,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(LeaseState {
            clock: SystemClock::new(),
            lease,
            renewed_ns: AtomicU64::new(begun_ns),
            fenced: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let builder = thread::Builder::new().name("lease".to_owned());
        let thread = builder.spawn(move || {
            of_thread.prolong(&*store, token);
            // Where this fails, the lease ends by itself.
            let _ = store.resign(token);
        });
        let thread = thread.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
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
