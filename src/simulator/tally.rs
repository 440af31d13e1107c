//! Counts of values with the quantiles of a report, in bounded memory.

use std::collections::BTreeMap;

/// Bits of a value that are kept: round numbers such as powers of two stay exact, and no value is
/// shown more than one part in 256 too low.
const BITS: u32 = 9;

/// Values and how often each came; at most some 14,000 distinct ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    counts: BTreeMap<u64, u64>,
    n: u64,
    max: u64,
}

impl Tally {
    /// Counts a value `n` times.
    pub(super) fn record(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let spare = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
        *self.counts.entry(value >> spare << spare).or_default() += n;
        self.n += n;
        self.max = self.max.max(value);
    }

    /// Values counted.
    pub(super) const fn len(&self) -> u64 {
        self.n
    }

    /// The largest value.
    pub(super) const fn max(&self) -> u64 {
        self.max
    }

    /// The value that `permille` thousandths of all values do not exceed; 0 when there is none.
    pub(super) fn permille(&self, permille: u64) -> u64 {
        let wanted = (u128::from(self.n) * u128::from(permille)).div_ceil(1000);
        let mut seen = 0_u128;
        for (value, count) in &self.counts {
            seen += u128::from(*count);
            if seen >= wanted.max(1) {
                return *value;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_small_and_round_values_are_exact() {
        let mut tally = Tally::default();
        assert_eq!((tally.permille(500), tally.len()), (0, 0));
        for value in 1..=100 {
            tally.record(value, 1);
        }
        tally.record(65_536, 900);
        assert_eq!((tally.permille(50), tally.permille(100)), (50, 100));
        assert_eq!(
            (tally.permille(101), tally.permille(1000)),
            (65_536, 65_536)
        );
        assert_eq!((tally.len(), tally.max()), (1000, 65_536));
    }

    #[test]
    fn large_values_lose_less_than_one_part_in_256() {
        for value in [513, 1_000_001, u64::MAX] {
            let mut tally = Tally::default();
            tally.record(value, 3);
            let shown = tally.permille(500);
            assert!(
                shown <= value && value - shown <= value / 256,
                "{value} {shown}"
            );
        }
    }
}
