//! Finds the recordings of the original scheduler and loads the configurations inside them.

use std::path::{Path, PathBuf};

use capsched::config::{Layer, Loaded, Options, Report, Source, load};
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

/// A recording's configuration, read by the library; its report when it is refused.
pub(crate) fn loaded(recording: &Value) -> Result<Loaded, Report> {
    let mut site = "<configuration>".to_owned();
    property(&mut site, "yarn.node-labels.enabled", "true");
    for (key, value) in recording["site"].as_object().into_iter().flatten() {
        property(&mut site, key, value.as_str().unwrap_or_default());
    }
    site.push_str("</configuration>");
    let scheduler = recording["xml"].as_str().unwrap_or_default();
    let source = |name: &str, text: &str, layer| Source {
        name: name.to_owned(),
        bytes: text.as_bytes().to_vec(),
        layer,
    };
    let sources = [
        source("yarn-site.xml", &site, Layer::Site),
        source("capacity-scheduler.xml", scheduler, Layer::Scheduler),
    ];
    let options = Options {
        resource_types: Some(strings(&recording["resource_types"])),
        ..Options::default()
    };
    load(&sources, &options)
}

fn property(xml: &mut String, key: &str, value: &str) {
    let value = value.replace('&', "&amp;").replace('<', "&lt;");
    for part in ["<property><name>", key, "</name><value>", &value] {
        xml.push_str(part);
    }
    xml.push_str("</value></property>");
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
