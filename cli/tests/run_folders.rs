//! Folders of runs: whole, or recognisably not.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use support::{captured, command, folder, generated, printed, run};

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn signal(child: &Child, name: &str) {
    let args = [format!("-{name}"), child.id().to_string()];
    assert!(Command::new("kill").args(args).status().unwrap().success());
}

/// The lines of a table with a comment in front, split at commas.
fn table(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(cells).collect()
}

#[test]
fn every_job_has_a_line_that_adds_up_to_the_run() {
    let folder = folder("jobs");
    let (trace, out) = (generated(&folder, "batch", "5"), folder.join("out"));
    let args = ["replay", trace.to_str().unwrap(), "--json", "--out"];
    let whole = printed(&[&args[..], &[out.to_str().unwrap()]].concat());
    let whole: Value = serde_json::from_str(&whole).unwrap();
    let lines = table(&out.join("jobs.csv"));
    let at = |name: &str| lines[0].iter().position(|column| column == name).unwrap();
    let jobs = &lines[1..];
    assert_eq!(jobs.len() as u64, whole["jobs"].as_u64().unwrap());
    let sum = |name: &str| -> u64 {
        let cell = |line: &Vec<String>| line[at(name)].parse::<u64>().unwrap();
        jobs.iter().map(cell).sum()
    };
    let run = &whole["runs"][0];
    assert_eq!(sum("containers_placed"), run["placed"].as_u64().unwrap());
    assert_eq!(sum("containers_asked"), run["offered"].as_u64().unwrap());
    let waits = jobs
        .iter()
        .filter_map(|line| line[at("waited_ms")].parse().ok());
    assert_eq!(waits.max(), run["first_container_ms"]["max"].as_u64());
    let finished = jobs.iter().filter(|line| line[at("outcome")] == "finished");
    assert_eq!(
        finished.count() as u64,
        run["jobs"]["finished"].as_u64().unwrap()
    );
}

/// Sets the version of a document; `null` takes it away.
fn set_version(path: &Path, version: Value) {
    let mut document: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(document["format_version"], 1, "as it was written");
    document["format_version"] = version;
    if document["format_version"].is_null() {
        document.as_object_mut().unwrap().remove("format_version");
    }
    fs::write(path, document.to_string()).unwrap();
}

#[test]
fn folders_of_a_newer_format_are_refused_and_those_without_a_version_are_read() {
    let folder = folder("versions");
    let trace = generated(&folder, "adhoc", "2");
    let out = folder.join("cmp");
    let compare = ["compare", trace.to_str().unwrap(), "--modes", "heartbeat"];
    printed(&[&compare[..], &["--out", out.to_str().unwrap()]].concat());
    let (column, snapshot) = (out.join("heartbeat"), folder.join("at.snap"));
    let (marker, whole) = (column.join("run.json"), out.join("compare.json"));
    let (one, all) = (column.to_str().unwrap(), out.to_str().unwrap());
    let of_a_run: [&[&str]; 6] = [
        &["why", one, "--list"],
        &["verify", one],
        &["report", one, "--force"],
        &["hist", one],
        &[
            "snapshot",
            "save",
            one,
            "--force",
            "-o",
            snapshot.to_str().unwrap(),
        ],
        &["whatif", one, "--nodes", "+1"],
    ];
    let all_runs: [&[&str]; 4] = [
        &["report", all, "--force"],
        &["hist", all],
        &["hist", one, all],
        &[&compare[..], &["--base", all, "--fail-if", "placed<1*base"]].concat(),
    ];
    for args in of_a_run.iter().chain(&all_runs) {
        assert_eq!(run(args).0, 0, "{args:?}: {}", run(args).2);
    }
    let written = fs::read(&marker).unwrap();
    for version in [Value::from(2), "two".into(), (-1).into()] {
        set_version(&marker, version.clone());
        for args in of_a_run {
            let (code, out, err) = run(args);
            assert!(code == 1 && out.is_empty(), "{args:?}: {code}: {out}{err}");
            let says = format!(
                "run.json: it has format_version {version}, and this program reads up to 1"
            );
            let other = format!("run.json: its format_version is no whole number: {version}");
            assert!(
                err.contains(&says) || err.contains(&other),
                "{args:?}: {err}"
            );
        }
        fs::write(&marker, &written).unwrap();
    }
    let whole_written = fs::read(&whole).unwrap();
    set_version(&whole, 7.into());
    for args in all_runs {
        let (code, out, err) = run(args);
        assert!(code == 1 && out.is_empty(), "{args:?}: {code}: {out}{err}");
        assert!(
            err.contains("compare.json: it has format_version 7"),
            "{err}"
        );
    }
    fs::write(&whole, whole_written).unwrap();
    set_version(&marker, Value::Null);
    set_version(&whole, Value::Null);
    for args in of_a_run.iter().chain(&all_runs) {
        assert_eq!(run(args).0, 0, "{args:?}: {}", run(args).2);
    }
}

/// Whether a signal is ignored by who started the tests, and so by what they start.
fn is_ignored(signal: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[test]
fn a_signal_leaves_a_folder_that_says_so() {
    let folder = folder("interrupted");
    let (trace, small) = (folder.join("trace"), generated(&folder, "adhoc", "1"));
    fifo(&trace);
    for (number, name) in [(15, "TERM"), (2, "INT"), (1, "HUP")] {
        if is_ignored(number) {
            continue;
        }
        let out = folder.join(name);
        let args = ["replay", trace.to_str().unwrap(), "--out"];
        let mut child = command(&args).arg(&out).spawn().unwrap();
        // The command opens the trace when its folder is there.
        let mut writer = fs::OpenOptions::new().write(true).open(&trace).unwrap();
        writer.write_all(b"{").unwrap();
        signal(&child, name);
        assert!(child.wait().unwrap().signal().is_some());
        let text = fs::read_to_string(out.join("interrupted.json")).unwrap();
        assert!(text.contains(&format!("SIG{name}")), "{text}");
        assert!(!out.join("run.json").exists());
        let (code, _, err) = run(&["why", out.to_str().unwrap()]);
        assert!(code == 2 && err.contains("it was interrupted"), "{err}");
        let again = ["replay", small.to_str().unwrap(), "--force", "--out"];
        printed(&[&again[..], &[out.to_str().unwrap()]].concat());
        assert!(out.join("run.json").exists() && !out.join("interrupted.json").exists());
    }
}

#[test]
fn the_marker_of_an_earlier_run_goes_before_the_first_byte() {
    let folder = folder("marker");
    let (trace, out) = (generated(&folder, "adhoc", "2"), folder.join("out"));
    let shown = out.to_str().unwrap();
    let modes = |list| ["compare", trace.to_str().unwrap(), "--modes", list];
    printed(&[&modes("heartbeat,global")[..], &["--out", shown]].concat());
    fs::write(out.join("global/mine"), "kept").unwrap();
    let broken = folder.join("broken.jsonl");
    fs::write(
        &broken,
        "{\"capsched\":\"trace\",\"version\":1,\"types\":[]}\n{",
    )
    .unwrap();
    let args = [
        "compare",
        broken.to_str().unwrap(),
        "--force",
        "--out",
        shown,
    ];
    assert_eq!(run(&args).0, 1);
    assert!(!out.join("compare.json").exists());
    assert!(
        !out.join("heartbeat").exists(),
        "a column of the earlier run"
    );
    assert!(!out.join("global/run.json").exists());
    assert_eq!(fs::read(out.join("global/mine")).unwrap(), b"kept");
}

#[test]
fn no_link_in_a_folder_is_written_through() {
    let folder = folder("links");
    let (trace, out) = (generated(&folder, "adhoc", "3"), folder.join("out"));
    let far = folder.join("far");
    fs::create_dir(&out).unwrap();
    fs::write(&far, "kept").unwrap();
    for name in ["run.json", "decisions.jsonl", "jobs.csv", "queues.csv"] {
        symlink(&far, out.join(name)).unwrap();
    }
    let args = ["replay", trace.to_str().unwrap(), "--force", "--out"];
    printed(&[&args[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(fs::read(&far).unwrap(), b"kept");
    assert!(!out.join("jobs.csv").is_symlink());
}

#[test]
fn a_folder_that_a_run_writes_into_is_refused_to_another() {
    let folder = folder("in-use");
    let (pipe, out) = (folder.join("pipe"), folder.join("out"));
    fifo(&pipe);
    let args = ["replay", pipe.to_str().unwrap(), "--out"];
    let mut first = command(&args).arg(&out).spawn().unwrap();
    let writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let trace = generated(&folder, "adhoc", "4");
    let args = ["replay", trace.to_str().unwrap(), "--force", "--out"];
    let (code, _, err) = run(&[&args[..], &[out.to_str().unwrap()]].concat());
    assert!(code == 2 && err.contains("in use"), "{err}");
    drop(writer);
    first.wait().unwrap();
}

#[test]
fn a_pipe_is_played_like_the_file_it_comes_from() {
    let folder = folder("piped");
    let (trace, pipe) = (generated(&folder, "dashboard", "6"), folder.join("pipe"));
    fifo(&pipe);
    let args = ["replay", "--sequential", "--mode", "global", "--json"];
    let child = command(&args)
        .arg(&pipe)
        .args(["--nodes", trace.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fs::write(&pipe, fs::read(&trace).unwrap()).unwrap();
    let (code, piped, err) = captured(&child.wait_with_output().unwrap());
    assert_eq!(code, 0, "{err}");
    let plain = printed(&[&args[..], &[trace.to_str().unwrap()]].concat());
    let decisions = |text: &str| {
        let whole: Value = serde_json::from_str(text).unwrap();
        whole["runs"][0]["decisions"].clone()
    };
    assert_eq!(decisions(&piped), decisions(&plain));
}

#[test]
fn an_archive_is_replaced_only_with_force() {
    let folder = folder("pack");
    let (recording, archive) = (folder.join("r.json"), folder.join("a.jsonl.zst"));
    fs::write(&recording, "{\"name\":\"r\"}").unwrap();
    let args = ["parity", recording.to_str().unwrap(), "--pack", "-o"];
    let args = [&args[..], &[archive.to_str().unwrap()]].concat();
    printed(&args);
    let first = fs::read(&archive).unwrap();
    let (code, _, err) = run(&args);
    assert!(code == 2 && err.contains("--force"), "{err}");
    printed(&[&args[..], &["--force"]].concat());
    assert_eq!(fs::read(&archive).unwrap(), first);
    fs::write(&recording, "no recording").unwrap();
    let (code, ..) = run(&[&args[..], &["--force"]].concat());
    assert_eq!(code, 1);
    assert_eq!(fs::read(&archive).unwrap(), first, "what was there stays");
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 2, "no temporary file stays");
}
