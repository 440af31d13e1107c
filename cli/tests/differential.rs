//! The engine against the naive reference scheduler, on random scenarios.
//!
//! Each scenario is played by the reference; its answers are the `expect`s that `capsched parity`
//! has to agree with. The first failing one is shrunk, and kept as a file that the message names.
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../src/parity/generate/mod.rs"]
#[expect(dead_code, reason = "the command knows more profiles")]
mod generate;
#[path = "../../tests/reference/mod.rs"]
mod reference;

use generate::Profile;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{
    Config, FileFailurePersistence, RngSeed, TestCaseError, TestError, TestRunner,
};
use reference::Reference;
use reference::compare::differences;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scenarios without `expect`: header and steps.
fn scenarios() -> impl Strategy<Value = Value> {
    let header = vec(any::<u16>(), 20..200);
    let steps = vec(vec(any::<u16>(), 6..24), 4..110);
    (header, steps)
        .prop_map(|(header, steps)| generate::scenario(Profile::Mixed, false, header, &steps))
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

/// Writes a scenario with one step per line.
fn write(scenario: &Value, file: &Path) {
    let steps = scenario["steps"].as_array().unwrap();
    let lines: Vec<String> = steps.iter().map(Value::to_string).collect();
    let mut header = scenario.clone();
    header.as_object_mut().unwrap().remove("steps");
    let header = header.to_string();
    let open = header.strip_suffix('}').unwrap();
    std::fs::write(
        file,
        format!("{open},\n\"steps\": [\n{}\n]}}\n", lines.join(",\n")),
    )
    .unwrap();
}

/// What `capsched parity` says against a scenario.
fn complaint(file: &Path) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(["parity", "--json"])
        .arg(file)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (!output.status.success()).then(|| text(&output.stdout) + &text(&output.stderr))
}

fn differ(config: Config, name: &str) {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let result = TestRunner::new(config).run(&scenarios(), |scenario| {
        write(&answered(scenario), &file);
        complaint(&file).map_or(Ok(()), |text| Err(TestCaseError::fail(text)))
    });
    if let Err(TestError::Fail(why, scenario)) = result {
        write(&answered(scenario), &file);
        panic!("engine and reference differ on {}:\n{why}", file.display());
    }
    result.unwrap();
}

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/differential.proptest-regressions",
        ))),
        max_shrink_iters: 500,
        ..Config::default()
    }
}

#[test]
fn the_engine_decides_as_the_reference_on_a_fixed_set_of_scenarios() {
    let fixed = Config {
        rng_seed: RngSeed::Fixed(20_240_601),
        ..config(64)
    };
    differ(fixed, "differential-fixed.json");
}

/// As many scenarios as `PROPTEST_CASES` says, other ones each time.
#[test]
#[ignore = "long; run it with PROPTEST_CASES"]
fn the_engine_decides_as_the_reference_on_new_scenarios() {
    differ(config(Config::default().cases), "differential-new.json");
}

#[test]
fn a_scenario_is_answered_alike_each_time() {
    let config = Config {
        rng_seed: RngSeed::Fixed(7),
        ..config(4)
    };
    let played = TestRunner::new(config).run(&scenarios(), |scenario| {
        let (once, twice) = (answered(scenario.clone()), answered(scenario));
        assert_eq!(differences(&once, &twice), Vec::<String>::new());
        Ok(())
    });
    assert_eq!(played, Ok(()));
}
