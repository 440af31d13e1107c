//! Versions of the scheduler's configuration as keys of a store.
//!
//! `conf/at/<version>` holds a configuration, `conf/latest` the number of the latest one, `conf/log/<number>` an entry
//! of the log. A commit writes all of them in one batch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::batch::{Batch, Entry, Store, StoreError, Token};
use crate::conf::{
    AuditEntry, AuditKind, ConfProperties, ConfStore, ConfStoreError, ConfVersion, PreparedConf,
    StoredConf,
};

/// The key of the number of the latest configuration.
pub(super) const LATEST: &str = "conf/latest";
const AT: &str = "conf/at/";
const LOG: &str = "conf/log/";

/// A configuration as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    stored_ms: u64,
    properties: std::collections::BTreeMap<String, String>,
}

/// A store of configurations over keys.
#[derive(Debug)]
pub struct KeyConfStore {
    store: Arc<dyn Store>,
    token: Option<Token>,
    most: usize,
    most_entries: usize,
}

impl KeyConfStore {
    /// The configurations of a store; without a token they can be read only. At most so many versions, at least one,
    /// and so many entries of the log are kept.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        token: Option<Token>,
        most_versions: usize,
        most_entries: usize,
    ) -> Self {
        Self {
            store,
            token,
            most: most_versions.max(1),
            most_entries: most_entries.max(1),
        }
    }

    fn latest_number(&self) -> Result<u64, ConfStoreError> {
        let found = self.store.get(LATEST).map_err(of_store)?;
        found.map_or(Ok(0), |entry| {
            let text = String::from_utf8_lossy(&entry.value).into_owned();
            let number = text.parse();
            number.map_err(|_| unread(LATEST, &entry.value, "it is no number"))
        })
    }

    fn token(&self) -> Result<Token, ConfStoreError> {
        self.token.ok_or(ConfStoreError::Fenced)
    }

    /// Adds an entry to the log, and takes the oldest ones away.
    fn with_entry(&self, batch: Batch, entry: &AuditEntry) -> Result<Batch, ConfStoreError> {
        let entries = self.store.all(LOG).map_err(of_store)?;
        let last = entries.last().and_then(|entry| number(&entry.key, LOG));
        let value = json(entry)?;
        let batch = batch.put(numbered(LOG, last.unwrap_or(0) + 1), value);
        let above = (entries.len() + 1).saturating_sub(self.most_entries);
        let oldest = entries.into_iter().take(above);
        Ok(oldest.fold(batch, |batch, entry| batch.delete(entry.key)))
    }
}

/// A key whose order is that of its number.
pub(super) fn numbered(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:020}")
}

/// The number of a key.
pub(super) fn number(key: &str, prefix: &str) -> Option<u64> {
    key.strip_prefix(prefix)?.parse().ok()
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, ConfStoreError> {
    serde_json::to_vec(value).map_err(|error| ConfStoreError::Failed(error.to_string()))
}

fn of_store(error: StoreError) -> ConfStoreError {
    match error {
        StoreError::Fenced | StoreError::Led(_) => ConfStoreError::Fenced,
        StoreError::InDoubt(text) => ConfStoreError::InDoubt(text),
        StoreError::Corrupt(text) => ConfStoreError::Corrupt(text),
        other => ConfStoreError::Failed(other.to_string()),
    }
}

fn broken(key: &str, why: impl std::fmt::Display) -> ConfStoreError {
    ConfStoreError::Corrupt(format!("{key}: {why}"))
}

fn unread(key: &str, value: &[u8], why: impl std::fmt::Display) -> ConfStoreError {
    of_store(StoreError::unread(key, value, why))
}

fn stored(entry: &Entry) -> Result<(u64, Stored), ConfStoreError> {
    let version = number(&entry.key, AT).ok_or_else(|| broken(&entry.key, "it has no number"))?;
    let stored = serde_json::from_slice(&entry.value);
    let stored = stored.map_err(|error| unread(&entry.key, &entry.value, error))?;
    Ok((version, stored))
}

/// The properties of a stored value.
pub(super) fn properties(value: &[u8]) -> Result<ConfProperties, serde_json::Error> {
    let stored: Stored = serde_json::from_slice(value)?;
    Ok(stored.properties.into_iter().collect())
}

struct Prepared<'a> {
    store: &'a KeyConfStore,
    token: Token,
    version: u64,
    batch: Batch,
}

impl PreparedConf for Prepared<'_> {
    fn commit(self: Box<Self>) -> Result<u64, ConfStoreError> {
        let written = self.store.store.write(self.token, &self.batch);
        written.map_err(of_store)?;
        Ok(self.version)
    }
}

impl ConfStore for KeyConfStore {
    fn latest(&self) -> Result<Option<StoredConf>, ConfStoreError> {
        let version = self.latest_number()?;
        if version == 0 {
            return Ok(None);
        }
        let properties = self.read(version)?;
        let properties =
            properties.ok_or_else(|| broken(LATEST, "it names a version that is missing"))?;
        Ok(Some(StoredConf {
            version,
            properties,
        }))
    }

    fn versions(&self) -> Result<Vec<ConfVersion>, ConfStoreError> {
        let entries = self.store.all(AT).map_err(of_store)?;
        let version = |entry: &Entry| {
            let (version, stored) = stored(entry)?;
            let stored_ms = stored.stored_ms;
            Ok(ConfVersion { version, stored_ms })
        };
        entries.iter().rev().map(version).collect()
    }

    fn read(&self, version: u64) -> Result<Option<ConfProperties>, ConfStoreError> {
        let found = self.store.get(&numbered(AT, version)).map_err(of_store)?;
        let found = found.as_ref().map(stored).transpose()?;
        Ok(found.map(|(_, stored)| stored.properties.into_iter().collect()))
    }

    fn prepare<'a>(
        &'a mut self,
        next: &ConfProperties,
        entry: AuditEntry,
    ) -> Result<Box<dyn PreparedConf + 'a>, ConfStoreError> {
        let token = self.token()?;
        let before = self.store.get(LATEST).map_err(of_store)?;
        let version = self.latest_number()? + 1;
        let value = Stored {
            stored_ms: entry.at_ms,
            properties: next.as_map().clone(),
        };
        let batch = Batch::new()
            .expect(LATEST, before.map(|entry| entry.revision))
            .put(LATEST, version.to_string())
            .put(numbered(AT, version), json(&value)?);
        let kept = if entry.kind == AuditKind::Format {
            1
        } else {
            self.most
        };
        let present = self.store.all(AT).map_err(of_store)?;
        let above = (present.len() + 1).saturating_sub(kept);
        let oldest = present.into_iter().take(above);
        let batch = oldest.fold(batch, |batch, entry| batch.delete(entry.key));
        let batch = self.with_entry(batch, &entry)?;
        Ok(Box::new(Prepared {
            store: self,
            token,
            version,
            batch,
        }))
    }

    fn log(&mut self, entry: AuditEntry) -> Result<(), ConfStoreError> {
        let token = self.token()?;
        let batch = self.with_entry(Batch::new(), &entry)?;
        self.store.write(token, &batch).map_err(of_store)?;
        Ok(())
    }

    fn logged(&self, most: usize) -> Result<Vec<AuditEntry>, ConfStoreError> {
        let entries = self.store.all(LOG).map_err(of_store)?;
        let read = |entry: &Entry| {
            serde_json::from_slice(&entry.value)
                .map_err(|error| unread(&entry.key, &entry.value, error))
        };
        entries.iter().rev().take(most).map(read).collect()
    }
}
