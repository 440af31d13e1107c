//! The commands about traces as a stranger runs them: generation, conversion, folders of results,
//! and the rows of the catalogue of bad inputs about pipes, signals and the environment.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use support::{captured, command, folder, generated, printed, run};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const KINDS: [&str; 7] = [
    "adhoc",
    "preferred",
    "ml",
    "dashboard",
    "exploration",
    "batch",
    "service",
];

#[test]
fn every_kind_of_work_is_generated_and_played_to_its_end() {
    let folder = folder("kinds");
    for kind in KINDS {
        let trace = generated(&folder, kind, "3");
        let trace = trace.to_str().unwrap();
        let found = json(&printed(&["replay", trace, "--json"]));
        let run = &found["runs"][0];
        assert_eq!(run["violations"], 0, "{kind}");
        assert_eq!(run["waiting"], 0, "{kind}");
        assert_eq!(run["placed"], run["offered"], "{kind}");
        let services = kind == "service";
        assert_eq!(
            run["completed"] == 0,
            services,
            "services never end: {kind}"
        );
    }
}

#[test]
fn every_mode_serves_a_trace_alike_whatever_engine_runs_it() {
    let folder = folder("modes");
    let trace = generated(&folder, "exploration", "4");
    let trace = trace.to_str().unwrap();
    for engine in [&["--threads", "1,2"][..], &[]] {
        let args = ["compare", trace, "--json"];
        let found = json(&printed(&[&args[..], engine].concat()));
        assert_eq!(found["same_containers_placed"], true);
        for run in found["runs"].as_array().unwrap() {
            assert_eq!(run["violations"], 0, "{run}");
            if run["deterministic"] == true {
                assert_eq!(run["reserved"], 0, "there is room on some node: {run}");
            }
            // A heartbeat comes every second, and a container may wait for a few of them.
            assert!(
                run["first_container_ms"]["max"].as_u64() < Some(10_000),
                "{run}"
            );
        }
    }
}

#[test]
fn equal_seeds_generate_equal_bytes_and_equal_decisions() {
    let text = |seed: &str| printed(&["trace", "generate", "--jobs", "40", "--seed", seed]);
    assert_eq!(text("7"), text("0x7"));
    assert_ne!(text("7"), text("8"));
    let folder = folder("seeds");
    let trace = generated(&folder, "batch", "5");
    let decisions = |seed: &str| {
        let trace = trace.to_str().unwrap();
        let args = ["replay", trace, "--json", "--seed", seed];
        json(&printed(&args))["runs"][0]["decisions"].clone()
    };
    assert_eq!(decisions("1"), decisions("1"));
    assert_ne!(decisions("1"), decisions("2"), "nodes register otherwise");
}

#[test]
fn conversion_keeps_jobs_nodes_and_decisions() {
    let folder = folder("convert");
    let trace = generated(&folder, "adhoc", "3");
    let (from, copy) = (trace.to_str().unwrap(), folder.join("copy.jsonl"));
    let to = copy.to_str().unwrap();
    let captured = json(&printed(&["trace", "convert", from, "--json", "--out", to]));
    assert_eq!(captured["nodes"], 8);
    assert_eq!(captured["jobs"], captured["mapping"]["used"]);
    let plain = fs::read_to_string(&copy).unwrap();
    assert_eq!(
        printed(&["trace", "convert", from]),
        plain,
        "to standard output"
    );
    let decisions = |file: &str| {
        let found = json(&printed(&["replay", file, "--json"]));
        found["runs"][0]["decisions"].clone()
    };
    assert_eq!(decisions(from), decisions(to));
    let (code, _, err) = run(&["trace", "convert", from, "--out", to]);
    assert!(code == 2 && err.contains("--force"), "{err}");
    // Written beside its place and moved there, so that it may even be its own source.
    printed(&["trace", "convert", to, "--force", "--out", to]);
    assert_eq!(fs::read_to_string(&copy).unwrap(), plain);
}

#[test]
fn each_result_file_says_what_made_it() {
    let folder = folder("results");
    let trace = generated(&folder, "adhoc", "3");
    let (trace, out) = (trace.to_str().unwrap(), folder.join("out"));
    let mut args = vec!["compare", trace, "--modes", "heartbeat,global", "--json"];
    args.extend([
        "--threads",
        "1,2",
        "--seed",
        "9",
        "--out",
        out.to_str().unwrap(),
    ]);
    let captured = json(&printed(&args));
    let whole = json(&fs::read_to_string(out.join("compare.json")).unwrap());
    let mut shown = whole.clone();
    let version = shown.as_object_mut().unwrap().remove("format_version");
    assert_eq!(version, Some(1.into()), "the folder has a version");
    assert_eq!(captured, shown);
    assert_eq!(whole["runs"].as_array().unwrap().len(), 3);
    for (run, threads) in [("heartbeat-1", 1), ("global-1", 1), ("global-2", 2)] {
        for name in [
            "decisions.jsonl",
            "queues.csv",
            "latency.hlog",
            "decision.hgrm",
            "run.json",
        ] {
            let text = fs::read_to_string(out.join(run).join(name)).unwrap();
            let made = if name == "run.json" {
                json(&text)
            } else {
                let line = text.lines().find(|line| line.contains("\"commit\""));
                json(line.unwrap().trim_start_matches(['#', ' ']))
            };
            let made = made.get("made_with").unwrap_or(&made);
            assert_eq!(made["seed"], 9, "{run}/{name}");
            assert_eq!(made["threads"], threads, "{run}/{name}");
            assert!(made["machine"]["cores"].is_number(), "{run}/{name}");
        }
        let log = out.join(run).join("latency.hlog");
        let shown = printed(&["hist", log.to_str().unwrap()]);
        assert!(shown.lines().count() > 1, "{shown}");
    }
    let (code, _, err) = run(&["compare", trace, "--out", out.to_str().unwrap()]);
    assert!(code == 2 && err.contains("--force"), "{err}");
}

#[test]
fn every_decision_of_a_small_run_is_measured() {
    let folder = folder("measured");
    let trace = generated(&folder, "dashboard", "3");
    let trace = trace.to_str().unwrap();
    for mode in ["heartbeat", "async", "global"] {
        let found = json(&printed(&["replay", trace, "--mode", mode, "--json"]));
        let run = &found["runs"][0];
        let (placed, measured) = (&run["placed"], &run["latency_ns"]["n"]);
        assert!(placed.as_u64() > Some(0), "{mode}");
        assert!(measured.as_u64() >= placed.as_u64(), "{mode}: {run}");
    }
}

#[test]
fn i07_a_reader_that_went_away_is_no_failure() {
    let mut child = command(&["trace", "generate", "--jobs", "100000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 8];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let (code, _, err) = captured(&child.wait_with_output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn i08_an_interrupted_run_ends_at_once_and_never_looks_complete() {
    let folder = folder("signals");
    let (trace, out) = (folder.join("trace"), folder.join("out"));
    fifo(&trace);
    let args = ["replay", trace.to_str().unwrap(), "--force", "--out"];
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        if ignores(number) {
            continue;
        }
        let mut child = command(&args).arg(&out).spawn().unwrap();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert!(!out.join("run.json").exists(), "run.json comes last");
    }
    assert!(!ignores(15), "nobody starts tests that cannot be ended");
}

/// Whether this process ignores a signal: what it starts does too, whatever the command is. A
/// shell makes what it runs in the background ignore the signals of its terminal.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[test]
fn i10_the_environment_sets_nothing() {
    let odd = [("CAPSCHED_THREADS", "abc"), ("CAPSCHED_SEED", "-1")];
    let output = command(&["traces"]).envs(odd).output().unwrap();
    assert_eq!(captured(&output), run(&["traces"]));
}

#[test]
fn i12_the_command_gives_the_codes_of_the_library() {
    let folder = folder("codes");
    let one = |name: &str, value: &str| {
        format!(
            "<configuration><property><name>yarn.scheduler.capacity.{name}</name>\
             <value>{value}</value></property></configuration>"
        )
    };
    let cases = [
        ("A01", String::new(), "E_XML_NO_ROOT"),
        (
            "A02",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><configuration/>".to_owned(),
            "E_XML_DOCTYPE",
        ),
        ("A12", "<a><b></a></b>".to_owned(), "E_XML_MISMATCH"),
        (
            "A15",
            "<configuration/><configuration/>".to_owned(),
            "E_XML_TRAILING",
        ),
        ("B01", one("root.capacity", "100"), "root_without_children"),
        ("B02", one("root.queues", ","), "root_without_children"),
        ("B26", one("root.queues", "a"), "capacity_sum"),
    ];
    for (row, text, code) in cases {
        let file = folder.join(format!("{row}.xml"));
        fs::write(&file, &text).unwrap();
        let (exit, out, err) = run(&["check", file.to_str().unwrap(), "--json"]);
        assert_eq!(exit, 1, "{row}: {err}");
        let found = json(&out);
        let codes = found["files"][0]["findings"].as_array().unwrap();
        assert!(codes.iter().any(|f| f["code"] == code), "{row}: {out}");
        let explained = printed(&["check", "--explain", code]);
        assert!(explained.starts_with(code), "{explained}");
        let explained = json(&printed(&["check", "--json", "--explain", code]));
        assert_eq!(explained["code"], code);
        assert!(!explained["text"].as_str().unwrap().is_empty());
    }
    for (given, part) in [
        ("lone-user", "did you mean H_LONE_USER?"),
        (
            "CS0102",
            "no code `CS0102`; docs/reference/codes.md lists all",
        ),
    ] {
        let (exit, _, err) = run(&["check", "--explain", given]);
        assert!(exit == 2 && err.contains(part), "{given}: {err}");
    }
}

#[test]
fn a_file_that_cannot_be_read_hides_nothing_of_the_others() {
    let folder = folder("unread");
    let (good, missing) = (folder.join("good.xml"), folder.join("missing.xml"));
    let tree = ["root.queues", "root.a.capacity"].map(|name| {
        let value = if name == "root.queues" { "a" } else { "100" };
        format!(
            "<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>"
        )
    });
    fs::write(
        &good,
        format!("<configuration>{}</configuration>", tree.concat()),
    )
    .unwrap();
    let [good, missing] = [&good, &missing].map(|path| path.to_str().unwrap());
    let (code, out, err) = run(&["check", missing, good]);
    assert!(code == 2 && err.contains("missing.xml"), "{code}: {err}");
    assert!(out.ends_with("good.xml: accepted\n"), "{out}");
    let (code, out, _) = run(&["check", "--json", missing, good]);
    let files = &json(&out)["files"];
    assert_eq!(code, 2);
    assert!(files[0]["unreadable"].is_string(), "{out}");
    assert_eq!(files[1]["accepted"], true);
}

#[test]
fn i13_h13_what_is_no_file_is_not_read_without_end() {
    for device in ["/dev/zero", "/dev/urandom"] {
        let (code, _, err) = run(&["check", device]);
        assert!(code == 2 && err.contains("regular"), "{err}");
        let (code, _, err) = run(&["trace", "stat", device]);
        assert!(code != 0 && err.contains(device), "{code}: {err}");
    }
    let mut child = command(&["check", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"<configuration/>").unwrap();
    drop(input);
    let (code, out, _) = captured(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert_eq!(
        json(&out)["files"][0]["findings"][0]["code"],
        "root_without_children"
    );
    let without_end = fs::File::open("/dev/zero").unwrap();
    let output = command(&["check", "-"])
        .stdin(without_end)
        .output()
        .unwrap();
    let (code, _, err) = captured(&output);
    assert!(code == 2 && err.contains("more than"), "{err}");
    // A pipe streams.
    let folder = folder("pipe");
    let pipe = folder.join("trace");
    fifo(&pipe);
    let reader = command(&["trace", "stat", pipe.to_str().unwrap(), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let text = printed(&["trace", "generate", "--jobs", "20", "--services", "0"]);
    writer.write_all(text.as_bytes()).unwrap();
    drop(writer);
    let (code, out, err) = captured(&reader.wait_with_output().unwrap());
    assert_eq!(code, 0, "{err}");
    assert_eq!(json(&out)["jobs"], 20);
}

#[test]
fn i14_an_at_sign_is_part_of_a_name() {
    let (code, _, err) = run(&["check", "@args"]);
    assert!(code == 2 && err.contains("@args"), "{err}");
}

#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let full = || {
        let device = fs::OpenOptions::new().write(true).open("/dev/full");
        Stdio::from(device.unwrap())
    };
    for args in [
        &["traces"][..],
        &["check", "--explain", "E_NAN"],
        &["demo", "headroom"],
    ] {
        let output = command(args).stdout(full()).output().unwrap();
        let (code, _, err) = captured(&output);
        assert!(
            code == 2 && err.contains("standard output"),
            "{args:?}: {err}"
        );
    }
    let folder = folder("full");
    let (code, _, err) = run(&["trace", "generate", "--jobs", "5", "--out", "/dev/full"]);
    assert!(code == 2 && err.contains("/dev/full"), "{err}");
    assert!(Path::new("/dev/full").exists(), "it is not moved over");
    let lost = folder.join("no/such/file");
    let (code, _, err) = run(&["trace", "generate", "--out", lost.to_str().unwrap()]);
    assert!(code == 2 && err.contains("no/such/file"), "{err}");
}
