//! Whether what a store holds is whole: every value can be read, and none is missing.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use capsched::time::SystemClock;
use serde::Serialize;

use super::batch::{Entry, Store, StoreError};
use super::compaction::{CURRENT, Recorded, SnapshotMark};
use super::configurations::{KeyConfStore, LATEST, number};
use super::embedded::EmbeddedStore;
use super::journal::PREFIX;
use crate::conf::{AuditEntry, ConfProperties, ConfStore};
use crate::rm::JournalEntry;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreProblem {
    /// The key that is wrong; none where the store as a whole is.
    pub key: Option<String>,
    /// What is wrong with it.
    pub reason: String,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Versions of the configuration.
    pub configurations: usize,
    /// Entries of the log of changes.
    pub log_entries: usize,
    /// Commands of the journal behind the snapshot.
    pub commands: usize,
    /// Snapshots that count: one, or none.
    pub snapshots: usize,
    /// Commands of the snapshot.
    pub snapshot_commands: usize,
    /// Keys that belong to nothing known.
    pub other_keys: usize,
    /// What is wrong, in the order of the keys.
    pub problems: Vec<StoreProblem>,
}

/// Reads everything that a store holds.
///
/// # Errors
///
/// When the store fails.
pub fn check(store: &Arc<dyn Store>) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    let mut before = report.snapshot(&**store)?;
    for entry in store.all("")? {
        match entry.key.split_once('/').map(|(kind, _)| kind) {
            Some("journal") => report.command(&entry, &mut before),
            Some("snapshot") => {}
            Some("conf") => report.configuration(&entry),
            _ => report.other_keys += 1,
        }
    }
    let configurations = KeyConfStore::new(Arc::clone(store), None, 1, 1);
    match configurations.latest() {
        Ok(None) if report.configurations > 0 => report.wrong(LATEST, "it is missing"),
        Ok(_) => {}
        Err(error) => report.wrong(LATEST, error),
    }
    Ok(report)
}

/// Checks the embedded store of a directory: pages, schema and values. A copy in memory is checked, so that nothing
/// in the directory changes. What a process that was killed left undone is undone in the copy, as at a start.
///
/// # Errors
///
/// When there is no store, it is in use, cannot be read, or is of a schema that this version does not know.
pub fn check_directory(dir: &Path) -> Result<CheckReport, StoreError> {
    let checked = EmbeddedStore::copy_of(dir, Arc::new(SystemClock::new())).and_then(|mut copy| {
        let whole = copy.check_pages()?;
        let mut report = check(&(Arc::new(copy) as Arc<dyn Store>))?;
        if !whole {
            let reason = "pages do not agree with their checksums".to_owned();
            report.problems.push(StoreProblem { key: None, reason });
        }
        Ok(report)
    });
    match checked {
        Err(StoreError::Corrupt(reason)) => Ok(CheckReport {
            problems: vec![StoreProblem { key: None, reason }],
            ..CheckReport::default()
        }),
        other => other,
    }
}

impl CheckReport {
    fn wrong(&mut self, key: &str, reason: impl fmt::Display) {
        self.problems.push(StoreProblem {
            key: Some(key.to_owned()),
            reason: reason.to_string(),
        });
    }

    /// Reads the snapshot that counts. The position that the journal goes on behind.
    fn snapshot(&mut self, store: &dyn Store) -> Result<u64, StoreError> {
        let Some(entry) = store.get(CURRENT)? else {
            return Ok(0);
        };
        self.snapshots = 1;
        let mark = match SnapshotMark::read(&entry) {
            Ok(mark) => mark,
            Err(error) => {
                self.wrong(CURRENT, error);
                return Ok(0);
            }
        };
        match Recorded::of_snapshot(store, mark) {
            Ok(commands) => self.snapshot_commands = commands,
            Err(error @ StoreError::Corrupt(_)) => self.wrong(CURRENT, error),
            Err(error) => return Err(error),
        }
        Ok(mark.position)
    }

    /// Reads a command. What the snapshot replaces is left over from a compaction that did not end, and counts no more.
    fn command(&mut self, entry: &Entry, before: &mut u64) {
        let position = number(&entry.key, PREFIX);
        if position.is_some_and(|position| position <= *before) {
            return;
        }
        self.commands += 1;
        let read = serde_json::from_slice::<JournalEntry>(&entry.value);
        if let Err(error) = read {
            self.wrong(&entry.key, error);
        }
        let Some(position) = position else {
            self.wrong(&entry.key, "the key has no position");
            return;
        };
        let wanted = *before + 1;
        if position != wanted {
            let reason = format!("position {wanted} is expected here");
            self.wrong(&entry.key, reason);
        }
        *before = position;
    }

    fn configuration(&mut self, entry: &Entry) {
        let unread = if entry.key.starts_with("conf/at/") {
            self.configurations += 1;
            stored_properties(&entry.value).err()
        } else if entry.key.starts_with("conf/log/") {
            self.log_entries += 1;
            let read = serde_json::from_slice::<AuditEntry>(&entry.value);
            read.err().map(|error| error.to_string())
        } else {
            None
        };
        if let Some(why) = unread {
            self.wrong(&entry.key, why);
        }
    }
}

fn stored_properties(value: &[u8]) -> Result<ConfProperties, String> {
    super::configurations::properties(value).map_err(|error| error.to_string())
}
