//! The journal: what a store has to keep so that a restart finds every command that was answered.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::command::Command;

/// One command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// When, in ms since the Unix epoch.
    pub at_ms: u64,
    /// In whose name.
    pub user: String,
    /// What.
    pub command: Command,
}

/// Keeps commands in the order in which they were carried out.
///
/// Entries are appended one after the other, by one thread at a time. Many threads then wait for their positions,
/// so that one write to disk may serve all of them.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Appends an entry and returns its position. Does not wait for the disk.
    ///
    /// # Errors
    ///
    /// When the journal takes no entries any more.
    fn append(&self, entry: JournalEntry) -> Result<u64, JournalError>;

    /// Waits until everything up to a position survives a crash.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn wait(&self, position: u64) -> Result<(), JournalError>;

    /// Why entries are not kept any more; nothing: they are.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Why a journal failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal cannot be written: {0}")]
pub struct JournalError(pub String);
