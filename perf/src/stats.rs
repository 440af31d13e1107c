//! Figures of several rounds: median, least and greatest, and ratios of them.
#![expect(
    clippy::float_arithmetic,
    reason = "ratios are shown, nothing is decided by them"
)]

use serde::Serialize;

/// Rates of several rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) rounds: usize,
}

impl Spread {
    /// The figures of some rates; nothing when there are none. Between two middle ones lies the median.
    pub(crate) fn of(rates: &[u64]) -> Option<Self> {
        let mut sorted = rates.to_vec();
        sorted.sort_unstable();
        let above = *sorted.get(sorted.len() / 2)?;
        let below = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Self {
            median: below.midpoint(above),
            min: *sorted.first()?,
            max: *sorted.last()?,
            rounds: sorted.len(),
        })
    }

    /// How many times another rate this one is.
    pub(crate) fn over(self, other: Self) -> Ratio {
        Ratio {
            median: ratio(self.median, other.median),
            min: ratio(self.min, other.max),
            max: ratio(self.max, other.min),
        }
    }
}

/// A ratio of medians, and its bounds from the ends of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// Ratios of rates that were measured one right after the other, so that slow moments of the machine meet both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Paired {
    pub(crate) median: f64,
    /// Bounds of the median, which hold about 19 times in 20 whatever the distribution is (ranks a root of the number away).
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Paired {
    /// What percentage of the second rate the first one is; nothing when there are no pairs.
    pub(crate) fn percent(pairs: &[(u64, u64)]) -> Option<Self> {
        let percent = |&(one, other): &(u64, u64)| ratio(100 * one, other);
        let mut sorted: Vec<f64> = pairs.iter().map(percent).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (middle, reach) = (sorted.len() / 2, sorted.len().isqrt());
        Some(Self {
            median: *sorted.get(middle)?,
            low: *sorted.get(middle.saturating_sub(reach))?,
            high: *sorted.get((middle + reach).min(sorted.len() - 1))?,
        })
    }
}

/// The fastest quarter of some rates, in order; of few rates one.
pub(crate) fn fastest_quarter(rates: &[u64]) -> Vec<u64> {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable();
    sorted.split_off(sorted.len() - rates.len().div_ceil(4))
}

/// A ratio to two places; nothing times nothing is nothing.
pub(crate) fn ratio(one: u64, other: u64) -> f64 {
    if other == 0 {
        return 0.0;
    }
    let hundredths = u128::from(one) * 100 / u128::from(other);
    f64::from(u32::try_from(hundredths).unwrap_or(u32::MAX)) / 100.0
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_a_ratio_come_from_opposite_ends() {
        let ours = Spread::of(&[300, 100, 200]).unwrap();
        let peers = Spread::of(&[10, 20]).unwrap();
        let found = ours.over(peers);
        assert_eq!((found.median, found.min, found.max), (13.33, 5.0, 30.0));
    }

    #[test]
    fn no_round_has_no_figure_and_no_rate_no_ratio() {
        assert_eq!(Spread::of(&[]), None);
        assert!(ratio(5, 0).abs() < f64::EPSILON);
    }

    #[test]
    fn pairs_are_judged_one_by_one() {
        // One slow moment in each: the ratio of the sums would be far off.
        let mut pairs: Vec<(u64, u64)> = (1..=16).map(|i| (98 * i, 100 * i)).collect();
        pairs[3] = (10, 1000);
        pairs[9] = (1000, 10);
        let paired = Paired::percent(&pairs).unwrap();
        assert_eq!((paired.median, paired.low, paired.high), (98.0, 98.0, 98.0));
        let spread: Vec<(u64, u64)> = (0..100).map(|i| (i, 100)).collect();
        let paired = Paired::percent(&spread).unwrap();
        assert_eq!((paired.median, paired.low, paired.high), (50.0, 40.0, 60.0));
        assert_eq!(Paired::percent(&[]), None);
    }

    #[test]
    fn the_fastest_quarter_is_never_empty_unless_all_is() {
        assert_eq!(fastest_quarter(&[3, 1, 2]), [3]);
        assert_eq!(fastest_quarter(&[5, 9, 1, 7, 2]), [7, 9]);
        assert_eq!(fastest_quarter(&[]), [0; 0]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
