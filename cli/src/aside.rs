//! Files that appear under their names only when they are whole.
//!
//! Each is written under a unique name in the same folder, synced and renamed. Two writers of one
//! name never mix: the later rename wins. Nothing that lies at the unique name is followed.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

use crate::interrupt::{self, Guarded};

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Aside {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
    force: bool,
    _guarded: Guarded,
}

impl Aside {
    /// A file that will be `path`. Without `force` an existing one is refused, also at the end.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self> {
        let shown = path.display();
        if !force && path.symlink_metadata().is_ok() {
            bail!("{shown} exists; say --force to replace it");
        }
        // A rename would take the place of a device, which others write to as well.
        let replaced = path.symlink_metadata().map(|data| data.file_type());
        if replaced.is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
            bail!("{shown} is no regular file, and is not replaced");
        }
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        let folder = parent.unwrap_or(Path::new("."));
        let file = temporary(folder).with_context(|| format!("{shown} cannot be written"))?;
        Ok(Self {
            _guarded: interrupt::temporary(file.path()),
            file: BufWriter::new(file),
            path: path.to_owned(),
            force,
        })
    }

    /// Writes everything to the disk and gives the file its name.
    pub(crate) fn finish(self) -> Result<()> {
        let shown = self.path.display().to_string();
        let file = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        let file = file.with_context(|| shown.clone())?;
        file.as_file()
            .sync_all()
            .with_context(|| format!("{shown} cannot be written"))?;
        let named = if self.force {
            file.persist(&self.path)
        } else {
            file.persist_noclobber(&self.path)
        };
        match named {
            Ok(_) => sync_folder(&self.path),
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => {
                bail!("{shown} exists; say --force to replace it")
            }
            Err(refused) => return Err(refused.error).context(shown),
        }
        Ok(())
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A new file with a name that no other one has, in `folder`.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".capsched-").suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask takes away what others may not do, as for any new file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Makes a rename last. Systems that cannot sync a folder keep it anyhow.
pub(crate) fn sync_folder(of: &Path) {
    let parent = of.parent().filter(|parent| *parent != Path::new(""));
    if let Ok(folder) = File::open(parent.unwrap_or(Path::new("."))) {
        let _unsynced = folder.sync_all();
    }
}

/// Writes a whole file aside and gives it its name.
pub(crate) fn write(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let mut file = Aside::create(path, force)?;
    file.write_all(bytes)
        .with_context(|| path.display().to_string())?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        let text = |name: std::ffi::OsString| name.into_string().unwrap();
        names.into_iter().map(text).collect()
    }

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = folder();
        let path = folder.path().join("x");
        let mut file = Aside::create(&path, false).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert!(names(folder.path()).is_empty(), "an unfinished file goes");
        write(&path, b"whole", false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["x"]);
    }

    #[test]
    fn a_file_that_is_there_stays_unless_forced() {
        let folder = folder();
        let path = folder.path().join("x");
        let late = Aside::create(&path, false).unwrap();
        write(&path, b"first", false).unwrap();
        let refused = late.finish().unwrap_err();
        assert!(refused.to_string().contains("--force"), "{refused}");
        assert!(write(&path, b"second", false).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write(&path, b"third", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
    }

    #[test]
    fn two_writers_of_one_name_never_mix() {
        let folder = folder();
        let path = folder.path().join("x");
        let mut one = Aside::create(&path, true).unwrap();
        let mut other = Aside::create(&path, true).unwrap();
        for _ in 0..100 {
            one.write_all(&[1; 1000]).unwrap();
            other.write_all(&[2; 1000]).unwrap();
        }
        other.finish().unwrap();
        one.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), vec![1; 100_000]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_never_replaced() {
        let folder = folder();
        let path = folder.path().join("x");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        for path in [&path, folder.path()] {
            let refused = write(path, b"new", true).unwrap_err().to_string();
            assert!(refused.contains("no regular file"), "{refused}");
        }
        assert_eq!(names(folder.path()), ["x"]);
        assert!(!path.metadata().unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_never_written_through() {
        let folder = folder();
        let (path, far) = (folder.path().join("x"), folder.path().join("far"));
        fs::write(&far, b"kept").unwrap();
        std::os::unix::fs::symlink(&far, &path).unwrap();
        assert!(write(&path, b"new", false).is_err());
        write(&path, b"new", true).unwrap();
        assert_eq!(fs::read(&far).unwrap(), b"kept");
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
