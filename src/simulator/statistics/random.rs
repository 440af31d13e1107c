//! A seeded stream of random numbers whose draws are the same on every machine.
//!
//! The generator is xoshiro256++ with its state filled by splitmix64, both by Blackman and Vigna
//! and in the public domain. Draws of distributions use only additions, multiplications and
//! divisions of `f64`, which IEEE 754 defines to the last bit, and no function of the platform's
//! mathematics library: a seed names one workload everywhere.

#![expect(
    clippy::float_arithmetic,
    reason = "draws of distributions; no resource decision is taken from them"
)]

use std::f64::consts::LN_2;

/// A seeded stream of random numbers.
///
/// ```
/// use capsched::simulator::Random;
/// let (mut a, mut b) = (Random::new(7), Random::new(7));
/// assert_eq!(a.next_u64(), b.next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of a seed; every seed is good, also 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut at = seed;
        Self {
            state: std::array::from_fn(|_| {
                at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mix(at)
            }),
        }
    }

    /// The stream number `index` of a seed, independent of the others.
    #[must_use]
    pub fn stream(seed: u64, index: u64) -> Self {
        Self::new(seed ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A number in `0..bound`; 0 when `bound` is 0. The bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("a product of two u64 shifted by 64 fits in a u64")
    }

    /// A number in `low..=high`; `low` when the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal draw as the sum of twelve uniform ones; it never leaves `-6..=6`.
    pub fn normal(&mut self) -> f64 {
        (0..12).fold(-6.0, |sum, _| sum + self.unit())
    }

    /// An exponential draw with the given mean, rounded to a whole number.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        // 1 - unit lies in (0, 1], so that the logarithm exists.
        whole(-ln(1.0 - self.unit()) * to_f64(mean))
    }

    /// A log-normal draw with the given median, whose logarithm deviates by `sigma_thousandths`.
    pub fn log_normal(&mut self, median: u64, sigma_thousandths: u32) -> u64 {
        let factor = exp(self.normal() * f64::from(sigma_thousandths) / 1000.0);
        whole(to_f64(median) * factor)
    }

    /// A log-normal draw whose *own* mean and deviation are given, as SLS means them; the mean
    /// itself when either is not above zero.
    pub fn log_normal_of_mean(&mut self, mean: f64, deviation: f64) -> f64 {
        if mean <= 0.0 || deviation <= 0.0 {
            return mean;
        }
        let variance = ln(1.0 + (deviation / mean) * (deviation / mean));
        exp(ln(mean) - variance / 2.0 + variance.sqrt() * self.normal())
    }

    /// A normal draw with the given mean and deviation.
    pub fn normal_of(&mut self, mean: f64, deviation: f64) -> f64 {
        mean + deviation * self.normal()
    }

    /// The position of a weight, drawn in proportion; nothing when all weights are zero.
    pub fn pick(&mut self, weights: &[f64]) -> Option<usize> {
        let total = weights.iter().fold(0.0, |sum, w| sum + w);
        if total <= 0.0 {
            return None;
        }
        let mut left = self.unit() * total;
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return Some(index);
            }
        }
        weights.iter().rposition(|&weight| weight > 0.0)
    }
}

/// The finalizer of splitmix64: spreads every bit of `value` over the result.
#[must_use]
pub(in crate::simulator) const fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The nearest whole number of a draw: 0 below zero and for no number, at most 2^53.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
pub(in crate::simulator) fn whole(value: f64) -> u64 {
    const TOP: f64 = 9_007_199_254_740_992.0;
    if value >= TOP {
        1 << 53
    } else if value > 0.0 {
        (value + 0.5) as u64
    } else {
        0
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds stay far below 2^53"
)]
fn to_f64(value: u64) -> f64 {
    value as f64
}

/// The exponential function, by reduction to `[-ln2/2, ln2/2]` and its series.
fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let steps = (x / LN_2).round();
    let rest = x - steps * LN_2;
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..=16 {
        term = term * rest / f64::from(n);
        sum += term;
    }
    // The exponent field of 2^steps: steps lies within +-1010, hence the field within 13..=2033.
    sum * f64::from_bits(whole(steps + 1023.0) << 52)
}

/// The natural logarithm of a normal number above zero, by its exponent and the series of atanh.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = to_f64(bits >> 52) - 1023.0;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut power = s;
    let mut sum = 0.0;
    for n in 0..24 {
        sum += power / f64::from(2 * n + 1);
        power *= square;
    }
    exponent * LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_one_stream() {
        let mut random = Random::new(0);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        let mut again = Random::new(0);
        assert_eq!(first, (0..3).map(|_| again.next_u64()).collect::<Vec<_>>());
        assert_ne!(first[0], Random::new(1).next_u64());
        assert_ne!(
            Random::stream(7, 0).next_u64(),
            Random::stream(7, 1).next_u64()
        );
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        assert_eq!(random.next_u64(), 41_943_041);
        assert_eq!(random.next_u64(), 58_720_359);
    }

    #[test]
    fn exponential_and_logarithm_agree_with_the_library() {
        for x in [-20.0, -1.0, -0.3, 0.0, 0.5, 1.0, 3.25, 40.0_f64] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13, "exp {x}");
        }
        for x in [1e-9, 0.1, 0.999, 1.0, 1.5, 2.0, 12_345.678_f64] {
            assert!((ln(x) - x.ln()).abs() < 1e-12, "ln {x}");
        }
    }

    #[test]
    fn draws_have_the_mean_they_are_asked_for() {
        let mut random = Random::new(11);
        let n = 20_000_u64;
        let exponential: u64 = (0..n).map(|_| random.exponential(1000)).sum();
        assert!((950..1050).contains(&(exponential / n)), "{exponential}");
        let own: f64 = (0..n).map(|_| random.log_normal_of_mean(60.0, 30.0)).sum();
        assert!((58.0..62.0).contains(&(own / 20_000.0)), "{own}");
        let mut medians: Vec<u64> = (0..1001).map(|_| random.log_normal(500, 400)).collect();
        medians.sort_unstable();
        assert!((450..550).contains(&medians[500]), "{}", medians[500]);
    }

    #[test]
    fn picks_follow_the_weights_and_skip_zero() {
        let mut random = Random::new(3);
        let mut hits = [0_u32; 3];
        for _ in 0..3000 {
            hits[random.pick(&[1.0, 0.0, 2.0]).unwrap()] += 1;
        }
        assert_eq!(hits[1], 0);
        assert!((1800..2200).contains(&hits[2]), "{hits:?}");
        assert_eq!(random.pick(&[0.0]), None);
    }

    #[test]
    fn whole_numbers_stay_in_range() {
        assert_eq!(whole(f64::NAN), 0);
        assert_eq!(whole(-1.0), 0);
        assert_eq!(whole(f64::INFINITY), 1 << 53);
        assert_eq!(whole(2.5), 3);
    }
}
