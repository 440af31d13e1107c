//! ProposerBackoff of further proposers: one whose proposals are refused too often stays away for a
//! while.
//!
//! Several proposers that find little to do find the same, and all but the first are refused. The
//! first proposer never stays away, so that nothing waits for those who do.

/// Decisions between two looks at how many of them were refused.
const WINDOW: u64 = 64;

/// One refused decision in so many is too often.
const TOLERATED: u64 = 20;

/// Shortest and longest absence, in publications and decisions of the committer's own.
const SHORTEST: u64 = 16;
const LONGEST: u64 = 16_384;

/// How one proposer fares.
#[derive(Debug, Default)]
pub(in crate::runtime) struct ProposerBackoff {
    taken: u64,
    refused: u64,
    absence: u64,
}

impl ProposerBackoff {
    /// For how many publications and decisions of the committer's own to stay away, by how many decisions of this proposer the ledger
    /// has taken and refused so far; 0 to go on. Doubles each time, and halves when all is well.
    pub(in crate::runtime) fn judge(&mut self, taken: u64, refused: u64) -> u64 {
        let news = taken - self.taken;
        if news < WINDOW {
            return 0;
        }
        let too_often = (refused - self.refused) * TOLERATED > news;
        (self.taken, self.refused) = (taken, refused);
        if too_often {
            self.absence = (self.absence * 2).clamp(SHORTEST, LONGEST);
            return self.absence;
        }
        self.absence /= 2;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_too_often_stays_away_longer_each_time() {
        let mut restraint = ProposerBackoff::default();
        assert_eq!(restraint.judge(63, 63), 0, "too few to judge by");
        assert_eq!(restraint.judge(64, 63), 16);
        assert_eq!(restraint.judge(128, 70), 32);
        assert_eq!(restraint.judge(192, 80), 64);
        for i in 0..20 {
            restraint.judge(256 + i * 64, 100 + i * 64);
        }
        assert_eq!(restraint.absence, LONGEST);
    }

    #[test]
    fn who_fares_well_goes_on() {
        let mut restraint = ProposerBackoff::default();
        assert_eq!(restraint.judge(64, 30), 16);
        assert_eq!(restraint.judge(164, 35), 0, "one in twenty is tolerated");
        assert_eq!(restraint.absence, 8);
    }
}
