//! Tables of rows, and their frozen form: immutable, shared row by row between publications.
//!
//! A [`Table`] is a plain vector that remembers which rows were written. A [`Frozen`] table is a
//! radix tree of reference-counted rows; publishing copies the rows written since the last time
//! and shares all others.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Rows below one inner node of a frozen table.
const FANOUT: usize = 32;

/// A position in a table.
pub trait Slot: Copy {
    /// The position as an index.
    fn index(self) -> usize;
}

macro_rules! slots {
    ($($name:ident),*) => {
        $(impl Slot for crate::id::$name {
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
    rows: Vec<T>,
    tracking: bool,
    /// Since the last publication, or since the copy was last refreshed.
    written: Marks,
    /// Since [`Table::take_recent`] was last asked; all of them are among the written.
    recent: Marks,
    slot: PhantomData<fn(S)>,
}

/// A set of row indices, in the order in which they came.
#[derive(Clone, Debug, Default)]
struct Marks {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl Marks {
    #[inline]
    fn has(&self, index: usize) -> bool {
        let word = self.bits.get(index / 64);
        word.is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    fn add(&mut self, index: usize) {
        if self.has(index) {
            return;
        }
        let word = index / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (index % 64);
        self.list
            .push(u32::try_from(index).expect("tables are bounded below the slot range"));
    }

    fn clear(&mut self) {
        for &index in &self.list {
            self.bits[index as usize / 64] = 0;
        }
        self.list.clear();
    }

    /// Empties the set and returns its list, whose place the emptied `spare` takes.
    fn take(&mut self, mut spare: Vec<u32>) -> Vec<u32> {
        spare.clone_from(&self.list);
        self.clear();
        spare
    }
}

impl<S: Slot, T> Default for Table<S, T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            tracking: false,
            written: Marks::default(),
            recent: Marks::default(),
            slot: PhantomData,
        }
    }
}

impl<S: Slot, T> Index<S> for Table<S, T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: S) -> &T {
        &self.rows[slot.index()]
    }
}

impl<S: Slot, T> IndexMut<S> for Table<S, T> {
    #[inline]
    fn index_mut(&mut self, slot: S) -> &mut T {
        let index = slot.index();
        if self.tracking {
            self.mark(index);
        }
        &mut self.rows[index]
    }
}

impl<S: Slot, T> Table<S, T> {
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
        if self.tracking {
            self.mark(index);
        }
        index
    }

    /// Starts to remember writes; everything counts as written.
    pub fn track(&mut self) {
        self.tracking = true;
        self.forget_written();
        for index in 0..self.rows.len() {
            self.mark(index);
        }
    }

    /// How many rows were written since the last publication, or since the copy was last
    /// refreshed.
    #[must_use]
    pub fn written(&self) -> usize {
        self.written.list.len()
    }

    /// Indices of the rows that were written since this was last asked, except for those written
    /// before the last publication. The list takes the place of `spare`.
    #[must_use]
    pub fn take_recent(&mut self, spare: Vec<u32>) -> Vec<u32> {
        self.recent.take(spare)
    }

    #[inline]
    fn mark(&mut self, index: usize) {
        if !self.recent.has(index) {
            self.mark_first(index);
        }
    }

    /// Notes the first write to a row.
    #[cold]
    fn mark_first(&mut self, index: usize) {
        self.recent.add(index);
        self.written.add(index);
    }

    fn forget_written(&mut self) {
        self.written.clear();
        self.recent.clear();
    }
}

impl<'a, S: Slot, T> IntoIterator for &'a Table<S, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

/// An immutable table; cloning shares every row.
#[derive(Debug)]
pub struct Frozen<T> {
    blocks: Arc<Vec<Arc<Block<T>>>>,
    len: usize,
}

type Block<T> = Vec<Arc<T>>;

impl<T> Clone for Frozen<T> {
    fn clone(&self) -> Self {
        Self {
            blocks: Arc::clone(&self.blocks),
            len: self.len,
        }
    }
}

impl<T> Default for Frozen<T> {
    fn default() -> Self {
        Self {
            blocks: Arc::default(),
            len: 0,
        }
    }
}

impl<T: Clone> Frozen<T> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn row(&self, index: usize) -> Option<&Arc<T>> {
        self.blocks.get(index / FANOUT)?.get(index % FANOUT)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks
            .iter()
            .flat_map(|block| block.iter())
            .map(Arc::as_ref)
    }

    /// Takes over the rows written since the last publication, which are forgotten in `table`.
    ///
    /// Cost: one copy of each written row, and of the block of pointers around it.
    pub fn publish<S: Slot>(&mut self, table: &mut Table<S, T>) {
        if table.written() == 0 {
            return;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        for &index in &table.written.list {
            let index = index as usize;
            let row = Arc::new(table.rows[index].clone());
            if index / FANOUT >= blocks.len() {
                blocks.resize_with(index / FANOUT + 1, Arc::default);
            }
            let block = Arc::make_mut(&mut blocks[index / FANOUT]);
            match block.get_mut(index % FANOUT) {
                Some(place) => *place = row,
                None => {
                    // Rows are appended in order, and tracking reports them in that order.
                    debug_assert_eq!(block.len(), index % FANOUT);
                    block.push(row);
                }
            }
        }
        self.len = table.rows.len();
        table.forget_written();
    }
}

impl<S: Slot, T: Clone> Table<S, T> {
    /// Makes this working copy equal to `newer`: copies the rows that differ from `older`, the
    /// frozen table it was last equal to, and those written here since. `changed` is told the
    /// index of each.
    pub fn refresh(
        &mut self,
        older: &Frozen<T>,
        newer: &Frozen<T>,
        mut changed: impl FnMut(usize),
    ) {
        for &index in &self.written.list {
            let index = index as usize;
            // Those that differ are copied below.
            if let (Some(before), Some(row)) = (older.row(index), newer.row(index))
                && Arc::ptr_eq(before, row)
            {
                self.rows[index].clone_from(row);
                changed(index);
            }
        }
        self.forget_written();
        self.rows.truncate(newer.len);
        for (b, block) in newer.blocks.iter().enumerate() {
            let old = older.blocks.get(b);
            if old.is_some_and(|old| Arc::ptr_eq(old, block)) {
                continue;
            }
            for (i, row) in block.iter().enumerate() {
                let index = b * FANOUT + i;
                if old
                    .and_then(|old| old.get(i))
                    .is_some_and(|old| Arc::ptr_eq(old, row))
                {
                    continue;
                }
                changed(index);
                match self.rows.get_mut(index) {
                    Some(place) => place.clone_from(row),
                    None => self.rows.push(row.as_ref().clone()),
                }
            }
        }
        self.tracking = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeSlot;

    fn at(i: u32) -> NodeSlot {
        NodeSlot(i)
    }

    #[test]
    fn a_frozen_table_never_changes_and_shares_what_was_not_written() {
        let mut table: Table<NodeSlot, u64> = Table::default();
        for i in 0..100 {
            table.push(i);
        }
        table.track();
        let mut first = Frozen::default();
        first.publish(&mut table);
        let mut second = first.clone();
        table[at(40)] = 7;
        second.publish(&mut table);
        assert_eq!(
            first.iter().copied().collect::<Vec<_>>(),
            (0..100).collect::<Vec<_>>()
        );
        assert_eq!(second.iter().nth(40), Some(&7));
        assert!(Arc::ptr_eq(&first.blocks[0], &second.blocks[0]));
        assert!(!Arc::ptr_eq(&first.blocks[1], &second.blocks[1]));
        assert!(Arc::ptr_eq(&first.blocks[1][0], &second.blocks[1][0]));
    }

    #[test]
    fn a_working_copy_forgets_its_own_writes_and_takes_over_the_others() {
        let mut table: Table<NodeSlot, u64> = Table::default();
        for i in 0..70 {
            table.push(i);
        }
        table.track();
        let mut frozen = Frozen::default();
        frozen.publish(&mut table);
        let mut copy: Table<NodeSlot, u64> = Table::default();
        copy.refresh(&Frozen::default(), &frozen, |_| {});
        copy[at(3)] = 99;
        copy.push(100);
        let older = frozen.clone();
        table[at(65)] = 5;
        table.push(70);
        frozen.publish(&mut table);
        let mut changed = Vec::new();
        copy.refresh(&older, &frozen, |index| changed.push(index));
        assert_eq!(changed, [3, 65, 70]);
        assert_eq!(copy.rows, table.rows);
    }
}
