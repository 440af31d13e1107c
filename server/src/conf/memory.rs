//! Versions in memory only: a restart begins with the file again.

use super::audit::{AuditEntry, AuditKind, AuditLog};
use super::properties::ConfProperties;
use super::store::{ConfStore, ConfStoreError, ConfVersion, PreparedConf, StoredConf};

/// A store in memory.
// As InMemoryConfigurationStore: its version starts again at 1 when it is formatted.
#[derive(Debug)]
pub struct MemoryConfStore {
    /// The latest last.
    kept: Vec<(ConfVersion, ConfProperties)>,
    most: usize,
    log: AuditLog,
}

impl MemoryConfStore {
    /// An empty store that keeps at most so many versions, at least one, and so many entries of its log.
    #[must_use]
    pub fn new(most_versions: usize, most_entries: usize) -> Self {
        Self {
            kept: Vec::new(),
            most: most_versions.max(1),
            log: AuditLog::new(most_entries),
        }
    }
}

struct Prepared<'a> {
    store: &'a mut MemoryConfStore,
    next: ConfProperties,
    entry: AuditEntry,
}

impl PreparedConf for Prepared<'_> {
    fn commit(self: Box<Self>) -> Result<u64, ConfStoreError> {
        let Self { store, next, entry } = *self;
        if entry.kind == AuditKind::Format {
            store.kept.clear();
        }
        let before = store.kept.last().map_or(0, |(last, _)| last.version);
        let version = ConfVersion {
            version: before + 1,
            stored_ms: entry.at_ms,
        };
        store.kept.push((version, next));
        let above = store.kept.len().saturating_sub(store.most);
        store.kept.drain(..above);
        store.log.push(entry);
        Ok(version.version)
    }
}

impl ConfStore for MemoryConfStore {
    fn latest(&self) -> Result<Option<StoredConf>, ConfStoreError> {
        Ok(self.kept.last().map(|(version, properties)| StoredConf {
            version: version.version,
            properties: properties.clone(),
        }))
    }

    fn versions(&self) -> Result<Vec<ConfVersion>, ConfStoreError> {
        Ok(self
            .kept
            .iter()
            .rev()
            .map(|(version, _)| *version)
            .collect())
    }

    fn read(&self, version: u64) -> Result<Option<ConfProperties>, ConfStoreError> {
        let found = self.kept.iter().find(|(one, _)| one.version == version);
        Ok(found.map(|(_, properties)| properties.clone()))
    }

    fn prepare<'a>(
        &'a mut self,
        next: &ConfProperties,
        entry: AuditEntry,
    ) -> Result<Box<dyn PreparedConf + 'a>, ConfStoreError> {
        Ok(Box::new(Prepared {
            store: self,
            next: next.clone(),
            entry,
        }))
    }

    fn log(&mut self, entry: AuditEntry) -> Result<(), ConfStoreError> {
        self.log.push(entry);
        Ok(())
    }

    fn logged(&self, most: usize) -> Result<Vec<AuditEntry>, ConfStoreError> {
        Ok(self.log.newest(most))
    }
}
