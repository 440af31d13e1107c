//! The order of amounts by dominant shares, mostly decided without a division.

use std::cmp::Ordering;
use std::ops::Range;

use super::{MEMORY, ResourceVector, VCORES, share};

/// Below this size two different integers stay different after division by the same integer.
const EXACT_SHARES: i64 = 1 << 40;

/// Compares by sorted shares, largest first (`DominantResourceCalculator.compare`).
#[inline(always)]
pub(super) fn compare_dominant<const N: usize>(
    cluster: &ResourceVector<N>,
    a: &ResourceVector<N>,
    b: &ResourceVector<N>,
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
    compare_by_type(*cluster, *a, *b, types)
}

/// Whether all are so small, and none below zero, that their order is that of their shares too.
#[inline(always)]
fn are_small([a, b, c, d]: [i64; 4]) -> bool {
    // A value outside of the range has a bit beyond those of the range.
    (a | b | c | d).cast_unsigned() < EXACT_SHARES.cast_unsigned()
}

/// The order of two shares of anything, where the integers are so small that it is that of the
/// shares too.
#[inline(always)]
fn compare_exactly(a: i64, b: i64) -> Option<Ordering> {
    const SMALL: Range<i64> = -EXACT_SHARES..EXACT_SHARES;
    (a == b || (SMALL.contains(&a) && SMALL.contains(&b))).then(|| a.cmp(&b))
}

#[inline(never)]
fn compare_by_type<const N: usize>(
    cluster: ResourceVector<N>,
    a: ResourceVector<N>,
    b: ResourceVector<N>,
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
        _ => share::compare_shares(&cluster, &a, &b, types),
    }
}

#[cfg(test)]
mod tests {
    use super::super::NARROW;
    use super::*;
    use proptest::prelude::*;

    fn r(values: &[i64]) -> ResourceVector {
        ResourceVector::of(values)
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
                        assert_eq!(compare_dominant(&cluster, &a, &b, 2), full, "{a} {b}");
                    }
                }
            }
        }
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
            prop_assert_eq!(compare_dominant(&cluster, &a, &b, types), full);
            if types == NARROW {
                let [cluster, a, b] = [cluster, a, b].map(|of| of.narrow::<NARROW>());
                prop_assert_eq!(compare_dominant(&cluster, &a, &b, types), full);
            }
        }
    }
}
