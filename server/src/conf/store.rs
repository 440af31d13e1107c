//! What a store of configuration versions does.

use std::fmt::Debug;

use serde::Serialize;
use thiserror::Error;

use super::audit::AuditEntry;
use super::properties::ConfProperties;

/// A version that a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ConfVersion {
    /// Its number, from 1; a later version has a larger one.
    pub version: u64,
    /// When it was stored, in ms since the Unix epoch.
    pub stored_ms: u64,
}

/// A configuration with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConf {
    /// The number.
    pub version: u64,
    /// The properties.
    pub properties: ConfProperties,
}

/// Why a store failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfStoreError {
    /// Nothing changed.
    #[error("the configuration store: {0}")]
    Failed(String),
    /// What the store holds cannot be read.
    #[error("the configuration store: {0}")]
    Corrupt(String),
    /// Another process leads; nothing changed.
    #[error("the configuration store: another resource manager leads")]
    Fenced,
    /// The store may or may not have the change. It must be opened again before it is used.
    #[error("the configuration store may or may not have the change: {0}")]
    InDoubt(String),
}

/// A configuration that is written aside. When it is dropped, nothing happened.
pub trait PreparedConf {
    /// Makes it the latest version, synced, and returns its number. Versions above the most that the store keeps
    /// are deleted, the oldest first.
    ///
    /// # Errors
    ///
    /// As [`ConfStoreError`].
    fn commit(self: Box<Self>) -> Result<u64, ConfStoreError>;
}

/// Versions of the scheduler's configuration, and the log of who changed what.
pub trait ConfStore: Debug + Send {
    /// The latest configuration; nothing in a store that is new.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn latest(&self) -> Result<Option<StoredConf>, ConfStoreError>;

    /// The versions that are kept, the latest first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn versions(&self) -> Result<Vec<ConfVersion>, ConfStoreError>;

    /// A version that is kept.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    fn read(&self, version: u64) -> Result<Option<ConfProperties>, ConfStoreError>;

    /// Writes a configuration aside. The entry is logged with it when it is committed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn prepare<'a>(
        &'a mut self,
        next: &ConfProperties,
        entry: AuditEntry,
    ) -> Result<Box<dyn PreparedConf + 'a>, ConfStoreError>;

    /// Logs an entry by itself, as that of a refused change.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn log(&mut self, entry: AuditEntry) -> Result<(), ConfStoreError>;

    /// The newest entries of the log, the newest first, at most so many.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    fn logged(&self, most: usize) -> Result<Vec<AuditEntry>, ConfStoreError>;
}
