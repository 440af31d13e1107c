//! Figures by partition.

use std::iter::{self, Chain, Once};
use std::ops::{Index, IndexMut};
use std::slice;

use crate::id::PartitionId;

/// Figures of a row by partition. Those on the default partition, which is the only one of most
/// clusters, are part of the row: reading them takes no step through memory of its own.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct PerPartition<T> {
    default: T,
    others: Vec<T>,
}

impl<T: Default> PerPartition<T> {
    /// Nothing on each of so many partitions, the default one among them.
    #[must_use]
    pub fn new(partitions: usize) -> Self {
        let mut new = Self {
            default: T::default(),
            others: Vec::new(),
        };
        new.widen(partitions);
        new
    }

    /// Adds what is missing to so many partitions: nothing, there.
    pub fn widen(&mut self, partitions: usize) {
        let others = partitions.saturating_sub(1).max(self.others.len());
        self.others.resize_with(others, T::default);
    }
}

impl<T> PerPartition<T> {
    /// The partitions, the default one first.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionId> + use<T> {
        (0..=self.others.len()).map(PartitionId::at)
    }

    /// The figures on a partition, if it has a place.
    #[inline]
    #[must_use]
    pub fn get(&self, partition: PartitionId) -> Option<&T> {
        match partition.index() {
            0 => Some(&self.default),
            other => self.others.get(other - 1),
        }
    }

    /// All figures, those on the default partition first.
    pub fn iter(&self) -> Chain<Once<&T>, slice::Iter<'_, T>> {
        iter::once(&self.default).chain(&self.others)
    }

    /// The same, to be written.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        iter::once(&mut self.default).chain(&mut self.others)
    }
}

impl<'a, T> IntoIterator for &'a PerPartition<T> {
    type Item = &'a T;
    type IntoIter = Chain<Once<&'a T>, slice::Iter<'a, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Index<PartitionId> for PerPartition<T> {
    type Output = T;

    #[inline]
    fn index(&self, partition: PartitionId) -> &T {
        match partition.index() {
            0 => &self.default,
            other => &self.others[other - 1],
        }
    }
}

impl<T> IndexMut<PartitionId> for PerPartition<T> {
    #[inline]
    fn index_mut(&mut self, partition: PartitionId) -> &mut T {
        match partition.index() {
            0 => &mut self.default,
            other => &mut self.others[other - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_figures_of_its_own() {
        let mut figures: PerPartition<u32> = PerPartition::new(2);
        figures.widen(4);
        figures.widen(1);
        for partition in figures.partitions() {
            figures[partition] = 10 + u32::from(partition.0);
        }
        assert!(figures.iter().eq(&[10, 11, 12, 13]));
        figures.iter_mut().for_each(|figure| *figure -= 10);
        assert_eq!(figures.get(PartitionId(3)), Some(&3));
        assert_eq!(figures.get(PartitionId(4)), None);
        assert_eq!(figures[PartitionId::DEFAULT], 0);
    }
}
