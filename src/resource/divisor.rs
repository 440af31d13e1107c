//! Divisions by the same amount again and again.

use super::{Calculator, MEMORY, NARROW, ResourceVector, VCORES, share};

/// What amounts are divided by, prepared by [`Calculator::divisor`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Divisor {
    /// What one MiB and one vcore contribute, as far as that decides quotients; read where they are the only types.
    inverses: [f64; NARROW],
    /// Its largest share of the cluster, where all types count; its memory as the nearest `f32`, where that
    /// alone does.
    whole: f64,
    /// The amount itself, for the division without preparation.
    #[cfg(capsched_slow)]
    by: ResourceVector,
}

impl Calculator {
    /// An amount as [`Self::quotient`] takes it: what of a division by the same amount again and
    /// again can be done once.
    #[must_use]
    pub fn divisor<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        by: &ResourceVector<N>,
    ) -> Divisor {
        match *self {
            Self::MemoryOnly { .. } => Divisor {
                inverses: [f64::NAN; NARROW],
                whole: f64::from(share::to_f32(by.memory())),
                #[cfg(capsched_slow)]
                by: by.widen(),
            },
            Self::Dominant { types } => {
                let share = share::largest_share(by, cluster, types);
                Divisor {
                    inverses: share::inverses([cluster[MEMORY], cluster[VCORES]], share),
                    whole: share,
                    #[cfg(capsched_slow)]
                    by: by.widen(),
                }
            }
        }
    }

    /// [`Self::divide`] by an amount that this calculator prepared by [`Self::divisor`], as a share of the
    /// same cluster.
    ///
    /// Cost: on clusters that count memory and vcores, two multiplications; of shares at random, one in some
    /// sixteen million is divided.
    #[inline(always)]
    #[must_use]
    pub fn quotient<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
        by: &Divisor,
    ) -> f32 {
        // Must equal [`Calculator::divide`].
        #[cfg(capsched_slow)]
        if !crate::fast_path::FastPath::PreparedDivisor.is_taken() {
            return self.divide(cluster, a, &by.by.narrow());
        }
        match *self {
            Self::MemoryOnly { .. } => share::safe_div_f32(a.memory(), share::narrow(by.whole)),
            Self::Dominant { types: NARROW } => {
                let product = share::largest_product([a[MEMORY], a[VCORES]], by.inverses);
                product.unwrap_or_else(|| divided(a, cluster, by))
            }
            Self::Dominant { types } => {
                share::share_quotient(share::largest_share(a, cluster, types), by.whole)
            }
        }
    }
}

#[cold]
#[inline(never)]
fn divided<const N: usize>(
    a: &ResourceVector<N>,
    cluster: &ResourceVector<N>,
    by: &Divisor,
) -> f32 {
    share::share_quotient(share::largest_share(a, cluster, NARROW), by.whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Amounts as clusters have them, and any others.
    fn amounts() -> impl Strategy<Value = ResourceVector> {
        let usual =
            (0..=1_i64 << 40, 0..=1_i64 << 24).prop_map(|(memory, vcores)| [memory, vcores]);
        let any = [any::<i64>(), any::<i64>()];
        let small = [-2..9_i64, -2..9_i64];
        prop_oneof![4 => usual, 1 => any, 1 => small].prop_map(|values| ResourceVector::of(&values))
    }

    fn calculators() -> impl Strategy<Value = Calculator> {
        let types = NARROW;
        prop::sample::select(vec![
            Calculator::Dominant { types },
            Calculator::Dominant { types: 3 },
            Calculator::MemoryOnly { types },
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn a_quotient_is_that_of_a_division(
            calculator in calculators(), cluster in amounts(), a in amounts(), by in amounts()
        ) {
            let prepared = calculator.divisor(&cluster, &by);
            let (short, long) = (calculator.quotient(&cluster, &a, &prepared), calculator.divide(&cluster, &a, &by));
            prop_assert_eq!(short.to_bits(), long.to_bits(), "{} and {}", short, long);
        }
    }

    #[test]
    fn a_quotient_between_two_floats_is_divided() {
        // Numbers of 25 digits: every second one is the midpoint of two floats.
        let calculator = Calculator::Dominant { types: NARROW };
        let total = ResourceVector::of(&[1 << 25, 1 << 25]);
        let prepared = calculator.divisor(&total, &total);
        let between =
            |memory: i64| share::largest_product([memory, 0], prepared.inverses).is_none();
        let first = (1 << 24) + 1;
        for memory in first..first + 1000 {
            let a = ResourceVector::of(&[memory, 0]);
            let (short, long) = (
                calculator.quotient(&total, &a, &prepared),
                calculator.divide(&total, &a, &total),
            );
            assert_eq!(short.to_bits(), long.to_bits());
            assert_eq!(between(memory), memory % 2 == 1, "{memory}");
        }
    }
}
