//! A store in one file of this machine.
//!
//! redb writes copies of changed pages, syncs them, and then switches to them with checksums: a crash at any moment
//! leaves the state before or after a batch. One process has the file open; a second one is refused. The lease is
//! one of this process, the token ascends over restarts.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use capsched::sync::{Condvar, Mutex, MutexGuard};
use capsched::time::Clock;
use redb::backends::InMemoryBackend;
use redb::{
    CommitError, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend,
    StorageError, TableDefinition,
};

use super::batch::{Batch, Entry, Revision, Store, StoreError, Token};
use super::schema::SCHEMA;
use crate::clock::SharedClock;
use crate::private;

/// Name of the file in the directory.
const FILE: &str = "state.redb";

/// Values by key, each with the revision of its write.
const VALUES: TableDefinition<'_, &str, (u64, &[u8])> = TableDefinition::new("values");

/// Numbers of the store itself.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

const SCHEMA_NUMBER: &str = "schema";
const TOKEN_NUMBER: &str = "token";
const REVISION_NUMBER: &str = "revision";

/// Who leads.
#[derive(Debug)]
struct Leader {
    who: String,
    token: Token,
    lease: Duration,
    /// By the clock's ns.
    until_ns: u64,
}

#[derive(Debug, Default)]
struct Shown {
    leader: Option<Leader>,
    revision: Revision,
}

/// The store.
#[derive(Debug)]
pub struct EmbeddedStore {
    database: Database,
    file: PathBuf,
    shown: Mutex<Shown>,
    written: Condvar,
    clock: SharedClock,
}

fn failed(error: impl fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

fn of_storage(error: StorageError) -> StoreError {
    match error {
        StorageError::Corrupted(text) => StoreError::Corrupt(text),
        other => failed(other),
    }
}

fn of_table(error: redb::TableError) -> StoreError {
    match error {
        redb::TableError::Storage(error) => of_storage(error),
        other => failed(other),
    }
}

impl EmbeddedStore {
    /// Opens the store of a directory, which is created where it is missing.
    ///
    /// # Errors
    ///
    /// When another process has it open, when it is broken or of another schema, or when it cannot be written.
    pub fn open(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let at = |error: io::Error| not_usable(dir, &error);
        private::create_dir(dir).map_err(at)?;
        let file = dir.join(FILE);
        // Where this fails, opening the database says why.
        let _ = private::append(&file);
        let database = open(&file)?;
        // The entry of a new file has to survive as well as its content.
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(at)?;
        Self::over(database, file, clock)
    }

    /// A copy in memory of the store of a directory, of the size of its file. Every page is compared with its
    /// checksum, and nothing in the directory changes.
    ///
    /// # Errors
    ///
    /// When there is no store, another process has it open, or it is broken or of another schema.
    pub(super) fn copy_of(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let file = dir.join(FILE);
        let bytes = locked_bytes(&file)?;
        let corrupt =
            |error: &dyn fmt::Display| StoreError::Corrupt(format!("{}: {error}", file.display()));
        if bytes.is_empty() {
            return Err(corrupt(&"the file is empty"));
        }
        let memory = InMemoryBackend::new();
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        memory.set_len(length).map_err(failed)?;
        memory.write(0, &bytes).map_err(failed)?;
        drop(bytes);
        let mut builder = Database::builder();
        builder.set_check_integrity_on_open(true);
        let opened = builder.create_with_backend(memory);
        let database = opened.map_err(|error| match error {
            // Memory does not fail: what cannot be read is missing from the file.
            DatabaseError::Storage(error) => corrupt(&error),
            other => of_open(&file, other),
        })?;
        Self::over(database, file, clock)
    }

    fn over(database: Database, file: PathBuf, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let store = Self {
            database,
            file,
            shown: Mutex::default(),
            written: Condvar::new(),
            clock: SharedClock::of(clock),
        };
        let revision = store.prepare()?;
        store.shown().revision = revision;
        Ok(store)
    }

    /// Checks the schema, and makes the tables of a new store.
    fn prepare(&self) -> Result<Revision, StoreError> {
        let transaction = self.database.begin_write().map_err(failed)?;
        let revision = {
            let mut numbers = transaction.open_table(NUMBERS).map_err(of_table)?;
            transaction.open_table(VALUES).map_err(of_table)?;
            let schema = numbers.get(SCHEMA_NUMBER).map_err(of_storage)?;
            match schema.map(|number| number.value()) {
                Some(SCHEMA) => {}
                Some(found) => {
                    return Err(StoreError::Schema {
                        place: self.file.display().to_string(),
                        found,
                        known: SCHEMA,
                    });
                }
                None => {
                    numbers.insert(SCHEMA_NUMBER, SCHEMA).map_err(of_storage)?;
                }
            }
            number(&numbers, REVISION_NUMBER)?
        };
        transaction.commit().map_err(failed)?;
        Ok(Revision(revision))
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads every page and compares its checksum. Whether the file was whole; one that was not is repaired as far as
    /// that goes.
    ///
    /// # Errors
    ///
    /// When the file cannot be repaired.
    pub fn check_pages(&mut self) -> Result<bool, StoreError> {
        let checked = self.database.check_integrity();
        checked.map_err(|error| StoreError::Corrupt(format!("{}: {error}", self.file.display())))
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lease that has ended counts until another one leads: a machine that slept goes on.
    fn check_token(shown: &Shown, token: Token) -> Result<(), StoreError> {
        match &shown.leader {
            Some(leader) if leader.token == token => Ok(()),
            _ => Err(StoreError::Fenced),
        }
    }

    /// Carries out a batch in one transaction.
    fn commit(&self, token: Token, batch: &Batch) -> Result<Revision, StoreError> {
        let transaction = self.database.begin_write().map_err(failed)?;
        let revision = {
            let mut numbers = transaction.open_table(NUMBERS).map_err(of_table)?;
            if number(&numbers, TOKEN_NUMBER)? != token.0 {
                return Err(StoreError::Fenced);
            }
            let revision = number(&numbers, REVISION_NUMBER)? + 1;
            let mut values = transaction.open_table(VALUES).map_err(of_table)?;
            for (key, expected) in batch.expected() {
                let found = values.get(key.as_str()).map_err(of_storage)?;
                if found.map(|value| Revision(value.value().0)) != *expected {
                    return Err(StoreError::Conflict(key.clone()));
                }
            }
            for key in batch.deletes() {
                values.remove(key.as_str()).map_err(of_storage)?;
            }
            for (key, value) in batch.puts() {
                let value = (revision, value.as_slice());
                values.insert(key.as_str(), value).map_err(of_storage)?;
            }
            numbers
                .insert(REVISION_NUMBER, revision)
                .map_err(of_storage)?;
            Revision(revision)
        };
        match transaction.commit() {
            Ok(()) => Ok(revision),
            // Whether the switch to the new pages reached the disk is not known.
            Err(CommitError::Storage(error)) => Err(StoreError::InDoubt(error.to_string())),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Why a file or directory of the store cannot be used.
fn not_usable(path: &Path, error: &io::Error) -> StoreError {
    let name = path.display();
    StoreError::Failed(match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            format!(
                "{name} cannot be written: {error}; a server needs a directory that it may write"
            )
        }
        _ => format!("{name}: {error}"),
    })
}

/// Opens the file, or says why it cannot be opened.
fn open(file: &Path) -> Result<Database, StoreError> {
    Database::create(file).map_err(|error| of_open(file, error))
}

/// The bytes of a file that no process has open as a store.
fn locked_bytes(file: &Path) -> Result<Vec<u8>, StoreError> {
    let at = |error: io::Error| StoreError::Failed(format!("{}: {error}", file.display()));
    let mut open = File::open(file).map_err(at)?;
    // redb locks the whole file while a process has it open.
    open.try_lock_shared().map_err(|error| match error {
        TryLockError::WouldBlock => StoreError::InUse(file.display().to_string()),
        TryLockError::Error(error) => at(error),
    })?;
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).map_err(at)?;
    Ok(bytes)
}

fn of_open(file: &Path, error: DatabaseError) -> StoreError {
    let name = file.display();
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(name.to_string()),
        DatabaseError::UpgradeRequired(found) => StoreError::Schema {
            place: name.to_string(),
            found: found.into(),
            known: SCHEMA,
        },
        DatabaseError::Storage(StorageError::Corrupted(text)) => {
            StoreError::Corrupt(format!("{name}: {text}"))
        }
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == std::io::ErrorKind::InvalidData =>
        {
            StoreError::Corrupt(format!("{name}: {error}"))
        }
        DatabaseError::Storage(StorageError::Io(error)) => not_usable(file, &error),
        other => StoreError::Failed(format!("{name}: {other}")),
    }
}

fn number(numbers: &impl ReadableTable<&'static str, u64>, name: &str) -> Result<u64, StoreError> {
    let found = numbers.get(name).map_err(of_storage)?;
    Ok(found.map_or(0, |number| number.value()))
}

impl Store for EmbeddedStore {
    fn lead(&self, who: &str, lease: Duration) -> Result<Token, StoreError> {
        let mut shown = self.shown();
        let now_ns = self.clock.now_ns();
        if let Some(leader) = shown.leader.as_ref().filter(|one| one.until_ns > now_ns) {
            return Err(StoreError::Led(leader.who.clone()));
        }
        let transaction = self.database.begin_write().map_err(failed)?;
        let token = {
            let mut numbers = transaction.open_table(NUMBERS).map_err(of_table)?;
            let token = number(&numbers, TOKEN_NUMBER)? + 1;
            numbers.insert(TOKEN_NUMBER, token).map_err(of_storage)?;
            Token(token)
        };
        transaction.commit().map_err(failed)?;
        let until_ns = self.clock.now_ns().saturating_add(nanos(lease));
        shown.leader = Some(Leader {
            who: who.to_owned(),
            token,
            lease,
            until_ns,
        });
        Ok(token)
    }

    fn renew(&self, token: Token) -> Result<(), StoreError> {
        let mut shown = self.shown();
        Self::check_token(&shown, token)?;
        let now_ns = self.clock.now_ns();
        if let Some(leader) = &mut shown.leader {
            leader.until_ns = now_ns.saturating_add(nanos(leader.lease));
        }
        Ok(())
    }

    fn resign(&self, token: Token) -> Result<(), StoreError> {
        let mut shown = self.shown();
        shown.leader.take_if(|leader| leader.token == token);
        Ok(())
    }

    fn write(&self, token: Token, batch: &Batch) -> Result<Revision, StoreError> {
        let mut shown = self.shown();
        Self::check_token(&shown, token)?;
        // Held over the write: no other one becomes the leader between the check and the write.
        let revision = self.commit(token, batch)?;
        shown.revision = revision;
        self.written.notify_all();
        Ok(revision)
    }

    fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let values = transaction.open_table(VALUES).map_err(of_table)?;
        let found = values.get(key).map_err(of_storage)?;
        Ok(found.map(|value| {
            let (revision, value) = value.value();
            Entry {
                key: key.to_owned(),
                value: value.to_owned(),
                revision: Revision(revision),
            }
        }))
    }

    fn range(
        &self,
        prefix: &str,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let values = transaction.open_table(VALUES).map_err(of_table)?;
        let from = behind.map_or(prefix, |behind| behind.max(prefix));
        let mut entries = Vec::new();
        for one in values.range(from..).map_err(of_storage)? {
            let (key, value) = one.map_err(of_storage)?;
            let key = key.value();
            if !key.starts_with(prefix) || entries.len() == most {
                break;
            }
            if Some(key) == behind {
                continue;
            }
            let (revision, value) = value.value();
            entries.push(Entry {
                key: key.to_owned(),
                value: value.to_owned(),
                revision: Revision(revision),
            });
        }
        Ok(entries)
    }

    fn led_for(&self) -> Option<Duration> {
        let shown = self.shown();
        let until_ns = shown.leader.as_ref()?.until_ns;
        let left_ns = until_ns.saturating_sub(self.clock.now_ns());
        Some(Duration::from_nanos(left_ns))
    }

    fn watch(&self, behind: Revision, patience: Duration) -> Result<Revision, StoreError> {
        let shown = self.shown();
        let waited = self
            .written
            .wait_timeout_while(shown, patience, |shown| shown.revision <= behind);
        let (shown, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Ok(shown.revision)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "embedded_tests.rs"]
mod tests;
