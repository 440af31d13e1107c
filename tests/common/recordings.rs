//! Finds the recordings of the original scheduler.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of all recordings: that of the repository, unless `CAPSCHED_PARITY` names another.
pub(crate) fn root() -> PathBuf {
    std::env::var_os("CAPSCHED_PARITY").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parity"),
        PathBuf::from,
    )
}

/// All recordings of a kind with their names: those of the folder `kind`, and those of the archive
/// `kind.jsonl.zst` beside it. None, with a printed sentence, where there is no folder of
/// recordings at all: the published package has none.
///
/// # Panics
///
/// When there are recordings, but none of this kind.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn recordings(kind: &str) -> Vec<(String, Value)> {
    let root = root();
    if !root.is_dir() {
        println!("skipped: there are no recordings in {}", root.display());
        return Vec::new();
    }
    let mut found = Vec::new();
    for path in [root.join(kind), root.join(format!("{kind}.jsonl.zst"))] {
        collect(&path, &mut found);
    }
    let place = root.display();
    assert!(!found.is_empty(), "{place} holds no recordings of {kind}");
    found
}

/// The recordings at a path, in order of their files' names.
fn collect(path: &Path, found: &mut Vec<(String, Value)>) {
    let mut add = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("a recording is JSON");
        let name = value["name"].as_str().expect("a recording has a name");
        found.push((name.to_owned(), value));
    };
    let name = path.to_string_lossy();
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("the folder of recordings can be listed");
        let mut entries: Vec<PathBuf> = entries
            .map(|entry| entry.expect("its entries can be read").path())
            .collect();
        entries.sort();
        for entry in entries {
            collect(&entry, found);
        }
    } else if name.ends_with(".json") {
        add(&std::fs::read_to_string(path).expect("a recording can be read"));
    } else if name.ends_with(".jsonl.zst") && path.is_file() {
        let archive = std::fs::File::open(path).expect("an archive can be opened");
        let text = zstd::decode_all(archive).expect("an archive is compressed with zstd");
        let text = String::from_utf8(text).expect("an archive holds text");
        text.lines().for_each(add);
    }
}
