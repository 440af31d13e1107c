//! The files of a folder of results, and what is wrong with a folder that is none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use capsched::metrics::{LogError, TaggedInterval, read_hlog};
use serde_json::Value;

use crate::interrupt::MARKERS;
use crate::output::Problem;

/// Largest document that is read as a whole.
const LARGEST: u64 = 256 << 20;

/// The folders of the runs: the folder itself, or those of a comparison.
pub(super) fn runs_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let shown = folder.display();
    if !folder.is_dir() {
        return Err(anyhow!("{shown} is no folder"));
    }
    if folder.join(MARKERS[0]).is_file() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let problem = |text: String| anyhow!(Problem(format!("{shown}: {text}")));
    if !folder.join(MARKERS[1]).is_file() {
        let [run, compare] = MARKERS;
        return Err(problem(format!(
            "there is neither {run} nor {compare}: no folder of results, or of a run that did not come to its end; \
             write one with `capsched replay --out` or `capsched compare --out`"
        )));
    }
    let entries = fs::read_dir(folder).with_context(|| shown.to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths
        .collect::<std::io::Result<_>>()
        .with_context(|| shown.to_string())?;
    paths.retain(|path| path.join(MARKERS[0]).is_file());
    paths.sort();
    if paths.is_empty() {
        return Err(problem("no run in it".to_owned()));
    }
    Ok(paths)
}

/// The text of a file of results.
pub(super) fn text(path: &Path) -> Result<String> {
    let shown = path.display();
    let data = fs::metadata(path).with_context(|| shown.to_string())?;
    if data.len() > LARGEST {
        return Err(anyhow!(Problem(format!(
            "{shown}: more than {LARGEST} bytes"
        ))));
    }
    let bytes = fs::read(path).with_context(|| shown.to_string())?;
    String::from_utf8(bytes).map_err(|_| anyhow!(Problem(format!("{shown} is no UTF-8 text"))))
}

/// A JSON document.
pub(super) fn document(path: &Path) -> Result<Value> {
    let shown = path.display().to_string();
    let document: Value = serde_json::from_str(&text(path)?)
        .map_err(|error| anyhow!(Problem::json(&shown, 1, &error)))?;
    if !document.is_object() {
        return Err(anyhow!(Problem(format!("{shown}: no object"))));
    }
    Ok(document)
}

/// A histogram log; one without intervals is empty.
pub(crate) fn log(path: &Path) -> Result<Vec<TaggedInterval>> {
    match read_hlog(&text(path)?) {
        Ok(intervals) => Ok(intervals),
        Err(LogError::Empty) => Ok(Vec::new()),
        Err(error) => Err(anyhow!(Problem(format!("{}: {error}", path.display())))),
    }
}
