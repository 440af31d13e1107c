//! Configuration files of tests, and the documents that commands print about them.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A document that a command printed.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A configuration file of the scheduler.
pub(crate) fn conf(folder: &Path, name: &str, pairs: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!(
            "<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>\n"
        )
    };
    let path = folder.join(name);
    let text: String = pairs.iter().map(property).collect();
    fs::write(&path, format!("<configuration>\n{text}</configuration>\n")).unwrap();
    path.to_str().unwrap().to_owned()
}
