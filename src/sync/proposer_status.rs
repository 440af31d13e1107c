//! Where a proposer stands, told without a message: whether it rests, or waits.
//!
//! # Protocol
//!
//! 1. A proposer that found nothing to do has sent all that it decided before. It says at which
//!    version it looked, then wakes the committer.
//! 2. The committer takes everything for quiet when all proposers rest at the version in question
//!    and, looked at afterwards, no ring has anything: what was sent by one who rests by then is
//!    seen in its ring.

use crate::id::Version;
use crate::sync::mutant::weakened;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutant, Ordering, RingReceiver, Waker, injected};

/// Where a proposer stands, shared between it and the committer.
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
    pub fn rest(&self, version: Version) {
        if injected(Mutant::QuietWakeBeforeIdle) {
            self.committer.wake();
            return self.stand_at(version);
        }
        self.stand_at(version);
        self.committer.wake();
    }

    fn stand_at(&self, version: Version) {
        // Release: pairs with the Acquire in `has_seen`; what was sent before is in the ring.
        let order = weakened(Mutant::QuietIdleRelaxed, Ordering::Release);
        self.idle_at.store(version.0, order);
    }

    /// It stays away; nobody waits for it.
    pub fn leave(&self) {
        self.rest(Version(u64::MAX));
    }

    /// It is back from where it stayed away.
    pub fn come_back(&self) {
        self.stand_at(Version(0));
    }

    /// Whether it looked at a version, or a later one, and found nothing.
    #[must_use]
    pub fn has_seen(&self, version: Version) -> bool {
        // Acquire: pairs with the Release in `stand_at`.
        self.idle_at.load(Ordering::Acquire) >= version.0
    }

    /// Says whether it waits for what it sent to be published.
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

/// Whether every proposer rests at a version, or a later one, and nothing that it sent is left in its
/// ring.
#[must_use]
pub fn is_quiet<T>(
    standings: &[Arc<ProposerStatus>],
    rings: &[RingReceiver<T>],
    version: Version,
) -> bool {
    let all_rest = || standings.iter().all(|standing| standing.has_seen(version));
    let none_has_news = || !rings.iter().any(RingReceiver::has_news);
    if injected(Mutant::QuietRingsFirst) {
        return none_has_news() && all_rest();
    }
    // In this order: a proposer may send and come to rest between the two looks.
    all_rest() && none_has_news()
}
