//! Versions as files of a directory: `capacity-scheduler.xml.<ms>`, the largest number is the latest.
//!
//! # Protocol
//!
//! 1. A configuration is written to a file that ends with `.tmp` and synced.
//! 2. To commit, the next version number is written to `ConfigVersion`, then the entry to the log, both synced.
//! 3. The file is renamed, and the directory synced. Only this makes it the latest version.
//!
//! A crash before step 3 leaves the old configuration, maybe under a larger number. No number stands for two
//! configurations.
// As FSSchedulerConfigurationStore.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::audit::{AuditEntry, AuditKind, AuditLog};
use super::properties::ConfProperties;
use super::store::{ConfStore, ConfStoreError, ConfVersion, PreparedConf, StoredConf};
use crate::private;

const PREFIX: &str = "capacity-scheduler.xml.";
const TMP: &str = ".tmp";
const VERSION: &str = "ConfigVersion";
const LOG: &str = "audit.jsonl";

/// A directory of versions.
#[derive(Debug)]
pub struct FileConfStore {
    dir: PathBuf,
    most: usize,
    most_entries: usize,
    /// Entries in the file of the log.
    entries: usize,
}

impl FileConfStore {
    /// Opens a directory, which is created where it is missing. At most so many versions, at least one, and so many
    /// entries of the log are kept.
    ///
    /// # Errors
    ///
    /// When the directory cannot be created or read.
    pub fn open(
        dir: &Path,
        most_versions: usize,
        most_entries: usize,
    ) -> Result<Self, ConfStoreError> {
        private::create_dir(dir).map_err(|error| failed(dir, &error))?;
        let mut store = Self {
            dir: dir.to_owned(),
            most: most_versions.max(1),
            most_entries: most_entries.max(1),
            entries: 0,
        };
        store.files()?;
        store.entries = store.entries_of_log()?.len();
        Ok(store)
    }

    /// Times of the files of versions, ascending.
    fn files(&self) -> Result<Vec<u64>, ConfStoreError> {
        let list = fs::read_dir(&self.dir).map_err(|error| failed(&self.dir, &error))?;
        let mut times = Vec::new();
        for one in list {
            let one = one.map_err(|error| failed(&self.dir, &error))?;
            let name = one.file_name();
            let time = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            // What is no number is no version: `.tmp` files of a crash among them.
            times.extend(time.and_then(|time| time.parse::<u64>().ok()));
        }
        times.sort_unstable();
        Ok(times)
    }

    fn file(&self, time: u64) -> PathBuf {
        self.dir.join(format!("{PREFIX}{time}"))
    }

    fn number(&self) -> Result<u64, ConfStoreError> {
        let path = self.dir.join(VERSION);
        match fs::read(&path) {
            Ok(bytes) => {
                let bytes: Result<[u8; 8], _> = bytes.as_slice().try_into();
                let bytes = bytes.map_err(|_| {
                    let text = format!("{} does not have 8 bytes", path.display());
                    ConfStoreError::Corrupt(text)
                })?;
                // As DataOutput.writeLong.
                Ok(u64::from_be_bytes(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// The versions with the times of their files, the latest first. Every version has its own file, and the numbers
    /// have no gaps but for those of a crash.
    fn numbered(&self) -> Result<Vec<(u64, u64)>, ConfStoreError> {
        let times = self.files()?;
        let last = self
            .number()?
            .max(u64::try_from(times.len()).unwrap_or(u64::MAX));
        let numbers = (1..=last).rev();
        Ok(numbers.zip(times.into_iter().rev()).collect())
    }

    fn properties(&self, time: u64) -> Result<ConfProperties, ConfStoreError> {
        let path = self.file(time);
        let bytes = fs::read(&path).map_err(|error| failed(&path, &error))?;
        ConfProperties::read(&bytes)
            .map_err(|finding| ConfStoreError::Corrupt(format!("{}: {finding}", path.display())))
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }

    /// Replaces a small file as a whole.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), ConfStoreError> {
        let (path, aside) = (self.dir.join(name), self.dir.join(format!("{name}{TMP}")));
        let written = write_synced(&aside, bytes)
            .and_then(|()| fs::rename(&aside, &path))
            .and_then(|()| self.sync_dir());
        written.map_err(|error| failed(&path, &error))
    }

    fn entries_of_log(&self) -> Result<AuditLog, ConfStoreError> {
        let path = self.dir.join(LOG);
        let mut log = AuditLog::new(usize::MAX);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(log),
            Err(error) => return Err(failed(&path, &error)),
        };
        // A crash may have cut the last line.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.for_each(|entry| log.push(entry));
        Ok(log)
    }

    /// Appends to the log; it is cut to the most entries when it has twice as many.
    fn append(&mut self, entry: &AuditEntry) -> Result<(), ConfStoreError> {
        if self.entries >= self.most_entries.saturating_mul(2) {
            let log = self.entries_of_log()?;
            let kept = log.iter().skip(log.len().saturating_sub(self.most_entries));
            let lines: String = kept.map(line).collect();
            self.replace(LOG, lines.as_bytes())?;
            self.entries = self.most_entries;
        }
        let path = self.dir.join(LOG);
        let append = || -> io::Result<()> {
            let mut file = private::append(&path)?;
            file.write_all(line(entry).as_bytes())?;
            file.sync_all()
        };
        append().map_err(|error| failed(&path, &error))?;
        self.entries += 1;
        Ok(())
    }
}

fn line(entry: &AuditEntry) -> String {
    // An entry has texts and numbers only, which always have a form.
    let text = serde_json::to_string(entry).unwrap_or_default();
    format!("{text}\n")
}

fn failed(path: &Path, error: &io::Error) -> ConfStoreError {
    ConfStoreError::Failed(format!("{}: {error}", path.display()))
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file that is written aside.
struct Prepared<'a> {
    store: &'a mut FileConfStore,
    aside: PathBuf,
    time: u64,
    entry: AuditEntry,
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // Not there any more once it was committed; what is left of a failure is no version.
        let _ = fs::remove_file(&self.aside);
    }
}

impl PreparedConf for Prepared<'_> {
    fn commit(self: Box<Self>) -> Result<u64, ConfStoreError> {
        let this = self;
        let version = this
            .store
            .numbered()?
            .first()
            .map_or(0, |(number, _)| *number);
        let version = version.max(this.store.number()?) + 1;
        this.store.replace(VERSION, &version.to_be_bytes())?;
        let entry = this.entry.clone();
        this.store.append(&entry)?;
        let path = this.store.file(this.time);
        fs::rename(&this.aside, &path).map_err(|error| failed(&path, &error))?;
        let synced = this.store.sync_dir();
        synced.map_err(|error| ConfStoreError::InDoubt(format!("{}: {error}", path.display())))?;
        let kept = if entry.kind == AuditKind::Format {
            1
        } else {
            this.store.most
        };
        let times = this.store.files()?;
        for time in &times[..times.len().saturating_sub(kept)] {
            // An old version that stays does no harm; the next commit tries again.
            let _ = fs::remove_file(this.store.file(*time));
        }
        Ok(version)
    }
}

impl ConfStore for FileConfStore {
    fn latest(&self) -> Result<Option<StoredConf>, ConfStoreError> {
        let latest = self.numbered()?.first().copied();
        let stored = |(version, time)| {
            Ok(StoredConf {
                version,
                properties: self.properties(time)?,
            })
        };
        latest.map(stored).transpose()
    }

    fn versions(&self) -> Result<Vec<ConfVersion>, ConfStoreError> {
        let all = self.numbered()?.into_iter();
        Ok(all
            .map(|(version, stored_ms)| ConfVersion { version, stored_ms })
            .collect())
    }

    fn read(&self, version: u64) -> Result<Option<ConfProperties>, ConfStoreError> {
        let all = self.numbered()?;
        let found = all.iter().find(|(one, _)| *one == version);
        found.map(|(_, time)| self.properties(*time)).transpose()
    }

    fn prepare<'a>(
        &'a mut self,
        next: &ConfProperties,
        entry: AuditEntry,
    ) -> Result<Box<dyn PreparedConf + 'a>, ConfStoreError> {
        // A clock that goes back must not make an old version the latest.
        let last = self.files()?.last().copied().unwrap_or(0);
        let time = entry.at_ms.max(last + 1);
        let aside = self.dir.join(format!("{PREFIX}{time}{TMP}"));
        let prepared = Prepared {
            store: self,
            aside,
            time,
            entry,
        };
        write_synced(&prepared.aside, next.to_file().as_bytes())
            .map_err(|error| failed(&prepared.aside, &error))?;
        Ok(Box::new(prepared))
    }

    fn log(&mut self, entry: AuditEntry) -> Result<(), ConfStoreError> {
        self.append(&entry)
    }

    fn logged(&self, most: usize) -> Result<Vec<AuditEntry>, ConfStoreError> {
        Ok(self.entries_of_log()?.newest(most))
    }
}
