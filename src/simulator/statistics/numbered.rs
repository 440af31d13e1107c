//! Rows by name: each name gets a number, counted from 0 in the order of appearance, and keeps it.

use std::borrow::Borrow;
use std::hash::Hash;

use crate::id::Map;

/// A row for each name that appeared.
#[derive(Debug)]
pub(in crate::simulator) struct Numbered<N, R> {
    numbers: Map<N, usize>,
    rows: Vec<(N, R)>,
}

impl<N, R> Default for Numbered<N, R> {
    fn default() -> Self {
        Self {
            numbers: Map::default(),
            rows: Vec::new(),
        }
    }
}

impl<N: Clone + Eq + Hash, R> Numbered<N, R> {
    /// The number of a name that appeared.
    pub(in crate::simulator) fn find<Q>(&self, name: &Q) -> Option<usize>
    where
        N: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.numbers.get(name).copied()
    }

    /// Gives a name that did not appear its number.
    pub(in crate::simulator) fn add(&mut self, name: N, row: R) -> usize {
        let number = self.rows.len();
        self.numbers.insert(name.clone(), number);
        self.rows.push((name, row));
        number
    }

    /// The name with a number.
    pub(in crate::simulator) fn name(&self, number: usize) -> &N {
        &self.rows[number].0
    }

    /// The row of a number.
    pub(in crate::simulator) fn row(&self, number: usize) -> &R {
        &self.rows[number].1
    }

    /// The row of a number, to be changed.
    pub(in crate::simulator) fn row_mut(&mut self, number: usize) -> &mut R {
        &mut self.rows[number].1
    }

    /// All rows in the order of their numbers.
    pub(in crate::simulator) fn rows(&self) -> &[(N, R)] {
        &self.rows
    }
}
