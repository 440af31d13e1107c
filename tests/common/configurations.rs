//! What recordings of mappings and of access control say about configurations and users.

use capsched::api::Reference;
use capsched::config::{ConfigSource, Layer, Loaded, Options, Report, load};
use serde_json::Value;

/// A recording's configuration, read by the library; its report when it is refused.
pub(crate) fn loaded(recording: &Value) -> Result<Loaded, Report> {
    let mut site = "<configuration>".to_owned();
    property(&mut site, "yarn.node-labels.enabled", "true");
    for (key, value) in recording["site"].as_object().into_iter().flatten() {
        property(&mut site, key, value.as_str().unwrap_or_default());
    }
    site.push_str("</configuration>");
    let scheduler = recording["xml"].as_str().unwrap_or_default();
    let source = |name: &str, text: &str, layer| ConfigSource {
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
        reference: made_with(recording),
        ..Options::default()
    };
    load(&sources, &options)
}

/// The release that judges a recording.
pub(crate) fn made_with(recording: &Value) -> Reference {
    Reference::of_recording(recording["recorded_with"].as_str().unwrap_or_default())
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
