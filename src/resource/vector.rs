//! The resource vector: one `i64` per resource type, memory (MiB) first, vcores second.

use std::fmt;
use std::ops::{Add, AddAssign, Index, Neg, Sub, SubAssign};

/// Largest number of resource types of one cluster, memory and vcores included.
pub const MAX_TYPES: usize = 8;

/// Largest value of one type that may enter from outside: `2^53 - 1`, exact in an `f64` and far
/// enough from `i64::MAX` that a cluster of a million nodes of 8 PiB each still adds up.
pub const MAX_VALUE: i64 = (1 << 53) - 1;

/// Number of resource types that every cluster has: memory and vcores.
pub const NARROW: usize = 2;

/// Position of memory (MiB) in every vector.
pub const MEMORY: usize = 0;

/// Position of vcores in every vector.
pub const VCORES: usize = 1;

/// An expression with room for as many resource types as a calculator counts: compiled for memory
/// and vcores alone, which most clusters have, and for all there may be.
// Must equal the same expression with room for all types.
macro_rules! with_width {
    ($calculator:expr, $width:ident => $result:expr) => {
        if $calculator.types() == $crate::resource::NARROW
            && $crate::fast_path::FastPath::NarrowVectors.is_taken()
        {
            const $width: usize = $crate::resource::NARROW;
            $result
        } else {
            const $width: usize = $crate::resource::MAX_TYPES;
            $result
        }
    };
}
pub(crate) use with_width;

/// An amount of every resource type, in the order of the cluster's list of types.
///
/// Values may be negative (an over-committed node has less than nothing free). The derived order
/// is that of `Resource.compareTo`: memory, then vcores, then each further type; it breaks ties
/// and sorts nodes, and is *not* the order of a [`Calculator`](super::Calculator).
///
/// What is computed for every container is computed with room for the types that there are: two
/// numbers stay in registers, where eight are written to memory and read back.
///
/// ```
/// use capsched::resource::ResourceVector;
/// let node = ResourceVector::of(&[65_536, 32]);
/// let container = ResourceVector::of(&[4_096, 1]);
/// assert_eq!((node - container).memory(), 61_440);
/// assert!(container.fits_in(&node));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVector<const N: usize = MAX_TYPES>([i64; N]);

impl ResourceVector {
    /// A vector from its first values; the types left out are zero.
    ///
    /// # Panics
    ///
    /// With more than [`MAX_TYPES`] values; inputs from outside are checked before this point.
    #[must_use]
    pub fn of(values: &[i64]) -> Self {
        assert!(
            values.len() <= MAX_TYPES,
            "at most {MAX_TYPES} resource types"
        );
        let mut all = [0; MAX_TYPES];
        all[..values.len()].copy_from_slice(values);
        Self(all)
    }

    /// The same amount of the first `types` types.
    #[must_use]
    pub fn splat(value: i64, types: usize) -> Self {
        Self::build(|i| if i < types { value } else { 0 })
    }

    /// The same amount with room for the first `N` types. All others must be zero; builds with
    /// assertions look.
    #[inline(always)]
    #[must_use]
    pub fn narrow<const N: usize>(&self) -> ResourceVector<N> {
        debug_assert!(self.0[N..].iter().all(|&value| value == 0), "{self:?}");
        ResourceVector::build(|i| self.0[i])
    }
}

impl<const N: usize> ResourceVector<N> {
    /// Nothing of any type (`Resources.none`).
    pub const NONE: Self = Self([0; N]);

    /// Whether its amounts, and what is left of them after any number of steps, are numbers of `f32`: none is rounded.
    #[must_use]
    pub fn is_exact_in_steps_of(&self, step: &Self) -> bool {
        let is_exact = |(&amount, &step): (&i64, &i64)| {
            let unit = (amount | step).trailing_zeros();
            amount == 0 || (amount > 0 && amount >> unit <= 1 << f32::MANTISSA_DIGITS)
        };
        self.0.iter().zip(&step.0).all(is_exact)
    }

    /// The same amount with room for every type.
    #[inline(always)]
    #[must_use]
    pub fn widen(&self) -> ResourceVector {
        ResourceVector::build(|i| if i < N { self.0[i] } else { 0 })
    }

    /// A vector whose type `i` holds `f(i)`.
    #[inline(always)]
    #[must_use]
    pub fn build(mut f: impl FnMut(usize) -> i64) -> Self {
        // A plain loop: `from_fn` leaves a call for each type here.
        let mut values = [0; N];
        for (i, value) in values.iter_mut().enumerate() {
            *value = f(i);
        }
        Self(values)
    }

    /// A vector whose type `i` holds `f(i)` for the first `types` types, and nothing of others.
    #[inline(always)]
    #[must_use]
    pub fn build_first(types: usize, mut f: impl FnMut(usize) -> i64) -> Self {
        let mut values = [0; N];
        if types == 2 {
            // Most clusters have memory and vcores only, and what is counted here is done for
            // every container several times.
            values[MEMORY] = f(MEMORY);
            values[VCORES] = f(VCORES);
        } else {
            for (i, value) in values.iter_mut().enumerate().take(types) {
                *value = f(i);
            }
        }
        Self(values)
    }

    /// Memory in MiB.
    #[inline]
    #[must_use]
    pub const fn memory(&self) -> i64 {
        self.0[MEMORY]
    }

    /// Virtual cores.
    #[inline]
    #[must_use]
    pub const fn vcores(&self) -> i64 {
        self.0[VCORES]
    }

    /// The same amount with vcores of at most `i32::MAX`, as a copy in the reference has it: what
    /// follows from an infinite ratio would overflow in the next sum otherwise.
    // As Resource.newInstance(Resource), by castToIntSafely.
    #[inline(always)]
    #[must_use]
    pub fn with_narrow_vcores(mut self) -> Self {
        self.0[VCORES] = self.0[VCORES].min(i64::from(i32::MAX));
        self
    }

    /// The first `types` values, in the order of the cluster's list.
    #[must_use]
    pub fn values(&self, types: usize) -> &[i64] {
        &self.0[..types]
    }

    /// Replaces the amount of one type.
    pub fn set(&mut self, index: usize, value: i64) {
        self.0[index] = value;
    }

    /// Whether every type is zero.
    #[inline]
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.iter().fold(0, |bits, value| bits | value) == 0
    }

    /// Whether every type but memory and vcores is zero.
    #[inline]
    #[must_use]
    pub(super) fn is_narrow(&self) -> bool {
        self.0[VCORES + 1..]
            .iter()
            .fold(0, |bits, value| bits | value)
            == 0
    }

    /// Whether every type fits (`Resources.fitsIn` without a calculator).
    #[inline]
    #[must_use]
    pub fn fits_in(&self, big: &Self) -> bool {
        // Without an early end all types are compared at once.
        let types = self.0.iter().zip(&big.0);
        types.fold(true, |fits, (small, big)| fits & (small <= big))
    }

    /// Whether some type is above zero.
    #[inline]
    #[must_use]
    pub fn any_above_zero(&self) -> bool {
        self.0.iter().fold(false, |any, &value| any | (value > 0))
    }

    /// The smaller amount of each type.
    #[inline]
    #[must_use]
    pub fn component_min(&self, other: &Self) -> Self {
        Self::build(|i| self.0[i].min(other.0[i]))
    }

    /// The larger amount of each type.
    #[inline]
    #[must_use]
    pub fn component_max(&self, other: &Self) -> Self {
        Self::build(|i| self.0[i].max(other.0[i]))
    }

    /// `self - other` where memory and vcores stop at zero; further types may go below.
    // As Resources.subtractNonNegative of 3.4.2.
    #[inline]
    #[must_use]
    pub fn minus_floored(&self, other: &Self) -> Self {
        let mut left = *self - *other;
        left.0[MEMORY] = left.0[MEMORY].max(0);
        left.0[VCORES] = left.0[VCORES].max(0);
        left
    }

    /// `count` times this amount.
    #[inline]
    #[must_use]
    pub fn times(&self, count: i64) -> Self {
        Self::build(|i| self.0[i] * count)
    }

    /// `count` times this amount, or nothing where a type would leave `0..=`[`MAX_VALUE`].
    #[must_use]
    pub fn checked_times(&self, count: i64) -> Option<Self> {
        let mut product = Self::NONE;
        for (to, from) in product.0.iter_mut().zip(&self.0) {
            *to = from
                .checked_mul(count)
                .filter(|v| (0..=MAX_VALUE).contains(v))?;
        }
        Some(product)
    }
}

impl<const N: usize> Default for ResourceVector<N> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<const N: usize> Index<usize> for ResourceVector<N> {
    type Output = i64;
    #[inline]
    fn index(&self, index: usize) -> &i64 {
        &self.0[index]
    }
}

impl<const N: usize> Add for ResourceVector<N> {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        // Amounts from outside are bounded and cannot overflow; limits that follow from an infinite
        // ratio do, and wrap as Java's `long`.
        Self::build(|i| self.0[i].wrapping_add(other.0[i]))
    }
}

impl<const N: usize> Sub for ResourceVector<N> {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self::build(|i| self.0[i].wrapping_sub(other.0[i]))
    }
}

impl<const N: usize> Neg for ResourceVector<N> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::NONE - self
    }
}

impl<const N: usize> AddAssign for ResourceVector<N> {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const N: usize> SubAssign for ResourceVector<N> {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const N: usize> fmt::Debug for ResourceVector<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> fmt::Display for ResourceVector<N> {
    /// `<memory:4096, vcores:1>`, with further types by value when they are not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<memory:{}, vcores:{}", self.memory(), self.vcores())?;
        let last = self.0.iter().rposition(|&v| v != 0).unwrap_or(0);
        for value in self.0.iter().take(last + 1).skip(VCORES + 1) {
            write!(f, ", {value}")?;
        }
        f.write_str(">")
    }
}

/// Written as a list of values, memory and vcores at least, without zeros at its end.
impl<const N: usize> serde::Serialize for ResourceVector<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = self.0.iter().rposition(|&value| value != 0).unwrap_or(0);
        serializer.collect_seq(self.0.iter().take(last.max(VCORES) + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_and_vcores_stop_at_zero() {
        let left = ResourceVector::of(&[1, 1, 1]).minus_floored(&ResourceVector::of(&[2, 3, 4]));
        assert_eq!(left, ResourceVector::of(&[0, 0, -3]));
    }

    #[test]
    fn amounts_are_exact_in_steps_that_share_their_unit() {
        let of = ResourceVector::of;
        let (many, odd) = ((1 << 24) * 1024, (1 << 24) * 1024 + 1024);
        assert!(of(&[many, 7]).is_exact_in_steps_of(&of(&[2048, 1])));
        assert!(
            !of(&[odd, 7]).is_exact_in_steps_of(&of(&[2048, 1])),
            "two bits too many"
        );
        assert!(
            !of(&[many, 7]).is_exact_in_steps_of(&of(&[1, 1])),
            "one step behind it is odd"
        );
        assert!(of(&[0, 0]).is_exact_in_steps_of(&of(&[0, 0])));
        assert!(!of(&[-1, 0]).is_exact_in_steps_of(&of(&[1, 1])));
    }

    #[test]
    fn products_out_of_range_are_refused() {
        let ask = ResourceVector::of(&[MAX_VALUE, 1]);
        assert_eq!(ask.checked_times(1), Some(ask));
        assert_eq!(ask.checked_times(2), None);
        assert_eq!(ask.checked_times(i64::MAX), None);
        assert_eq!(ResourceVector::of(&[1]).checked_times(-1), None);
    }

    #[test]
    fn order_is_memory_then_vcores_then_the_others() {
        let small = ResourceVector::of(&[1, 9, 9]);
        assert!(small < ResourceVector::of(&[2, 0, 0]));
        assert!(small < ResourceVector::of(&[1, 9, 10]));
    }

    #[test]
    fn extra_types_show_only_when_used() {
        assert_eq!(
            ResourceVector::of(&[4096, 1]).to_string(),
            "<memory:4096, vcores:1>"
        );
        assert_eq!(
            ResourceVector::of(&[1, 2, 0, 5]).to_string(),
            "<memory:1, vcores:2, 0, 5>"
        );
    }
}
