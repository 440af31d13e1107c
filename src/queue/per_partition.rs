//! Figures by partition.

use std::fmt;
use std::iter::{self, Chain, Once};
use std::ops::{Index, IndexMut};
use std::slice;

use crate::id::PartitionId;

/// Figures that a row without a place for a partition has there.
pub trait Blank: Default + 'static {
    /// The same as the default.
    fn blank() -> &'static Self;
}

/// Figures of a row by partition. Those on the default partition, which is the only one of most
/// clusters, are part of the row: reading them takes no step through memory of its own.
///
/// A partition has a place once its figures are written, with those before it. Others read as blank, so
/// a label that is new to the cluster need not change each row.
#[derive(Clone, Default)]
#[repr(C)]
pub struct PerPartition<T> {
    default: T,
    others: Vec<T>,
}

impl<T> PerPartition<T> {
    /// The partitions that have a place, the default one first.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionId> + use<T> {
        (0..=self.others.len()).map(PartitionId::at)
    }

    /// The figures on all partitions that have a place, those on the default partition first.
    pub fn iter(&self) -> Chain<Once<&T>, slice::Iter<'_, T>> {
        iter::once(&self.default).chain(&self.others)
    }

    /// The same, to be written.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        iter::once(&mut self.default).chain(&mut self.others)
    }
}

impl<T: Blank> PerPartition<T> {
    /// The figures of two rows on each partition that has a place in one of them.
    pub fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a T, &'a T)> {
        let partitions = 0..=self.others.len().max(other.others.len());
        let partitions = partitions.map(PartitionId::at);
        partitions.map(|partition| (&self[partition], &other[partition]))
    }
}

impl<'a, T> IntoIterator for &'a PerPartition<T> {
    type Item = &'a T;
    type IntoIter = Chain<Once<&'a T>, slice::Iter<'a, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Blank> Index<PartitionId> for PerPartition<T> {
    type Output = T;

    #[inline]
    fn index(&self, partition: PartitionId) -> &T {
        match partition.index() {
            0 => &self.default,
            other => match self.others.get(other - 1) {
                Some(figures) => figures,
                None => T::blank(),
            },
        }
    }
}

impl<T: Blank> IndexMut<PartitionId> for PerPartition<T> {
    #[inline]
    fn index_mut(&mut self, partition: PartitionId) -> &mut T {
        let at = match partition.index() {
            0 => return &mut self.default,
            other => other - 1,
        };
        if at >= self.others.len() {
            self.make_place(at);
        }
        &mut self.others[at]
    }
}

impl<T: Blank> PerPartition<T> {
    #[cold]
    #[inline(never)]
    fn make_place(&mut self, at: usize) {
        self.others.resize_with(at + 1, T::default);
    }
}

/// A place whose figures are blank reads as none.
impl<T: Blank + fmt::Debug> fmt::Debug for PerPartition<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank = format!("{:?}", T::blank());
        let is_blank = |figures: &T| format!("{figures:?}") == blank;
        let last = self.others.iter().rposition(|figures| !is_blank(figures));
        let others = &self.others[..last.map_or(0, |last| last + 1)];
        let all = iter::once(&self.default).chain(others);
        f.debug_list().entries(all).finish()
    }
}

/// Gives types a blank value, which is made once.
macro_rules! blank {
    ($($name:ty),*) => {
        $(impl $crate::queue::per_partition::Blank for $name {
            #[cold]
            #[inline(never)]
            fn blank() -> &'static Self {
                static BLANK: std::sync::LazyLock<$name> =
                    std::sync::LazyLock::new(Default::default);
                &BLANK
            }
        })*
    };
}

pub(super) use blank;

#[cfg(test)]
mod tests {
    use super::*;

    blank!(u32);

    #[test]
    fn a_partition_without_a_place_reads_as_blank() {
        let mut figures: PerPartition<u32> = PerPartition::default();
        assert_eq!(figures[PartitionId(3)], 0);
        assert!(
            figures.partitions().eq([PartitionId::DEFAULT]),
            "reading makes no place"
        );
        figures[PartitionId(2)] = 12;
        figures[PartitionId::DEFAULT] = 10;
        assert!(figures.iter().eq(&[10, 0, 12]));
        figures.iter_mut().for_each(|figure| *figure += 1);
        assert_eq!(figures[PartitionId(1)], 1);
        assert_eq!(figures[PartitionId(3)], 0);
    }

    #[test]
    fn rows_with_other_places_are_compared_and_shown_by_their_figures() {
        let (mut one, mut other) = (PerPartition::<u32>::default(), PerPartition::default());
        one[PartitionId(2)] = 0;
        other[PartitionId(1)] = 4;
        assert!(one.pairs(&other).eq([(&0, &0), (&0, &4), (&0, &0)]));
        assert_eq!(format!("{one:?} {other:?}"), "[0] [0, 4]");
    }
}
