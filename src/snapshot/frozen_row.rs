//! Rows of frozen tables, with those that are freed in parts.
//!
//! A row of an application with 100,000 keys or places shares most of its memory with the versions before and after it. What is
//! left of the last version takes milliseconds to free. Whoever publishes keeps a reference to each version of such a
//! row. So nobody else frees it, and once nobody else reads it, its publisher frees some of it at a time.

use crate::cluster::{Node, Partition};
use crate::queue::{App, Demand, Queue, User};

/// A row of a table that is published.
pub trait FrozenRow: Clone {
    /// Whether it holds so much memory that it is freed in parts.
    fn is_large(&self) -> bool {
        false
    }

    /// Frees memory of a row that nobody reads any more: about as many entries as the budget has, from which they are
    /// taken off. Returns whether the rest is small.
    fn free_some(&mut self, _budget: &mut usize) -> bool {
        true
    }
}

impl FrozenRow for Partition {}
impl FrozenRow for Queue {}
impl FrozenRow for User {}
impl FrozenRow for Demand {}
impl FrozenRow for Node {}

impl FrozenRow for App {
    fn is_large(&self) -> bool {
        App::is_large(self)
    }

    fn free_some(&mut self, budget: &mut usize) -> bool {
        self.keys.free_some(budget)
    }
}

#[cfg(test)]
impl FrozenRow for u64 {}

#[cfg(test)]
impl<T> FrozenRow for std::sync::Arc<T> {}
