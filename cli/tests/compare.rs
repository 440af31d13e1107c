//! The command that compares: columns of every kind side by side, costs of the scheduler's work.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use support::{folder, generated, printed, run};

/// A configuration with one leaf that may use so much of the cluster.
fn configuration(folder: &Path, name: &str, most: &str) -> PathBuf {
    let property = |key: &str, value: &str| {
        format!(
            "<property><name>yarn.scheduler.capacity.{key}</name><value>{value}</value></property>"
        )
    };
    let text = [
        property("root.queues", "default"),
        property("root.default.capacity", "100"),
        property("root.default.maximum-capacity", most),
        property("root.default.user-limit-factor", "10"),
        property("maximum-am-resource-percent", "1"),
    ];
    let path = folder.join(name);
    let text = format!("<configuration>{}</configuration>", text.concat());
    fs::write(&path, text).unwrap();
    path
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

/// A figure of all runs.
fn figures(whole: &Value, pointer: &str) -> Vec<u64> {
    let runs = whole["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run.pointer(pointer).and_then(Value::as_u64).unwrap())
        .collect()
}

fn names(whole: &Value) -> Vec<&str> {
    let runs = whole["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["name"].as_str().unwrap())
        .collect()
}

#[test]
fn configurations_stand_side_by_side() {
    let folder = folder("several-conf");
    let trace = generated(&folder, "batch", "11");
    let wide = configuration(&folder, "wide.xml", "100");
    let tight = configuration(&folder, "tight.xml", "10");
    let map = "--map=name=*:root.default";
    let common = [
        "compare",
        trace.to_str().unwrap(),
        map,
        "--modes",
        "heartbeat,global",
    ];
    let both = [
        "--conf",
        wide.to_str().unwrap(),
        "--conf",
        tight.to_str().unwrap(),
    ];
    let more = ["--allow-unfinished", "--json"];
    let whole = json(&[&common[..], &both, &more].concat());
    assert_eq!(names(&whole).len(), 4);
    assert!(
        names(&whole)[2].contains("tight.xml"),
        "{:?}",
        names(&whole)
    );
    let ended = figures(&whole, "/delay_us/p95");
    assert!(
        ended[2] > ended[0],
        "a tenth of the cluster waits longer: {ended:?}"
    );
    // Columns that run side by side decide as they do alone.
    let alone = json(&[&common[..], &both[2..], &more].concat());
    assert_eq!(alone["runs"][1]["decisions"], whole["runs"][3]["decisions"]);
    let out = folder.join("out");
    let text = printed(
        &[
            &common[..],
            &both,
            &["--allow-unfinished", "--out", out.to_str().unwrap()],
        ]
        .concat(),
    );
    assert!(text.contains("configuration"), "{text}");
    let runs = fs::read_dir(&out)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(runs.count(), 4, "a folder for each column");
}

#[test]
fn seeds_and_costs_are_columns() {
    let folder = folder("several-costs");
    let trace = generated(&folder, "adhoc", "12");
    let args = ["compare", trace.to_str().unwrap(), "--modes", "heartbeat"];
    let more = ["--seeds", "1,2", "--costs", "none,hadoop", "--json"];
    let whole = json(&[&args[..], &more].concat());
    assert_eq!(
        names(&whole),
        [
            "heartbeat, 1, none",
            "heartbeat, 1, hadoop",
            "heartbeat, 2, none",
            "heartbeat, 2, hadoop"
        ]
    );
    let runs = whole["runs"].as_array().unwrap();
    assert!(runs[0]["scheduler"].is_null());
    assert!(runs[1]["scheduler"]["busy_ns"].as_u64() > Some(0));
    let late = figures(&whole, "/delay_us/p50");
    // An application calls in whole ms, so that one begins up to 1 ms later.
    let close = |free: u64, dear: u64| dear + 1000 >= free;
    assert!(
        close(late[0], late[1]) && close(late[2], late[3]),
        "{late:?}"
    );
    assert_eq!(runs[0]["placed"], runs[1]["placed"]);
}

#[test]
fn a_sweep_names_the_load_at_which_each_mode_falls_behind() {
    let folder = folder("sweep");
    let trace = generated(&folder, "adhoc", "13");
    let costs = folder.join("slow.toml");
    let text = "threads = 1\ncommits = \"waits\"\n[[size]]\nnodes = 8\nheartbeat_ns = 1000\n\
        visit_ns = 1000\ndecision_ns = 2000000000\ncommit_ns = 1000\nsort_ns = 0\n";
    fs::write(&costs, text).unwrap();
    let args = ["compare", trace.to_str().unwrap(), "--modes", "heartbeat"];
    let more = [
        "--sweep-load",
        "1,1000",
        "--behind",
        "1500",
        "--costs",
        costs.to_str().unwrap(),
    ];
    let whole = json(&[&args[..], &more, &["--json"]].concat());
    let loads = whole["sweep"]["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    let added = |load: &Value| {
        let point = &load["modes"][0];
        point["delay_p95_us"].as_u64().unwrap()
            - point["delay_p95_us_without_costs"].as_u64().unwrap()
    };
    assert!(added(&loads[1]) > added(&loads[0]), "{loads:?}");
    assert_eq!(whole["sweep"]["saturation"][0]["behind_from_load"], 1);
    let text = printed(&[&args[..], &more].concat());
    assert!(text.contains("behind from load x1"), "{text}");
    let (code, _, err) = run(&[&args[..], &["--sweep-load", "1,2"]].concat());
    assert!(code == 2 && err.contains("--costs"), "{err}");
}

#[test]
fn costs_that_cannot_be_are_refused_with_place_and_value() {
    let folder = folder("bad-costs");
    let trace = generated(&folder, "adhoc", "14");
    let costs = folder.join("costs.toml");
    let args = [
        "replay",
        trace.to_str().unwrap(),
        "--costs",
        costs.to_str().unwrap(),
    ];
    let (code, _, err) = run(&args);
    assert!(code == 2 && err.contains("costs.toml"), "{err}");
    fs::write(&costs, "threads = 0\ncommits = \"waits\"\nsize = []\n").unwrap();
    let (code, _, err) = run(&args);
    assert!(
        code == 1 && err.contains("costs.toml:1:1: no size"),
        "{err}"
    );
    fs::write(&costs, "threads = many\n").unwrap();
    let (code, _, err) = run(&args);
    assert!(code == 1 && err.contains("costs.toml:1:"), "{err}");
    let threads = ["replay", args[1], "--costs", "hadoop", "--threads", "1"];
    let (code, _, err) = run(&threads);
    assert!(code == 2 && err.contains("--threads"), "{err}");
    let several = ["replay", args[1], "--costs", "none,hadoop"];
    assert_eq!(run(&several).0, 2);
    let threads = [
        "replay",
        args[1],
        "--costs",
        "hadoop",
        "--cost-threads",
        "0",
    ];
    let (code, _, err) = run(&threads);
    assert!(code == 1 && err.contains("threads = 0"), "{err}");
}
