//! The log of changes: who asked for what, when, and what came of it.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// A new store took the configuration of the file.
    Seed,
    /// A change.
    Update,
    /// The store went back to the configuration of the file.
    Format,
    /// An older version was taken again.
    Rollback,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When, in ms since the Unix epoch.
    pub at_ms: u64,
    /// In whose name.
    pub user: String,
    /// What it is about.
    pub kind: AuditKind,
    /// Properties that were set, and those without a value that were unset. Nothing where they are not known.
    pub updates: BTreeMap<String, Option<String>>,
    /// Why it was refused; nothing: it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl AuditEntry {
    /// The entry of a change that holds.
    #[must_use]
    pub fn accepted(
        at_ms: u64,
        user: &str,
        kind: AuditKind,
        updates: BTreeMap<String, Option<String>>,
    ) -> Self {
        Self {
            at_ms,
            user: user.to_owned(),
            kind,
            updates,
            refused: None,
        }
    }

    /// The same entry of a change that was refused.
    #[must_use]
    pub fn refused(mut self, why: &str) -> Self {
        self.refused = Some(why.to_owned());
        self
    }
}

/// The newest entries in memory.
#[derive(Clone, Debug)]
pub struct AuditLog {
    entries: VecDeque<AuditEntry>,
    most: usize,
}

impl AuditLog {
    /// An empty log that keeps so many entries.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            most,
        }
    }

    /// Adds an entry; the oldest one goes when there are too many.
    pub fn push(&mut self, entry: AuditEntry) {
        self.entries.push_back(entry);
        while self.entries.len() > self.most {
            self.entries.pop_front();
        }
    }

    /// The newest entries first, at most so many.
    #[must_use]
    pub fn newest(&self, most: usize) -> Vec<AuditEntry> {
        self.entries.iter().rev().take(most).cloned().collect()
    }

    /// All entries, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &AuditEntry> {
        self.entries.iter()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_go() {
        let mut log = AuditLog::new(2);
        for user in ["a", "b", "c"] {
            let entry = AuditEntry::accepted(1, user, AuditKind::Update, BTreeMap::new());
            log.push(entry);
        }
        let users: Vec<String> = log.newest(9).into_iter().map(|entry| entry.user).collect();
        assert_eq!(users, ["c", "b"]);
    }
}
