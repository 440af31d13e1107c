//! Every recorded configuration gets the verdict and the settings of the reference.
//!
//! The recordings are those of the repository, unless `CAPSCHED_PARITY` names another folder.
#![expect(clippy::print_stderr, reason = "a test says what it left out")]
#![expect(
    clippy::unwrap_used,
    reason = "a recording of another form fails the test"
)]

use std::collections::BTreeMap;

use crate::common::recordings::{recordings, root};
use crate::configurations::made_with;
use capsched::config::{self, ConfigSource, Layer, Loaded, Options, Report};
use capsched::resource::{Calculator, ResourceVector};
use serde_json::Value;

/// Refusals that the reference does not share; each stands in `docs/DIFFERENCES.md`.
const DELIBERATE: &[&str] = &[
    "E_DIGITS",
    "E_MAX_QUEUES",
    "E_NAN",
    "E_QUEUE_DUP",
    "E_QUEUE_NAME",
    "E_XML_DOCTYPE",
];

/// Words for faults of placement rules, which are read elsewhere.
fn of_mappings(word: &str) -> bool {
    word != "mapping_format" && (word.starts_with("mapping_") || word == "workflow_mapping")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn load(case: &Value) -> Result<Loaded, Report> {
    load_bytes(case, bytes_of(case), None)
}

/// The word of the error that decides when placement rules count too.
fn checked(case: &Value) -> Option<&'static str> {
    let (sources, options) = sources_of(case, bytes_of(case), None);
    let report = config::check(&sources, &options);
    report.first_error().map(|error| error.word())
}

fn bytes_of(case: &Value) -> Vec<u8> {
    match case["xml"].as_str() {
        Some(xml) => xml.as_bytes().to_vec(),
        None => {
            let file = case["file"].as_str().unwrap();
            let data = root().join("../data/capacity-scheduler-xml").join(file);
            std::fs::read(data).unwrap()
        }
    }
}

/// Loads with the site of a recording; `running` is the calculator of a scheduler that refreshes.
fn load_bytes(case: &Value, bytes: Vec<u8>, running: Option<Calculator>) -> Result<Loaded, Report> {
    let (sources, options) = sources_of(case, bytes, running);
    config::load(&sources, &options)
}

fn sources_of(
    case: &Value,
    bytes: Vec<u8>,
    running: Option<Calculator>,
) -> ([ConfigSource; 2], Options) {
    let mut site = String::from("<configuration>");
    for (key, value) in site_of(case) {
        let (key, value) = (escape(&key), escape(&value));
        site += &format!("<property><name>{key}</name><value>{value}</value></property>");
    }
    site += "</configuration>";
    let source = |name: &str, bytes: Vec<u8>, layer| ConfigSource {
        name: name.to_owned(),
        bytes,
        layer,
    };
    let options = Options {
        resource_types: Some(types_of(case)),
        running,
        reference: made_with(case),
        ..Options::default()
    };
    let sources = [
        source("capacity-scheduler.xml", bytes, Layer::Scheduler),
        source("yarn-site.xml", site.into_bytes(), Layer::Site),
    ];
    (sources, options)
}

fn types_of(case: &Value) -> Vec<String> {
    let types = case["resource_types"].as_array().unwrap().iter();
    types.map(|t| t.as_str().unwrap().to_owned()).collect()
}

fn pairs_of(map: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| {
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| value.to_string())
    };
    let pairs = map.as_object().into_iter().flatten();
    pairs
        .map(|(key, value)| (key.clone(), text(value)))
        .collect()
}

fn site_of(case: &Value) -> BTreeMap<String, String> {
    let mut site = pairs_of(&case["site"]);
    let labels = "yarn.node-labels.enabled".to_owned();
    site.entry(labels).or_insert_with(|| "true".to_owned());
    site
}

/// Vectors are compared by types and values, not by the order of the types.
fn sorted_vectors(value: &Value) -> Value {
    let Some(text) = value.as_str() else {
        return value.clone();
    };
    let inner = text.trim_matches(['[', ']']);
    let mut entries: Vec<(String, String, String)> = Vec::new();
    for pair in inner.split(',').filter(|pair| !pair.is_empty()) {
        let (name, number) = pair.split_once('=').unwrap();
        let digits = number.trim_end_matches(['%', 'w']);
        let unit = &number[digits.len()..];
        let bits = digits.parse::<f64>().unwrap().to_bits();
        entries.push((name.to_owned(), format!("{bits:x}"), unit.to_owned()));
    }
    entries.sort();
    serde_json::json!(entries)
}

/// Floats by bits, vectors by content.
fn plain(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) if key.starts_with("configured_") => map
            .iter()
            .map(|(label, text)| (label.clone(), sorted_vectors(text)))
            .collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), plain(k, v))).collect(),
        Value::Array(all) if key == "accessible_labels" => {
            let mut all = all.clone();
            all.sort_by_key(ToString::to_string);
            Value::Array(all)
        }
        Value::Array(all) => all.iter().map(|v| plain(key, v)).collect(),
        Value::Number(n) if !n.is_i64() && !n.is_u64() => {
            let value: f32 = n.to_string().parse().unwrap();
            Value::String(format!("f32 {:08x}", value.to_bits()))
        }
        other => other.clone(),
    }
}

fn differences(at: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    let (Some(want), Some(got)) = (expected.as_object(), found.as_object()) else {
        if plain("", expected) != plain("", found) {
            out.push(format!("{at}: expected {expected}, found {found}"));
        }
        return;
    };
    let keys: std::collections::BTreeSet<&String> = want.keys().chain(got.keys()).collect();
    for key in keys {
        let missing = Value::Null;
        let (a, b) = (
            want.get(key).unwrap_or(&missing),
            got.get(key).unwrap_or(&missing),
        );
        if plain(key, a) != plain(key, b) {
            out.push(format!("{at}.{key}: expected {a}, found {b}"));
        }
    }
}

fn largest_node(case: &Value, types: usize) -> Option<ResourceVector> {
    let nodes = case["nodes"].as_array()?;
    let of = |node: &Value| {
        let values = node["res"].as_array().unwrap().iter();
        let values: Vec<i64> = values.take(types).map(|v| v.as_i64().unwrap()).collect();
        ResourceVector::of(&values)
    };
    nodes.iter().map(of).reduce(|a, b| a.component_max(&b))
}

fn compare_accepted(case: &Value, loaded: &Loaded, out: &mut Vec<String>) {
    let types = loaded.settings.scheduler.resource_types.len();
    let node = largest_node(case, types);
    let found = config::scheduler_json(loaded, node.as_ref());
    differences("scheduler", &case["expect"]["scheduler"], &found, out);
    let queues = case["expect"]["queues"].as_array().unwrap();
    let paths: Vec<&str> = queues.iter().map(|q| q["path"].as_str().unwrap()).collect();
    let own: Vec<&str> = loaded.settings.queues.iter().map(|q| &*q.path).collect();
    if paths != own {
        out.push(format!("queues: expected {paths:?}, found {own:?}"));
        return;
    }
    for (queue, settings) in queues.iter().zip(&loaded.settings.queues) {
        let found = config::queue_json(loaded, settings);
        differences(&settings.path, &queue["settings"], &found, out);
    }
}

fn compare(case: &Value, counts: &mut BTreeMap<String, usize>) -> Vec<String> {
    let mut out = Vec::new();
    let mut count = |what: &str| *counts.entry(what.to_owned()).or_default() += 1;
    let expect = &case["expect"];
    let accepted = expect["accepted"].as_bool().unwrap();
    let code = expect["error"]["code"].as_str().unwrap_or_default();
    match load(case) {
        Ok(loaded) if accepted => {
            count("accepted alike");
            compare_accepted(case, &loaded, &mut out);
            if let Some(word) = checked(case) {
                out.push(format!("accepted, but its check finds {word}"));
            }
        }
        Ok(_) if of_mappings(code) => {
            count("refused for placement rules only");
            if checked(case) != Some(code) {
                out.push(format!("expected {code}, found {:?}", checked(case)));
            }
        }
        Ok(_) => out.push(format!("accepted, expected {code}")),
        Err(report) => {
            let first = report.first_error().unwrap();
            let exact = case["mutations"].as_u64().unwrap_or(1) == 1;
            if DELIBERATE.contains(&first.code) {
                count(&format!("deliberately refused with {}", first.code));
            } else if accepted || (exact && first.word() != code && !of_mappings(code)) {
                out.push(format!("expected {code:?}, found {report}"));
            } else {
                count("refused alike");
            }
        }
    }
    out
}

#[test]
fn verdicts_and_settings_equal_the_recordings() {
    let (mut counts, mut wrong) = (BTreeMap::new(), Vec::new());
    let parts = ["config/files", "config/cases"].into_iter();
    let all: Vec<_> = parts.flat_map(recordings).collect();
    for (name, case) in &all {
        let found = compare(case, &mut counts);
        let description = case["description"].as_str().unwrap_or_default();
        wrong.extend(
            found
                .into_iter()
                .take(4)
                .map(|w| format!("{name} ({description}): {w}")),
        );
    }
    eprintln!("{} configurations: {counts:?}", all.len());
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What only the state of a live scheduler decides.
const OF_REFRESHES: &[&str] = &[
    "absolute_below_relative_parent",
    "queue_not_stopped",
    "queue_kind_change",
    "maximum_allocation_decreased",
];

#[test]
fn refreshes_are_judged_as_recorded() {
    let mut wrong = Vec::new();
    for (name, case) in recordings("config/refresh") {
        let first = match load(&case) {
            Ok(loaded) => loaded.settings.scheduler.calculator,
            Err(report) => {
                wrong.push(format!("{name}: {report}"));
                continue;
            }
        };
        let steps = case["steps"].as_array().unwrap();
        // Files alone do not say what is wrong with a queue that a submission created.
        let creates = steps.iter().any(|step| step["xml"].is_null());
        for step in steps {
            let Some(xml) = step["xml"].as_str() else {
                continue;
            };
            let code = step["expect"]["error"]["code"].as_str().unwrap_or_default();
            let skipped = OF_REFRESHES.contains(&code) || of_mappings(code);
            let word = match load_bytes(&case, xml.as_bytes().to_vec(), Some(first)) {
                Ok(_) => "",
                Err(report) => report.first_error().map_or("", |e| e.word()),
            };
            let of_created = creates && word.is_empty();
            if !skipped && !of_created && word != code && !DELIBERATE.contains(&word) {
                wrong.push(format!("{name}: expected {code:?}, found {word:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scenarios_are_judged_as_recorded() {
    let mut wrong = Vec::new();
    for (name, case) in ["hand", "random"].into_iter().flat_map(recordings) {
        let start = &case["steps"][0];
        let code = if start["do"] == "start" {
            start["expect"]["error"]["code"]
                .as_str()
                .unwrap_or_default()
        } else {
            ""
        };
        let config = pairs_of(&case["config"]);
        let options = Options {
            resource_types: Some(types_of(&case)),
            reference: made_with(&case),
            ..Options::default()
        };
        let word = match config::load_pairs(&site_of(&case), &config, &options) {
            Ok(_) => "",
            Err(report) => report.first_error().map_or("", |e| e.word()),
        };
        let same = word == code || (code == "other" && !word.is_empty());
        if !same {
            wrong.push(format!("{name}: expected {code:?}, found {word:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
