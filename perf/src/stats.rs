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
    /// The figures of some rates; nothing when there are none.
    pub(crate) fn of(rates: &[u64]) -> Option<Self> {
        let mut sorted = rates.to_vec();
        sorted.sort_unstable();
        Some(Self {
            median: *sorted.get(sorted.len() / 2)?,
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
        assert_eq!((found.median, found.min, found.max), (10.0, 5.0, 30.0));
    }

    #[test]
    fn no_round_has_no_figure_and_no_rate_no_ratio() {
        assert_eq!(Spread::of(&[]), None);
        assert!(ratio(5, 0).abs() < f64::EPSILON);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
