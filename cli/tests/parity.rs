//! `capsched parity` as a user runs it, on the recordings of the repository.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Codes of refusals in these recordings that the original does not share; `docs/DIFFERENCES.md`
/// has their reasons.
const DELIBERATE: [&str; 13] = [
    "E_DIGITS",
    "E_MAX_QUEUES",
    "E_NAN",
    "E_QUEUE_DUP",
    "E_QUEUE_NAME",
    "E_XML_DOCTYPE",
    "HIDDEN_IN_FAIR_ORDER",
    "KILL_AT_ONCE",
    "LIMITS_RESTORED",
    "REFRESH_HALF_APPLIED",
    "SECOND_CHILD",
    "STALE_PARTITION_LISTS",
    "W_MODE_AT_REFRESH",
];

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/parity")
}

fn parity(arguments: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_capsched"))
        .arg("parity")
        .args(arguments)
        .arg(path)
        .output()
        .unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_recording_of_the_repository_is_repeated() {
    let output = parity(&["--json"], &recordings());
    let mut lines = lines(&output);
    let sum = lines.pop().unwrap();
    let failed = |line: &&Value| line["passed"] == false && line["deliberate"].is_null();
    let failed: Vec<&Value> = lines.iter().filter(failed).collect();
    assert_eq!(failed, Vec::<&Value>::new());
    assert!(output.status.success());
    let expected = serde_json::json!({"passed": 2393, "failed": 0, "deliberate": 21});
    assert_eq!(sum, expected);
    let readme = std::fs::read_to_string(recordings().join("../../README.md")).unwrap();
    assert!(readme.contains("answers `2393 passed, 0 failed, 21 deliberate`"));
    for line in lines.iter().filter(|line| !line["deliberate"].is_null()) {
        let code = line["deliberate"].as_str().unwrap();
        assert!(DELIBERATE.contains(&code), "{line}");
    }
}

/// A recording by hand with one text replaced, and the answer to it.
fn changed(name: &str, text: &str, by: &str) -> Output {
    let original = recordings().join(format!("hand/{name}.json"));
    let scenario = std::fs::read_to_string(original).unwrap();
    assert!(scenario.contains(text), "{text}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parity-{}", by.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.json"));
    std::fs::write(&file, scenario.replacen(text, by, 1)).unwrap();
    parity(&["--json"], &file)
}

#[test]
fn a_recording_that_says_otherwise_fails_at_its_step() {
    let output = changed("heartbeat-single", "\"container\":1,", "\"container\":2,");
    assert_eq!(output.status.code(), Some(1));
    let lines = lines(&output);
    assert_eq!(lines[0]["step"], 4);
    let difference = &lines[0]["differences"][0];
    assert_eq!(
        (&difference["expected"], &difference["actual"]),
        (&2.into(), &1.into())
    );
    assert_eq!(difference["place"], ".decisions[0].container");
}

#[test]
fn a_field_that_nobody_knows_is_an_error() {
    let output = changed(
        "heartbeat-single",
        "\"count\":6",
        "\"count\":6,\"colour\":1",
    );
    assert_eq!(output.status.code(), Some(1));
    let error = lines(&output)[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("colour"), "{error}");
}

#[test]
fn a_step_that_nobody_knows_is_an_error() {
    let output = changed("heartbeat-single", "\"do\":\"ask\"", "\"do\":\"dance\"");
    assert_eq!(output.status.code(), Some(1));
    let error = lines(&output)[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("dance"), "{error}");
}

/// What the command says on standard error, and its exit code.
fn refused(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"");
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
fn without_a_jdk_the_real_scheduler_is_skipped_with_a_sentence() {
    let scenario = recordings().join("hand/heartbeat-single.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
    command
        .args(["parity", "--against", "hadoop:3.5.0"])
        .arg(scenario)
        .env("PATH", "");
    let (code, text) = refused(&mut command);
    assert_eq!(code, Some(2));
    assert!(text.contains("needs a JDK 17 and Maven"), "{text}");
}

#[test]
fn a_release_that_is_not_known_is_no_peer() {
    for wrong in ["hadoop:2.10.2", "hadoop", "spark:3.5.0"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
        command.args(["parity", "--against", wrong, "x.json"]);
        let (code, text) = refused(&mut command);
        assert_eq!(code, Some(2), "{wrong}");
        assert!(text.contains(wrong), "{text}");
    }
}

#[test]
fn a_recording_follows_the_release_that_it_names() {
    let path = recordings().join("3.5/hand/constraint-affinity.json");
    assert!(parity(&[], &path).status.success());
    let older = parity(&["--reference", "3.4", "--json"], &path);
    assert_eq!(older.status.code(), Some(1));
    let difference = &lines(&older)[0]["differences"][0];
    assert!(difference["place"].as_str().unwrap().contains("pending"));
}

/// What the command says of recordings on standard input: exit code, output, errors.
fn piped(text: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(["parity", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn standard_input_holds_one_recording_or_one_a_line() {
    let file = recordings().join("hand/heartbeat-single.json");
    let recording = std::fs::read_to_string(file).unwrap();
    let value: Value = serde_json::from_str(&recording).unwrap();
    let line = value.to_string();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    for (text, passed) in [
        (pretty.clone(), 1),
        (format!("\n{line}"), 1),
        (format!("{line}\n\n{line}\n"), 2),
    ] {
        let (code, out, err) = piped(&text);
        let sum = format!("{passed} passed, 0 failed, 0 deliberate");
        assert!(out.contains(&sum), "{out}{err}");
        assert_eq!(code, Some(0));
    }
    for (text, place) in [
        (format!("{line}\n{{\"a\"\n"), "standard input:2"),
        (pretty.replacen(':', "", 1), "standard input:2"),
        ("5".to_owned(), "standard input:1"),
    ] {
        let (code, out, err) = piped(&text);
        assert!(out.contains(place), "{place}: {out}{err}");
        assert_eq!(code, Some(1), "{place}");
    }
    let (code, out, err) = piped(" \n");
    assert!(err.contains("no recording is there"), "{out}{err}");
    assert_ne!(code, Some(0));
}
