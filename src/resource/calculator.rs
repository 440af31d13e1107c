//! The two resource calculators: memory only, and dominant resources.

use std::cmp::Ordering;

use super::dominant::compare_dominant;
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

    /// An amount without the types that the cluster does not know.
    // As ResourcePBImpl.initResources, which skips them.
    #[must_use]
    pub fn known(&self, amount: &ResourceVector) -> ResourceVector {
        ResourceVector::build_first(self.types(), |i| amount[i])
    }

    /// Compares two amounts as shares of `cluster`.
    #[inline(always)]
    #[must_use]
    pub fn compare<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
        b: &ResourceVector<N>,
    ) -> Ordering {
        match *self {
            Self::MemoryOnly { .. } => a.memory().cmp(&b.memory()),
            Self::Dominant { types } => compare_dominant(cluster, a, b, types),
        }
    }

    /// Whether `a` is more than nothing.
    #[inline(always)]
    #[must_use]
    pub fn above_none<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
    ) -> bool {
        self.compare(cluster, a, &ResourceVector::NONE).is_gt()
    }

    /// The smaller of two amounts as a whole; `a` when they are equal.
    #[inline(always)]
    #[must_use]
    pub fn min<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
        b: &ResourceVector<N>,
    ) -> ResourceVector<N> {
        select(self.compare(cluster, a, b).is_le(), a, b)
    }

    /// The larger of two amounts as a whole; `a` when they are equal.
    #[inline(always)]
    #[must_use]
    pub fn max<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
        b: &ResourceVector<N>,
    ) -> ResourceVector<N> {
        select(self.compare(cluster, a, b).is_ge(), a, b)
    }

    /// How many containers of `request` fit in `available`, at most `i32::MAX`.
    #[inline(always)]
    #[must_use]
    pub fn containers<const N: usize>(
        &self,
        available: &ResourceVector<N>,
        request: &ResourceVector<N>,
    ) -> i64 {
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
    pub fn divide<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
        b: &ResourceVector<N>,
    ) -> f32 {
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
    pub fn ratio<const N: usize>(&self, a: &ResourceVector<N>, b: &ResourceVector<N>) -> f32 {
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
    pub fn holds_one<const N: usize>(
        &self,
        available: &ResourceVector<N>,
        request: &ResourceVector<N>,
    ) -> bool {
        match *self {
            Self::MemoryOnly { .. } => {
                request.memory() != 0 && available.memory() >= request.memory()
            }
            Self::Dominant { types } => {
                (0..types).all(|i| request[i] == 0 || available[i] >= request[i])
            }
        }
    }

    /// Whether `small` fits in `big`: memory alone, or every type.
    #[inline(always)]
    #[must_use]
    pub fn fits_in<const N: usize>(
        &self,
        small: &ResourceVector<N>,
        big: &ResourceVector<N>,
    ) -> bool {
        match *self {
            Self::MemoryOnly { .. } => small.memory() <= big.memory(),
            Self::Dominant { .. } => small.fits_in(big),
        }
    }

    /// A request raised to `lowest`, rounded up to a multiple of `step`, cut at `highest`.
    #[must_use]
    pub fn normalize<const N: usize>(
        &self,
        request: &ResourceVector<N>,
        lowest: &ResourceVector<N>,
        highest: &ResourceVector<N>,
        step: &ResourceVector<N>,
    ) -> ResourceVector<N> {
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
            Self::Dominant { types } => ResourceVector::build_first(types, |i| {
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
    pub fn round_up<const N: usize>(
        &self,
        amount: &ResourceVector<N>,
        step: &ResourceVector<N>,
    ) -> ResourceVector<N> {
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
    pub fn round_down<const N: usize>(
        &self,
        amount: &ResourceVector<N>,
        step: &ResourceVector<N>,
    ) -> ResourceVector<N> {
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
    pub fn times_up<const N: usize>(
        &self,
        amount: &ResourceVector<N>,
        by: f64,
        step: &ResourceVector<N>,
    ) -> ResourceVector<N> {
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

    /// A ratio below which [`Self::times_up`] of `total` surely compares less than `amount`, with a
    /// margin for all that is rounded on the way; negative infinity when there is none.
    #[must_use]
    pub fn surely_within<const N: usize>(
        &self,
        total: &ResourceVector<N>,
        amount: &ResourceVector<N>,
        step: &ResourceVector<N>,
    ) -> f32 {
        let types = (0..self.fitting_types()).filter(|&i| total[i] != 0);
        let ratios = types.map(|i| share::ratio_below(total[i], amount[i].saturating_sub(step[i])));
        ratios.reduce(f32::min).unwrap_or(f32::NEG_INFINITY)
    }

    /// An amount whose multiples by factors of 1 and more surely compare at most equal, by the shares
    /// of `cluster`, to the multiples, as [`Self::times_down`] has them, of whatever compares not less
    /// than `amount` by the shares of `total`. Nothing, unless `total` has the same share of each type
    /// of `cluster`; never more than `amount`, which may be below zero.
    ///
    /// Rounding takes less than a step of a type, which may be a large share: every type loses as
    /// large a share as any may, so that the order of the shares stays.
    #[must_use]
    pub fn surely_covered<const N: usize>(
        &self,
        (total, cluster): (&ResourceVector<N>, &ResourceVector<N>),
        amount: &ResourceVector<N>,
        step: &ResourceVector<N>,
    ) -> ResourceVector<N> {
        let types = self.fitting_types();
        let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
        let present = || (0..types).filter(|&i| total[i] != 0 || cluster[i] != 0);
        // Of two types, the one of which a step is more.
        let coarser = |a: usize, b: usize| {
            let of_a = product(step[a].saturating_add(1), total[b]);
            let of_b = product(step[b].saturating_add(1), total[a]);
            if of_a >= of_b { a } else { b }
        };
        let known = present().all(|i| total[i] > 0 && cluster[i] > 0);
        let Some(worst) = present().reduce(coarser).filter(|_| known) else {
            return amount.component_min(&ResourceVector::NONE);
        };
        let alike = |i| product(total[i], cluster[worst]) == product(total[worst], cluster[i]);
        if !present().all(alike) {
            return amount.component_min(&ResourceVector::NONE);
        }
        let lost = step[worst].saturating_add(1);
        ResourceVector::build_first(types, |i| {
            share::without_share(amount[i], total[i], lost, total[worst])
        })
    }

    /// The product with `by`, rounded down to a multiple of `step` (`multiplyAndNormalizeDown`).
    #[inline(always)]
    #[must_use]
    pub fn times_down<const N: usize>(
        &self,
        amount: &ResourceVector<N>,
        by: f64,
        step: &ResourceVector<N>,
    ) -> ResourceVector<N> {
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
    pub fn divide_ceil<const N: usize>(
        &self,
        amount: &ResourceVector<N>,
        by: i64,
    ) -> ResourceVector<N> {
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
    pub fn divide_ceil_f32<const N: usize>(
        &self,
        amount: &ResourceVector<N>,
        by: f32,
    ) -> ResourceVector<N> {
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
    pub fn any_above_zero<const N: usize>(&self, amount: &ResourceVector<N>) -> bool {
        match *self {
            Self::MemoryOnly { .. } => amount.memory() > 0,
            Self::Dominant { .. } => amount.any_above_zero(),
        }
    }
}

/// One of two amounts, type by type: a choice between the two places where they stand would write
/// them to memory, and wait there for what was just written.
#[inline(always)]
fn select<const N: usize>(
    first: bool,
    a: &ResourceVector<N>,
    b: &ResourceVector<N>,
) -> ResourceVector<N> {
    ResourceVector::build(|i| if first { a[i] } else { b[i] })
}

/// A result of the memory-only calculator: rebuilt from memory, one vcore if there is any.
#[inline(always)]
fn memory_result<const N: usize>(memory: i64) -> ResourceVector<N> {
    let mut result = ResourceVector::NONE;
    result.set(MEMORY, memory);
    result.set(VCORES, i64::from(memory > 0));
    result
}

/// `round` applied to each type that has a step; types without one keep their value.
#[inline(always)]
fn per_step<const N: usize>(
    types: usize,
    step: &ResourceVector<N>,
    value: impl Fn(usize) -> i64,
    round: impl Fn(i64, i64) -> i64,
) -> ResourceVector<N> {
    ResourceVector::build_first(types, |i| {
        if step[i] == 0 {
            value(i)
        } else {
            round(value(i), step[i])
        }
    })
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
    fn an_amount_below_zero_is_no_share_of_dominant_resources() {
        let cluster = r(&[1024, 10]);
        for (used, share) in [([-512, -5], 0.0), ([-512, 5], 0.5), ([512, -5], 0.5)] {
            let divided = DRC.divide(&cluster, &r(&used), &cluster);
            assert_eq!(divided.to_bits(), f32::to_bits(share), "{used:?}");
        }
        let memory_only = Calculator::MemoryOnly { types: 2 };
        let divided = memory_only.divide(&cluster, &r(&[-512, -5]), &cluster);
        assert_eq!(divided.to_bits(), (-0.5f32).to_bits());
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

    proptest! {
        #[test]
        fn what_is_surely_within_compares_less(
            total in prop::collection::vec(0..1_i64 << 45, 3),
            parts in prop::collection::vec(0.0..1.1_f64, 3),
            step in prop::collection::vec(0..5000_i64, 3),
            below in 0.0..=1.0_f32,
            dominant in any::<bool>()
        ) {
            let calculator = if dominant {
                Calculator::Dominant { types: 3 }
            } else {
                Calculator::MemoryOnly { types: 3 }
            };
            let amount = ResourceVector::build_first(3, |i| share::times_floor(total[i], parts[i]));
            let (total, step) = (r(&total), r(&step));
            let bound = calculator.surely_within(&total, &amount, &step);
            for ratio in [share::product(bound, below), bound.next_down()] {
                if ratio < bound {
                    let product = calculator.times_up(&total, f64::from(ratio), &step);
                    prop_assert!(calculator.compare(&total, &product, &amount).is_lt());
                }
            }
        }

        #[test]
        fn what_is_surely_covered_is_by_whatever_is_not_less(
            nodes in (1..40_i64, 1..9_i64),
            node in prop::collection::vec(0..3000_i64, 3),
            scale in prop::sample::select(vec![1, 1 << 24]),
            parts in prop::collection::vec(-0.1..1.1_f64, 3),
            offsets in prop::collection::vec(-2000..4000_i64, 3),
            step in prop::collection::vec(0..2000_i64, 3),
            by in 1.0..4.0_f64,
            dominant in any::<bool>()
        ) {
            let calculator = if dominant {
                Calculator::Dominant { types: 3 }
            } else {
                Calculator::MemoryOnly { types: 3 }
            };
            let (total, step) = (r(&node).times(nodes.0 * scale), r(&step));
            let cluster = total.times(nodes.1);
            let amount = ResourceVector::build_first(3, |i| share::times_floor(total[i], parts[i]));
            let other = calculator.round_up(&(amount + r(&offsets)), &step);
            let covered = calculator.surely_covered((&total, &cluster), &amount, &step);
            prop_assert!(calculator.fits_in(&covered, &amount));
            if calculator.compare(&total, &other, &amount).is_ge() {
                let used = share::times(&covered, by);
                let multiple = calculator.times_down(&other, by, &step);
                prop_assert!(calculator.compare(&cluster, &used, &multiple).is_le());
            }
        }

        #[test]
        fn nothing_is_surely_covered_by_the_shares_of_other_nodes(
            total in prop::collection::vec(100..1_i64 << 40, 2), more in 1..1_i64 << 20
        ) {
            let calculator = Calculator::Dominant { types: 2 };
            let (total, step) = (r(&total), r(&[0, 0]));
            let cluster = total + r(&[more, 0]);
            let covered = calculator.surely_covered((&total, &cluster), &total, &step);
            prop_assert!(covered.is_none());
            let alike = calculator.surely_covered((&total, &total), &total, &step);
            prop_assert!(alike[0] > 0 && alike[1] > 0, "{alike}");
        }
    }
}
