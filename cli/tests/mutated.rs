//! The engine against the naive reference scheduler, on recordings with random changes.
//!
//! A recording stands for what happens in practice; its changes lead to where no recording has
//! been. The first scenario on which the two part is kept as a file that the message names.
#![expect(clippy::unwrap_used, reason = "test code")]

mod mutate;
#[path = "../../tests/reference/mod.rs"]
mod reference;

use mutate::Dice;
use reference::Reference;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scenarios that the binary plays at once.
const BATCH: usize = 40;

/// The scenarios of one profile, without rounds of preemption: the reference has none.
fn recordings(profile: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/parity/random");
    let archive = std::fs::File::open(folder.join(format!("{profile}.jsonl.zst"))).unwrap();
    let text = String::from_utf8(zstd::decode_all(archive).unwrap()).unwrap();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    all.filter(|scenario: &Value| {
        let steps = scenario["steps"].as_array().unwrap();
        steps.iter().all(|step| step["do"] != "preempt")
    })
    .collect()
}

/// Adds to each step what the reference answers; a refused configuration has one step only.
fn answered(mut scenario: Value) -> Value {
    match Reference::new(&scenario) {
        Ok(mut reference) => {
            for step in scenario["steps"].as_array_mut().unwrap() {
                let expect = reference.play(step);
                step["expect"] = expect;
            }
        }
        Err(code) => {
            let expect = json!({"accepted": false, "error": {"code": code}});
            scenario["steps"] = json!([{"do": "start", "expect": expect}]);
        }
    }
    scenario
}

/// What `capsched parity` says against scenarios, a line each.
fn complaints(scenarios: &[Value], name: &str) -> Vec<Value> {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.jsonl"));
    let lines: Vec<String> = scenarios.iter().map(Value::to_string).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let command = env!("CARGO_BIN_EXE_capsched");
    let mut command = Command::new(command);
    let output = command.args(["parity", "--json"]).arg(&file).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let mut lines: Vec<Value> = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.pop().unwrap()["failed"].is_u64(), "{output}");
    assert_eq!(lines.len(), scenarios.len());
    lines.retain(|line| line["passed"] == false);
    lines
}

/// Plays `rounds` changed versions of every `every`th recording of a profile.
fn differ(profile: &str, seed: u64, every: usize, rounds: u64) -> Vec<String> {
    let mut changed = Vec::new();
    let mut found = Vec::new();
    for round in 0..rounds {
        for (i, recording) in recordings(profile).into_iter().enumerate() {
            if i % every != usize::try_from(seed + round).unwrap() % every {
                continue;
            }
            let i = u64::try_from(i).unwrap();
            let mut dice = Dice::new(seed.wrapping_mul(1_000_003) + round * 10_007 + i);
            let mut scenario = mutate::scenario(recording, &mut dice);
            let name = format!("{profile}-{}-{seed}-{round}", i + 1);
            scenario["name"] = json!(name);
            let answer = catch_unwind(AssertUnwindSafe(|| answered(scenario.clone())));
            match answer {
                Ok(answer) => changed.push(answer),
                Err(_) => found.push(format!(
                    "{name}: the reference panics on {}",
                    kept(&scenario)
                )),
            }
        }
    }
    for batch in changed.chunks(BATCH) {
        for line in complaints(batch, profile) {
            let name = line["scenario"].as_str().unwrap();
            let scenario = batch.iter().find(|one| one["name"] == name).unwrap();
            let first = &line["differences"][0];
            let (step, input, error) = (&line["step"], &line["input"], &line["error"]);
            let place = kept(scenario);
            found.push(format!(
                "{place} at step {step}: {error} {first}\n    {input}"
            ));
        }
    }
    found
}

/// Writes a scenario with one step per line; its file.
fn kept(scenario: &Value) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutated");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{}.json", scenario["name"].as_str().unwrap()));
    let steps = scenario["steps"].as_array().unwrap();
    let lines: Vec<String> = steps.iter().map(Value::to_string).collect();
    let mut header = scenario.clone();
    header.as_object_mut().unwrap().remove("steps");
    let header = header.to_string();
    let open = header.strip_suffix('}').unwrap();
    let text = format!("{open},\n\"steps\": [\n{}\n]}}\n", lines.join(",\n"));
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

const PROFILES: [&str; 18] = [
    "absolute",
    "am-limits",
    "async-node",
    "basic",
    "churn",
    "constraints",
    "deep",
    "drf",
    "fair",
    "global",
    "labels",
    "locality",
    "mixed",
    "priorities",
    "reservations",
    "users",
    "vectors",
    "weights",
];

#[test]
fn changed_recordings_are_decided_alike() {
    let found: Vec<String> = PROFILES
        .iter()
        .flat_map(|profile| differ(profile, 1, 15, 1))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// As many rounds over all recordings as `CAPSCHED_ROUNDS` says, from the seed `CAPSCHED_SEED`,
/// of one profile with `CAPSCHED_PROFILE`.
#[test]
#[ignore = "long; run it with CAPSCHED_ROUNDS"]
fn many_changed_recordings_are_decided_alike() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let (rounds, seed) = (number("CAPSCHED_ROUNDS", 1), number("CAPSCHED_SEED", 2));
    let only = std::env::var("CAPSCHED_PROFILE").ok();
    let wanted = |profile: &&&str| only.as_ref().is_none_or(|only| only == **profile);
    let found: Vec<String> = PROFILES
        .iter()
        .filter(wanted)
        .flat_map(|profile| differ(profile, seed, 1, rounds))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
