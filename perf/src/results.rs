//! Records in files: one line of JSON each, appended and never changed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::machine;

/// The file of this machine under `perf/results`.
pub(crate) fn of_this_machine() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("results");
    folder.join(format!("{}.jsonl", machine::slug()))
}

/// Adds a record to a file.
pub(crate) fn append(path: &Path, record: &impl Serialize) -> Result<()> {
    let write = || -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(path)?;
        writeln!(file, "{}", serde_json::to_string(record)?)?;
        Ok(())
    };
    write().with_context(|| path.display().to_string())
}

/// All records of a file, oldest first.
pub(crate) fn read(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(i, line)| {
            let place = || format!("{}:{}", path.display(), i + 1);
            serde_json::from_str(line).with_context(place)
        })
        .collect()
}

/// A number of a record.
pub(crate) fn number(record: &Value, field: &str) -> Option<u64> {
    let mut found = record;
    for part in field.split('.') {
        found = found.get(part)?;
    }
    found.as_u64()
}

/// A text of a record.
pub(crate) fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_read_back_in_order() {
        let path = std::env::temp_dir().join(format!("perf-results-{}.jsonl", std::process::id()));
        for n in 1..=2 {
            append(
                &path,
                &serde_json::json!({"latency_ns": {"p99": n}, "mode": "global"}),
            )
            .unwrap();
        }
        let records = read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let p99 = |record| number(record, "latency_ns.p99");
        assert_eq!(
            records.iter().map(p99).collect::<Vec<_>>(),
            [Some(1), Some(2)]
        );
        assert_eq!(text(&records[0], "mode"), "global");
    }
}
