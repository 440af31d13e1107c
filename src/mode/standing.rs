//! What the committer knows of a proposer without a message: whether it rests, or waits.

use crate::id::Version;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, SPINS};

/// How much longer the committer waits for the next batch of a busy sole proposer before it
/// publishes what it has.
const WHILE_BUSY: u32 = 8;

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

/// Looks for work in vain before the committer publishes what no snapshot shows yet: none while a
/// proposer waits for something that `landed` since the last one, and more while a sole proposer is
/// busy with `news`, which needs no snapshot.
pub(super) fn patience(
    standings: &[Arc<Standing>],
    landed: impl Fn(usize) -> bool,
    news: Version,
) -> u32 {
    let mut numbered = standings.iter().enumerate();
    if numbered.any(|(i, standing)| standing.is_waiting() && landed(i)) {
        return 0;
    }
    match standings {
        [sole] if !sole.has_seen(news) => WHILE_BUSY * SPINS,
        _ => SPINS,
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_committer_publishes_at_once_only_for_one_that_waits_for_what_landed() {
        let standings = [Standing::new(), Standing::new()];
        let news = Version(3);
        assert_eq!(patience(&standings, |_| true, news), SPINS, "nobody waits");
        standings[1].set_waiting(true);
        assert_eq!(patience(&standings, |i| i == 1, news), 0, "it landed");
        assert_eq!(patience(&standings, |i| i == 0, news), SPINS, "another's");
        standings[1].set_waiting(false);
        assert_eq!(patience(&standings, |_| true, news), SPINS, "it has it");
    }

    #[test]
    fn it_waits_longer_only_for_a_sole_proposer_that_is_busy() {
        let sole = [Standing::new()];
        let news = Version(3);
        assert_eq!(patience(&sole, |_| true, news), WHILE_BUSY * SPINS, "busy");
        sole[0].set_waiting(true);
        assert_eq!(patience(&sole, |_| true, news), 0, "waits");
        sole[0].set_waiting(false);
        sole[0].rest(Version(2));
        assert_eq!(
            patience(&sole, |_| true, news),
            WHILE_BUSY * SPINS,
            "rested before the news"
        );
        sole[0].rest(news);
        assert_eq!(patience(&sole, |_| true, news), SPINS, "rests");
        sole[0].come_back();
        sole[0].leave();
        assert_eq!(patience(&sole, |_| true, news), SPINS, "stays away");
    }
}
