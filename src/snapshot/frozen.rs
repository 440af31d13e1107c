//! Frozen tables: immutable, with the rows shared between publications.
//!
//! A publication adds what was written since the last one. A reader that follows takes over just
//! that; one that wants the whole table starts from chunks of rows that are brought up to date in
//! turn, a few at each publication, and adds what came after them. So a publication costs what was
//! written, however large the table is, and a log is kept of about as many rows as there are.

use std::collections::VecDeque;
use std::sync::Arc;

use super::freezer::{CHUNK, Chunk, Freezer, Retired, Written};
use super::frozen_row::FrozenRow;
use super::table::{Ahead, Marks, RowSlot, Table};

/// Retired rows that wait to be forgotten at most, as a multiple of the rows of the table.
const MOST_RETIRED: usize = 2;

/// Retired rows that a publication frees, besides twice as many as it writes: those of the log, and those of chunks.
const FREED: usize = 128;

/// Publications that a log holds at least, for small tables.
const LEAST_KEPT: usize = 16;

/// An immutable table; cloning shares it.
#[derive(Debug)]
pub struct Frozen<T>(Arc<Shown<T>>);

/// What a frozen table is made of.
#[derive(Debug)]
struct Shown<T> {
    /// Number of the publication, of those that wrote to this table.
    at: u64,
    len: usize,
    chunks: Arc<Vec<Chunk<T>>>,
    /// What the last publications wrote, oldest first and without a gap: at least everything since
    /// the oldest chunk.
    log: VecDeque<Arc<Written<T>>>,
    /// Rows in the log.
    logged: usize,
}

impl<T> Clone for Frozen<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Frozen<T> {
    fn default() -> Self {
        Self(Arc::new(Shown {
            at: 0,
            len: 0,
            chunks: Arc::default(),
            log: VecDeque::new(),
            logged: 0,
        }))
    }
}

impl<T: FrozenRow> Frozen<T> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows in order.
    ///
    /// Cost: a look at every row and at the log, before the first one.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_in_turns(|_| {})
    }

    /// The same for those who share their core: `did` is called with rows as they are examined, a few at a
    /// time, and may make a pause.
    pub fn iter_in_turns(&self, did: impl FnMut(usize)) -> impl Iterator<Item = &T> {
        self.0.rows(did).into_iter().map(Arc::as_ref)
    }

    /// Frees what nobody else reads, which may be as many rows as were written while this was read. `did`
    /// `did` is called with rows as they are freed, a few at a time, and may make a pause.
    pub fn forget(self, mut did: impl FnMut(usize)) {
        let Some(shown) = Arc::into_inner(self.0) else {
            return;
        };
        for written in shown.log.into_iter().filter_map(Arc::into_inner) {
            for row in written.rows {
                drop(row);
                did(1);
            }
        }
        for chunk in Arc::into_inner(shown.chunks).into_iter().flatten() {
            // Of rows that others read, a reference is dropped.
            let freed = if Arc::strong_count(&chunk.rows) == 1 {
                CHUNK
            } else {
                1
            };
            drop(chunk);
            did(freed);
        }
    }

    /// Takes over the rows written since the last publication, which are forgotten in `table`.
    ///
    /// Cost: one copy of each written row that was not copied ahead, and about as many references;
    /// of a table of n rows, at least some square root of n references. Of what was shown before and
    /// nobody reads any more, about twice as many rows are freed. Where rows were copied ahead, that is left to
    /// those who copy ahead of the next publication.
    pub fn publish<S: RowSlot>(&mut self, table: &mut Table<S, T>) {
        table.free_large();
        if table.written() == 0 {
            return;
        }
        let at = self.0.at + 1;
        let gradual = table.freezer.is_ahead();
        // What is made from here on shows what this one does.
        table.freezer.begin(at);
        table.go_ahead(&mut Ahead {
            to_copy: usize::MAX,
            to_forget: 0,
        });
        let freezer = &mut table.freezer;
        let rows = freezer.take_ready();
        let mut next = Shown {
            at,
            len: table.rows.len(),
            chunks: Arc::clone(&self.0.chunks),
            log: self.0.log.clone(),
            logged: self.0.logged + rows.len(),
        };
        let wrote = rows.len();
        next.renew_chunks(freezer, wrote);
        next.log.push_back(Arc::new(Written { at, rows }));
        next.shorten_log(freezer);
        let surplus = freezer
            .retired_rows()
            .saturating_sub(MOST_RETIRED * next.len);
        let as_written = if gradual { 0 } else { 2 * wrote + FREED };
        freezer.forget_retired(surplus.max(as_written));
        self.0 = Arc::new(next);
        table.forget_written();
    }
}

impl<T> Shown<T> {
    /// References to all rows in order; `did` is called with rows as they are examined.
    fn rows(&self, mut did: impl FnMut(usize)) -> Vec<&Arc<T>> {
        let mut rows = vec![None; self.len];
        for (index, row) in self.log.iter().flat_map(|written| &written.rows) {
            rows[*index as usize] = Some(row);
            did(1);
        }
        for (i, chunk) in self.chunks.iter().enumerate() {
            for (place, row) in rows[i * CHUNK..].iter_mut().zip(chunk.rows.iter()) {
                place.get_or_insert(row);
            }
            did(CHUNK);
        }
        let shown = |row: Option<_>| row.expect("the log has every row that no chunk shows");
        rows.into_iter().map(shown).collect()
    }

    /// Publications that the log holds where each writes little.
    fn keep(&self) -> usize {
        self.len.isqrt().max(LEAST_KEPT)
    }

    /// Whether the log holds everything that was written since an older one.
    fn reaches_back_to(&self, older: &Self) -> bool {
        let first = self.log.front().map_or(self.at + 1, |written| written.at);
        older.at + 1 >= first
    }
}

impl<T: FrozenRow> Shown<T> {
    /// Brings chunks up to date: each once while as many rows are written as there are, or in so many
    /// publications as the log holds.
    fn renew_chunks(&mut self, freezer: &mut Freezer<T>, wrote: usize) {
        let wrote = wrote.max(self.len / self.keep());
        freezer.renew_chunks(&mut self.chunks, self.len, wrote);
    }

    /// Forgets what all chunks show, except for so much as readers may be behind.
    fn shorten_log(&mut self, freezer: &mut Freezer<T>) {
        let oldest = freezer.oldest(&self.chunks);
        while let Some(written) = self.log.front()
            && written.at <= oldest
        {
            let rest = self.logged - written.rows.len();
            let is_long = rest >= self.len || self.log.len() > self.keep();
            if !is_long || self.log.len() == 1 {
                break;
            }
            self.logged = rest;
            let gone = Retired::Written(Arc::clone(written));
            self.log.pop_front();
            freezer.retire(gone);
        }
    }
}

impl<S: RowSlot, T: FrozenRow> Table<S, T> {
    /// Makes this working copy equal to `newer`: copies the rows that differ from `older`, the
    /// frozen table it was last equal to, and those written here since. `changed` is called with the
    /// index of each.
    ///
    /// Cost: one copy of each of these rows, and a look at the log where some were written here
    /// alone; a copy of all rows where `older` is too long ago.
    pub fn refresh(
        &mut self,
        older: &Frozen<T>,
        newer: &Frozen<T>,
        mut changed: impl FnMut(usize),
    ) {
        let (older, newer) = (&older.0, &newer.0);
        self.rows.truncate(newer.len);
        if newer.reaches_back_to(older) {
            let mut copied = std::mem::take(&mut self.copied);
            self.follow(older, newer, &mut copied);
            copied
                .list
                .iter()
                .for_each(|&index| changed(index as usize));
            copied.clear();
            self.copied = copied;
        } else {
            for (index, row) in newer.rows(|_| {}).into_iter().enumerate() {
                self.copy(index, row);
                changed(index);
            }
        }
        self.forget_written();
        self.start_tracking();
    }

    /// Copies what was written since `older`, there and here.
    fn follow(&mut self, older: &Shown<T>, newer: &Shown<T>, copied: &mut Marks) {
        let since = |written: &&Arc<Written<T>>| written.at > older.at;
        if self.rows.len() < newer.len {
            let missed = newer.log.iter().filter(since);
            for (index, row) in missed.flat_map(|written| &written.rows) {
                if *index as usize >= self.rows.len() {
                    self.copy(*index as usize, row);
                }
            }
        }
        // The newest of each row counts.
        let mut log = newer.log.iter().rev().peekable();
        while let Some(written) = log.next_if(since) {
            for (index, row) in written.rows.iter().rev() {
                if copied.add(*index as usize) {
                    self.copy(*index as usize, row);
                }
            }
        }
        let left = |index: &u32| (*index as usize) < newer.len && !copied.has(*index as usize);
        let own: Vec<u32> = self.written.list.iter().copied().filter(left).collect();
        let mut left = own.len();
        for (index, row) in log.flat_map(|written| written.rows.iter().rev()) {
            if left == 0 {
                break;
            }
            if self.written.has(*index as usize) && copied.add(*index as usize) {
                self.copy(*index as usize, row);
                left -= 1;
            }
        }
        for &index in &own {
            if copied.add(index as usize) {
                let chunk = &newer.chunks[index as usize / CHUNK];
                self.copy(index as usize, &chunk.rows[index as usize % CHUNK]);
            }
        }
    }

    fn copy(&mut self, index: usize, row: &T) {
        match self.rows.get_mut(index) {
            Some(place) => place.clone_from(row),
            None => {
                debug_assert_eq!(self.rows.len(), index);
                self.rows.push(row.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::NodeSlot;
    use std::collections::BTreeSet;

    fn at(i: usize) -> NodeSlot {
        NodeSlot::at(i)
    }

    /// Numbers below what it is given, at least 1 (xorshift).
    fn random_from(mut seed: u64) -> impl FnMut(usize) -> usize {
        move |below| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed >> 20).unwrap() % below
        }
    }

    fn numbers(n: u64) -> Table<NodeSlot, u64> {
        let mut table = Table::default();
        for i in 0..n {
            table.push(i);
        }
        table.track();
        table
    }

    type Row = Arc<u64>;

    /// A published table of so many rows that share one value, by which those left are counted.
    fn counted(size: usize) -> (Row, Table<NodeSlot, Row>, Frozen<Row>) {
        let (first, mut table) = (Row::new(0), Table::default());
        (0..size).for_each(|_| _ = table.push(Arc::clone(&first)));
        table.track();
        let mut frozen = Frozen::default();
        frozen.publish(&mut table);
        (first, table, frozen)
    }

    fn rows(frozen: &Frozen<u64>) -> Vec<u64> {
        frozen.iter().copied().collect()
    }

    #[test]
    fn a_frozen_table_never_changes_and_shares_what_was_not_written() {
        let mut table = numbers(100);
        let mut first = Frozen::default();
        first.publish(&mut table);
        let mut second = first.clone();
        table[at(40)] = 7;
        second.publish(&mut table);
        assert_eq!(rows(&first), (0..100).collect::<Vec<_>>());
        assert_eq!(second.iter().nth(40), Some(&7));
        let shared =
            |i: usize| std::ptr::eq(first.iter().nth(i).unwrap(), second.iter().nth(i).unwrap());
        assert_eq!((0..100).filter(|&i| !shared(i)).collect::<Vec<_>>(), [40]);
    }

    #[test]
    fn a_working_copy_forgets_its_own_writes_and_takes_over_the_others() {
        let mut table = numbers(70);
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
        changed.sort_unstable();
        assert_eq!(changed, [3, 65, 70]);
        assert_eq!(copy.iter().copied().collect::<Vec<_>>(), rows(&frozen));
        let mut again = Vec::new();
        copy.refresh(&frozen, &frozen, |index| again.push(index));
        assert!(again.is_empty());
    }

    /// Tables of many sizes, written at random, against plain copies of them; readers that are
    /// behind by any number of publications, with writes of their own.
    #[test]
    fn every_reader_sees_the_table_as_it_was_published() {
        for (seed, size) in [(1, 1), (2, 5), (3, 64), (4, 65), (5, 1000), (6, 5000)] {
            let mut random = random_from(seed);
            let mut table = numbers(size as u64);
            let mut frozen = Frozen::default();
            let mut readers: Vec<_> = (0..4)
                .map(|_| (Table::<NodeSlot, u64>::default(), Frozen::default()))
                .collect();
            for round in 0..400_u64 {
                let most = [1, 3, size, size / 4 + 1][random(4)];
                for i in 0..random(most + 1) as u64 {
                    table[at(random(size))] = round * 10_000 + i;
                }
                if random(10) == 0 {
                    table.push(round);
                    table[at(random(size))] = round;
                }
                let mut recent = Vec::new();
                for _ in 0..random(4) {
                    table.go_ahead(&mut Ahead {
                        to_copy: random(size),
                        to_forget: random(size),
                    });
                    table[at(random(size))] = round * 20_000;
                    table.take_recent(&mut recent);
                    table[at(random(size))] = round * 30_000;
                }
                frozen.publish(&mut table);
                let shown: Vec<u64> = table.iter().copied().collect();
                assert_eq!(rows(&frozen), shown, "round {round} of {size} rows");
                for (i, (copy, older)) in readers.iter_mut().enumerate() {
                    if random(1 << (2 * i)) > 0 {
                        continue;
                    }
                    let before: Vec<u64> = copy.iter().copied().collect();
                    for _ in 0..random(4).min(copy.len()) {
                        copy[at(random(before.len()))] = u64::MAX;
                    }
                    let mut changed = BTreeSet::new();
                    copy.refresh(older, &frozen, |index| assert!(changed.insert(index)));
                    assert_eq!(copy.iter().copied().collect::<Vec<_>>(), shown);
                    for (index, row) in shown.iter().enumerate() {
                        let same = before.get(index) == Some(row);
                        assert!(
                            same || changed.contains(&index),
                            "row {index} changed without a note"
                        );
                    }
                    *older = frozen.clone();
                }
            }
        }
    }

    /// Few rows a publication, while the table grows: chunks are appended between two turns, and those
    /// that were made ahead outlive publications. The log reaches as far back as every chunk.
    #[test]
    fn a_growing_table_is_shown_whole() {
        for (seed, size, growth) in [(1, 300, 64), (2, 4000, 1), (3, 9000, 1), (4, 9000, 100)] {
            let mut random = random_from(seed);
            let mut table = numbers(size);
            let mut frozen = Frozen::default();
            let (mut reader, mut older) = (Table::<NodeSlot, u64>::default(), Frozen::default());
            let mut held = 0;
            for round in 0..3000_u64 {
                let appended = if random(3) == 0 { growth } else { 0 };
                (0..appended).for_each(|_| _ = table.push(round));
                for i in 0..=random(20) as u64 {
                    let index = random(table.len());
                    table[at(index)] = round * 10_000 + i;
                    table.go_ahead(&mut Ahead {
                        to_copy: random(4),
                        to_forget: random(8),
                    });
                }
                frozen.publish(&mut table);
                held += usize::from(table.freezer.has_renewed());
                let shown = &frozen.0;
                let oldest = shown.chunks.iter().map(|chunk| chunk.at).min();
                let first = shown.log.front().map(|written| written.at);
                assert!(
                    first <= oldest.map(|at| at + 1),
                    "round {round} of {size} rows"
                );
                if random(4) == 0 {
                    let shown: Vec<u64> = table.iter().copied().collect();
                    assert!(rows(&frozen) == shown, "round {round} of {size} rows");
                    reader.refresh(&older, &frozen, |_| {});
                    assert!(reader.iter().eq(&shown), "round {round} of {size} rows");
                    older = frozen.clone();
                }
            }
            assert!(size < 9000 || held > 0, "no chunk outlived a publication");
        }
    }

    /// Where rows are copied ahead, a publication frees nothing; those who copy ahead of the next one
    /// free it, a few rows at a time.
    #[test]
    fn what_was_replaced_is_freed_a_few_rows_at_a_time() {
        let (size, few) = (1000, 10);
        let (first, mut table, mut frozen) = counted(size);
        let go_ahead = |table: &mut Table<NodeSlot, Row>, to_copy, to_forget| {
            table.go_ahead(&mut Ahead { to_copy, to_forget });
        };
        let mut freed = 0;
        for round in 1..5 {
            let next = Arc::new(round);
            (0..size).for_each(|i| table[at(i)] = Arc::clone(&next));
            go_ahead(&mut table, size / 2, 0);
            let before = Arc::strong_count(&first);
            frozen.publish(&mut table);
            assert_eq!(Arc::strong_count(&first), before);
            while table.freezer.retired_rows() > 0 {
                let before = Arc::strong_count(&first);
                go_ahead(&mut table, 0, few);
                let now = before - Arc::strong_count(&first);
                assert!(now <= few + CHUNK, "{now} at once");
                freed += now;
            }
        }
        assert_eq!((freed, Arc::strong_count(&first)), (size, 1));
    }

    /// A row that is large by the entries it has, which others may share.
    #[derive(Clone)]
    struct LargeRow(Vec<Row>);

    impl FrozenRow for LargeRow {
        fn is_large(&self) -> bool {
            self.0.len() > 1
        }

        fn free_some(&mut self, budget: &mut usize) -> bool {
            let freed = (*budget).min(self.0.len());
            self.0.truncate(self.0.len() - freed);
            *budget -= freed;
            self.0.is_empty()
        }
    }

    /// A version of a large row that is replaced is freed in parts by publications, and by nobody else.
    #[test]
    fn a_large_row_is_freed_in_parts_once_nobody_reads_it() {
        let (entry, size) = (Row::new(0), 10_000);
        let mut table: Table<NodeSlot, LargeRow> = Table::default();
        table.push(LargeRow(Vec::new()));
        table.track();
        let mut frozen = Frozen::default();
        table[at(0)] = LargeRow(vec![Arc::clone(&entry); size]);
        frozen.publish(&mut table);
        let reader = frozen.clone();
        table[at(0)] = LargeRow(Vec::new());
        // The log and the chunk forget the large version.
        for _ in 0..200 {
            table[at(0)] = LargeRow(Vec::new());
            frozen.publish(&mut table);
        }
        assert_eq!(Arc::strong_count(&entry), size + 1, "somebody reads it");
        drop(reader);
        let (mut left, mut parts) = (Arc::strong_count(&entry), 0);
        assert_eq!(left, size + 1, "a reader frees nothing");
        while left > 1 {
            frozen.publish(&mut table);
            let now = Arc::strong_count(&entry);
            assert!(
                (1..=size / 4).contains(&(left - now)),
                "{} at once",
                left - now
            );
            (left, parts) = (now, parts + 1);
        }
        assert!(parts > 4, "{parts}");
    }

    /// What a reader kept from being freed is freed by him, a few rows at a time; and nothing that others read.
    #[test]
    fn a_reader_frees_what_he_alone_reads_a_few_rows_at_a_time() {
        let size = 1000;
        let (first, mut table, mut frozen) = counted(size);
        let (reader, another) = (frozen.clone(), frozen.clone());
        let next = Arc::new(1);
        for _ in 0..3 {
            (0..size).for_each(|i| table[at(i)] = Arc::clone(&next));
            frozen.publish(&mut table);
        }
        assert_eq!(Arc::strong_count(&first), size + 1, "somebody reads them");
        another.forget(|_| panic!("there is nothing to free"));
        let (mut left, mut all) = (Arc::strong_count(&first), 0);
        reader.forget(|rows_freed| {
            all += rows_freed;
            let freed = std::mem::replace(&mut left, Arc::strong_count(&first)) - left;
            assert!(
                freed <= rows_freed && rows_freed <= CHUNK,
                "{freed} freed, {rows_freed} rows_freed"
            );
        });
        assert_eq!(Arc::strong_count(&first), 1);
        assert!(all >= 2 * size, "the log has them, too: {all}");
        // Of the chunks that others read, no row is freed.
        let reader = frozen.clone();
        (0..CHUNK).for_each(|i| table[at(i)] = Arc::clone(&first));
        frozen.publish(&mut table);
        let mut rows_freed = 0;
        reader.forget(|rows| rows_freed += rows);
        let chunks = size.div_ceil(CHUNK);
        assert!(
            (chunks..chunks + CHUNK).contains(&rows_freed),
            "{rows_freed}"
        );
    }

    /// However small publications are and however many, the log stays about as long as the table.
    #[test]
    fn the_log_is_bounded_by_the_size_of_the_table() {
        for size in [1_usize, 10, 100, 1000, 10_000] {
            let mut table = numbers(size as u64);
            let mut frozen = Frozen::default();
            for i in 0..3 * size.max(100) {
                table[at(i % size)] = i as u64;
                frozen.publish(&mut table);
                let (log, logged) = (frozen.0.log.len(), frozen.0.logged);
                assert_eq!(
                    logged,
                    frozen.0.log.iter().map(|w| w.rows.len()).sum::<usize>()
                );
                assert!(
                    log <= 3 * (frozen.0.keep() + CHUNK),
                    "{log} for {size} rows"
                );
            }
        }
        let mut table = numbers(1000);
        let mut frozen = Frozen::default();
        // The second time each row is copied ahead, some of them twice.
        for round in 0..200 {
            for i in (0..700).chain(0..300) {
                table[at(i)] = round;
                table.go_ahead(&mut Ahead {
                    to_copy: usize::from(round >= 100),
                    to_forget: 1,
                });
            }
            frozen.publish(&mut table);
            let (logged, retired) = (frozen.0.logged, table.freezer.retired_rows());
            assert!(logged <= 3000, "{logged} in round {round}");
            assert!(retired <= 2 * 1000, "{retired}");
        }
    }
}
