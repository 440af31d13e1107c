//! The two resource calculators: memory only, and dominant resources.

use std::cmp::Ordering;
use std::ops::Range;

use super::share;
use super::{MAX_TYPES, MEMORY, ResourceVector, VCORES};

/// How amounts are compared, divided and rounded (`ResourceCalculator`).
///
/// Both know how many resource types the cluster has. `min`, `max` and the comparisons choose
/// whole vectors; only [`fits_in`](Self::fits_in) of the dominant calculator looks at each type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calculator {
    /// `DefaultResourceCalculator`: memory decides, and every rounded result has one vcore.
    MemoryOnly {
        /// Number of resource types of the cluster.
        types: usize,
    },
    /// `DominantResourceCalculator`: the type with the largest share decides.
    Dominant {
        /// Number of resource types of the cluster.
        types: usize,
    },
}

/// One side of a division, prepared by [`Calculator::divisor`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Divisor {
    /// MiB.
    Memory(i64),
    /// The largest share of a cluster.
    Share(f64),
}

impl Default for Divisor {
    fn default() -> Self {
        Self::Memory(0)
    }
}

/// An expression about a calculator, compiled twice: for any of them, and by itself for that of
/// most clusters, which count memory and vcores. There amounts are two numbers in registers
/// instead of vectors in memory.
macro_rules! with_calculator {
    ($value:expr, $calculator:ident => $result:expr) => {
        match $value {
            $crate::resource::Calculator::Dominant { types: 2 } => {
                let $calculator = $crate::resource::Calculator::Dominant { types: 2 };
                $result
            }
            $calculator => $result,
        }
    };
}
pub(crate) use with_calculator;

/// Below this size two different integers stay different after division by the same integer.
const EXACT_SHARES: i64 = 1 << 40;

impl Calculator {
    /// Number of resource types of the cluster.
    #[inline(always)]
    #[must_use]
    pub const fn types(&self) -> usize {
        match *self {
            Self::MemoryOnly { types } | Self::Dominant { types } => types,
        }
    }

    /// How many types, from memory on, decide whether an amount fits: memory alone, or all.
    #[must_use]
    pub const fn fitting_types(&self) -> usize {
        match *self {
            Self::MemoryOnly { .. } => 1,
            Self::Dominant { types } => types,
        }
    }

    /// Compares two amounts as shares of `cluster`.
    #[inline(always)]
    #[must_use]
    pub fn compare(
        &self,
        cluster: &ResourceVector,
        a: &ResourceVector,
        b: &ResourceVector,
    ) -> Ordering {
        match *self {
            Self::MemoryOnly { .. } => a.memory().cmp(&b.memory()),
            Self::Dominant { types } => compare_dominant(cluster, a, b, types),
        }
    }

    /// Whether `a` is more than nothing.
    #[inline(always)]
    #[must_use]
    pub fn above_none(&self, cluster: &ResourceVector, a: &ResourceVector) -> bool {
        self.compare(cluster, a, &ResourceVector::NONE).is_gt()
    }

    /// The smaller of two amounts as a whole; `a` when they are equal.
    #[inline(always)]
    #[must_use]
    pub fn min(
        &self,
        cluster: &ResourceVector,
        a: &ResourceVector,
        b: &ResourceVector,
    ) -> ResourceVector {
        if self.compare(cluster, a, b).is_le() {
            *a
        } else {
            *b
        }
    }

    /// The larger of two amounts as a whole; `a` when they are equal.
    #[inline(always)]
    #[must_use]
    pub fn max(
        &self,
        cluster: &ResourceVector,
        a: &ResourceVector,
        b: &ResourceVector,
    ) -> ResourceVector {
        if self.compare(cluster, a, b).is_ge() {
            *a
        } else {
            *b
        }
    }

    /// How many containers of `request` fit in `available`, at most `i32::MAX`.
    #[inline(always)]
    #[must_use]
    pub fn containers(&self, available: &ResourceVector, request: &ResourceVector) -> i64 {
        match *self {
            Self::MemoryOnly { .. } => match request.memory() {
                0 => 0,
                memory => available.memory() / memory,
            },
            Self::Dominant { types } => {
                let mut most = i64::from(i32::MAX);
                for i in 0..types {
                    if request[i] != 0 {
                        most = most.min(available[i] / request[i]);
                    }
                }
                most
            }
        }
    }

    /// `a` divided by `b`: the largest share of one over the largest share of the other.
    #[inline(always)]
    #[must_use]
    pub fn divide(&self, cluster: &ResourceVector, a: &ResourceVector, b: &ResourceVector) -> f32 {
        match *self {
            Self::MemoryOnly { .. } => share::safe_div(a.memory(), b.memory()),
            Self::Dominant { types } => share::share_quotient(
                share::largest_share(a, cluster, types),
                share::largest_share(b, cluster, types),
            ),
        }
    }

    /// The largest ratio of one type of `a` to the same type of `b`, at least 0.
    #[inline(always)]
    #[must_use]
    pub fn ratio(&self, a: &ResourceVector, b: &ResourceVector) -> f32 {
        match *self {
            Self::MemoryOnly { .. } => share::safe_div(a.memory(), b.memory()),
            Self::Dominant { types } => (0..types).fold(0.0, |largest, i| {
                let ratio = share::safe_div(a[i], b[i]);
                if ratio > largest { ratio } else { largest }
            }),
        }
    }

    /// Whether [`Self::containers`] is above zero, without a division.
    // The quotient is above zero where the request is not larger; negative requests are refused
    // before.
    #[inline(always)]
    #[must_use]
    pub fn holds_one(&self, available: &ResourceVector, request: &ResourceVector) -> bool {
        match *self {
            Self::MemoryOnly { .. } => {
                request.memory() != 0 && available.memory() >= request.memory()
            }
            Self::Dominant { types } => {
                (0..types).all(|i| request[i] == 0 || available[i] >= request[i])
            }
        }
    }

    /// An amount as [`Self::quotient`] takes it: what of a division by the same amount again and
    /// again can be done once.
    #[inline(always)]
    #[must_use]
    pub fn divisor(&self, cluster: &ResourceVector, a: &ResourceVector) -> Divisor {
        match *self {
            Self::MemoryOnly { .. } => Divisor::Memory(a.memory()),
            Self::Dominant { types } => Divisor::Share(share::largest_share(a, cluster, types)),
        }
    }

    /// [`Self::divide`] of two amounts that were both prepared by [`Self::divisor`].
    #[inline(always)]
    #[must_use]
    pub fn quotient(&self, a: Divisor, b: Divisor) -> f32 {
        match (a, b) {
            (Divisor::Share(a), Divisor::Share(b)) => share::share_quotient(a, b),
            (Divisor::Memory(a), Divisor::Memory(b)) => share::safe_div(a, b),
            _ => f32::NAN,
        }
    }

    /// Whether `small` fits in `big`: memory alone, or every type.
    #[inline(always)]
    #[must_use]
    pub fn fits_in(&self, small: &ResourceVector, big: &ResourceVector) -> bool {
        match *self {
            Self::MemoryOnly { .. } => small.memory() <= big.memory(),
            Self::Dominant { .. } => small.fits_in(big),
        }
    }

    /// A request raised to `lowest`, rounded up to a multiple of `step`, cut at `highest`.
    #[must_use]
    pub fn normalize(
        &self,
        request: &ResourceVector,
        lowest: &ResourceVector,
        highest: &ResourceVector,
        step: &ResourceVector,
    ) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => {
                let step = if step.memory() == 0 {
                    lowest.memory()
                } else {
                    step.memory()
                };
                let raised = request.memory().max(lowest.memory());
                memory_result(share::round_up(raised, step).min(highest.memory()))
            }
            Self::Dominant { .. } => ResourceVector::build(|i| {
                let raised = request[i].max(lowest[i]);
                let rounded = if step[i] == 0 {
                    raised
                } else {
                    share::round_up(raised, step[i])
                };
                rounded.min(highest[i])
            }),
        }
    }

    /// Rounded up to a multiple of `step`.
    #[inline(always)]
    #[must_use]
    pub fn round_up(&self, amount: &ResourceVector, step: &ResourceVector) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => {
                memory_result(share::round_up(amount.memory(), step.memory()))
            }
            Self::Dominant { types } => per_step(types, step, |i| amount[i], share::round_up),
        }
    }

    /// Rounded to a multiple of `step`, towards zero.
    #[inline(always)]
    #[must_use]
    pub fn round_down(&self, amount: &ResourceVector, step: &ResourceVector) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => {
                memory_result(share::round_down(amount.memory(), step.memory()))
            }
            Self::Dominant { types } => per_step(types, step, |i| amount[i], share::round_down),
        }
    }

    /// The product with `by`, rounded up to a multiple of `step`
    /// (`multiplyAndNormalizeUp`, with each calculator's own noise).
    #[inline(always)]
    #[must_use]
    pub fn times_up(
        &self,
        amount: &ResourceVector,
        by: f64,
        step: &ResourceVector,
    ) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => memory_result(share::round_up(
                share::times_nearest(amount.memory(), by),
                step.memory(),
            )),
            Self::Dominant { types } => per_step(
                types,
                step,
                |i| share::times_ceil(amount[i], by),
                share::round_up,
            ),
        }
    }

    /// The product with `by`, rounded down to a multiple of `step` (`multiplyAndNormalizeDown`).
    #[inline(always)]
    #[must_use]
    pub fn times_down(
        &self,
        amount: &ResourceVector,
        by: f64,
        step: &ResourceVector,
    ) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => memory_result(share::round_down(
                share::times_floor(amount.memory(), by),
                step.memory(),
            )),
            Self::Dominant { types } => per_step(
                types,
                step,
                |i| share::times_floor(amount[i], by),
                share::round_down,
            ),
        }
    }

    /// Divided by an integer, rounded up; nothing when `by` is 0.
    #[inline(always)]
    #[must_use]
    pub fn divide_ceil(&self, amount: &ResourceVector, by: i64) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => memory_result(share::ceil_div(amount.memory(), by)),
            Self::Dominant { types } => {
                ResourceVector::build_first(types, |i| share::ceil_div(amount[i], by))
            }
        }
    }

    /// Divided by an `f32`, rounded up; nothing when `by` is 0.
    #[inline(always)]
    #[must_use]
    pub fn divide_ceil_f32(&self, amount: &ResourceVector, by: f32) -> ResourceVector {
        match *self {
            Self::MemoryOnly { .. } => memory_result(share::ceil_div_f32(amount.memory(), by)),
            Self::Dominant { types } => {
                ResourceVector::build_first(types, |i| share::ceil_div_f32(amount[i], by))
            }
        }
    }

    /// Whether a type that this calculator looks at is above zero.
    #[inline(always)]
    #[must_use]
    pub fn any_above_zero(&self, amount: &ResourceVector) -> bool {
        match *self {
            Self::MemoryOnly { .. } => amount.memory() > 0,
            Self::Dominant { .. } => amount.any_above_zero(),
        }
    }
}

/// A result of the memory-only calculator: rebuilt from memory, one vcore if there is any.
#[inline(always)]
fn memory_result(memory: i64) -> ResourceVector {
    let mut result = ResourceVector::NONE;
    result.set(MEMORY, memory);
    result.set(VCORES, i64::from(memory > 0));
    result
}

/// `round` applied to each type that has a step; types without one keep their value.
#[inline(always)]
fn per_step(
    types: usize,
    step: &ResourceVector,
    value: impl Fn(usize) -> i64,
    round: impl Fn(i64, i64) -> i64,
) -> ResourceVector {
    ResourceVector::build_first(types, |i| {
        if step[i] == 0 {
            value(i)
        } else {
            round(value(i), step[i])
        }
    })
}

/// Compares by sorted shares, largest first (`DominantResourceCalculator.compare`).
#[inline(always)]
fn compare_dominant(
    cluster: &ResourceVector,
    a: &ResourceVector,
    b: &ResourceVector,
    types: usize,
) -> Ordering {
    // What is larger in one type and smaller in none has the larger shares; most comparisons of
    // most clusters are of that kind.
    if types == 2 && cluster[MEMORY] > 0 && cluster[VCORES] > 0 {
        let (am, av, bm, bv) = (a[MEMORY], a[VCORES], b[MEMORY], b[VCORES]);
        if are_small([am, av, bm, bv]) {
            if am <= bm && av <= bv {
                return if am == bm && av == bv {
                    Ordering::Equal
                } else {
                    Ordering::Less
                };
            }
            if am >= bm && av >= bv {
                return Ordering::Greater;
            }
        }
    }
    compare_by_type(cluster, a, b, types)
}

/// Whether all are so small that their order is that of their shares too.
#[inline(always)]
fn are_small(values: [i64; 4]) -> bool {
    let above = values.map(|value| value.wrapping_add(EXACT_SHARES).cast_unsigned());
    // A value outside of the range has a bit beyond those of the range.
    above.iter().fold(0, |bits, value| bits | value) < 2 * EXACT_SHARES.cast_unsigned()
}

/// The order of two shares of anything, where the integers are so small that it is that of the
/// shares too.
#[inline(always)]
fn compare_exactly(a: i64, b: i64) -> Option<Ordering> {
    const SMALL: Range<i64> = -EXACT_SHARES..EXACT_SHARES;
    (a == b || (SMALL.contains(&a) && SMALL.contains(&b))).then(|| a.cmp(&b))
}

#[inline(never)]
fn compare_by_type(
    cluster: &ResourceVector,
    a: &ResourceVector,
    b: &ResourceVector,
    types: usize,
) -> Ordering {
    let empty = cluster.is_none();
    let (mut more, mut less, mut exact) = (false, false, true);
    for i in 0..types {
        if cluster[i] != 0 || empty {
            // Of a total below zero, the larger amount is the smaller share.
            let order = if empty {
                Some(a[i].cmp(&b[i]))
            } else if cluster[i] > 0 {
                compare_exactly(a[i], b[i])
            } else {
                None
            };
            match order {
                Some(order) => {
                    more |= order.is_gt();
                    less |= order.is_lt();
                }
                None => exact = false,
            }
        }
    }
    match (more, less) {
        (false, false) if exact => Ordering::Equal,
        (true, false) if exact => Ordering::Greater,
        (false, true) if exact => Ordering::Less,
        (true, true) if empty => Ordering::Equal,
        _ => share::compare_shares(cluster, a, b, types),
    }
}

const _: () = assert!(MAX_TYPES >= 2, "memory and vcores always exist");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DRC: Calculator = Calculator::Dominant { types: 2 };
    const MEMORY: Calculator = Calculator::MemoryOnly { types: 2 };

    fn r(values: &[i64]) -> ResourceVector {
        ResourceVector::of(values)
    }

    #[test]
    fn dominant_shares_decide_then_the_other_ones() {
        // core spec 17.7
        let cluster = r(&[102_400, 100]);
        assert!(
            DRC.compare(&cluster, &r(&[10_240, 30]), &r(&[25_600, 5]))
                .is_gt()
        );
        assert!(
            DRC.compare(&cluster, &r(&[10_240, 20]), &r(&[20_480, 15]))
                .is_lt()
        );
        let used = DRC.divide(&cluster, &r(&[10_240, 30]), &r(&[51_200, 20]));
        assert_eq!(used.to_bits(), 0.6f32.to_bits());
    }

    #[test]
    fn of_a_total_below_zero_the_larger_amount_is_the_smaller_share() {
        let cluster = r(&[14, -10]);
        assert!(DRC.compare(&cluster, &r(&[0, 1]), &r(&[0, 0])).is_lt());
        assert!(DRC.compare(&cluster, &r(&[1, 1]), &r(&[0, 0])).is_gt());
        assert!(DRC.compare(&cluster, &r(&[0, -1]), &r(&[0, 0])).is_gt());
    }

    #[test]
    fn types_that_the_cluster_lacks_cancel_out() {
        let three = Calculator::Dominant { types: 3 };
        let cluster = r(&[100, 10, 0]);
        assert!(
            three
                .compare(&cluster, &r(&[10, 1, 5]), &r(&[10, 1, 7]))
                .is_eq()
        );
        assert!(
            three
                .compare(&ResourceVector::NONE, &r(&[1, 2]), &r(&[2, 1]))
                .is_eq()
        );
        assert!(
            three
                .compare(&ResourceVector::NONE, &r(&[1, 2]), &r(&[1, 1]))
                .is_gt()
        );
    }

    #[test]
    fn the_short_comparison_agrees_with_the_sorted_shares() {
        let cluster = r(&[1000, 7]);
        for a0 in 0..12 {
            for a1 in 0..9 {
                for b0 in 0..12 {
                    for b1 in 0..9 {
                        let (a, b) = (r(&[a0 * 90, a1]), r(&[b0 * 90, b1]));
                        let full = share::compare_shares(&cluster, &a, &b, 2);
                        assert_eq!(DRC.compare(&cluster, &a, &b), full, "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn requests_are_raised_rounded_and_cut() {
        // core spec 17.8
        let (low, high) = (r(&[1024, 1]), r(&[8192, 4]));
        assert_eq!(
            DRC.normalize(&r(&[1500, 3]), &low, &high, &low),
            r(&[2048, 3])
        );
        assert_eq!(
            DRC.normalize(&r(&[8000, 0]), &low, &high, &low),
            r(&[8192, 1])
        );
        assert_eq!(
            DRC.normalize(&r(&[7500, 1]), &low, &r(&[8000, 4]), &low),
            r(&[8000, 1])
        );
        assert_eq!(
            MEMORY.normalize(&r(&[1500, 3]), &low, &high, &low),
            r(&[2048, 1])
        );
    }

    #[test]
    fn products_keep_each_calculators_noise() {
        // core spec 17.4
        let ratio = f64::from(0.1f32 + 0.05f32);
        let (cluster, step) = (r(&[102_400, 100]), r(&[1024, 1]));
        assert_eq!(MEMORY.times_up(&cluster, ratio, &step).memory(), 15_360);
        assert_eq!(DRC.times_up(&cluster, ratio, &step).memory(), 16_384);
    }

    /// Amounts around the bounds of what is compared without shares, and any others.
    fn amounts() -> impl Strategy<Value = ResourceVector> {
        let bounds = [i64::MIN, -EXACT_SHARES - 1, -EXACT_SHARES, -1, 0, 1];
        let more = [EXACT_SHARES - 1, EXACT_SHARES, i64::MAX];
        let bound = prop::sample::select([&bounds[..], &more[..]].concat());
        let amount = prop_oneof![bound, any::<i64>(), -9..9i64];
        prop::collection::vec(amount, 3).prop_map(|values| r(&values))
    }

    proptest! {
        #[test]
        fn every_short_comparison_agrees_with_the_sorted_shares(
            cluster in amounts(), a in amounts(), b in amounts(), types in 1..=3usize
        ) {
            let first = |of: ResourceVector| r(of.values(types));
            let (cluster, a, b) = (first(cluster), first(a), first(b));
            prop_assume!(!cluster.is_none());
            let full = share::compare_shares(&cluster, &a, &b, types);
            let calculator = Calculator::Dominant { types };
            prop_assert_eq!(calculator.compare(&cluster, &a, &b), full);
        }
    }
}
