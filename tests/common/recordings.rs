//! Finds the recordings of the original scheduler and reads the properties inside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of one kind of recordings; nothing, with a printed sentence, where there are none.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn folder(kind: &str) -> Option<PathBuf> {
    let root = std::env::var_os("CAPSCHED_PARITY").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/parity"),
        PathBuf::from,
    );
    let folder = root.join(kind);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: there are no recordings in {}", folder.display());
    None
}

/// All recordings of a folder in order of their names.
pub(crate) fn recordings(folder: &Path) -> Vec<(String, Value)> {
    let entries = std::fs::read_dir(folder).expect("the folder of recordings can be listed");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a recording can be read");
            let value = serde_json::from_str(&text).expect("a recording is JSON");
            (
                path.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                value,
            )
        })
        .collect()
}

/// The properties of a recording: those of the site, then those of its scheduler file. The text is
/// only searched for names and values, which is enough for the files of these recordings.
pub(crate) fn properties(recording: &Value) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::new();
    for (key, value) in recording["site"].as_object().into_iter().flatten() {
        properties.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
    }
    let xml = recording["xml"].as_str().unwrap_or_default();
    for property in xml.split("</property>") {
        if let (Some(name), Some(value)) = (last(property, "name"), last(property, "value")) {
            properties.insert(decoded(name).trim().to_owned(), decoded(value));
        }
    }
    properties
}

/// The content of the last element with a name.
fn last<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let open = format!("<{name}>");
    let start = text.rfind(&open)? + open.len();
    let end = start + text[start..].find(&format!("</{name}>"))?;
    Some(&text[start..end])
}

fn decoded(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The groups of a user in a recording.
pub(crate) fn groups(recording: &Value, user: &str) -> Vec<String> {
    strings(&recording["groups"][user])
}

/// A list of texts; empty where there is none.
pub(crate) fn strings(value: &Value) -> Vec<String> {
    let values = value.as_array().into_iter().flatten();
    values
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}
