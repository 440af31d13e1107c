//! `capsched hist` on what runs leave behind: logs, and folders of one run or several.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{captured, command, folder, generated, printed, run};

/// Names of the files of a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap().path())).collect();
    names.sort();
    names
}

/// Runs of two modes compared, in the folder `cmp` of a fresh one.
fn compared(name: &str) -> PathBuf {
    let folder = folder(name);
    let trace = generated(&folder, "adhoc", "3");
    let out = folder.join("cmp");
    let mut args = vec!["compare", trace.to_str().unwrap()];
    args.extend(["--modes", "heartbeat,global", "--out"]);
    printed(&[&args[..], &[out.to_str().unwrap()]].concat());
    folder
}

#[test]
fn hist_shows_and_writes_every_run_of_a_folder() {
    let folder = compared("hist");
    let (cmp, out) = (folder.join("cmp"), folder.join("out"));
    let args = ["hist", cmp.to_str().unwrap(), "--format", "hgrm,hlog,csv"];
    let args = [&args[..], &["-o", out.to_str().unwrap()]].concat();
    let shown = printed(&args);
    let written = names(&out);
    for run in ["global", "heartbeat"] {
        let log = cmp.join(run).join("latency.hlog");
        // The tables and files of a run are those of its log alone.
        let alone = folder.join(run);
        let one = ["hist", log.to_str().unwrap(), "--format", "hgrm,hlog,csv"];
        let table = printed(&[&one[..], &["--out", alone.to_str().unwrap()]].concat());
        let titled = format!("{}\n{table}", log.display());
        assert!(shown.contains(&titled), "{titled}\n{shown}");
        for name in names(&alone) {
            let (whole, own) = (out.join(format!("{run}-{name}")), alone.join(&name));
            assert_eq!(fs::read(whole).unwrap(), fs::read(own).unwrap(), "{name}");
        }
        assert!(names(&alone).contains(&"latency.csv".to_owned()));
        let of_run = written.iter().filter(|name| name.starts_with(run));
        assert_eq!(of_run.count(), names(&alone).len(), "{written:?}");
    }
    let of_none = |name: &&String| !name.starts_with("global") && !name.starts_with("heartbeat");
    assert_eq!(written.iter().find(of_none), None);
}

#[test]
fn hist_writes_beside_a_folder_of_one_run_and_never_reads_what_it_wrote() {
    let folder = compared("hist-one");
    let run = folder.join("cmp/global");
    let before = names(&run);
    let hist = |from: &Path, shown: &str| {
        let mut hist = command(&["hist", shown, "--format", "hlog,csv", "--force"]);
        let (code, out, err) = captured(&hist.current_dir(from).output().unwrap());
        assert_eq!(code, 0, "{err}");
        let table: Vec<_> = out.lines().skip(1).map(str::to_owned).collect();
        (table, names(&run))
    };
    let sibling = folder.join("cmp/heartbeat");
    let (first, second) = (hist(&sibling, "../global"), hist(&run, "."));
    assert_eq!(first, second);
    let is_new = |name: &&String| !before.contains(name);
    let new: Vec<_> = first.1.iter().filter(is_new).collect();
    assert_eq!(new, ["global-latency-merged.hlog", "global-latency.csv"]);
}

#[test]
fn hist_replaces_files_only_with_force() {
    let folder = compared("hist-force");
    let (run, out) = (folder.join("cmp/global"), folder.join("out"));
    let args = ["hist", run.to_str().unwrap(), "--format", "csv", "-o"];
    let args = [&args[..], &[out.to_str().unwrap()]].concat();
    printed(&args);
    let file = out.join("global-latency.csv");
    fs::write(&file, "mine").unwrap();
    let (code, _, err) = crate::run(&args);
    assert!(code == 2 && err.contains("--force"), "{err}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    printed(&[&args[..], &["--force"]].concat());
    assert_ne!(fs::read(&file).unwrap(), b"mine");
    assert_eq!(names(&out), ["global-latency.csv"]);
}

#[test]
fn hist_passes_over_a_run_without_latencies_but_not_a_folder_without_any() {
    let folder = compared("hist-none");
    let cmp = folder.join("cmp");
    let (global, heartbeat) = (cmp.join("global"), cmp.join("heartbeat"));
    let log = fs::read_to_string(global.join("latency.hlog")).unwrap();
    let comments: Vec<_> = log.lines().filter(|line| line.starts_with('#')).collect();
    fs::write(global.join("latency.hlog"), comments.join("\n") + "\n").unwrap();
    let args = ["hist", cmp.to_str().unwrap()];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("global/latency.hlog: no interval"), "{err}");
    assert!(out.contains("heartbeat") && !out.contains("global"));
    fs::write(heartbeat.join("latency.hlog"), "garbage\n").unwrap();
    let (code, out, err) = run(&args);
    assert!(err.contains("heartbeat/latency.hlog: entry 1"), "{err}");
    assert_eq!((code, out.as_str()), (1, ""));
    // Histograms that are no logs are not enough.
    fs::remove_file(heartbeat.join("latency.hlog")).unwrap();
    assert!(heartbeat.join("decision.hgrm").exists());
    let (code, out, err) = run(&args);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains(args[1]) && err.contains("*.hlog"), "{err}");
}

#[test]
fn hist_prints_shares_and_stalls_as_json_where_they_are_asked_for() {
    let folder = compared("hist-json");
    let log = folder.join("cmp/global");
    let json = |more: &[&str]| -> serde_json::Value {
        let args = [&["hist", log.to_str().unwrap(), "--json"], more].concat();
        serde_json::from_str(&printed(&args)).unwrap()
    };
    let plain = &json(&[])["logs"][0];
    assert!(plain.get("shares").is_none() && plain.get("stalls").is_none());
    let asked = &json(&["--shares", "--stalls", "3"])["logs"][0];
    let shares = asked["shares"].as_array().unwrap();
    let sum: u64 = shares
        .iter()
        .map(|one| one["permille"].as_u64().unwrap())
        .sum();
    let rounding = u64::try_from(shares.len()).unwrap();
    assert!(sum <= 1000 && sum + rounding >= 1000, "{asked}");
    let stalls = asked["stalls"].as_array().unwrap();
    assert!((1..=3).contains(&stalls.len()), "{asked}");
    // The longest of all is that of the phases; each stall has its phases in order.
    let longest = plain["phases"].as_array().unwrap().iter();
    let longest = longest.map(|one| one["ns"]["max"].as_u64().unwrap()).max();
    assert_eq!(
        stalls[0]["phases"][0]["max_ns"].as_u64(),
        longest,
        "{asked}"
    );
    for stall in stalls {
        let ns = stall["phases"].as_array().unwrap().iter();
        let ns: Vec<u64> = ns.map(|one| one["max_ns"].as_u64().unwrap()).collect();
        assert!(ns.is_sorted_by(|a, b| a >= b), "{stall}");
    }
}
