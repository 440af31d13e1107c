//! The limit of the lengths of queues on nodes: the mean and some standard deviations, within two bounds.
//!
//! Lengths are summed as they change, so that the limit costs no look at the nodes.
// As QueueLimitCalculator, which looks at all nodes once in each interval.

use crate::queue::OpportunisticSettings;

/// Lengths of the queues of all nodes, as sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueLengths {
    nodes: u64,
    sum: u64,
    /// Sum of the squares.
    squares: u64,
}

impl QueueLengths {
    /// A node with an empty queue comes.
    pub(super) fn enter(&mut self) {
        self.nodes += 1;
    }

    /// A node with a queue of a length goes.
    pub(super) fn leave(&mut self, length: u32) {
        self.change(length, 0);
        self.nodes -= 1;
    }

    /// A queue has another length.
    pub(super) fn change(&mut self, before: u32, now: u32) {
        let (before, now) = (u64::from(before), u64::from(now));
        self.sum = self.sum + now - before;
        self.squares = self.squares + now * now - before * before;
    }

    /// Longest queue that is not shortened.
    // As QueueLimitCalculator.getThreshold.
    pub(super) fn limit(&self, settings: &OpportunisticSettings) -> u32 {
        let mean = self.sum.checked_div(self.nodes).unwrap_or(0);
        let above = u64::from(settings.deviations_milli) * self.deviation(mean) / 1000;
        let limit = u32::try_from(mean + above).unwrap_or(u32::MAX);
        limit
            .max(settings.shortest_limit)
            .min(settings.longest_limit)
    }

    /// Standard deviation from a mean that was rounded down, rounded to the nearest integer.
    // As QueueLimitCalculator.Stats.update.
    fn deviation(&self, mean: u64) -> u64 {
        if self.nodes == 0 {
            return 0;
        }
        let distances = self.squares + self.nodes * mean * mean - 2 * mean * self.sum;
        let root = (distances / self.nodes).isqrt();
        let above = 2 * root + 1;
        // One more where the root of the fraction is at least `root` and a half.
        root + u64::from(
            u128::from(above).pow(2) * u128::from(self.nodes) <= 4 * u128::from(distances),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(lengths: &[u32]) -> QueueLengths {
        let mut sums = QueueLengths::default();
        for &length in lengths {
            sums.enter();
            sums.change(0, length);
        }
        sums
    }

    #[test]
    fn the_limit_is_the_mean_and_the_deviations_above_it() {
        let settings = OpportunisticSettings {
            shortest_limit: 0,
            longest_limit: 100,
            ..OpportunisticSettings::default()
        };
        // Mean 5, distances 25 and 25: 5 above.
        assert_eq!(of(&[0, 10]).limit(&settings), 10);
        let half = OpportunisticSettings {
            deviations_milli: 500,
            ..settings
        };
        assert_eq!(of(&[0, 10]).limit(&half), 7);
        // Mean 3.5 is 3, distances 9 and 16: the root of 12.5 is 3.53, which is 4.
        assert_eq!(of(&[0, 7]).limit(&settings), 7);
        assert_eq!(of(&[]).limit(&settings), 0);
    }

    #[test]
    fn the_limit_stays_within_its_bounds() {
        let settings = OpportunisticSettings::default();
        assert_eq!(of(&[0, 0]).limit(&settings), 5);
        assert_eq!(of(&[90, 90]).limit(&settings), 15);
    }

    proptest! {
        #[test]
        fn sums_follow_changes_and_give_the_deviation_of_a_look_at_all(
            mut lengths in proptest::collection::vec(0_u32..=OpportunisticSettings::MOST, 1..20),
            changes in proptest::collection::vec((0_usize..20, 0_u32..=OpportunisticSettings::MOST), 0..20),
        ) {
            let mut sums = of(&lengths);
            for (at, now) in changes {
                let at = at % lengths.len();
                sums.change(lengths[at], now);
                lengths[at] = now;
            }
            prop_assert_eq!(sums, of(&lengths));
            let mean = sums.sum / sums.nodes;
            let root = sums.deviation(mean);
            let distances: u64 = lengths.iter().map(|&l| u64::from(l).abs_diff(mean).pow(2)).sum();
            // (root - 1/2)^2 <= distances / nodes < (root + 1/2)^2, times 4 * nodes.
            let bound = |of: u64| u128::from(of).pow(2) * u128::from(sums.nodes);
            prop_assert!(root == 0 || bound(2 * root - 1) <= 4 * u128::from(distances));
            prop_assert!(4 * u128::from(distances) < bound(2 * root + 1));
        }
    }
}
