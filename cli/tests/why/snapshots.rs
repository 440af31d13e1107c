//! Snapshots: saved, replayed, explained, made into tests, and refused when they are none.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{folder, printed, run};
use crate::{recorded, recorded_with};

fn saved(name: &str, at: &str, more: &[&str]) -> (PathBuf, PathBuf) {
    let (run, _) = recorded_with(name, more);
    let file = run.parent().unwrap().join("moment.snap");
    let args = [
        "snapshot",
        "save",
        run.to_str().unwrap(),
        "--at",
        at,
        "-o",
        file.to_str().unwrap(),
    ];
    printed(&args);
    (run, file)
}

fn json(args: &[&str]) -> Value {
    let (_, text, err) = run(&[args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{err}"))
}

/// What a file inflates to.
fn text_of(file: &Path) -> String {
    String::from_utf8(zstd::decode_all(fs::File::open(file).unwrap()).unwrap()).unwrap()
}

fn packed(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    path
}

#[test]
fn a_snapshot_explains_what_the_run_does() {
    for mode in ["heartbeat", "async", "global"] {
        let (out, file) = saved(&format!("snapshot-{mode}"), "10s", &["--mode", mode]);
        let (out, file) = (out.to_str().unwrap(), file.to_str().unwrap());
        let of_run = json(&["why", out, "application_1_0002", "--at", "10s"]);
        let of_file = json(&["why", file, "application_1_0002"]);
        let strip = |value: &Value| {
            let mut value = value["waits"].clone();
            value["dominant"]["set_by"].take();
            value
        };
        assert_eq!(strip(&of_run), strip(&of_file), "{mode}");
        assert_eq!(of_run["would_help"], of_file["would_help"], "{mode}");
        assert!(!of_run["waits"].is_null());
        let reasons = |list: &Value| list["groups"].as_array().unwrap().len();
        let list = json(&["why", file, "--list"]);
        assert_eq!(reasons(&list), reasons(&json(&["why", out, "--at", "10s"])));
    }
}

#[test]
fn a_snapshot_goes_on_as_it_was_saved() {
    let (_, file) = saved("snapshot-replay", "10s", &[]);
    let file = file.to_str().unwrap();
    let first = json(&["snapshot", "replay", file, "--cycles", "3", "--why", "2"]);
    assert_eq!(
        first,
        json(&["snapshot", "replay", file, "--cycles", "3", "--why", "2"])
    );
    assert_eq!(first["at_ms"], 10_000);
    assert!(
        first["before"]["why"]
            .as_str()
            .unwrap()
            .contains("AM_LIMIT_QUEUE")
    );
    let text = printed(&["snapshot", "replay", file, "--cycles", "0"]);
    assert!(text.contains("heartbeat mode at 10.0 s"), "{text}");
}

#[test]
fn a_snapshot_keeps_no_secrets_and_is_not_overwritten() {
    let folder = folder("snapshot-site");
    let site = folder.join("yarn-site.xml");
    let secret = "<configuration><property><name>yarn.resourcemanager.zk-auth</name>\
                  <value>digest:yarn:PASSWORD</value></property></configuration>";
    fs::write(&site, secret).unwrap();
    let (run_folder, file) = saved(
        "snapshot-secret",
        "10s",
        &["--site", site.to_str().unwrap()],
    );
    let text = text_of(&file);
    assert!(text.contains("root.dev.maximum-capacity"));
    assert!(!text.contains("PASSWORD") && !text.contains("zk-auth") && !text.contains("second"));
    let shown = file.to_str().unwrap();
    let args = [
        "snapshot",
        "save",
        run_folder.to_str().unwrap(),
        "-o",
        shown,
    ];
    let (code, _, err) = run(&args);
    assert_eq!(code, 2);
    assert!(err.contains("say --force"), "{err}");
    assert_eq!(text_of(&file), text);
    printed(&[&args[..], &["--force"]].concat());
    assert_ne!(text_of(&file), text);
}

#[test]
fn files_that_are_no_snapshots_are_refused() {
    let (run_folder, file) = saved("snapshot-bad", "10s", &[]);
    let (folder, text) = (run_folder.parent().unwrap(), text_of(&file));
    let lines: Vec<&str> = text.lines().collect();
    let whole = fs::read(&file).unwrap();
    fs::write(folder.join("cut.snap"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("text.snap"), "hello\n").unwrap();
    fs::write(folder.join("empty.snap"), "").unwrap();
    let newer = text.replacen("\"version\":1", "\"version\":7", 1);
    packed(folder, "newer.snap", &newer);
    packed(
        folder,
        "other.snap",
        "{\"capsched\":\"trace\",\"version\":1}\n",
    );
    packed(
        folder,
        "noend.snap",
        &format!("{}\n", lines[..lines.len() - 1].join("\n")),
    );
    let swapped = [&lines[..3], &lines[4..lines.len() - 1]]
        .concat()
        .join("\n");
    let end = lines.last().unwrap().replace(
        &format!("{}", lines.len() - 2),
        &format!("{}", lines.len() - 3),
    );
    packed(folder, "state.snap", &format!("{swapped}\n{end}\n"));
    packed(
        folder,
        "field.snap",
        &format!("{}\n{{\"do\":\"fly\"}}\n", lines[0]),
    );
    for (name, part) in [
        ("cut.snap", "cut off after"),
        ("text.snap", "no snapshot of capsched"),
        ("empty.snap", "it is"),
        ("newer.snap", "version 7, and this program reads up to 2"),
        ("other.snap", "no snapshot of capsched"),
        ("noend.snap", "cut off after"),
        ("state.snap", "another state"),
        ("field.snap", "field.snap:2:11: unknown variant `fly`"),
    ] {
        let path = folder.join(name);
        for args in [&["snapshot", "replay"][..], &["snapshot", "to-test"]] {
            let (code, _, err) = run(&[args, &[path.to_str().unwrap()]].concat());
            assert_eq!(code, 1, "{name}: {err}");
            assert!(err.contains(part) && err.contains(name), "{name}: {err}");
        }
    }
    let missing = folder.join("missing.snap");
    assert_eq!(run(&["snapshot", "replay", missing.to_str().unwrap()]).0, 2);
}

#[test]
fn a_test_is_written_and_minimised() {
    let (_, file) = saved("snapshot-test", "10s", &[]);
    let shown = file.to_str().unwrap();
    let whole = printed(&["snapshot", "to-test", shown, "--why", "2"]);
    let short = printed(&["snapshot", "to-test", shown, "--why", "2", "--minimise"]);
    assert!(short.lines().count() < whole.lines().count());
    assert!(short.contains("\"AM_LIMIT_QUEUE\""), "{short}");
    // This very text is compiled and run as a test of the engine.
    let committed = include_str!("../../../tests/explain/from_snapshot.rs");
    assert_eq!(squeezed(&short), squeezed(committed));
    let (code, _, err) = run(&["snapshot", "to-test", shown, "--why", "99"]);
    assert_eq!(code, 1);
    assert!(err.contains("waits for nothing"), "{err}");
    let (out, _) = recorded("snapshot-test-idle");
    let idle = out.parent().unwrap().join("idle.snap");
    let idle = idle.to_str().unwrap();
    printed(&["snapshot", "save", out.to_str().unwrap(), "-o", idle]);
    assert_eq!(run(&["snapshot", "to-test", idle]).0, 1);
}

/// A text without what a formatter of code changes.
fn squeezed(text: &str) -> String {
    let kept = |c: &char| !c.is_whitespace() && *c != ',';
    text.chars().filter(kept).collect()
}

#[test]
fn an_application_that_no_call_submits_is_refused() {
    let (_, file) = saved("snapshot-unknown", "10s", &[]);
    let (code, _, err) = run(&["snapshot", "replay", file.to_str().unwrap(), "--why", "99"]);
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("moment.snap") && err.contains("no application application_1_0099"),
        "{err}"
    );
}
