//! What a store does, and what is written to it.

use std::fmt::{Debug, Display};
use std::time::Duration;

use thiserror::Error;

use super::schema::SCHEMA;

/// Proof of having become the leader. A later leader has a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// Number of a write; a later one has a larger number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Vec<u8>,
    /// The write that it comes from.
    pub revision: Revision,
}

/// Keys to set and to delete, whole or not at all. A key stands in a batch once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    puts: Vec<(String, Vec<u8>)>,
    deletes: Vec<String>,
    /// Keys with the write that they must come from; nothing: they must not exist.
    expected: Vec<(String, Option<Revision>)>,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key.
    #[must_use]
    pub fn put(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.puts.push((key.into(), value.into()));
        self
    }

    /// Deletes a key; one that does not exist stays so.
    #[must_use]
    pub fn delete(mut self, key: impl Into<String>) -> Self {
        self.deletes.push(key.into());
        self
    }

    /// Has the batch refused unless a key comes from this write, or does not exist where there is none.
    #[must_use]
    pub fn expect(mut self, key: impl Into<String>, revision: Option<Revision>) -> Self {
        self.expected.push((key.into(), revision));
        self
    }

    /// Keys to set.
    #[must_use]
    pub fn puts(&self) -> &[(String, Vec<u8>)] {
        &self.puts
    }

    /// Keys to delete.
    #[must_use]
    pub fn deletes(&self) -> &[String] {
        &self.deletes
    }

    /// Keys with the write that they must come from.
    #[must_use]
    pub fn expected(&self) -> &[(String, Option<Revision>)] {
        &self.expected
    }
}

/// Why a store failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process leads; nothing was written.
    #[error("the store is led by another process")]
    Fenced,
    /// Another process leads, and its lease has not ended.
    #[error("the store is led by {0}")]
    Led(String),
    /// A key does not come from the write that was expected; nothing was written.
    #[error("the key {0} was changed by another write")]
    Conflict(String),
    /// Nothing was written.
    #[error("the store failed: {0}")]
    Failed(String),
    /// It may have been written or not.
    #[error("the store may or may not have the write: {0}")]
    InDoubt(String),
    /// Another process has the store open.
    #[error("the store is in use by another process: {0}")]
    InUse(String),
    /// What the store holds is broken.
    #[error("the store is broken: {0}")]
    Corrupt(String),
    /// The store was written by a version that this one does not know.
    #[error("{place}: the store has schema {found}; this program reads schema {known}")]
    Schema {
        /// Where that stands: a file or a key.
        place: String,
        /// Its schema.
        found: u64,
        /// The schema of this version.
        known: u64,
    },
}

/// Bytes of a value that a message shows at most.
const SHOWN: usize = 40;

impl StoreError {
    /// That the value of a key cannot be read, with the beginning of what was found.
    pub(crate) fn unread(key: &str, value: &[u8], why: impl Display) -> Self {
        let shown = value.get(..SHOWN).unwrap_or(value).escape_ascii();
        let more = if value.len() > SHOWN { "..." } else { "" };
        Self::Corrupt(format!("{key}: {why}; found `{shown}{more}`"))
    }

    /// Whether the contents of the store are at fault: another try finds the same.
    #[must_use]
    pub const fn is_of_contents(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::Schema { .. })
    }

    /// Adds the address of the store where its contents are at fault.
    #[must_use]
    pub fn at(self, address: &str) -> Self {
        match self {
            Self::Corrupt(text) => Self::Corrupt(format!(
                "{address}: {text}; this program reads schema {SCHEMA}"
            )),
            Self::Schema {
                place,
                found,
                known,
            } => Self::Schema {
                place: format!("{address}: {place}"),
                found,
                known,
            },
            other => other,
        }
    }
}

/// Keys with values, written by one leader at a time.
///
/// Calls wait for disk or network. They may come from any number of threads.
pub trait Store: Debug + Send + Sync {
    /// Makes the caller the leader for a while, unless another one leads.
    ///
    /// # Errors
    ///
    /// [`StoreError::Led`], or that the store failed.
    fn lead(&self, who: &str, lease: Duration) -> Result<Token, StoreError>;

    /// Prolongs the lease by its duration from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] when it has ended and another one leads, or that the store failed.
    fn renew(&self, token: Token) -> Result<(), StoreError>;

    /// Ends the lease, so that another one may lead at once. Nothing happens when it has ended.
    ///
    /// # Errors
    ///
    /// That the store failed.
    fn resign(&self, token: Token) -> Result<(), StoreError>;

    /// Carries out a batch in the name of the leader, and returns when it is durable.
    ///
    /// # Errors
    ///
    /// As [`StoreError`]; nothing was written then, but for [`StoreError::InDoubt`].
    fn write(&self, token: Token, batch: &Batch) -> Result<Revision, StoreError>;

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// That the store failed.
    fn get(&self, key: &str) -> Result<Option<Entry>, StoreError>;

    /// The entries of keys that begin with a prefix and stand behind a key of them, in order, at most so many.
    ///
    /// # Errors
    ///
    /// That the store failed.
    fn range(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// How long another leader may lead on unless it renews, by what [`Store::lead`] saw last. Nothing: it saw none.
    fn led_for(&self) -> Option<Duration>;

    /// Waits for a write behind a revision, at most so long; the present revision. A store that processes share also
    /// returns when the leader renews or resigns.
    ///
    /// # Errors
    ///
    /// That the store failed.
    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError>;

    /// Keys that one batch may set, delete and expect, taken together.
    fn most_operations(&self) -> usize {
        4096
    }

    /// All entries below a prefix, in order.
    ///
    /// # Errors
    ///
    /// That the store failed.
    fn all(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        const PAGE: usize = 1024;
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let behind = all.last().map(|entry| entry.key.clone());
            let page = self.range(prefix, behind.as_deref(), PAGE)?;
            let ends = page.len() < PAGE;
            all.extend(page);
            if ends {
                return Ok(all);
            }
        }
    }
}
