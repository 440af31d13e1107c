//! Tables of rows that remember which of them were written.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use super::freezer::Freezer;
use super::frozen_row::FrozenRow;

/// A position in a table.
pub trait RowSlot: Copy {
    /// The position as an index.
    fn index(self) -> usize;
}

macro_rules! slots {
    ($($name:ident),*) => {
        $(impl RowSlot for crate::id::$name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

slots!(QueueSlot, NodeSlot, AppSlot, UserSlot, PartitionId);

/// A vector of rows that remembers which of them were written.
#[derive(Clone, Debug)]
pub struct Table<S, T> {
    pub(super) rows: Vec<T>,
    pub(super) tracking: bool,
    /// Whether anybody learns of writes.
    noting: bool,
    /// Bits of rows of which another write is no news to anybody: the one look of each write.
    noted: Vec<u64>,
    /// Those written since [`Table::take_watched`] was last asked; nothing unless somebody watches.
    watched: Option<Marks>,
    /// Since the last publication, or since the copy was last refreshed.
    pub(super) written: Marks,
    /// Since [`Table::take_recent`] was last asked; all of them are among the written, and are to be
    /// copied for the next publication.
    recent: Marks,
    /// Of the written, those that are to be copied for the next publication; others were copied ahead.
    /// Looked at in the order in which they came, as far as to `copied_ahead`.
    uncopied: Marks,
    copied_ahead: usize,
    /// Rows that the present refreshment copied; empty between refreshments.
    pub(super) copied: Marks,
    /// What publications have shown of it.
    pub(super) freezer: Freezer<T>,
    slot: PhantomData<fn(S)>,
}

/// Room for what is done ahead of a publication, in rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub(super) to_copy: usize,
    pub(super) to_forget: usize,
}

#[inline]
fn has_bit(bits: &[u64], index: usize) -> bool {
    let word = bits.get(index / 64);
    word.is_some_and(|word| word & (1 << (index % 64)) != 0)
}

fn set_bit(bits: &mut Vec<u64>, index: usize) {
    let word = index / 64;
    if word >= bits.len() {
        bits.resize(word + 1, 0);
    }
    bits[word] |= 1 << (index % 64);
}

fn clear_bit(bits: &mut [u64], index: usize) {
    if let Some(word) = bits.get_mut(index / 64) {
        *word &= !(1 << (index % 64));
    }
}

/// A set of row indices, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    bits: Vec<u64>,
    pub(super) list: Vec<u32>,
}

impl Marks {
    #[inline]
    pub(super) fn has(&self, index: usize) -> bool {
        has_bit(&self.bits, index)
    }

    /// Adds an index; whether it was not there.
    pub(super) fn add(&mut self, index: usize) -> bool {
        if self.has(index) {
            return false;
        }
        set_bit(&mut self.bits, index);
        self.list
            .push(u32::try_from(index).expect("tables are bounded below the slot range"));
        true
    }

    /// Takes an index out of the set; it stays in the list.
    fn forget(&mut self, index: usize) {
        clear_bit(&mut self.bits, index);
    }

    pub(super) fn clear(&mut self) {
        for &index in &self.list {
            self.bits[index as usize / 64] = 0;
        }
        self.list.clear();
    }
}

impl<S: RowSlot, T> Default for Table<S, T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            tracking: false,
            noting: false,
            noted: Vec::new(),
            watched: None,
            written: Marks::default(),
            recent: Marks::default(),
            uncopied: Marks::default(),
            copied_ahead: 0,
            copied: Marks::default(),
            freezer: Freezer::default(),
            slot: PhantomData,
        }
    }
}

impl<S: RowSlot, T> Index<S> for Table<S, T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: S) -> &T {
        &self.rows[slot.index()]
    }
}

impl<S: RowSlot, T> IndexMut<S> for Table<S, T> {
    #[inline]
    fn index_mut(&mut self, slot: S) -> &mut T {
        let index = slot.index();
        if self.noting && !has_bit(&self.noted, index) {
            self.note(index);
        }
        &mut self.rows[index]
    }
}

impl<S: RowSlot, T> Table<S, T> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// Adds a row at the end and returns its index.
    pub fn push(&mut self, row: T) -> usize {
        self.rows.push(row);
        let index = self.rows.len() - 1;
        if self.noting {
            self.note(index);
        }
        index
    }

    /// Takes the rows from a position on out of a table that nobody watches or publishes.
    pub fn split_off(&mut self, at: usize) -> Vec<T> {
        debug_assert!(!self.noting, "somebody would look for these rows");
        self.rows.split_off(at)
    }

    /// Starts to remember writes; everything counts as written.
    pub fn track(&mut self) {
        self.start_tracking();
        self.forget_written();
        for index in 0..self.rows.len() {
            self.note(index);
        }
    }

    /// How many rows were written since the last publication, or since the copy was last
    /// refreshed.
    #[must_use]
    pub fn written(&self) -> usize {
        self.written.list.len()
    }

    /// Replaces a list by the indices of the rows that were written since this was last asked,
    /// except for those written before the last publication; some may come twice.
    pub fn take_recent(&mut self, into: &mut Vec<u32>) {
        into.clone_from(&self.recent.list);
        self.forget_recent();
    }

    /// Begins to remember writes for [`Table::take_watched`], or ends that.
    pub fn watch(&mut self, watches: bool) {
        if watches != self.watched.is_some() {
            self.watched = watches.then(Marks::default);
            self.noting = self.tracking || watches;
            self.noted.clear();
        }
    }

    /// Remembers writes from now on.
    pub(super) fn start_tracking(&mut self) {
        (self.tracking, self.noting) = (true, true);
        self.noted.clear();
    }

    /// Adds to a list the indices of the rows that were written since this was last asked, each once.
    pub fn take_watched(&mut self, into: &mut Vec<u32>) {
        if let Some(watched) = &mut self.watched {
            into.extend_from_slice(&watched.list);
            for &index in &watched.list {
                clear_bit(&mut self.noted, index as usize);
            }
            watched.clear();
        }
    }

    /// A row is about to be written that was not since somebody last asked.
    #[cold]
    fn note(&mut self, index: usize) {
        set_bit(&mut self.noted, index);
        if let Some(watched) = &mut self.watched {
            watched.add(index);
        }
        if self.tracking && self.recent.add(index) {
            self.written.add(index);
            self.uncopied.add(index);
        }
    }

    fn forget_recent(&mut self) {
        for &index in &self.recent.list {
            clear_bit(&mut self.noted, index as usize);
        }
        self.recent.clear();
    }

    /// Nothing counts as written any more.
    pub(super) fn forget_written(&mut self) {
        self.written.clear();
        self.forget_recent();
        self.uncopied.clear();
        self.copied_ahead = 0;
    }
}

impl<S: RowSlot, T: FrozenRow> Table<S, T> {
    /// How many rows the next publication will have to copy as things stand.
    pub(super) fn uncopied(&self) -> usize {
        self.uncopied.list.len() - self.copied_ahead
    }

    /// Copies rows ahead of the next publication and forgets what earlier ones have replaced, as far
    /// as there is room, which it uses up. What is written again is copied again.
    pub(super) fn go_ahead(&mut self, room: &mut Ahead) {
        let forgotten = self.freezer.forget_retired(room.to_forget);
        room.to_forget = room.to_forget.saturating_sub(forgotten);
        let count = self.uncopied().min(room.to_copy);
        room.to_copy -= count;
        self.freezer.expect_rows(count);
        let last = self.copied_ahead + count;
        for at in self.copied_ahead..last {
            let index = self.uncopied.list[at];
            let row = index as usize;
            self.uncopied.forget(row);
            self.recent.forget(row);
            clear_bit(&mut self.noted, row);
            self.freezer.show(index, &self.rows[row]);
        }
        self.copied_ahead = last;
        self.freezer.renew_ahead();
    }

    /// Frees some memory of large rows that nobody else has.
    pub(super) fn free_large(&mut self) {
        self.freezer.free_large();
    }
}

impl<'a, S: RowSlot, T> IntoIterator for &'a Table<S, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeSlot;

    #[test]
    fn rows_that_were_written_are_reported_once_until_they_are_written_again() {
        let mut table: Table<NodeSlot, u64> = Table::default();
        let recent = |table: &mut Table<NodeSlot, u64>| {
            let mut recent = vec![9; 9];
            table.take_recent(&mut recent);
            recent
        };
        (0..200).for_each(|i| _ = table.push(i));
        table[NodeSlot(7)] = 1;
        assert_eq!((table.written(), recent(&mut table).len()), (0, 0));
        table.track();
        assert_eq!((table.written(), recent(&mut table).len()), (200, 200));
        table[NodeSlot(130)] = 1;
        table[NodeSlot(3)] = 1;
        table[NodeSlot(130)] = 2;
        assert_eq!(recent(&mut table), [130, 3]);
        table[NodeSlot(3)] = 2;
        assert_eq!(recent(&mut table), [3]);
        assert_eq!(table.written(), 200);
        table[NodeSlot(4)] = 2;
        table.forget_written();
        assert_eq!((table.written(), recent(&mut table).len()), (0, 0));
    }

    #[test]
    fn whoever_watches_learns_of_writes_since_then_with_and_without_publications() {
        for tracked in [false, true] {
            let mut table: Table<NodeSlot, u64> = Table::default();
            (0..70).for_each(|i| _ = table.push(i));
            if tracked {
                table.track();
            }
            let watched = |table: &mut Table<NodeSlot, u64>| {
                let mut list = vec![9];
                table.take_watched(&mut list);
                list
            };
            table[NodeSlot(1)] = 1;
            assert_eq!(watched(&mut table), [9]);
            table.watch(true);
            table[NodeSlot(65)] = 1;
            table[NodeSlot(2)] = 1;
            table[NodeSlot(65)] = 2;
            table.watch(true);
            table.push(7);
            assert_eq!(watched(&mut table), [9, 65, 2, 70]);
            table[NodeSlot(2)] = 2;
            assert_eq!(watched(&mut table), [9, 2]);
            table.watch(false);
            table[NodeSlot(3)] = 2;
            table.watch(true);
            assert_eq!(watched(&mut table), [9]);
        }
    }

    #[test]
    fn rows_copied_ahead_are_copied_again_when_they_are_written_again() {
        let mut table: Table<NodeSlot, u64> = Table::default();
        table.track();
        (0..5).for_each(|i| _ = table.push(i));
        let copy = |table: &mut Table<NodeSlot, u64>, most| {
            let (to_copy, to_forget) = (most, 0);
            table.go_ahead(&mut Ahead { to_copy, to_forget });
            table.uncopied()
        };
        assert_eq!((copy(&mut table, 3), table.written()), (2, 5));
        table[NodeSlot(1)] = 7;
        table[NodeSlot(4)] = 8;
        assert_eq!((copy(&mut table, 0), table.written()), (3, 5));
        assert_eq!(copy(&mut table, 2), 1);
        assert!([0, 2, 3, 4].iter().all(|&row| !table.uncopied.has(row)));
        assert!(table.uncopied.has(1));
        let mut recent = Vec::new();
        table.take_recent(&mut recent);
        assert!(recent.contains(&1), "it was written since");
    }
}
