//! A list in chunks: it grows without moving what it holds.

use std::iter;
use std::ops::{Index, IndexMut};

const CHUNK: usize = 1024;

/// Items by index, ascending.
#[derive(Clone, Debug)]
pub(in crate::commit) struct Slab<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds an item, made where it stays, and returns its index.
    #[inline(always)]
    pub(in crate::commit) fn push_with(&mut self, item: impl FnOnce() -> T) -> usize {
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let full = (self.chunks.len() - 1) * CHUNK;
        let Some(last) = self.chunks.last_mut() else {
            return full;
        };
        last.extend(iter::once_with(item));
        full + last.len() - 1
    }
}

impl<T> Index<usize> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.chunks[index / CHUNK][index % CHUNK]
    }
}

impl<T> IndexMut<usize> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.chunks[index / CHUNK][index % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_index_across_chunks() {
        let mut slab = Slab::default();
        for i in 0..3 * CHUNK {
            assert_eq!(slab.push_with(|| i), i);
        }
        slab[CHUNK] = 7;
        assert_eq!(
            (slab[CHUNK - 1], slab[CHUNK], slab[2 * CHUNK]),
            (CHUNK - 1, 7, 2 * CHUNK)
        );
    }
}
