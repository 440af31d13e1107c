//! Compaction: the beginning of a journal as a snapshot, in as few commands as say the same.
//!
//! 1. The commands of the snapshot are written in chunks, `snapshot/at/<position>/<chunk>`. Nothing refers to them yet.
//! 2. `snapshot/current` is set to the position and the number of chunks. From here on the journal counts from behind
//!    that position.
//! 3. The commands of the journal up to the position, and chunks of other snapshots, are deleted.
//!
//! A crash between two steps leaves keys that nothing refers to. The next compaction deletes them.

use serde::{Deserialize, Serialize};

use super::batch::{Batch, Entry, Store, StoreError, Token};
use super::configurations::{number, numbered};
use super::journal::{PREFIX, StoreJournal};
use crate::rm::{JournalEntry, compacted};

/// Key that names the snapshot that counts.
pub(super) const CURRENT: &str = "snapshot/current";

/// Prefix of the keys of chunks.
pub(super) const CHUNKS: &str = "snapshot/at/";

/// Bytes of a chunk, unless one command is longer. etcd takes 1.5 MiB in one request, ZooKeeper 1 MiB.
const CHUNK: usize = 256 << 10;

/// Times that a reader begins anew because a compaction overtook it.
const TRIES: u32 = 10;

/// Which snapshot counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SnapshotMark {
    /// Position of the last command that it says.
    pub(super) position: u64,
    /// Its chunks.
    pub(super) chunks: u64,
}

impl SnapshotMark {
    pub(super) fn read(entry: &Entry) -> Result<Self, StoreError> {
        let read = serde_json::from_slice(&entry.value);
        read.map_err(|error| StoreError::unread(CURRENT, &entry.value, error))
    }

    /// Prefix of the keys of its chunks.
    pub(super) fn prefix(self) -> String {
        format!("{}/", numbered(CHUNKS, self.position))
    }
}

/// The commands of a snapshot's chunk.
pub(super) fn chunk(entry: &Entry) -> Result<Vec<JournalEntry>, StoreError> {
    let read = serde_json::from_slice(&entry.value);
    read.map_err(|error| StoreError::unread(&entry.key, &entry.value, error))
}

/// What a store has of a resource manager: the commands of its snapshot, then those of its journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Commands that say all that was carried out, in order.
    pub entries: Vec<JournalEntry>,
    /// Position of the last one.
    pub last: u64,
    /// How many of them come from the journal.
    pub of_journal: u64,
}

impl Recorded {
    /// Everything that a store has.
    ///
    /// # Errors
    ///
    /// When the store fails, a command cannot be read, or one is missing.
    pub fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut recorded = Self::default();
        recorded.catch_up(store)?;
        Ok(recorded)
    }

    /// How many commands a snapshot has.
    pub(super) fn of_snapshot(store: &dyn Store, mark: SnapshotMark) -> Result<usize, StoreError> {
        read_chunks(store, mark).map(|entries| entries.len())
    }

    /// Takes over what a store has beyond this, as a standby does. How many commands came.
    ///
    /// # Errors
    ///
    /// As for [`Self::read`]; nothing was taken over then.
    pub fn catch_up(&mut self, store: &dyn Store) -> Result<u64, StoreError> {
        let mut tries = 0;
        loop {
            match self.try_to_catch_up(store) {
                Err(StoreError::Corrupt(_)) if tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn try_to_catch_up(&mut self, store: &dyn Store) -> Result<u64, StoreError> {
        let mark = store.get(CURRENT)?;
        let mark = mark.as_ref().map(SnapshotMark::read).transpose()?;
        let anew = mark.filter(|mark| mark.position > self.last);
        let mut entries = match anew {
            Some(mark) => read_chunks(store, mark)?,
            None => Vec::new(),
        };
        let from = anew.map_or(self.last, |mark| mark.position);
        let behind = StoreJournal::read_behind(store, from)?;
        let mut last = from;
        for command in behind {
            if command.position != last + 1 {
                let missing = numbered(PREFIX, last + 1);
                return Err(StoreError::Corrupt(format!("{missing}: it is missing")));
            }
            last = command.position;
            entries.push(command.entry);
        }
        let came = last - self.last;
        if anew.is_some() {
            (self.entries, self.of_journal) = (entries, last - from);
        } else {
            self.entries.append(&mut entries);
            self.of_journal += came;
        }
        self.last = last;
        Ok(came)
    }
}

fn read_chunks(store: &dyn Store, mark: SnapshotMark) -> Result<Vec<JournalEntry>, StoreError> {
    let prefix = mark.prefix();
    let found = store.all(&prefix)?;
    let mut entries = Vec::new();
    for at in 0..mark.chunks {
        let key = numbered(&prefix, at);
        let of_key = found.binary_search_by(|entry| entry.key.as_str().cmp(&key));
        let entry = of_key.ok().and_then(|place| found.get(place));
        let entry = entry.ok_or_else(|| StoreError::Corrupt(format!("{key}: it is missing")))?;
        entries.append(&mut chunk(entry)?);
    }
    Ok(entries)
}

/// Makes a snapshot of all that a store has, and deletes what it replaces. Of the applications that ended, so many are
/// kept. The position of the snapshot.
///
/// It runs beside the journal, which writes behind the position alone.
///
/// Cost: reads every command, and writes the snapshot.
///
/// # Errors
///
/// When the store fails or is led by another one. What counts is whole then, before or after the compaction.
pub fn compact(store: &dyn Store, token: Token, most_ended: usize) -> Result<u64, StoreError> {
    let before = store.get(CURRENT)?;
    let recorded = Recorded::read(store)?;
    let entries = compacted(&recorded.entries, most_ended);
    let chunks = chunks_of(&entries)?;
    let mark = SnapshotMark {
        position: recorded.last,
        chunks: u64::try_from(chunks.len()).unwrap_or(u64::MAX),
    };
    let present = before.as_ref().map(SnapshotMark::read).transpose()?;
    if present.is_some_and(|present| present.position == mark.position) {
        return Ok(mark.position);
    }
    let prefix = mark.prefix();
    for (at, value) in (0..).zip(chunks) {
        let batch = Batch::new().put(numbered(&prefix, at), value);
        store.write(token, &batch)?;
    }
    let value = serde_json::to_vec(&mark);
    let value = value.map_err(|error| StoreError::Failed(error.to_string()))?;
    let switch = Batch::new()
        .expect(CURRENT, before.map(|entry| entry.revision))
        .put(CURRENT, value);
    store.write(token, &switch)?;
    delete_replaced(store, token, mark)?;
    Ok(mark.position)
}

/// The commands as values of keys.
fn chunks_of(entries: &[JournalEntry]) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut chunks = Vec::new();
    let mut open = Vec::new();
    for entry in entries {
        let value = serde_json::to_vec(entry);
        let value = value.map_err(|error| StoreError::Failed(error.to_string()))?;
        if !open.is_empty() && open.len() + value.len() > CHUNK {
            open.push(b']');
            chunks.push(std::mem::take(&mut open));
        }
        open.push(if open.is_empty() { b'[' } else { b',' });
        open.extend_from_slice(&value);
    }
    if !open.is_empty() {
        open.push(b']');
        chunks.push(open);
    }
    Ok(chunks)
}

/// Deletes what nothing refers to.
fn delete_replaced(store: &dyn Store, token: Token, mark: SnapshotMark) -> Result<(), StoreError> {
    let own = mark.prefix();
    for prefix in [PREFIX, CHUNKS] {
        let mut behind: Option<String> = None;
        loop {
            let page = store.range(prefix, behind.as_deref(), store.most_operations() - 1)?;
            let Some(last) = page.last() else {
                break;
            };
            behind = Some(last.key.clone());
            let replaced = page
                .iter()
                .filter(|entry| match number(&entry.key, PREFIX) {
                    Some(position) => position <= mark.position,
                    None => number(&entry.key, &own).is_none_or(|chunk| chunk >= mark.chunks),
                });
            let batch = replaced.fold(Batch::new(), |batch, entry| batch.delete(&entry.key));
            if batch.deletes().is_empty() {
                break;
            }
            store.write(token, &batch)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
