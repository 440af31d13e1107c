//! The `curl` lines of README.md, run as they are printed against the server that README.md starts.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::server::Server;

const README: &str = include_str!("../../../README.md");
const KEY: &str = "yarn.scheduler.capacity.maximum-am-resource-percent";
const APPLIED: &str = "Configuration change successfully applied.";

/// The line of README.md that starts a server whose changes survive, as arguments; its directory is `data`.
fn arguments(data: &str) -> Vec<String> {
    let begin = "cargo run --release -- serve ";
    let mut lines = README.lines().filter_map(|line| line.strip_prefix(begin));
    let line = lines.find(|line| line.contains("--data ")).unwrap();
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let at = words.iter().position(|word| word == "--data").unwrap();
    data.clone_into(&mut words[at + 1]);
    words.insert(0, "serve".to_owned());
    words
}

fn start(data: &str) -> Server {
    let words = arguments(data);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Server::of(&words)
}

/// What a line of a shell prints, sent to the server instead of the default address.
fn run(server: &Server, line: &str) -> String {
    let line = line.replace("127.0.0.1:8088", server.address());
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The value of the key in what the line that reads the configuration prints.
fn value(server: &Server, line: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(&run(server, line)).unwrap();
    let properties = answer["property"].as_array().unwrap();
    assert!(properties.len() > 10, "{answer}");
    let mut found = properties.iter().filter(|one| one["name"] == KEY);
    found
        .next()
        .map(|one| one["value"].as_str().unwrap().to_owned())
}

fn fsck(data: &Path) -> (Output, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
    let output = command
        .arg("fsck")
        .arg(data)
        .arg("--json")
        .output()
        .unwrap();
    let said = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, said)
}

#[test]
fn the_lines_of_the_readme_change_the_configuration_and_survive_a_kill() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `curl` on this machine, which the lines of README.md need");
        return;
    }
    let lines: Vec<&str> = README
        .lines()
        .filter(|line| line.starts_with("curl "))
        .collect();
    let [set, show, delete] = lines[..] else {
        panic!("three calls are expected: {lines:?}");
    };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("rm");
    let name = data.to_str().unwrap();
    let server = start(name);
    assert_eq!(value(&server, show).as_deref(), Some("1.0"));
    assert_eq!(run(&server, set), APPLIED);
    assert_eq!(value(&server, show).as_deref(), Some("0.2"));
    let (in_use, _) = fsck(&data);
    assert_eq!(in_use.status.code(), Some(2), "{in_use:?}");
    // The process is killed, not asked to end.
    drop(server);
    let (output, said) = fsck(&data);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        (&said["sound"], &said["found"]["configurations"]),
        (&true.into(), &2.into())
    );
    let server = start(name);
    assert_eq!(value(&server, show).as_deref(), Some("0.2"));
    assert_eq!(run(&server, delete), APPLIED);
    assert_eq!(value(&server, show), None);
    drop(server);
    assert_eq!(value(&start(name), show), None);
}

#[test]
fn a_directory_is_sound_or_not_or_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("rm");
    drop(start(data.to_str().unwrap()));
    assert_eq!(fsck(&data).0.status.code(), Some(0));
    let file = data.join("state.redb");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let (output, said) = fsck(&data);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(said["sound"], false);
    let reason = said["found"]["problems"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("state.redb"), "{reason}");
    for absent in ["nowhere", "."] {
        let (output, _) = fsck(&folder.path().join(absent));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}
