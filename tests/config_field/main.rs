//! Kinds of faults that people's configuration files have: each rule on several cases of its kind.

mod resource_types;
mod settings;
mod shipped;
mod texts;

use capsched::config::{self, ConfigSource, Diagnostic, Layer, Loaded, Options, Report};

const CAPACITY: &str = "yarn.scheduler.capacity.";

fn source(name: &str, bytes: &[u8], layer: Layer) -> ConfigSource {
    ConfigSource {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
        layer,
    }
}

fn configuration(pairs: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>\n")
    };
    let properties: String = pairs.iter().map(property).collect();
    format!("<configuration>\n{properties}</configuration>\n")
}

/// A sound file with one leaf, and further keys of the scheduler.
fn one_leaf(more: &[(&str, &str)]) -> String {
    let base = [("root.queues", "default"), ("root.default.capacity", "100")];
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let pairs: Vec<(String, &str)> = base
        .iter()
        .chain(&[("resource-calculator", calculator)])
        .chain(more)
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, *v)).collect();
    configuration(&pairs)
}

fn check_bytes(bytes: &[u8]) -> Report {
    let file = source("capacity-scheduler.xml", bytes, Layer::Scheduler);
    config::check(&[file], &Options::default())
}

fn load(own: &str, site: &[(&str, &str)]) -> Result<Loaded, Report> {
    let sources = [
        source("capacity-scheduler.xml", own.as_bytes(), Layer::Scheduler),
        source("yarn-site.xml", configuration(site).as_bytes(), Layer::Site),
    ];
    config::load(&sources, &Options::default())
}

fn first(report: &Report) -> &Diagnostic {
    report.first_error().expect("the report has an error")
}

/// Findings of a code, for keys of the scheduler without the prefix and a site.
fn found(own: &[(&str, &str)], site: &[(&str, &str)], code: &str) -> Vec<(String, String, String)> {
    let pairs: Vec<(String, &str)> = own
        .iter()
        .map(|(name, value)| (format!("{CAPACITY}{name}"), *value))
        .collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, *v)).collect();
    let mut sources = vec![source(
        "capacity-scheduler.xml",
        configuration(&pairs).as_bytes(),
        Layer::Scheduler,
    )];
    if !site.is_empty() {
        let text = configuration(site);
        sources.push(source("yarn-site.xml", text.as_bytes(), Layer::Site));
    }
    let report = config::check(&sources, &Options::default());
    assert!(report.first_error().is_none(), "{report}");
    assert!(config::explain_code(code).is_some(), "{code}");
    let all = report.diagnostics.iter().filter(|one| one.code == code);
    all.map(|one| {
        let span = one.span.clone().expect("a warning has a place");
        let place = report.files[span.file].text[span.bytes].to_owned();
        (
            place,
            one.message.clone(),
            one.help.clone().unwrap_or_default(),
        )
    })
    .collect()
}

/// Two leaves under percentages, and more.
fn two<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let base = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
    ];
    base.into_iter().chain(more.iter().copied()).collect()
}
