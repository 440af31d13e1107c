//! The operator's commands as a stranger runs them: check on a cluster, plans, conversions, gates on
//! latencies, reports, completions.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "support/conf_files.rs"]
mod conf_files;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use conf_files::{conf, json};
use serde_json::Value;
use support::{folder, generated, printed, run};

const TREE: [(&str, &str); 4] = [
    ("root.queues", "prod,dev"),
    ("root.prod.capacity", "75"),
    ("root.dev.capacity", "25"),
    ("user-limit-factor", "4"),
];

#[test]
fn a_check_on_a_cluster_shows_what_each_queue_has_and_where_settings_come_from() {
    let folder = folder("desk-check");
    let file = conf(&folder, "cs.xml", &TREE);
    let args = ["check", &file, "--cluster", "4x16GiB,8vcores"];
    let text = printed(&[&args[..], &["--values", "root.prod"]].concat());
    for part in ["4 nodes: 64 GiB 32 vcores", "48 GiB 24 vcores", "GLOBAL"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let document = json(&printed(&[&args[..], &["--format", "json"]].concat()));
    let cluster = &document["files"][0]["cluster"];
    assert_eq!(cluster["nodes"], 4);
    let queues = cluster["queues"].as_array().unwrap();
    let prod = queues.iter().find(|queue| queue["path"] == "root.prod");
    let prod = prod.unwrap();
    assert_eq!(prod["partitions"][""]["guaranteed"]["memory-mb"], 49_152);
    let values = prod["values"].as_array().unwrap();
    let source = |name: &str| {
        let one = values.iter().find(|one| one["name"] == name).unwrap();
        one["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        [source("capacity"), source("user-limit-factor")],
        ["QUEUE", "GLOBAL"]
    );
    let (code, _, err) = run(&[&args[..], &["--values", "root.none"]].concat());
    assert!(code == 1 && err.contains("root.none"), "{err}");
}

#[test]
fn amounts_that_the_cluster_lacks_are_hinted_at() {
    let folder = folder("desk-hints");
    let file = conf(
        &folder,
        "cs.xml",
        &[
            ("root.queues", "a,b"),
            ("root.a.capacity", "[memory=65536,vcores=32]"),
            ("root.b.capacity", "[memory=65536,vcores=32]"),
        ],
    );
    let args = ["check", &file, "--json", "--cluster"];
    let codes = |nodes: &str| -> Vec<String> {
        let document = json(&printed(&[&args[..], &[nodes]].concat()));
        let findings = document["files"][0]["findings"].as_array().unwrap().clone();
        let codes = findings.iter().map(|one| one["code"].as_str().unwrap());
        codes.map(str::to_owned).collect()
    };
    assert!(codes("4x16GiB,8vcores").contains(&"H_SCALED_DOWN".to_owned()));
    assert!(!codes("8x16GiB,8vcores").contains(&"H_SCALED_DOWN".to_owned()));
    let tiny = conf(
        &folder,
        "tiny.xml",
        &[
            ("root.queues", "a,b"),
            ("root.a.capacity", "99"),
            ("root.b.capacity", "1"),
            ("root.b.maximum-capacity", "2"),
        ],
    );
    let text = printed(&["check", &tiny, "--cluster", "2x16GiB,8vcores"]);
    assert!(text.contains("H_NOTHING_FITS"), "{text}");
}

#[test]
fn forms_of_findings_have_the_exit_code_of_the_verdict() {
    let folder = folder("desk-forms");
    let file = conf(
        &folder,
        "cs.xml",
        &[("root.queues", "a"), ("root.a.capacity", "7")],
    );
    let (code, out, _) = run(&["check", &file, "--format", "sarif"]);
    let result = &json(&out)["runs"][0]["results"][0];
    assert_eq!((code, &result["ruleId"]), (1, &Value::from("capacity_sum")));
    let (code, out, _) = run(&["check", &file, "--format", "validate"]);
    let answer = json(&out);
    assert_eq!((code, &answer["valid"]), (1, &Value::from(false)));
    assert_eq!(answer["issues"][0]["queuePath"], "root");
}

#[test]
fn a_plan_names_the_refusal_and_the_steps_that_were_seen_to_work() {
    let folder = folder("desk-plan");
    let before = conf(&folder, "old.xml", &TREE);
    let after = conf(
        &folder,
        "new.xml",
        &[("root.queues", "prod"), ("root.prod.capacity", "100")],
    );
    let (code, out, _) = run(&["conf", "plan", &before, &after]);
    assert_eq!(code, 1, "{out}");
    for part in ["- root.dev", "[queue_not_stopped]", "STOPPED for root.dev"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let grown = conf(
        &folder,
        "grown.xml",
        &[
            ("root.queues", "prod,dev"),
            ("root.prod.capacity", "50"),
            ("root.dev.capacity", "50"),
            ("user-limit-factor", "4"),
        ],
    );
    let args = [
        "conf",
        "plan",
        &before,
        &grown,
        "--cluster",
        "4x16GiB,8vcores",
    ];
    let text = printed(&args);
    assert!(text.ends_with("refresh: accepted\n"), "{text}");
    assert!(
        text.contains("48 GiB 24 vcores -> 32 GiB 16 vcores"),
        "{text}"
    );
    let document = json(&printed(&["conf", "diff", &before, &grown, "--json"]));
    assert_eq!(document["changed"], 2);
    let same = json(&printed(&["conf", "diff", &before, &before, "--json"]));
    assert_eq!(same["queues"], Value::from(Vec::<Value>::new()));
}

/// A comparison in a folder.
fn compared(folder: &Path) -> PathBuf {
    let trace = generated(folder, "adhoc", "3");
    let out = folder.join("cmp");
    let mut args = vec!["compare", trace.to_str().unwrap()];
    args.extend([
        "--modes",
        "heartbeat,global",
        "--out",
        out.to_str().unwrap(),
    ]);
    printed(&args);
    out
}

#[test]
fn a_gate_fails_where_its_condition_holds() {
    let folder = folder("desk-gate");
    let out = compared(&folder);
    let log = out.join("global/latency.hlog");
    let log = log.to_str().unwrap();
    printed(&["hist", log, "--fail-if", "p99>1000s"]);
    let (code, _, err) = run(&["hist", log, "--fail-if", "p99>0ns"]);
    assert!(code == 1 && err.contains("propose is"), "{err}");
    let (code, out, _) = run(&[
        "hist",
        log,
        "--against",
        log,
        "--json",
        "--fail-if",
        "max>=1*base",
    ]);
    let document = json(&out);
    assert_eq!((code, document["failed"].as_array().unwrap().len()), (1, 1));
    assert_eq!(
        document["logs"][0]["phases"][0]["change_permille"]["p50"],
        0
    );
    let (code, _, err) = run(&["hist", log, "--fail-if", "max>1*base"]);
    assert!(code == 2 && err.contains("hist RUN BASE"), "{err}");
    let (code, _, err) = run(&["hist", log, log, "--fail-if", "max>=1*base"]);
    assert!(code == 1 && err.contains("propose is"), "{err}");
    let (code, _, err) = run(&["hist", log, "--stalls", "0"]);
    assert!(code == 2 && err.contains("--stalls"), "{err}");
    let text = printed(&["hist", log, "--against", log, "--shares", "--stalls", "2"]);
    for part in ["+0.0 %", "time by phase", "longest of"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The series have one value a moment, the leaves together use what the root uses, and something is used.
fn assert_series_of_a_repeated_run(run: &Value) {
    assert!(run["not_repeated"].is_null(), "{}", run["not_repeated"]);
    let repeated = &run["repeated"];
    let moments = repeated["at_s"].as_array().unwrap().len();
    let values = |of: &Value| -> Vec<i64> {
        let all: Vec<i64> = of
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_i64().unwrap())
            .collect();
        assert_eq!(all.len(), moments);
        all
    };
    let queues = repeated["partitions"][""].as_array().unwrap();
    let (leaves, others): (Vec<_>, Vec<_>) = queues.iter().partition(|one| one["leaf"] == true);
    let root = others.iter().find(|one| one["path"] == "root").unwrap();
    let mut sum = vec![0; moments];
    for leaf in &leaves {
        let used = values(&leaf["used_mib"]);
        sum.iter_mut()
            .zip(used)
            .for_each(|(sum, used)| *sum += used);
    }
    assert_eq!(values(&root["used_mib"]), sum);
    assert!(sum.iter().any(|used| *used > 0));
    assert!(values(&root["maximum_mib"]).iter().all(|most| *most > 0));
    let unusable = repeated["unusable_permille"].as_array().unwrap();
    assert_eq!(unusable.len(), moments);
    for tier in repeated["waiting_by_tier"].as_array().unwrap() {
        assert!(values(&tier["applications"]).iter().any(|n| *n > 0));
    }
}

#[test]
fn columns_that_differ_in_nodes_have_names_and_nodes_of_their_own() {
    let folder = folder("desk-report-nodes");
    let (trace, out) = (generated(&folder, "adhoc", "3"), folder.join("cmp"));
    let args = ["compare", trace.to_str().unwrap(), "--modes", "global"];
    let nodes = [
        "--nodes",
        "20x64GiB,32vcores",
        "--nodes",
        "30x64GiB,32vcores",
    ];
    let out = out.to_str().unwrap();
    printed(&[&args[..], &nodes, &["--out", out]].concat());
    let report = json(&printed(&["report", out, "--json"]));
    let runs = report["runs"].as_array().unwrap();
    let counts: Vec<(&str, u64)> = runs
        .iter()
        .map(|run| {
            (
                run["name"].as_str().unwrap(),
                run["node_count"].as_u64().unwrap(),
            )
        })
        .collect();
    let names = ["global-20x64GiB-32vcores", "global-30x64GiB-32vcores"];
    assert_eq!(counts, [(names[0], 20), (names[1], 30)]);
}

#[test]
fn a_report_is_one_file_and_foreign_folders_are_refused() {
    let folder = folder("desk-report");
    let out = compared(&folder);
    let run_of = |more: &[&str]| run(&[&["report", out.to_str().unwrap()], more].concat());
    let data = json(&run_of(&["--json"]).1);
    let runs = data["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for one in runs {
        let sum = |list: &Value| -> u64 {
            let all = list.as_array().unwrap().iter();
            all.map(|n| n.as_u64().unwrap()).sum()
        };
        assert_eq!(
            Value::from(sum(&one["rate"]["placed"])),
            one["figures"]["allocations"]
        );
        assert_eq!(
            Value::from(sum(&one["rate"]["asked"])),
            one["figures"]["offered"]
        );
        assert_eq!(one["latency"].as_array().unwrap().len(), 15);
        assert_series_of_a_repeated_run(one);
    }
    let (code, path, err) = run_of(&[]);
    assert_eq!(code, 0, "{err}");
    let page = fs::read_to_string(path.trim()).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("uPlot"));
    let (code, _, err) = run_of(&[]);
    assert!(code == 2 && err.contains("--force"), "{err}");
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    let (code, _, err) = run(&["report", empty.to_str().unwrap()]);
    assert!(code == 1 && err.contains("run.json"), "{err}");
    let log = out.join("global/decisions.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    let (code, _, err) = run_of(&["--force"]);
    assert!(code == 1 && err.contains("decisions.jsonl:"), "{err}");
}

/// Jobs of twenty short containers each, one every tenth of a second.
fn short_jobs(jobs: u32) -> String {
    let head = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    let job = |at: u32| {
        format!(
            "{{\"job\":{{\"at_ms\":{},\"name\":\"j{at}\",\"queue\":\"root.a\",\"user\":\"ann\",\
             \"tasks\":[{{\"size\":[1024,1],\"count\":20,\"priority\":20,\"run\":{{\"same\":2000}}}}]}}}}\n",
            100 * at
        )
    };
    let all: String = (0..jobs).map(job).collect();
    format!("{head}{all}")
}

/// A run of real threads over so many jobs: the data of its report, and decisions by the histogram log.
fn threaded(folder: &Path, jobs: u32) -> (Value, u64) {
    let trace = folder.join(format!("{jobs}.jsonl"));
    fs::write(&trace, short_jobs(jobs)).unwrap();
    let trace = trace.to_str().unwrap();
    let out = folder.join(format!("run-{jobs}"));
    let out = out.to_str().unwrap();
    let (code, _, err) = run(&[
        "replay",
        trace,
        "--mode",
        "global",
        "--threads",
        "1",
        "--nodes",
        "20x32GiB,32vcores",
        "--out",
        out,
    ]);
    assert_eq!(code, 0, "{err}");
    let measured = json(&printed(&["hist", out, "--json"]));
    let phases = measured["logs"][0]["phases"].as_array().unwrap();
    let whole = phases.iter().find(|phase| phase["phase"] == "propose");
    let decisions = whole.map_or(0, |phase| phase["n"].as_u64().unwrap());
    let data = json(&printed(&["report", out, "--json"]));
    (data["runs"][0].clone(), decisions)
}

/// Every decision that threads made stands in one cell of the heat map. A run that ends within one interval has no
/// course to show; a longer one follows.
#[test]
fn the_latencies_of_real_threads_are_a_map_over_the_time_of_their_run() {
    let folder = folder("desk-threads");
    for jobs in [50, 200, 800, 3_200, 12_800] {
        let (run, decisions) = threaded(&folder, jobs);
        assert!(decisions > 0);
        assert!(run["repeated"].is_null() && run["not_repeated"].is_string());
        let map = &run["latency_map"];
        if map.is_null() {
            continue;
        }
        let numbers = |of: &Value| -> Vec<u64> {
            let all = of.as_array().unwrap().iter();
            all.map(|n| n.as_u64().unwrap()).collect()
        };
        let (at, rows) = (numbers(&map["at_ms"]), numbers(&map["from_ns"]));
        assert!(at.len() > 1 && at.is_sorted());
        assert!(rows.windows(2).all(|pair| pair[1] == 2 * pair[0]));
        let counts = map["counts"].as_array().unwrap();
        assert_eq!(counts.len(), rows.len());
        let counted: u64 = counts.iter().flat_map(numbers).sum();
        assert_eq!(counted, decisions);
        let longest = numbers(&map["max_ns"]).into_iter().max().unwrap();
        assert!(longest >= *rows.last().unwrap() && longest < 2 * rows.last().unwrap());
        return;
    }
    panic!("no run lasted two intervals");
}

#[test]
fn shells_and_man_get_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        assert!(
            script.contains("report") && script.contains("check"),
            "{shell}"
        );
    }
    let folder = folder("desk-man");
    let path = folder.to_str().unwrap();
    let pages = printed(&["man", path]);
    assert!(pages.contains("capsched-check.1"), "{pages}");
    let page = fs::read_to_string(folder.join("capsched-conf-plan.1")).unwrap();
    assert!(page.contains(".TH capsched-conf-plan"), "{page}");
    let (code, _, err) = run(&["man", path]);
    assert!(code == 2 && err.contains("--force"), "{err}");
}

/// Codes of the hints about an upgrade that a check prints.
fn upgrades(args: &[&str]) -> usize {
    let document = json(&printed(&[&["check", "--json"], args].concat()));
    let findings = document["files"][0]["findings"].as_array().unwrap();
    let upgrade = |finding: &&Value| finding["code"] == "H_UPGRADE";
    findings.iter().filter(upgrade).count()
}

#[test]
fn a_check_compares_with_the_release_before_the_one_that_is_named() {
    let folder = folder("desk-upgrade");
    let file = conf(&folder, "cs.xml", &TREE);
    assert_eq!(upgrades(&[&file, "--reference", "3.5"]), 1);
    assert_eq!(upgrades(&[&file, "--reference", "3.4"]), 0);
    assert_eq!(upgrades(&[&file]), 0);
}

#[test]
fn files_are_read_by_3_5_unless_a_release_is_named() {
    let folder = folder("desk-reference");
    let queues = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "[memory=10gi,vcores=10]"),
    ];
    // 3.4 adds 50 % up; 3.5 takes the form of an amount for absolute and needs no sum.
    let file = conf(&folder, "cs.xml", &queues);
    let (code, out, _) = run(&["check", "--reference", "3.4", &file]);
    assert!(code == 1 && out.contains("capacity_sum"), "{out}");
    printed(&["check", &file]);
}
