//! What the committer knows of a proposer without a message: whether it rests, or waits.

use crate::id::Version;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};

/// Where a proposer stands, shared between it and the committer.
#[derive(Debug)]
pub(super) struct Standing {
    /// The version at which it last found nothing to do.
    idle_at: AtomicU64,
    /// Whether it waits for a snapshot that shows all that it sent.
    waiting: AtomicBool,
}

impl Standing {
    /// Of a proposer that has not looked at anything yet.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            idle_at: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
        })
    }

    /// It found nothing to do at a version.
    pub(super) fn rest(&self, version: Version) {
        // Release: pairs with the Acquire in `has_seen`.
        self.idle_at.store(version.0, Ordering::Release);
    }

    /// It stays away; nobody waits for it.
    pub(super) fn leave(&self) {
        self.rest(Version(u64::MAX));
    }

    /// It is back from where it stayed away.
    pub(super) fn come_back(&self) {
        self.rest(Version(0));
    }

    /// Whether it looked at a version, or a later one, and found nothing.
    pub(super) fn has_seen(&self, version: Version) -> bool {
        // Acquire: pairs with the Release in `rest`.
        self.idle_at.load(Ordering::Acquire) >= version.0
    }

    /// Says whether it waits for what it sent to be published.
    pub(super) fn set_waiting(&self, waiting: bool) {
        // Relaxed: a hint; the committer publishes soon in any case.
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Whether it waits for what it sent to be published.
    pub(super) fn is_waiting(&self) -> bool {
        // Relaxed: as in `set_waiting`.
        self.waiting.load(Ordering::Relaxed)
    }
}
