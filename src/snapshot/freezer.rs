//! The publisher's side of a frozen table: rows copied ahead, chunks brought up to date, rows to be freed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::frozen_row::FrozenRow;

/// Rows that are brought up to date together.
pub(super) const CHUNK: usize = 64;

/// Entries of large rows that are freed at once, some 0.3 us each.
const ENTRIES_FREED: usize = 256;

/// Large rows that are looked at in turn, besides a share of all: whether nobody else has them. Where more of them wait
/// than [`LARGE_UNREAD`], each further one doubles the entries that are freed, some times at most.
const LARGE_LOOKS: usize = 16;
const LARGE_SHARE: usize = 16;
const LARGE_UNREAD: usize = 8;
const MOST_DOUBLED: usize = 5;

/// Rows of a range as they were at some publication, or later: what the log has of them counts.
#[derive(Debug)]
pub(super) struct Chunk<T> {
    pub(super) at: u64,
    pub(super) rows: Arc<[Arc<T>]>,
}

/// What one publication wrote. Rows that are new come in order. Of a row that comes more than once
/// the last one counts.
#[derive(Debug)]
pub(super) struct Written<T> {
    pub(super) at: u64,
    pub(super) rows: Vec<(u32, Arc<T>)>,
}

/// The publisher's side of a frozen table.
#[derive(Clone, Debug)]
pub(super) struct Freezer<T> {
    /// All rows as the last publication shows them, or as they were copied ahead of the next one.
    shown: Vec<Arc<T>>,
    /// Number of the last publication, and how many chunks it has.
    at: u64,
    chunks: usize,
    /// What the next publication writes, as far as it was copied ahead.
    ready: Vec<(u32, Arc<T>)>,
    /// The chunks that are due next, made ahead.
    renewed: VecDeque<Chunk<T>>,
    /// What the last publication shows no more, where it is to be forgotten a few rows at a time.
    retired: Vec<Retired<T>>,
    /// Rows among them.
    retired_rows: usize,
    /// Every version of a large row that was shown and is not freed yet.
    large: VecDeque<Arc<T>>,
    /// Rows in chunks that are due to be brought up to date.
    backlog: usize,
    /// The chunk whose turn it is: the oldest one, as far as it and those after it are not newer
    /// than the list's first one.
    next: usize,
}

/// Rows that no publication shows any more once its readers are gone.
#[derive(Clone, Debug)]
pub(super) enum Retired<T> {
    Written(Arc<Written<T>>),
    /// What is left of them.
    Rows(Vec<(u32, Arc<T>)>),
    Chunk(Chunk<T>),
}

impl<T> Retired<T> {
    fn len(&self) -> usize {
        match self {
            Self::Written(written) => written.rows.len(),
            Self::Rows(rows) => rows.len(),
            Self::Chunk(chunk) => chunk.rows.len(),
        }
    }

    /// What nobody else has of it, to be forgotten row by row. Nothing of a chunk, which is small.
    fn into_rows(self) -> Option<Vec<(u32, Arc<T>)>> {
        match self {
            Self::Written(written) => Arc::into_inner(written).map(|written| written.rows),
            Self::Rows(rows) => Some(rows),
            Self::Chunk(_) => None,
        }
    }
}

impl<T> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        Self {
            at: self.at,
            rows: Arc::clone(&self.rows),
        }
    }
}

impl<T> Default for Freezer<T> {
    fn default() -> Self {
        Self {
            shown: Vec::new(),
            at: 0,
            chunks: 0,
            ready: Vec::new(),
            renewed: VecDeque::new(),
            retired: Vec::new(),
            retired_rows: 0,
            large: VecDeque::new(),
            backlog: 0,
            next: 0,
        }
    }
}

impl<T: FrozenRow> Freezer<T> {
    /// Makes room for some rows that are about to be shown.
    pub(super) fn expect_rows(&mut self, count: usize) {
        self.ready.reserve(count);
    }

    /// Takes over a row for the next publication.
    pub(super) fn show(&mut self, index: u32, row: &T) {
        let row = Arc::new(row.clone());
        if T::is_large(&row) {
            self.large.push_back(Arc::clone(&row));
        }
        self.ready.push((index, Arc::clone(&row)));
        match self.shown.get_mut(index as usize) {
            Some(place) => *place = row,
            None => {
                // Rows are appended in order, and tracking reports them in that order.
                debug_assert_eq!(self.shown.len(), index as usize);
                self.shown.push(row);
            }
        }
    }

    /// Makes the chunks that the next publication will have to bring up to date for what is ready.
    pub(super) fn renew_ahead(&mut self) {
        let due = (self.backlog + self.ready.len()) / CHUNK;
        while self.renewed.len() < due.min(self.chunks) {
            let index = (self.next + self.renewed.len()) % self.chunks;
            let chunk = self.chunk(index, self.at);
            self.renewed.push_back(chunk);
        }
    }

    /// Takes what the last publication shows no more.
    pub(super) fn retire(&mut self, retired: Retired<T>) {
        self.retired_rows += retired.len();
        self.retired.push(retired);
    }

    /// Forgets about as many of the retired rows, those that somebody still reads by leaving them to
    /// him; how many.
    pub(super) fn forget_retired(&mut self, most: usize) -> usize {
        let before = self.retired_rows;
        while before - self.retired_rows < most
            && let Some(retired) = self.retired.pop()
        {
            self.retired_rows -= retired.len();
            let Some(mut rows) = retired.into_rows() else {
                continue;
            };
            let rest = (before - self.retired_rows).saturating_sub(most);
            rows.truncate(rest);
            if rest > 0 {
                self.retire(Retired::Rows(rows));
            }
        }
        before - self.retired_rows
    }

    /// Frees some of the large rows that nobody else has.
    pub(super) fn free_large(&mut self) {
        let looks = LARGE_LOOKS.min(self.large.len()) + self.large.len() / LARGE_SHARE;
        let unread = |row: &&Arc<T>| Arc::strong_count(row) == 1;
        let waiting = self.large.iter().take(looks).filter(unread).count();
        let mut budget = ENTRIES_FREED << waiting.saturating_sub(LARGE_UNREAD).min(MOST_DOUBLED);
        for _ in 0..looks {
            let Some(mut row) = self.large.pop_front() else {
                return;
            };
            let is_freed =
                Arc::get_mut(&mut row).is_some_and(|row| budget > 0 && row.free_some(&mut budget));
            if !is_freed {
                self.large.push_back(row);
            }
        }
    }

    fn chunk(&self, index: usize, at: u64) -> Chunk<T> {
        let from = index * CHUNK;
        let to = (from + CHUNK).min(self.shown.len());
        Chunk {
            at,
            rows: self.shown[from..to].into(),
        }
    }

    /// Begins a publication of this number.
    pub(super) fn begin(&mut self, at: u64) {
        self.at = at;
    }

    /// Whether rows were copied ahead of the next publication.
    pub(super) fn is_ahead(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What the next publication writes.
    pub(super) fn take_ready(&mut self) -> Vec<(u32, Arc<T>)> {
        std::mem::take(&mut self.ready)
    }

    /// Whether chunks were made ahead of the next publication.
    #[cfg(test)]
    pub(super) fn has_renewed(&self) -> bool {
        !self.renewed.is_empty()
    }

    /// Rows that wait to be forgotten.
    pub(super) fn retired_rows(&self) -> usize {
        self.retired_rows
    }

    /// Number of the oldest publication that a chunk needs the log from.
    pub(super) fn oldest(&self, chunks: &[Chunk<T>]) -> u64 {
        // Since the turn was last at its beginning, the list may have grown at its end.
        chunks[self.next].at.min(chunks[0].at)
    }

    /// Adds the chunks that are missing of a table of `len` rows, and brings up to date as many as are
    /// due after so many rows were written.
    pub(super) fn renew_chunks(&mut self, list: &mut Arc<Vec<Chunk<T>>>, len: usize, wrote: usize) {
        let (count, size) = (len.div_ceil(CHUNK), CHUNK.min(len));
        let missing = list.len()..count;
        self.backlog += wrote;
        // The list of all chunks is copied each time.
        if !missing.is_empty() || self.backlog >= size.max(count) {
            let chunks = Arc::make_mut(list);
            for _ in 0..(self.backlog / size).min(chunks.len()) {
                let ahead = self.renewed.pop_front();
                let chunk = ahead.unwrap_or_else(|| self.chunk(self.next, self.at));
                let old = std::mem::replace(&mut chunks[self.next], chunk);
                self.retire(Retired::Chunk(old));
                self.next = (self.next + 1) % chunks.len();
            }
            self.backlog %= size;
            chunks.extend(missing.map(|index| self.chunk(index, self.at)));
        }
        self.chunks = list.len();
    }
}
