//! The commands of a resource manager in a store, many of them in one write.
//!
//! # Protocol
//!
//! 1. [`Journal::append`] gives a command its position and puts it in line.
//! 2. One thread takes everything in line, and has the store write it as one batch.
//! 3. [`Journal::wait`] returns when the batch of its position is durable.
//!
//! A batch takes what came while the one before it was written: under load one sync serves many commands. When a write
//! fails, no later one is tried: every later call fails with the same reason, and nothing is answered that is not kept.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::thread;

use capsched::sync::{Condvar, Mutex, MutexGuard};

use super::batch::{Batch, Store, StoreError, Token};
use super::configurations::{number, numbered};
use crate::rm::{Journal, JournalEntry, JournalError};

/// Prefix of the keys of commands.
pub(super) const PREFIX: &str = "journal/";

/// Bytes of one write, unless one command is longer.
const BYTES: usize = 512 << 10;

/// When a command counts as kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the store has it: nothing that was answered is lost.
    #[default]
    Strict,
    /// When it is in line: a crash loses what was answered during the last write.
    Relaxed,
}

impl std::str::FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "relaxed" => Ok(Self::Relaxed),
            other => Err(format!("`{other}` is neither `strict` nor `relaxed`")),
        }
    }
}

/// A command that a store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCommand {
    /// Its position.
    pub position: u64,
    /// The command.
    pub entry: JournalEntry,
}

/// How much was written since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalCounts {
    /// Commands that the store has.
    pub commands: u64,
    /// Writes that they took.
    pub writes: u64,
    /// Commands in line.
    pub waiting: u64,
}

#[derive(Debug, Default)]
struct Line {
    /// Commands to write, as they are stored.
    waiting: VecDeque<Vec<u8>>,
    /// Position of the last command that was appended.
    last: u64,
    /// Position up to which the store has all.
    kept: u64,
    writes: u64,
    commands: u64,
    failed: Option<String>,
    ends: bool,
}

#[derive(Debug)]
struct Shared {
    line: Mutex<Line>,
    /// Something is in line, or was kept, or the end is wanted.
    changed: Condvar,
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, line: MutexGuard<'a, Line>) -> MutexGuard<'a, Line> {
        self.changed
            .wait(line)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A journal over a store.
#[derive(Debug)]
pub struct StoreJournal {
    shared: Arc<Shared>,
    durability: Durability,
    writer: Option<thread::JoinHandle<()>>,
}

impl StoreJournal {
    /// The commands behind a position, in order: what a standby has not seen yet.
    ///
    /// # Errors
    ///
    /// When the store fails or a command cannot be read.
    pub fn read_behind(store: &dyn Store, position: u64) -> Result<Vec<StoredCommand>, StoreError> {
        const PAGE: usize = 1024;
        let mut behind = numbered(PREFIX, position);
        let mut commands = Vec::new();
        loop {
            let page = store.range(PREFIX, Some(&behind), PAGE)?;
            let ends = page.len() < PAGE;
            for entry in page {
                let (key, value) = (&entry.key, &entry.value);
                let position = number(key, PREFIX);
                let position = position
                    .ok_or_else(|| StoreError::Corrupt(format!("{key}: it has no number")))?;
                let read = serde_json::from_slice(value);
                let read = read.map_err(|error| StoreError::unread(key, value, error))?;
                commands.push(StoredCommand {
                    position,
                    entry: read,
                });
                behind = entry.key;
            }
            if ends {
                return Ok(commands);
            }
        }
    }

    /// A journal that goes on behind what the store has. `token` is that of the leader.
    ///
    /// # Errors
    ///
    /// When the store fails, or its last command cannot be read.
    pub fn open(
        store: Arc<dyn Store>,
        token: Token,
        last: u64,
        durability: Durability,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            line: Mutex::new(Line {
                last,
                kept: last,
                ..Line::default()
            }),
            changed: Condvar::new(),
        });
        let of_writer = Arc::clone(&shared);
        let builder = thread::Builder::new().name("journal".to_owned());
        let writer = builder.spawn(move || write_all(&of_writer, &*store, token));
        let writer = writer.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self {
            shared,
            durability,
            writer: Some(writer),
        })
    }

    /// Why nothing is kept any more; nothing: all is well.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.line().failed.clone()
    }

    /// How much was written.
    #[must_use]
    pub fn counts(&self) -> JournalCounts {
        let line = self.shared.line();
        JournalCounts {
            commands: line.commands,
            writes: line.writes,
            waiting: line.last - line.kept,
        }
    }
}

impl Drop for StoreJournal {
    /// Writes what is in line, then ends.
    fn drop(&mut self) {
        self.shared.line().ends = true;
        self.shared.changed.notify_all();
        if let Some(writer) = self.writer.take() {
            // Its panic was reported when it happened.
            let _ = writer.join();
        }
    }
}

/// Writes what is in line until the end.
fn write_all(shared: &Shared, store: &dyn Store, token: Token) {
    loop {
        let mut line = shared.line();
        while line.waiting.is_empty() && !line.ends {
            line = shared.wait(line);
        }
        if line.waiting.is_empty() || line.failed.is_some() {
            return;
        }
        // One of the operations says that the first key must be new.
        let values = line.take(store.most_operations() - 1);
        let first = line.kept + 1;
        drop(line);
        let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
        let written = write(store, token, first, values);
        let mut line = shared.line();
        match written {
            Ok(()) => {
                line.kept += count;
                line.commands += count;
                line.writes += 1;
            }
            Err(error) => {
                tracing::error!(%error, "the journal failed: no change is accepted any more");
                line.failed = Some(error.to_string());
            }
        }
        shared.changed.notify_all();
    }
}

fn write(
    store: &dyn Store,
    token: Token,
    first: u64,
    values: Vec<Vec<u8>>,
) -> Result<(), StoreError> {
    let numbered_values = (first..).zip(values);
    let batch = numbered_values.fold(Batch::new(), |batch, (position, value)| {
        batch.put(numbered(PREFIX, position), value)
    });
    // No other writer may have used these positions, whatever its token was.
    let batch = batch.expect(numbered(PREFIX, first), None);
    store.write(token, &batch).map(drop)
}

impl Line {
    /// The first commands in line, at most so many.
    fn take(&mut self, most: usize) -> Vec<Vec<u8>> {
        let (mut values, mut bytes) = (Vec::new(), 0);
        while values.len() < most
            && let Some(value) = self.waiting.pop_front()
        {
            bytes += value.len();
            if bytes > BYTES && !values.is_empty() {
                self.waiting.push_front(value);
                break;
            }
            values.push(value);
        }
        values
    }
}

impl Journal for StoreJournal {
    fn append(&self, entry: JournalEntry) -> Result<u64, JournalError> {
        let value = serde_json::to_vec(&entry);
        let value = value.map_err(|error| JournalError(error.to_string()))?;
        let mut line = self.shared.line();
        if let Some(why) = &line.failed {
            return Err(JournalError(why.clone()));
        }
        line.last += 1;
        line.waiting.push_back(value);
        self.shared.changed.notify_all();
        Ok(line.last)
    }

    fn wait(&self, position: u64) -> Result<(), JournalError> {
        let mut line = self.shared.line();
        loop {
            if line.kept >= position {
                return Ok(());
            }
            if let Some(why) = &line.failed {
                return Err(JournalError(why.clone()));
            }
            if self.durability == Durability::Relaxed {
                return Ok(());
            }
            line = self.shared.wait(line);
        }
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
