//! Directories and files that the server makes for itself: where the system knows modes, nobody else reads them.
//!
//! What is there already keeps its mode, since whoever made it chose it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

/// Makes a directory, and those above it, where they are missing.
pub(crate) fn create_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(dir)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// Opens a file to write it from its beginning; what it had is gone.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    options().write(true).truncate(true).open(path)
}

/// Opens a file to write behind what it has.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    options().append(true).open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path)
            .expect("the file exists")
            .permissions()
            .mode()
            & 0o777
    }

    #[test]
    fn what_is_made_is_private_and_what_is_there_keeps_its_mode() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("a/b");
        create_dir(&dir).unwrap();
        let (one, two, old) = (dir.join("one"), dir.join("two"), dir.join("old"));
        create(&one).unwrap();
        append(&two).unwrap();
        let made = [&base.path().join("a"), &dir, &one, &two].map(|path| mode(path));
        assert_eq!(made, [0o700, 0o700, 0o600, 0o600]);
        fs::write(&old, "long").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
        append(&old).unwrap().write_all(b"er").unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "longer");
        create(&old).unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "new");
        create_dir(&dir).unwrap();
        assert_eq!([mode(&old), mode(&dir)], [0o640, 0o700]);
    }
}
