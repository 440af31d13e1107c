//! Counts of values with the quantiles of a report, in bounded memory.

use std::collections::BTreeMap;

/// Bits by which values differ: those that share them are shown as the largest of them, so
/// that no value is shown more than one part in 256 too high, and equal values exactly.
const BITS: u32 = 9;

/// Values and how often each came; at most some 14,000 distinct ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::simulator) struct Tally {
    alike: BTreeMap<u64, Alike>,
    n: u64,
    max: u64,
}

/// Values that share their first bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Alike {
    n: u64,
    largest: u64,
}

impl Tally {
    /// Counts a value `n` times.
    pub(in crate::simulator) fn record(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let spare = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
        let alike = self.alike.entry(value >> spare << spare).or_default();
        alike.n += n;
        alike.largest = alike.largest.max(value);
        self.n += n;
        self.max = self.max.max(value);
    }

    /// Values counted.
    pub(in crate::simulator) const fn len(&self) -> u64 {
        self.n
    }

    /// The largest value.
    pub(in crate::simulator) const fn max(&self) -> u64 {
        self.max
    }

    /// The value that `permille` thousandths of all values do not exceed; 0 when there is none.
    pub(in crate::simulator) fn permille(&self, permille: u64) -> u64 {
        let wanted = (u128::from(self.n) * u128::from(permille)).div_ceil(1000);
        let mut seen = 0_u128;
        for alike in self.alike.values() {
            seen += u128::from(alike.n);
            if seen >= wanted.max(1) {
                return alike.largest;
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
    fn large_values_gain_less_than_one_part_in_256() {
        for value in [513, 1_000_001, u64::MAX] {
            let mut tally = Tally::default();
            tally.record(value, 3);
            assert_eq!(tally.permille(500), value);
            tally.record(value - 1, 5);
            let shown = tally.permille(500);
            assert!(shown >= value - 1 && shown - (value - 1) <= value / 256);
        }
    }
}
