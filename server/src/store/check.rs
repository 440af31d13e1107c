//! Whether what a store holds is whole: every value can be read, and none is missing.

use serde::Serialize;

use super::batch::{Entry, Store, StoreError};
use super::configurations::{KeyConfStore, number};
use super::journal::PREFIX;
use crate::conf::{AuditEntry, ConfProperties, ConfStore};
use crate::rm::JournalEntry;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Versions of the configuration.
    pub configurations: usize,
    /// Entries of the log of changes.
    pub log_entries: usize,
    /// Commands of the journal.
    pub commands: usize,
    /// Keys that belong to nothing known.
    pub other_keys: usize,
    /// What is wrong, each with its key.
    pub problems: Vec<String>,
}

/// Reads everything that a store holds.
///
/// # Errors
///
/// When the store fails.
pub fn check(store: &std::sync::Arc<dyn Store>) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    let mut position = None;
    for entry in store.all("")? {
        match entry.key.split_once('/').map(|(kind, _)| kind) {
            Some("journal") => report.command(&entry, &mut position),
            Some("conf") => report.configuration(&entry),
            _ => report.other_keys += 1,
        }
    }
    let configurations = KeyConfStore::new(std::sync::Arc::clone(store), None, 1, 1);
    if report.configurations > 0
        && let Err(error) = configurations.latest()
    {
        report.problems.push(error.to_string());
    }
    Ok(report)
}

impl CheckReport {
    fn command(&mut self, entry: &Entry, before: &mut Option<u64>) {
        self.commands += 1;
        let read = serde_json::from_slice::<JournalEntry>(&entry.value);
        if let Err(error) = read {
            self.problems.push(format!("{}: {error}", entry.key));
        }
        let Some(position) = number(&entry.key, PREFIX) else {
            self.problems.push(format!("{}: no position", entry.key));
            return;
        };
        let wanted = before.map_or(position, |before| before + 1);
        if position != wanted {
            let text = format!("{}: {wanted} is expected here", entry.key);
            self.problems.push(text);
        }
        *before = Some(position);
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
            self.problems.push(format!("{}: {why}", entry.key));
        }
    }
}

fn stored_properties(value: &[u8]) -> Result<ConfProperties, String> {
    super::configurations::properties(value).map_err(|error| error.to_string())
}
