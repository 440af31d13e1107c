//! Proposer backoff: a further proposer whose proposals are refused too often sits out publications.
//!
//! Several proposers that find little to do find the same asks, and all but the first are refused. Every 64
//! decisions the refused ones are counted: above one in twenty the proposer sits out, twice as long as the last
//! time; otherwise the next pause is half as long. The first proposer never sits out, so that every ask is tried.

/// Decisions between two looks at how many of them were refused.
const WINDOW: u64 = 64;

/// One refused decision in so many is too often.
const TOLERATED: u64 = 20;

/// Shortest and longest pause, in publications and decisions of the committer itself.
const SHORTEST: u64 = 16;
const LONGEST: u64 = 16_384;

/// How one proposer fares.
#[derive(Debug, Default)]
pub(in crate::runtime) struct ProposerBackoff {
    taken: u64,
    refused: u64,
    pause: u64,
}

impl ProposerBackoff {
    /// Publications, and decisions of the committer itself, to sit out, given the totals of this proposer's decisions
    /// that were taken and refused; 0 continues. Doubles on a bad window, halves otherwise.
    pub(in crate::runtime) fn judge(&mut self, taken: u64, refused: u64) -> u64 {
        let news = taken - self.taken;
        if news < WINDOW {
            return 0;
        }
        let too_often = (refused - self.refused) * TOLERATED > news;
        (self.taken, self.refused) = (taken, refused);
        if too_often {
            self.pause = (self.pause * 2).clamp(SHORTEST, LONGEST);
            return self.pause;
        }
        self.pause /= 2;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_too_often_sits_out_longer_each_time() {
        let mut backoff = ProposerBackoff::default();
        assert_eq!(backoff.judge(63, 63), 0, "too few to judge by");
        assert_eq!(backoff.judge(64, 63), 16);
        assert_eq!(backoff.judge(128, 70), 32);
        assert_eq!(backoff.judge(192, 80), 64);
        for i in 0..20 {
            backoff.judge(256 + i * 64, 100 + i * 64);
        }
        assert_eq!(backoff.pause, LONGEST);
    }

    #[test]
    fn who_fares_well_goes_on() {
        let mut backoff = ProposerBackoff::default();
        assert_eq!(backoff.judge(64, 30), 16);
        assert_eq!(backoff.judge(164, 35), 0, "one in twenty is tolerated");
        assert_eq!(backoff.pause, 8);
    }
}
