//! The format version of folders of results, which `run.json` and `compare.json` hold.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::interrupt::MARKERS;
use crate::output::Problem;
use crate::text_file;

/// The member of both documents.
pub(crate) const MEMBER: &str = "format_version";

/// The newest version that is read, which is written too. Folders without a version have version 0.
pub(crate) const VERSION: u64 = 1;

/// Largest document that is looked into for its version alone.
const LARGEST: u64 = 256 << 20;

/// Refuses a document that a newer version wrote.
///
/// `shown` names the file in messages.
///
/// # Errors
///
/// The version is newer, or no whole number.
pub(crate) fn check(shown: &str, document: &Value) -> Result<()> {
    let given = &document[MEMBER];
    let what = match given.as_u64() {
        Some(version) if version > VERSION => {
            let by = document["capsched"].as_str().unwrap_or("a newer one");
            format!(
                "it has {MEMBER} {version}, and this program reads up to {VERSION}; use the capsched that wrote it ({by})"
            )
        }
        None if !given.is_null() => format!("its {MEMBER} is no whole number: {given}"),
        _ => return Ok(()),
    };
    Err(Problem(format!("{shown}: {what}")).into())
}

/// The same of a folder, for what reads none of its documents. Documents that cannot be read pass.
///
/// # Errors
///
/// As [`check`].
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    for marker in MARKERS {
        let path = folder.join(marker);
        let text = path.is_file().then(|| text_file::read(&path, LARGEST));
        let Some(Ok(text)) = text else { continue };
        if let Ok(document) = serde_json::from_str::<Value>(&text) {
            check(&path.display().to_string(), &document)?;
        }
    }
    Ok(())
}
