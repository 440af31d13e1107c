//! What people do with the program, from end to end, by the very commands.
//!
//! The live server has its journey in `serve/live.rs`. The library's first program is `examples/embed.rs`, which
//! `tests/runtime/examples.rs` runs. C and Python have tests in `capi/` and `python/`, two servers in `.ci/etcd`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::conf_files::json;
use crate::support::{captured, command, folder, printed, run};
use serde_json::Value;

fn property(name: &str, value: &str) -> String {
    format!(
        "  <property>\n    <name>yarn.scheduler.capacity.{name}</name>\n    <value>{value}</value>\n  </property>\n"
    )
}

fn configuration(pairs: &[(&str, &str)]) -> String {
    let properties: String = pairs.iter().map(|(k, v)| property(k, v)).collect();
    format!("<configuration>\n{properties}</configuration>\n")
}

const TREE: [(&str, &str); 5] = [
    ("root.queues", "prod,dev"),
    ("root.prod.capacity", "60"),
    ("root.dev.capacity", "40"),
    ("root.dev.maximum-capacity", "50"),
    ("root.dev.user-limit-factor", "4"),
];

/// Runs a line as a shell would split it, in a folder; exit code and what it printed.
fn typed(at: &Path, line: &str) -> (i32, String, String) {
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[0], "capsched");
    let output = command(&words[1..]).current_dir(at).output().unwrap();
    captured(&output)
}

fn fine(at: &Path, line: &str) -> String {
    let (code, out, err) = typed(at, line);
    assert_eq!(code, 0, "{line}: {err}");
    out
}

/// A folder with a configuration, a trace in which root.dev fills up, and a recorded run.
fn recorded(name: &str) -> PathBuf {
    let at = folder(name);
    fs::create_dir(at.join("conf")).unwrap();
    fs::write(at.join("conf/capacity-scheduler.xml"), configuration(&TREE)).unwrap();
    let job = |at_ms: u32, name: &str, queue: &str, count: u32| {
        format!(
            "{{\"job\":{{\"at_ms\":{at_ms},\"name\":\"{name}\",\"queue\":\"root.{queue}\",\"user\":\"ann\",\
             \"tasks\":[{{\"size\":[1024,1],\"count\":{count},\"priority\":20,\"run\":{{\"same\":60000}}}}]}}}}\n"
        )
    };
    let head = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    let jobs = [
        job(0, "etl", "dev", 20),
        job(5_000, "query", "dev", 4),
        job(6_000, "report", "prod", 6),
    ];
    fs::write(at.join("t.jsonl"), format!("{head}{}", jobs.concat())).unwrap();
    fine(
        &at,
        "capsched replay t.jsonl --conf conf/capacity-scheduler.xml --nodes 2x10GiB,10vcores --out runs/last",
    );
    at
}

/// The demonstration whole takes minutes in a build that is not optimised, where a part of it is played.
#[test]
fn the_first_minute_shows_three_modes_and_what_to_do_next() {
    let at = folder("journey-first");
    let part = if cfg!(debug_assertions) {
        " --pods 60"
    } else {
        ""
    };
    let (code, text, err) = typed(&at, &format!("capsched demo{part}"));
    assert_eq!(code, 0, "{err}");
    let cells = |label: &str| -> Vec<String> {
        let line = text.lines().find_map(|line| line.strip_prefix(label));
        let line = line.unwrap_or_else(|| panic!("{label}: {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(
        cells("scheduling mode"),
        ["heartbeat", "asynchronous", "global"]
    );
    assert_eq!(cells("containers asked"), cells("containers allocated"));
    assert_eq!(cells("same containers placed in every column:"), ["yes"]);
    assert!(text.contains("The engine on a saturated cluster"), "{text}");
    let repeated = json(&fine(&at, &format!("capsched demo{part} --json --seed 7")));
    let placed = &repeated["runs"][2]["allocations"];
    let shown: String = cells("containers allocated")[2].replace(',', "");
    assert_eq!(placed.to_string(), shown, "{repeated}");
    // What it names as next exists: the words up to the first that stands for a file.
    let next = text.split("Next: ").nth(1).unwrap();
    for line in next.lines().filter(|line| line.contains("capsched ")) {
        let command: Vec<&str> = line.split_whitespace().skip(1).collect();
        let help = fine(&at, &format!("capsched {} --help", command[0]));
        let options = command.iter().filter(|word| word.starts_with("--"));
        for option in options {
            assert!(help.contains(option), "{option} of {line}");
        }
    }
}

#[test]
fn a_real_file_is_checked_and_each_code_has_its_explanation() {
    let at = folder("journey-check");
    let mut wrong = TREE;
    wrong[2].1 = "50";
    fs::write(at.join("capacity-scheduler.xml"), configuration(&wrong)).unwrap();
    let (code, out, err) = typed(&at, "capsched check capacity-scheduler.xml");
    let all = format!("{out}{err}");
    assert_eq!(code, 1, "{all}");
    for part in ["capacity-scheduler.xml", "capacity_sum", "110"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let explained = fine(&at, "capsched check --explain capacity_sum");
    assert!(explained.contains("100"), "{explained}");
    let (code, out, _) = typed(&at, "capsched check capacity-scheduler.xml --format sarif");
    assert_eq!((code, &json(&out)["version"]), (1, &Value::from("2.1.0")));
    fs::write(at.join("capacity-scheduler.xml"), configuration(&TREE)).unwrap();
    fine(&at, "capsched check capacity-scheduler.xml");
}

#[test]
fn modes_are_compared_and_a_gate_decides() {
    let at = recorded("journey-compare");
    let line = "capsched compare t.jsonl --modes heartbeat,async,global --conf conf/capacity-scheduler.xml \
                --nodes 2x10GiB,10vcores --seed 7 --out runs/cmp";
    let text = fine(&at, line);
    for mode in ["heartbeat", "asynchronous", "global"] {
        assert!(text.contains(mode), "{mode}: {text}");
    }
    let gate = "capsched compare t.jsonl --modes heartbeat,global --conf conf/capacity-scheduler.xml \
                --nodes 2x10GiB,10vcores --seed 7 --base runs/cmp --fail-if";
    let (code, _, err) = typed(&at, &format!("{gate} global.allocations<base"));
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = typed(
        &at,
        &format!("{gate} longest_wait_ms>=1.0*base.longest_wait_ms"),
    );
    assert_eq!(code, 1, "{err}");
    for column in ["heartbeat has", "global has"] {
        assert!(err.contains(column), "{column}: {err}");
    }
    let (code, _, err) = typed(&at, &format!("{gate} global.speed>1"));
    assert!(code == 1 && err.contains("no figure `speed`"), "{err}");
    let without = gate.replace(" --base runs/cmp", "");
    let (code, _, err) = typed(&at, &format!("{without} p99>base"));
    assert!(code == 2 && err.contains("--base"), "{err}");
    let elsewhere = gate.replace("runs/cmp", "runs/last");
    let (code, _, err) = typed(&at, &format!("{elsewhere} p99>base"));
    assert!(code == 2 && err.contains("compare.json"), "{err}");
    let gate = "capsched hist runs/cmp/global --fail-if";
    assert_eq!(typed(&at, &format!("{gate} p99>1000s")).0, 0);
    let (code, _, err) = typed(&at, &format!("{gate} p99>0ns"));
    assert!(code == 1 && err.contains("propose is"), "{err}");
}

#[test]
fn traces_are_listed_looked_at_converted_and_replayed() {
    let at = recorded("journey-replay");
    assert!(fine(&at, "capsched traces").contains("openb"));
    let stat = json(&fine(&at, "capsched trace stat t.jsonl --json"));
    assert_eq!(stat["containers"], 30);
    fine(&at, "capsched trace convert t.jsonl --out t.jsonl.zst");
    let line = "--conf conf/capacity-scheduler.xml --nodes 2x10GiB,10vcores --json";
    let [plain, packed] = ["t.jsonl", "t.jsonl.zst"]
        .map(|trace| json(&fine(&at, &format!("capsched replay {trace} {line}"))));
    assert_eq!(
        plain["runs"][0]["decisions"],
        packed["runs"][0]["decisions"]
    );
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/traces/hadoop-sls");
    let listed = fs::read_dir(configs).unwrap().count();
    assert!(listed > 0);
}

#[test]
fn an_application_a_node_and_the_whole_list_have_their_reasons() {
    let at = recorded("journey-why");
    let (code, text, _) = typed(&at, "capsched why etl --at 10s");
    assert_eq!(code, 1, "{text}");
    for part in [
        "QUEUE_MAX_CAPACITY",
        "capacity-scheduler.xml:",
        "would help",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text, _) = typed(&at, "capsched why-not etl node0 --at 10s");
    assert!(text.contains("room"), "{text}");
    let (_, text, _) = typed(&at, "capsched why --list --group-by reason --at 10s");
    assert!(text.contains("QUEUE_MAX_CAPACITY"), "{text}");
    let (code, text, _) = typed(&at, "capsched why etl");
    assert!(code == 0 && text.contains("waited"), "{text}");
    let (code, text, _) = typed(&at, "capsched top runs/last --json --at 10s");
    assert!(code == 0 && text.contains("QUEUE_MAX_CAPACITY"), "{text}");
}

#[test]
fn a_change_is_played_planned_and_judged_on_what_runs() {
    let at = recorded("journey-whatif");
    let line = "capsched whatif runs/last --set root.dev.maximum-capacity=100";
    let text = fine(&at, line);
    assert!(
        text.contains("root.dev") && text.contains("shorter"),
        "{text}"
    );
    fine(&at, "capsched snapshot save runs/last --at 10s -o now.snap");
    let mut narrow = TREE;
    narrow[3].1 = "45";
    narrow[1].1 = "80";
    narrow[2].1 = "20";
    fs::write(at.join("new.xml"), configuration(&narrow)).unwrap();
    let line = "capsched conf plan conf/capacity-scheduler.xml new.xml --cluster 2x10GiB,10vcores \
                --snapshot now.snap";
    let text = fine(&at, line);
    for part in [
        "~ root.dev",
        "refresh: accepted",
        "ABOVE_MAXIMUM  root.dev",
        "application_1_0001",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_moment_becomes_a_file_a_replay_and_a_test() {
    let at = recorded("journey-snapshot");
    fine(&at, "capsched snapshot save runs/last --at 10s -o bug.snap");
    let text = fine(&at, "capsched snapshot replay bug.snap --why 1 --cycles 3");
    assert!(text.contains("QUEUE_MAX_CAPACITY"), "{text}");
    let test = fine(&at, "capsched snapshot to-test bug.snap --minimise");
    assert!(
        test.contains("#[test]") && test.contains("QUEUE_MAX_CAPACITY"),
        "{test}"
    );
    let (code, text, _) = typed(&at, "capsched why bug.snap 1");
    assert!(code == 1 && text.contains("QUEUE_MAX_CAPACITY"), "{text}");
}

#[test]
fn latencies_become_files_and_a_run_becomes_a_page() {
    let at = recorded("journey-report");
    fine(&at, "capsched hist runs/last --format hgrm,hlog,csv -o out");
    let written = fs::read_dir(at.join("out")).unwrap().count();
    assert!(written >= 3, "{written}");
    fine(&at, "capsched report runs/last");
    let page = fs::read_to_string(at.join("runs/last/report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    let (code, _, err) = typed(&at, "capsched report runs/last");
    assert!(code == 2 && err.contains("--force"), "{err}");
}

/// A browser that writes down what it is to open.
#[cfg(unix)]
fn browser(at: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = at.join("browser");
    fs::write(&path, "#!/bin/sh\necho \"$1\" >> opened\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn pages_are_opened_in_the_browser_that_is_named() {
    let at = recorded("journey-open");
    let opened = |words: &[&str], program: &Path| {
        let output = command(words)
            .current_dir(&at)
            .env("BROWSER", program)
            .output();
        captured(&output.unwrap())
    };
    let own = browser(&at);
    let (code, _, err) = opened(&["open", "runs/last"], &own);
    assert!(
        code == 1 && err.contains("capsched report runs/last"),
        "{err}"
    );
    for words in [
        &["report", "runs/last", "--open"][..],
        &["open", "runs/last"],
        &["open"],
        &["open", "http://rm:1/"],
    ] {
        let (code, _, err) = opened(words, &own);
        assert_eq!(code, 0, "{words:?}: {err}");
    }
    let seen = fs::read_to_string(at.join("opened")).unwrap();
    let page = at.join("runs/last/report.html").canonicalize().unwrap();
    let page = page.to_str().unwrap();
    let wanted = [page, page, "http://127.0.0.1:8088/ui/", "http://rm:1/ui/"];
    assert_eq!(seen.lines().collect::<Vec<_>>(), wanted);
    let (code, _, err) = opened(&["open"], Path::new("/nowhere/browser"));
    assert!(code == 2 && err.contains("BROWSER"), "{err}");
}

#[test]
fn a_run_is_verified_and_a_log_that_was_changed_is_found_out() {
    let at = recorded("journey-verify");
    let found = json(&fine(&at, "capsched verify runs/last --json"));
    assert!(found["differs_at"].is_null(), "{found}");
    assert_eq!(found["violations_by_invariant"], json("{}"));
    let log = at.join("runs/last/decisions.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(found["decisions"], lines.len() - 1);
    assert!(fine(&at, "capsched verify runs/last").contains(" 0 violations"));
    // One container less, in the middle.
    let place = lines
        .iter()
        .skip(5)
        .position(|line| line.contains("\"allocated\""));
    let place = place.unwrap() + 5;
    let less = [&lines[..place], &lines[place + 1..]].concat().join("\n");
    fs::write(&log, format!("{less}\n")).unwrap();
    let (code, out, _) = typed(&at, "capsched verify runs/last");
    let shown = format!("decisions.jsonl:{}: the log has", place + 1);
    assert!(code == 1 && out.contains(&shown), "{shown}: {out}");
    fs::remove_file(&log).unwrap();
    let (code, _, err) = typed(&at, "capsched verify runs/last");
    assert!(code == 2 && err.contains("decisions.jsonl"), "{err}");
}

#[test]
fn claims_are_checked_by_simulation_and_by_recordings() {
    let (code, _, err) = run(&["simulate", "--seeds", "0..2", "--events", "200"]);
    assert_eq!(code, 0, "{err}");
    let recordings = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/parity/acls.jsonl.zst"
    );
    let text = printed(&["parity", recordings]);
    assert!(text.contains(" 0 failed"), "{text}");
}
