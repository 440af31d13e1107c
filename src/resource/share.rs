//! Shares and ratios: the only place where integers become floats and floats integers.
//!
//! The reference scheduler keeps fractions as `f32` and multiplies with them; the exact casts are
//! part of its decisions. Rust's `as` between floats and integers is Java's cast: it truncates,
//! saturates, and turns NaN into zero.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the reference's f32 and f64 arithmetic lives here and nowhere else"
)]

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use super::{NARROW, ResourceVector, VCORES};
use crate::fast_path::{PlantedFlaw, is_planted};

/// `a / b` with Java's `long` division, where `b == 0` gives 0 and the quotient is rounded up for
/// non-negative operands. Sums wrap as Java's do: a product with an infinite ratio saturates.
// As ResourceCalculator.divideAndCeil(long, long).
#[inline]
#[must_use]
pub const fn ceil_div(a: i64, b: i64) -> i64 {
    if b == 0 || (a == 0 && b > 0) {
        return 0;
    }
    a.wrapping_add(b - 1) / b
}

/// `ceil(a as f32 / b)`: the division itself is an `f32` one; `b == 0` gives 0.
// As ResourceCalculator.divideAndCeil(long, float).
#[inline]
#[must_use]
pub fn ceil_div_f32(a: i64, b: f32) -> i64 {
    if b == 0.0 || a == 0 {
        0
    } else {
        (a as f32 / b).ceil() as i64
    }
}

/// `a` rounded up to a multiple of `step`; 0 when `step` is 0.
#[inline]
#[must_use]
pub const fn round_up(a: i64, step: i64) -> i64 {
    if is_mask(a, step) {
        return (a + (step - 1)) & !(step - 1);
    }
    ceil_div(a, step).wrapping_mul(step)
}

/// Whether rounding `a` to `step` comes to masking bits: most steps are powers of two.
#[inline]
const fn is_mask(a: i64, step: i64) -> bool {
    let small = (a | step).cast_unsigned() < 1 << 62;
    small && step.cast_unsigned().is_power_of_two()
}

/// `a` rounded to a multiple of `step`, towards zero; 0 when `step` is 0.
#[inline]
#[must_use]
pub const fn round_down(a: i64, step: i64) -> i64 {
    if is_mask(a, step) {
        return a & !(step - 1);
    }
    if step == 0 { 0 } else { (a / step) * step }
}

/// `a / b` as `f32`, where 0/0 is 0 and x/0 infinite.
// As ResourceCalculator.safeDivide.
#[inline]
#[must_use]
pub fn safe_div(a: i64, b: i64) -> f32 {
    safe_div_f32(a, b as f32)
}

/// [`safe_div`] by the nearest `f32` of a divisor.
#[inline]
#[must_use]
pub fn safe_div_f32(a: i64, b: f32) -> f32 {
    if a == 0 && b == 0.0 {
        0.0
    } else {
        a as f32 / b
    }
}

/// Each type times `by` in `f64`, truncated; vcores end where Java's `int` does.
// As Resources.multiply and Resources.multiplyAndRoundDown, with Resource.castToIntSafely.
#[inline]
#[must_use]
pub fn times<const N: usize>(a: &ResourceVector<N>, by: f64) -> ResourceVector<N> {
    ResourceVector::build(|i| {
        let product = times_floor(a[i], by);
        if i == VCORES {
            product.min(MOST_VCORES)
        } else {
            product
        }
    })
}

/// The most vcores that an amount may have.
const MOST_VCORES: i64 = i32::MAX as i64;

/// `value · by + 0.5` in `f64`, truncated: the memory-only rounding of a product.
#[inline]
#[must_use]
pub fn times_nearest(value: i64, by: f64) -> i64 {
    (value as f64 * by + 0.5) as i64
}

/// `value · by` in `f64`, cast to `f32`, rounded up: the dominant calculator's rounding of a
/// product. The cast hides most of the noise that an `f32` factor brings, not all of it.
#[inline]
#[must_use]
pub fn times_ceil(value: i64, by: f64) -> i64 {
    // Nothing stays nothing, whatever the factor; most types of most vectors are nothing.
    if value == 0 {
        return 0;
    }
    ((value as f64 * by) as f32).ceil() as i64
}

/// A ratio whose product with `total`, rounded up in any of these ways, is below `most`; negative
/// infinity for amounts of which nothing is certain.
#[must_use]
pub fn ratio_below(total: i64, most: i64) -> f32 {
    // Each cast to `f32` moves a number by less than 1e-7 of it, rounding up by less than 1.
    const SLACK: f64 = 1e-6;
    if total <= 0 || total >= 1 << 53 || most <= 2 {
        return f32::NEG_INFINITY;
    }
    ((most as f64 - 2.0) / total as f64 * (1.0 - SLACK)) as f32
}

/// What of `value` stays, though it lost the share of `whole` that `lost` is of `all`: rounded down,
/// with a margin for all that is rounded on the way, and nothing for amounts that `f64` does not keep
/// apart; what is below zero stays as it is.
#[must_use]
pub fn without_share(value: i64, whole: i64, lost: i64, all: i64) -> i64 {
    const SLACK: f64 = 1e-6;
    if [value, whole, lost, all]
        .iter()
        .any(|&amount| amount >= 1 << 53)
        || all <= 0
    {
        return value.min(0);
    }
    let loss = lost as f64 / all as f64 * whole as f64;
    let left = (value as f64 - loss - 2.0) * (1.0 - SLACK);
    if left > 0.0 {
        left as i64
    } else {
        value.min(0)
    }
}

/// `value · by` in `f64`, rounded up without a detour through `f32`.
#[inline]
#[must_use]
pub fn ceil_times(value: i64, by: f64) -> i64 {
    (value as f64 * by).ceil() as i64
}

/// `1 + part` in `f64`.
#[inline]
#[must_use]
pub fn one_and(part: f64) -> f64 {
    1.0 + part
}

/// Below it, an integer is exact in `f64`.
const EXACT: u64 = 1 << 53;

/// `value · by` in `f64`, truncated.
#[inline]
#[must_use]
#[expect(clippy::float_cmp, reason = "exactly 1 changes nothing")]
pub fn times_floor(value: i64, by: f64) -> i64 {
    // Most weights are 1.
    if value == 0 || by == 1.0 && value.unsigned_abs() < EXACT {
        return value;
    }
    (value as f64 * by) as i64
}

/// `value · ratio` with an `f32` product, truncated.
// As AbstractCSQueue.updateEffectiveResources for scaled absolute minimums.
#[inline]
#[must_use]
pub fn scale_f32(value: i64, ratio: f32) -> i64 {
    (value as f32 * ratio) as i64
}

/// `count · fraction` with an `f32` product, truncated to `i32`.
#[inline]
#[must_use]
pub fn portion(count: i32, fraction: f32) -> i32 {
    (count as f32 * fraction) as i32
}

/// Applications that one user may have in a queue of `most`: `most · (UL / 100) · ULF` in `f32`,
/// left to right.
#[must_use]
pub fn applications_per_user(most: i32, user_limit_percent: f32, user_limit_factor: f32) -> i32 {
    (most as f32 * (user_limit_percent / 100.0) * user_limit_factor) as i32
}

/// `a / b` in `f32`: x/0 is infinite, 0/0 is NaN.
#[inline]
#[must_use]
pub fn quotient(a: f32, b: f32) -> f32 {
    a / b
}

/// `a · b` in `f32`.
#[inline]
#[must_use]
pub fn product(a: f32, b: f32) -> f32 {
    a * b
}

/// `a + b` in `f32`.
#[inline]
#[must_use]
pub fn sum(a: f32, b: f32) -> f32 {
    a + b
}

/// `a - b` in `f32`.
#[inline]
#[must_use]
pub fn difference(a: f32, b: f32) -> f32 {
    a - b
}

/// How far the guarantees of a managed parent's leaves may exceed its own: that much may come of
/// rounding.
const GUARANTEE_SLACK: f32 = 0.001;

/// Whether a guarantee fits into what is left of a `whole` of which some was `given` away.
// As GuaranteedOrZeroCapacityOverTimePolicy.getInitialLeafQueueConfiguration.
#[must_use]
pub fn guarantee_fits(whole: f32, given: f32, guarantee: f32) -> bool {
    whole - given + GUARANTEE_SLACK >= guarantee
}

/// How many guarantees fit into a `whole`; none where a guarantee is nothing.
// As DeactivatedLeafQueuesByLabel.getMaxLeavesToBeActivated.
#[must_use]
pub fn guarantees_within(whole: f32, guarantee: f32) -> usize {
    if guarantee > 0.0 {
        let count = ((whole + GUARANTEE_SLACK) / guarantee).floor() as i32;
        usize::try_from(count).unwrap_or(0)
    } else {
        0
    }
}

/// The largest share `a_i / of_i` over the first `types` types with `of_i != 0`, in `f64`; at least 0.
// As DominantResourceCalculator.calculateShares.
#[inline]
#[must_use]
pub fn largest_share<const N: usize>(
    a: &ResourceVector<N>,
    of: &ResourceVector<N>,
    types: usize,
) -> f64 {
    let larger = |largest: f64, share: f64| if share > largest { share } else { largest };
    if types == 2 && of[0] != 0 && of[1] != 0 {
        // Both are divided at once.
        let [first, second]: [f64; 2] = std::array::from_fn(|i| a[i] as f64 / of[i] as f64);
        return larger(larger(0.0, first), second);
    }
    let counted = (0..types).filter(|&i| of[i] != 0);
    counted.fold(0.0, |largest, i| {
        larger(largest, a[i] as f64 / of[i] as f64)
    })
}

/// The nearest `f32`.
#[inline]
#[must_use]
pub const fn narrow(value: f64) -> f32 {
    value as f32
}

/// `a / b` in `f64`, cast to `f32`: 0/0 is NaN, x/0 positive infinity.
// As DominantResourceCalculator.divide.
#[inline]
#[must_use]
pub fn share_quotient(a: f64, b: f64) -> f32 {
    if b == 0.0 {
        return if a == 0.0 { f32::NAN } else { f32::INFINITY };
    }
    // A partition is mostly the whole of itself.
    if b.to_bits() == 1.0f64.to_bits() {
        return a as f32;
    }
    (a / b) as f32
}

/// Where inverses of amounts stand for divisions by them: no product of theirs leaves the range in which
/// an `f32` has all of its digits.
const INVERSES: RangeInclusive<f64> = 1e-18..=1e18;

/// For [`largest_product`]: what a unit of each of two types comes to as a share of `cluster`, divided by a
/// `share`. Not a number where a division has to decide.
#[must_use]
pub fn inverses(cluster: [i64; NARROW], share: f64) -> [f64; NARROW] {
    let inverses = cluster.map(|of| 1.0 / of as f64 / share);
    let positive = cluster.iter().all(|&of| of > 0) && share > 0.0;
    let usable = positive && inverses.iter().all(|inverse| INVERSES.contains(inverse));
    if usable { inverses } else { [f64::NAN; NARROW] }
}

/// The largest share of an amount, divided by another share, as [`share_quotient`] has it: a product with
/// its [`inverses`], where both surely round to the same `f32`.
///
/// A quotient of quotients is rounded twice and a product with such an inverse three times, each time by
/// less than one unit in the last place of an `f64`. So between the two is no midpoint of two neighbours in
/// `f32` unless it is that near to the product: within some six units, of which `NEAR` allows sixteen.
#[inline(always)]
#[must_use]
pub fn largest_product(a: [i64; NARROW], inverses: [f64; NARROW]) -> Option<f32> {
    // Digits that an f32 does not have, and the midpoint among them.
    const DIGITS: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    const REST: u64 = (1 << DIGITS) - 1;
    const MIDPOINT: u64 = 1 << (DIGITS - 1);
    const NEAR: u64 = 16;
    let exact = (a[0] | a[1]).cast_unsigned() < 1 << f64::MANTISSA_DIGITS;
    let [first, second] = [a[0] as f64 * inverses[0], a[1] as f64 * inverses[1]];
    let largest = if second > first { second } else { first };
    let away = (largest.to_bits() & REST).wrapping_sub(MIDPOINT - NEAR) > 2 * NEAR;
    let known = largest >= 0.0;
    (exact && (away || is_planted(PlantedFlaw::DivisorRoundsMidpoint)) && known)
        .then_some(largest as f32)
}

/// The order of two vectors by their sorted shares of `cluster`, largest share first; types of
/// which the cluster has none cancel out.
#[must_use]
pub fn compare_shares<const N: usize>(
    cluster: &ResourceVector<N>,
    a: &ResourceVector<N>,
    b: &ResourceVector<N>,
    types: usize,
) -> Ordering {
    let mut left = [0.0; N];
    let mut right = [0.0; N];
    let mut finite = 0;
    for i in 0..types {
        if cluster[i] != 0 {
            left[finite] = a[i] as f64 / cluster[i] as f64;
            right[finite] = b[i] as f64 / cluster[i] as f64;
            finite += 1;
        }
    }
    left[..finite].sort_unstable_by(|x, y| y.total_cmp(x));
    right[..finite].sort_unstable_by(|x, y| y.total_cmp(x));
    for (x, y) in left[..finite].iter().zip(&right[..finite]) {
        match x.partial_cmp(y) {
            Some(Ordering::Equal) | None => {}
            Some(order) => return order,
        }
    }
    Ordering::Equal
}

/// How starved reservations are: `(re_reservations / reserved) · (1 − min(factors))`, truncated.
// As FiCaSchedulerApp / RegularContainerAllocator.shouldAllocOrReserveNewContainer.
#[must_use]
pub fn starvation(
    re_reservations: i32,
    reserved: i32,
    node_factor: f32,
    minimum_factor: f32,
) -> i32 {
    let least = if node_factor < minimum_factor {
        node_factor
    } else {
        minimum_factor
    };
    ((re_reservations as f32 / reserved as f32) * (1.0 - least)) as i32
}

/// Missed opportunities after which an off-switch allocation is allowed, for an ask that names
/// `unique` places among `nodes` nodes and wants `count` containers.
// As RegularContainerAllocator.getLocalityWaitFactor and canAssign.
#[must_use]
pub fn locality_wait(unique: usize, nodes: usize, count: i32) -> i32 {
    let names = unique.saturating_sub(1) as f32 / nodes as f32;
    let factor = if names < 1.0 { names } else { 1.0 };
    (count as f32 * factor) as i32
}

/// The share of the AM limit that one user may take, before weights: the larger of the minimum
/// user limit (a fraction) and an equal part.
// As AbstractLeafQueue.getUserAMResourceLimitPerPartition.
#[must_use]
pub fn user_am_share(user_limit_percent: f32, active_users: i32) -> f32 {
    let minimum = user_limit_percent / 100.0;
    let equal = 1.0 / active_users.max(1) as f32;
    if minimum > equal { minimum } else { equal }
}

/// The size-based weight of the fair policy: `log2(1 + demand)` of a demand in MiB.
#[must_use]
pub fn size_weight(demand_mib: i64) -> f64 {
    (demand_mib as f64).ln_1p() / std::f64::consts::LN_2
}

/// Used memory in MiB as the fair policy weighs it, optionally divided by the size-based weight.
// As FairOrderingPolicy.getMagnitude of 3.4.2: an application that uses nothing has magnitude 0.
#[must_use]
pub fn fair_magnitude(used_mib: i64, demand_mib: i64, size_based: bool) -> f64 {
    let magnitude = used_mib as f64;
    if size_based && used_mib != 0 {
        let weight = size_weight(demand_mib);
        if weight != 0.0 {
            return magnitude / weight;
        }
    }
    magnitude
}

/// The largest amount that a whole number of MiB or units may be as a `f64` without loss.
#[must_use]
pub fn to_f64(value: i64) -> f64 {
    value as f64
}

/// Whether a number is below a part of another one, in `f64`.
// As SimpleBlacklistManager, which multiplies a `float` that became a `double`.
#[must_use]
pub fn is_below_part(count: usize, whole: usize, part: f32) -> bool {
    (count as f64) < f64::from(part) * (whole as f64)
}

/// Java's cast of a `double` to a `long`.
#[must_use]
pub fn to_i64(value: f64) -> i64 {
    value as i64
}

/// Java's cast of a `long` to a `float`.
#[must_use]
pub fn to_f32(value: i64) -> f32 {
    value as f32
}

/// The absolute difference of two `f32`, in `f32`.
#[must_use]
pub fn distance(a: f32, b: f32) -> f32 {
    (a - b).abs()
}

/// The absolute value of an `f32`.
#[must_use]
pub fn magnitude(a: f32) -> f32 {
    a.abs()
}

/// Java's order of floats (`Double.compare`): −0 before 0, NaN last.
#[inline]
#[must_use]
pub fn java_order(a: f32, b: f32) -> Ordering {
    match a.partial_cmp(&b) {
        Some(Ordering::Equal) if a == 0.0 => b.is_sign_negative().cmp(&a.is_sign_negative()),
        Some(order) => order,
        None => a.is_nan().cmp(&b.is_nan()),
    }
}

/// A number that orders as [`java_order`] does.
#[inline]
#[must_use]
pub fn java_rank(a: f32) -> u32 {
    // In integers, without a jump.
    const INFINITY: u32 = f32::INFINITY.to_bits();
    const SIGN: u32 = 1 << 31;
    let bits = a.to_bits();
    let flipped = (bits.cast_signed() >> 31).cast_unsigned() | SIGN;
    let is_nan = bits & !SIGN > INFINITY;
    if is_nan { u32::MAX } else { bits ^ flipped }
}

/// Whether a share is above 0; not a number is not.
#[inline]
#[must_use]
pub fn above_none(share: f32) -> bool {
    share > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_order_as_java_does() {
        let values = [
            f32::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            f32::MIN_POSITIVE,
            0.5,
            1.0,
            f32::INFINITY,
            f32::NAN,
        ];
        for a in values {
            for b in values {
                assert_eq!(java_rank(a).cmp(&java_rank(b)), java_order(a, b), "{a} {b}");
            }
        }
    }

    #[test]
    fn percent_capacities_keep_their_f32_noise() {
        // core spec 17.1: 70 % of 102,400 MiB is 71,679 MiB.
        let cluster = ResourceVector::of(&[102_400, 100]);
        assert_eq!(times(&cluster, f64::from(quotient(70.0, 100.0)))[0], 71_679);
        assert_eq!(times(&cluster, f64::from(quotient(30.0, 100.0)))[0], 30_720);
        assert_eq!(portion(10_000, quotient(70.0, 100.0)), 7_000);
    }

    #[test]
    fn vcores_end_with_javas_int() {
        let cluster = ResourceVector::of(&[102_400, 100, 100]);
        let product = times(&cluster, 1e8);
        assert_eq!(
            product.values(3),
            [10_240_000_000_000, 2_147_483_647, 10_000_000_000]
        );
    }

    #[test]
    fn guarantees_may_exceed_the_whole_by_a_thousandth() {
        let third = quotient(33.4, 100.0);
        assert!(guarantee_fits(1.0, 0.0, 1.0));
        assert!(guarantee_fits(0.5, 0.4995, 0.001));
        assert!(!guarantee_fits(0.5, 0.4995, 0.002));
        assert_eq!(guarantees_within(1.0, 0.25), 4);
        assert_eq!(guarantees_within(1.0, third), 2);
        assert_eq!(guarantees_within(0.9995, 0.5), 2);
        assert_eq!(guarantees_within(0.5, 0.0), 0);
        assert_eq!(guarantees_within(-1.0, 0.5), 0);
        assert_eq!(guarantees_within(f32::NAN, 0.5), 0);
    }

    #[test]
    fn starvation_follows_the_published_example() {
        // core spec 17.12
        assert_eq!(starvation(6, 2, 1.0, 0.875), 0);
        assert_eq!(starvation(16, 2, 1.0, 0.875), 1);
    }

    #[test]
    fn java_orders_signed_zero_and_nan() {
        assert_eq!(java_order(-0.0, 0.0), Ordering::Less);
        assert_eq!(java_order(f32::NAN, f32::INFINITY), Ordering::Greater);
        assert_eq!(java_order(f32::NAN, f32::NAN), Ordering::Equal);
        assert_eq!(java_order(0.5, 0.25), Ordering::Greater);
    }

    #[test]
    fn masks_round_as_divisions_do() {
        for step in [1, 2, 3, 64, 100, 1024, 1 << 40] {
            for a in [
                -1025,
                -1024,
                -1,
                0,
                1,
                63,
                64,
                65,
                1023,
                1024,
                1025,
                1 << 53,
            ] {
                assert_eq!(round_down(a, step), a / step * step, "{a} {step}");
                assert_eq!(
                    round_up(a, step),
                    (a + step - 1) / step * step,
                    "{a} {step}"
                );
            }
        }
    }

    #[test]
    fn division_by_zero_is_defined() {
        assert_eq!(ceil_div(7, 0), 0);
        assert_eq!(round_up(7, 0), 0);
        assert_eq!(round_down(-7, 2), -6);
        assert_eq!(ceil_div_f32(7, 0.0), 0);
        assert!(safe_div(1, 0).is_infinite());
        assert!(share_quotient(0.0, 0.0).is_nan());
    }

    #[test]
    fn locality_wait_follows_the_published_example() {
        // core spec 17.15: 4 nodes, 3 names, 10 containers: min(2/4, 1) of 10.
        assert_eq!(locality_wait(3, 4, 10), 5);
    }
}
