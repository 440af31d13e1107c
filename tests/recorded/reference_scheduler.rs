//! The reference scheduler against recordings of the real Capacity Scheduler.
//!
//! The recordings are those of the repository, unless `CAPSCHED_PARITY` names another folder.
#![expect(clippy::unwrap_used, reason = "test code")]

use crate::common::recordings::{recordings, root};

use crate::reference::Reference;
use crate::reference::compare::differences;
use serde_json::Value;

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
        if is_half_applied(&step["expect"]) {
            return None;
        }
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

/// Whether a refused refresh names a queue that only the refused configuration has: the original keeps that queue,
/// and what follows is REFRESH_HALF_APPLIED of `docs/DIFFERENCES.md`.
fn is_half_applied(recorded: &Value) -> bool {
    let kept = " cannot be deleted from the capacity scheduler configuration";
    let message = recorded["error"]["message"].as_str().unwrap_or_default();
    let path = message.split_once(kept).map(|(path, _)| path);
    path.and_then(|path| path.rsplit_once('.'))
        .is_some_and(|(parent, name)| {
            let children = recorded["child_order"][parent].as_array();
            !children.is_some_and(|children| children.iter().any(|child| child == name))
        })
}

#[test]
fn the_reference_decides_as_the_recorded_scheduler_did() {
    let (mut played, mut failed) = (0, Vec::new());
    // Other folders of recordings have none of those that were found by this project.
    let found = root().join("found").is_dir().then_some("found");
    let all = ["hand", "random"].into_iter().chain(found);
    for (name, scenario) in all.flat_map(recordings) {
        let preempts = |s: &Value| s["do"] == "preempt";
        if scenario["steps"].as_array().unwrap().iter().any(preempts) {
            continue;
        }
        played += 1;
        if let Some(difference) = first_difference(&scenario) {
            failed.push(format!("{name}: {difference}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {played} differ:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

/// A leaf with two nodes; the application asks for three containers of 2 GiB.
const SMALL: &str = r#"{
    "resource_types": ["memory-mb", "vcores"], "site": {}, "config": {
        "yarn.scheduler.capacity.root.queues": "a",
        "yarn.scheduler.capacity.root.a.capacity": "100"
    },
    "steps": [
        {"do": "add_node", "node": "h1:1", "res": [4096, 4]},
        {"do": "add_node", "node": "h2:1", "res": [4096, 4]},
        {"do": "submit", "app": 1, "user": "u", "queue": "a", "unmanaged": true},
        {"do": "ask", "app": 1, "requests": [{"res": [2048, 1], "count": 3}]},
        {"do": "heartbeat", "node": "h1:1"},
        {"do": "heartbeat", "node": "h1:1"},
        {"do": "heartbeat", "node": "h1:1"},
        {"do": "heartbeat", "node": "h2:1"},
        {"do": "heartbeat", "node": "h2:1"},
        {"do": "state"}
    ]
}"#;

fn play_small() -> Vec<Value> {
    let scenario: Value = serde_json::from_str(SMALL).unwrap();
    let mut reference = Reference::new(&scenario).unwrap();
    scenario["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| reference.play(step))
        .collect()
}

#[test]
fn an_off_switch_ask_gets_one_container_a_heartbeat_until_it_is_served() {
    let answers = play_small();
    let node = |i: usize| answers[i]["decisions"][0]["node"].as_str();
    let served: Vec<Option<&str>> = (4..9).map(node).collect();
    assert_eq!(
        served,
        [Some("h1:1"), Some("h1:1"), None, Some("h2:1"), None]
    );
    let leaf = &answers[9]["queues"][1];
    assert_eq!(leaf["labels"][""]["used"], serde_json::json!([6144, 3]));
    assert_eq!(leaf["labels"][""].get("pending"), None);
}

#[test]
fn the_same_steps_give_the_same_answers() {
    assert_eq!(play_small(), play_small());
}

#[test]
fn a_refused_configuration_does_not_start() {
    let mut scenario: Value = serde_json::from_str(SMALL).unwrap();
    scenario["config"]["yarn.scheduler.capacity.root.a.capacity"] = "90".into();
    assert_eq!(Reference::new(&scenario).err(), Some("capacity_sum"));
}

#[test]
fn ratios_are_compared_as_java_floats_and_remarks_are_left_out() {
    let want =
        serde_json::json!({"cap": 0.1, "choices": 2, "error": {"code": "x", "message": "m"}});
    let got = serde_json::json!({"cap": 0.100_000_001, "error": {"code": "x"}});
    assert_eq!(differences(&want, &got), Vec::<String>::new());
    let other = serde_json::json!({"cap": 0.11, "error": {"code": "y"}});
    assert_eq!(differences(&want, &other).len(), 2);
}
