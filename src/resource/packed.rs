//! Resource vectors as rows keep them: memory and vcores in place, other types apart.

use std::fmt;
use std::ops::{AddAssign, SubAssign};

use super::{MAX_TYPES, MEMORY, NARROW, ResourceVector, VCORES};

/// A [`ResourceVector`] in a row that stays: three words instead of eight. A decision reads some
/// dozen of them, and rows that are half as wide stay in nearer caches.
///
/// Cost: reading one is a load and a test; where a type other than memory and vcores is not zero,
/// which no type is on most clusters, there is an allocation besides.
///
/// ```
/// use capsched::resource::{PackedVector, ResourceVector};
/// let mut used = PackedVector::default();
/// used += ResourceVector::of(&[4_096, 1]);
/// used += ResourceVector::of(&[0, 0, 2]);
/// assert_eq!(used.get(), ResourceVector::of(&[4_096, 1, 2]));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PackedVector {
    first: [i64; NARROW],
    /// Absent when all are zero.
    rest: Option<Box<[i64; MAX_TYPES - NARROW]>>,
}

impl PackedVector {
    /// The vector.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> ResourceVector {
        match &self.rest {
            None => ResourceVector::build_first(NARROW, |i| self.first[i]),
            Some(rest) => self.with(rest.as_slice()),
        }
    }

    /// The vector with room for the first `N` types, at least memory and vcores. All others must be
    /// zero; builds with assertions look.
    #[inline(always)]
    #[must_use]
    pub fn narrow<const N: usize>(&self) -> ResourceVector<N> {
        const { assert!(N >= NARROW && N <= MAX_TYPES) }
        if N == NARROW {
            debug_assert!(self.rest.is_none(), "{self:?}");
            ResourceVector::build(|i| self.first[i])
        } else {
            self.get().narrow()
        }
    }

    #[cold]
    fn with(&self, rest: &[i64]) -> ResourceVector {
        ResourceVector::build(|i| match i.checked_sub(NARROW) {
            None => self.first[i],
            Some(i) => rest[i],
        })
    }

    /// Replaces the vector. Types beyond the first `N` must have been zero; builds with assertions
    /// look.
    #[inline(always)]
    pub fn set<const N: usize>(&mut self, vector: ResourceVector<N>) {
        const { assert!(N >= NARROW && N <= MAX_TYPES) }
        debug_assert!(N > NARROW || self.rest.is_none(), "{self:?}");
        self.first = [vector[MEMORY], vector[VCORES]];
        if N > NARROW && (self.rest.is_some() || !vector.is_narrow()) {
            self.set_rest(&vector.widen());
        }
    }

    #[cold]
    fn set_rest(&mut self, vector: &ResourceVector) {
        let rest = || Box::new(std::array::from_fn(|i| vector[i + NARROW]));
        self.rest = (!vector.is_narrow()).then(rest);
    }

    /// Whether every type is zero.
    #[inline]
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.first == [0; NARROW] && self.rest.is_none()
    }

    /// Memory in MiB.
    #[inline]
    #[must_use]
    pub const fn memory(&self) -> i64 {
        self.first[MEMORY]
    }

    /// Virtual cores.
    #[inline]
    #[must_use]
    pub const fn vcores(&self) -> i64 {
        self.first[VCORES]
    }
}

impl<const N: usize> From<ResourceVector<N>> for PackedVector {
    #[inline(always)]
    fn from(vector: ResourceVector<N>) -> Self {
        let mut packed = Self::default();
        packed.set(vector);
        packed
    }
}

impl<const N: usize> PartialEq<ResourceVector<N>> for PackedVector {
    #[inline(always)]
    fn eq(&self, other: &ResourceVector<N>) -> bool {
        self.narrow() == *other
    }
}

impl<const N: usize> AddAssign<ResourceVector<N>> for PackedVector {
    #[inline(always)]
    fn add_assign(&mut self, other: ResourceVector<N>) {
        self.set(self.narrow() + other);
    }
}

impl<const N: usize> SubAssign<ResourceVector<N>> for PackedVector {
    #[inline(always)]
    fn sub_assign(&mut self, other: ResourceVector<N>) {
        self.set(self.narrow() - other);
    }
}

impl fmt::Debug for PackedVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_vector_is_the_vector(
            sums in prop::collection::vec((prop::collection::vec(-3..3_i64, 0..=MAX_TYPES), any::<bool>()), 1..20)
        ) {
            let (mut plain, mut packed) = (ResourceVector::NONE, PackedVector::default());
            for (values, add) in sums {
                let other = ResourceVector::of(&values);
                if add {
                    plain += other;
                    packed += other;
                } else {
                    plain -= other;
                    packed -= other;
                }
                prop_assert_eq!(packed.get(), plain);
                prop_assert_eq!(packed.is_none(), plain.is_none());
                prop_assert_eq!(packed.clone(), PackedVector::from(plain));
                prop_assert_eq!((packed.memory(), packed.vcores()), (plain.memory(), plain.vcores()));
            }
        }
    }
}
