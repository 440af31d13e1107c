//! Publish backoff: how long the committer looks for work before it publishes, by what its proposers do.
//!
//! A publication copies every row that was written since the last one, so that a few more decisions in one
//! snapshot are cheaper than another snapshot. A proposer that waits for its decisions to land gets it at once.

use crate::id::Version;
use crate::sync::{Arc, ProposerStatus, SPINS};

/// How much longer the committer waits for the next batch of a busy sole proposer before it
/// publishes what it has.
const WHILE_BUSY: u32 = 8;

/// Looks for work in vain before the committer publishes what no snapshot shows yet: none while a
/// proposer waits for something that `landed` since the last one, and more while a sole proposer is
/// busy with `news`, which needs no snapshot.
pub(super) fn patience(
    statuses: &[Arc<ProposerStatus>],
    landed: impl Fn(usize) -> bool,
    news: Version,
) -> u32 {
    let mut numbered = statuses.iter().enumerate();
    if numbered.any(|(i, status)| status.is_waiting() && landed(i)) {
        return 0;
    }
    match statuses {
        [sole] if !sole.is_idle_at(news) => WHILE_BUSY * SPINS,
        _ => SPINS,
    }
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::sync::parking;

    fn status() -> Arc<ProposerStatus> {
        ProposerStatus::new(parking().0)
    }

    #[test]
    fn the_committer_publishes_at_once_only_for_one_that_waits_for_what_landed() {
        let statuses = [status(), status()];
        let news = Version(3);
        assert_eq!(patience(&statuses, |_| true, news), SPINS, "nobody waits");
        statuses[1].set_waiting(true);
        assert_eq!(patience(&statuses, |i| i == 1, news), 0, "it landed");
        assert_eq!(patience(&statuses, |i| i == 0, news), SPINS, "another's");
        statuses[1].set_waiting(false);
        assert_eq!(patience(&statuses, |_| true, news), SPINS, "it has it");
    }

    #[test]
    fn it_waits_longer_only_for_a_sole_proposer_that_is_busy() {
        let sole = [status()];
        let news = Version(3);
        assert_eq!(patience(&sole, |_| true, news), WHILE_BUSY * SPINS, "busy");
        sole[0].set_waiting(true);
        assert_eq!(patience(&sole, |_| true, news), 0, "waits");
        sole[0].set_waiting(false);
        sole[0].set_idle(Version(2));
        assert_eq!(
            patience(&sole, |_| true, news),
            WHILE_BUSY * SPINS,
            "idle before the news"
        );
        sole[0].set_idle(news);
        assert_eq!(patience(&sole, |_| true, news), SPINS, "idle");
        sole[0].resume();
        sole[0].back_off();
        assert_eq!(patience(&sole, |_| true, news), SPINS, "backs off");
    }
}
