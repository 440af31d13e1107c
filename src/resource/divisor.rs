//! Divisions by the same amount again and again.

use super::{Calculator, ResourceVector, share};

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

impl Calculator {
    /// An amount as [`Self::quotient`] takes it: what of a division by the same amount again and
    /// again can be done once.
    #[inline(always)]
    #[must_use]
    pub fn divisor<const N: usize>(
        &self,
        cluster: &ResourceVector<N>,
        a: &ResourceVector<N>,
    ) -> Divisor {
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
}
