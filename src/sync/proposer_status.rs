//! The status of a proposer, shared without a message: whether it is idle, or waits for a snapshot.
//!
//! # Protocol
//!
//! 1. A proposer that found nothing to do has sent all that it decided before. It stores the version
//!    that it looked at, then wakes the committer.
//! 2. The engine is quiet if all proposers are idle at the version in question and afterwards no ring
//!    holds anything: what an idle proposer sent is visible in its ring by then.

use crate::id::Version;
use crate::sync::mutant::weakened;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutant, Ordering, RingReceiver, Waker, injected};

/// The status of a proposer, shared between it and the committer.
#[derive(Debug)]
pub struct ProposerStatus {
    /// The version at which it last found nothing to do. Written by the proposer only.
    idle_at: AtomicU64,
    /// Whether it waits for a snapshot that shows all that it sent.
    waiting: AtomicBool,
    committer: Waker,
}

impl ProposerStatus {
    /// Of a proposer that has not looked at anything yet.
    #[must_use]
    pub fn new(committer: Waker) -> Arc<Self> {
        Arc::new(Self {
            idle_at: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
            committer,
        })
    }

    /// It found nothing to do at a version.
    pub fn set_idle(&self, version: Version) {
        if injected(Mutant::QuietWakeBeforeIdle) {
            self.committer.wake();
            return self.store(version);
        }
        self.store(version);
        self.committer.wake();
    }

    fn store(&self, version: Version) {
        // Release: pairs with the Acquire in `is_idle_at`; what was sent before is in the ring.
        let order = weakened(Mutant::QuietIdleRelaxed, Ordering::Release);
        self.idle_at.store(version.0, order);
    }

    /// It backs off: it counts as idle at every version.
    pub fn back_off(&self) {
        self.set_idle(Version(u64::MAX));
    }

    /// It ends its backoff.
    pub fn resume(&self) {
        self.store(Version(0));
    }

    /// Whether it looked at a version, or a later one, and found nothing.
    #[must_use]
    pub fn is_idle_at(&self, version: Version) -> bool {
        // Acquire: pairs with the Release in `store`.
        self.idle_at.load(Ordering::Acquire) >= version.0
    }

    /// Stores whether it waits for what it sent to be published.
    pub fn set_waiting(&self, waiting: bool) {
        // Relaxed: a hint; the committer publishes soon in any case.
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Whether it waits for what it sent to be published.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        // Relaxed: as in `set_waiting`.
        self.waiting.load(Ordering::Relaxed)
    }
}

/// Whether every proposer is idle at a version, or a later one, and nothing that it sent is left in its
/// ring.
#[must_use]
pub fn is_quiet<T>(
    statuses: &[Arc<ProposerStatus>],
    rings: &[RingReceiver<T>],
    version: Version,
) -> bool {
    let all_idle = || statuses.iter().all(|status| status.is_idle_at(version));
    let none_has_news = || !rings.iter().any(RingReceiver::has_news);
    if injected(Mutant::QuietRingsFirst) {
        return none_has_news() && all_idle();
    }
    // In this order: a proposer may send and become idle between the two looks.
    all_idle() && none_has_news()
}
