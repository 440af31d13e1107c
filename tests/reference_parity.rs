//! The reference scheduler against recordings of the real Capacity Scheduler.
//!
//! The recordings lie outside the repository: their folder is named by `CAPSCHED_PARITY`. Without
//! them the test says so and passes.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod reference;

use reference::Reference;
use reference::compare::differences;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn recordings() -> PathBuf {
    std::env::var_os("CAPSCHED_PARITY").map_or_else(|| "../shared/parity".into(), PathBuf::from)
}

fn scenarios(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scenarios(&path, out);
        } else if path.extension().is_some_and(|e| e == "json") {
            out.push(path);
        }
    }
}

/// The first difference of a scenario, none when all steps agree.
fn first_difference(scenario: &Value) -> Option<String> {
    let steps = scenario["steps"].as_array().unwrap();
    let mut reference = match (Reference::new(scenario), &steps[0]) {
        (Ok(_), first) if first["do"] == "start" => return Some("started".to_owned()),
        (Ok(reference), _) => reference,
        (Err(code), first) if first["expect"]["error"]["code"] == code => return None,
        (Err(code), _) => return Some(format!("refused to start with {code}")),
    };
    for (i, step) in steps.iter().enumerate() {
        let found = differences(&step["expect"], &reference.play(step));
        if let Some(first) = found.first() {
            let mut inputs = step.clone();
            inputs.as_object_mut().unwrap().remove("expect");
            return Some(format!(
                "step {i} {inputs}\n    {first} (of {})",
                found.len()
            ));
        }
    }
    None
}

#[test]
fn the_reference_decides_as_the_recorded_scheduler_did() {
    let folder = recordings();
    if !folder.is_dir() {
        eprintln!(
            "no recordings at {}; set CAPSCHED_PARITY to their folder",
            folder.display()
        );
        return;
    }
    let mut files = Vec::new();
    for part in ["hand", "random"] {
        scenarios(&folder.join(part), &mut files);
    }
    let (mut played, mut failed) = (0, Vec::new());
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let scenario: Value = serde_json::from_str(&text).unwrap();
        let preempts = |s: &Value| s["do"] == "preempt";
        if scenario["steps"].as_array().unwrap().iter().any(preempts) {
            continue;
        }
        played += 1;
        if let Some(difference) = first_difference(&scenario) {
            failed.push(format!("{}: {difference}", file.display()));
        }
    }
    assert!(played > 0, "no scenario in {}", folder.display());
    assert!(
        failed.is_empty(),
        "{} of {played} differ:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
