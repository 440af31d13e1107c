//! How long the committer looks for work before it publishes, by where its proposers stand.

use crate::id::Version;
use crate::sync::{Arc, ProposerStatus, SPINS};

/// How much longer the committer waits for the next batch of a busy sole proposer before it
/// publishes what it has.
const WHILE_BUSY: u32 = 8;

/// Looks for work in vain before the committer publishes what no snapshot shows yet: none while a
/// proposer waits for something that `landed` since the last one, and more while a sole proposer is
/// busy with `news`, which needs no snapshot.
pub(in crate::runtime) fn patience(
    standings: &[Arc<ProposerStatus>],
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
    use crate::sync::parking;

    fn standing() -> Arc<ProposerStatus> {
        ProposerStatus::new(parking().0)
    }

    #[test]
    fn the_committer_publishes_at_once_only_for_one_that_waits_for_what_landed() {
        let standings = [standing(), standing()];
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
        let sole = [standing()];
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
