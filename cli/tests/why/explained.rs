//! Why something waits: moments of runs, applications that ended, nodes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{self, folder, generated, run};
use crate::{job, recorded, recorded_jobs, recorded_under, site_of_full_rounds};

fn why(out: &Path, rest: &[&str]) -> (i32, String, String) {
    run(&[&["why", out.to_str().unwrap()][..], rest].concat())
}

fn json(out: &Path, rest: &[&str]) -> Value {
    let (_, text, err) = why(out, &[rest, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{err}"))
}

#[test]
fn a_limit_of_none_is_said_where_something_of_it_is_asked() {
    let folder = folder("why-no-gpu");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/traces/native/sample.jsonl");
    let out = folder.join("out");
    let args = ["replay", trace.to_str().unwrap(), "--allow-unfinished"];
    let nodes = ["--nodes", "4x16GiB,8vcores", "--out", out.to_str().unwrap()];
    let (code, _, err) = run(&[&args[..], &nodes].concat());
    assert_eq!(code, 0, "{err}");
    let found = json(&out, &["train-1"]);
    let refused = found["refused"][0]["why"]["detail"].as_str().unwrap();
    assert!(
        refused.contains("of memory-mb 16384, vcores 8, gpu-milli 0, by"),
        "{found}"
    );
    let (_, text, _) = why(&out, &["train-1"]);
    assert!(
        text.contains("ask for at most gpu-milli 0 in one"),
        "{text}"
    );
}

#[test]
fn an_application_that_waits_has_a_reason_with_figures_and_the_line_of_the_setting() {
    let (out, _) = recorded("why-now");
    let found = json(&out, &["second", "--at", "10s"]);
    let waits = &found["waits"];
    assert_eq!(waits["dominant"]["reason"], "AM_LIMIT_QUEUE", "{found}");
    assert_eq!(waits["stage"], "waiting");
    let evidence = &waits["dominant"]["evidence"];
    assert_eq!(evidence["binding_queue"], "root.dev");
    assert_eq!(evidence["dimension"], "memory-mb");
    assert_eq!(evidence["holders"][0]["application"], "application_1_0001");
    assert_eq!(waits["dominant"]["set_by"]["line"], 9);
    assert_eq!(waits["position"]["place"], 1);
    let helps = &found["would_help"][0];
    let property = "yarn.scheduler.capacity.root.dev.maximum-am-resource-percent";
    assert_eq!(helps["set"]["property"], property, "{found}");
    assert_eq!(helps["lets_in"], true);
    let (code, text, _) = why(&out, &["application_1_0003", "--at", "10s"]);
    assert_eq!(code, 1);
    for part in [
        "AM_LIMIT_QUEUE",
        "capacity-scheduler.xml:9",
        "2 of 2 waiting in root.dev (fifo)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, other, _) = why(&out, &["3", "--at", "10s"]);
    assert_eq!(other, text);
}

/// What is set, the queue, the reason, where the value comes from, and the key that has it.
const SOURCES: [(&str, &str, &str, &str, &str); 5] = [
    (
        "root.a.auto-queue-creation-v2.leaf-template.maximum-am-resource-percent=0.1",
        "root.a.new",
        "AM_LIMIT_QUEUE",
        "TEMPLATE_V2",
        "root.a.auto-queue-creation-v2.leaf-template.maximum-am-resource-percent",
    ),
    (
        "root.a.maximum-capacity=50",
        "root.a.new",
        "QUEUE_MAX_CAPACITY",
        "QUEUE",
        "root.a.maximum-capacity",
    ),
    (
        "max-parallel-apps=1",
        "root.a.new",
        "MAX_PARALLEL_APPS",
        "GLOBAL",
        "max-parallel-apps",
    ),
    (
        "root.m.maximum-capacity=100",
        "root.m",
        "AM_LIMIT_QUEUE",
        "DEFAULT",
        "",
    ),
    (
        "root.a.auto-queue-creation-v2.template.maximum-capacity=100",
        "root.a.new",
        "AM_LIMIT_USER",
        "DERIVED",
        "",
    ),
];

#[test]
fn the_source_of_a_limit_of_a_created_queue_is_named_with_its_line() {
    for (at, (set, queue, reason, word, key)) in SOURCES.into_iter().enumerate() {
        let set = set.split_once('=').unwrap();
        let base = [
            ("root.queues", "a,m"),
            ("root.a.capacity", "50"),
            ("root.a.auto-queue-creation-v2.enabled", "true"),
            ("root.m.capacity", "50"),
        ];
        let lines = [set].into_iter().chain(base).map(|(name, value)| {
            format!("<property><name>yarn.scheduler.capacity.{name}</name><value>{value}</value></property>\n")
        });
        let conf = format!(
            "<configuration>\n{}</configuration>\n",
            lines.collect::<String>()
        );
        // One job fills its queue, or the masters of twelve do.
        let jobs: Vec<String> = match reason {
            "QUEUE_MAX_CAPACITY" => vec![job("j11", 0, queue, 20, 500)],
            _ => (0..12)
                .map(|n| job(&format!("j{n}"), 0, queue, 1, 500))
                .collect(),
        };
        let name = format!("why-source-{at}");
        let (out, _) = recorded_under(&name, &conf, (&jobs, &[]));
        let found = json(&out, &["j11", "--at", "10s"]);
        let dominant = &found["waits"]["dominant"];
        assert_eq!(dominant["reason"], reason, "{found}");
        assert_eq!(dominant["source"], word, "{found}");
        let (_, text, _) = why(&out, &["j11", "--at", "10s"]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if key.is_empty() {
            assert!(dominant["set_by"].is_null(), "{found}");
            let said = if word == "DEFAULT" {
                "(default)"
            } else {
                "(from other settings)"
            };
            assert!(text.contains(said), "{said}: {text}");
        } else {
            let property = format!("yarn.scheduler.capacity.{key}");
            assert_eq!(dominant["set_by"]["property"], property, "{found}");
            assert_eq!(dominant["set_by"]["value"], set.1, "{found}");
            assert_eq!(dominant["set_by"]["line"], 2, "{found}");
            assert!(text.contains("capacity-scheduler.xml:2"), "{text}");
        }
    }
}

#[test]
fn an_application_that_ended_has_a_timeline() {
    let (out, _) = recorded("why-then");
    let (code, text, _) = why(&out, &["second"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("for the AM limit of root.dev"), "{text}");
    let found = json(&out, &["second"]);
    assert!(found["waits"].is_null());
    let spans = found["timeline"].as_array().unwrap();
    assert_eq!(spans[0]["from_ms"], found["job"]["submitted_ms"]);
    assert_eq!(spans.last().unwrap()["to_ms"], found["job"]["ended_ms"]);
    let joined = |pair: &[Value]| pair[0]["to_ms"] == pair[1]["from_ms"];
    assert!(spans.windows(2).all(joined));
}

#[test]
fn the_list_counts_every_pending_application_once_whatever_it_is_grouped_by() {
    let (out, _) = recorded("why-list");
    for by in ["reason", "queue", "tier"] {
        let found = json(&out, &["--list", "--at", "10s", "--group-by", by]);
        let groups = found["groups"].as_array().unwrap();
        let counted = groups
            .iter()
            .map(|group| group["applications"].as_u64().unwrap());
        assert_eq!(counted.sum::<u64>(), found["pending"].as_u64().unwrap());
        assert_eq!(found["pending"], 3, "{found}");
    }
    let (code, text, _) = why(&out, &["--at", "10s"]);
    assert_eq!(code, 1);
    assert!(
        text.contains("3 applications wait") && text.contains("AM_LIMIT_QUEUE"),
        "{text}"
    );
    let (code, text, _) = why(&out, &["--list"]);
    assert_eq!(
        (code, text.starts_with("nothing waits")),
        (0, true),
        "{text}"
    );
}

#[test]
fn a_node_is_explained_condition_by_condition() {
    let (out, _) = recorded("why-not");
    let shown = out.to_str().unwrap();
    let (code, text, err) = run(&["why-not", shown, "first", "node0", "--at", "10s"]);
    assert_eq!(code, 1, "{err}");
    for part in ["ok  label", "ok  locality", "ok  reservation"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (code, _, err) = run(&["why-not", shown, "first", "node9"]);
    assert_eq!(code, 1);
    assert!(err.contains("no node node9; it has node0:0"), "{err}");
}

#[test]
fn a_column_of_a_comparison_is_a_run() {
    let folder = folder("why-column");
    let trace = generated(&folder, "batch", "5");
    let out = folder.join("out");
    let shown = out.to_str().unwrap();
    let args = [
        "compare",
        trace.to_str().unwrap(),
        "--modes",
        "heartbeat,global",
    ];
    let (code, _, err) = run(&[&args[..], &["--allow-unfinished", "--out", shown]].concat());
    assert_eq!(code, 0, "{err}");
    let (_, text, err) = why(&out.join("global"), &["--at", "60s"]);
    assert!(text.contains("at 60.0 s"), "{text}{err}");
    let (code, _, err) = why(&out, &[]);
    assert_eq!(code, 1);
    let said = "columns of a comparison; name the folder of one of them: global, heartbeat";
    assert!(err.contains(said), "{err}");
}

#[test]
fn what_cannot_be_explained_is_refused_with_a_reason() {
    let (out, trace) = recorded("why-bad");
    for (rest, part) in [
        (&["nobody"][..], "no application nobody"),
        (&["seco"], "did you mean second?"),
        (&["second", "--at", "1s"], "submitted at 5000 ms"),
    ] {
        let (code, _, err) = why(&out, rest);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains(part), "{err}");
    }
    let (code, _, err) = run(&["why", "/nowhere/run", "second"]);
    assert!(code == 2 && err.contains("/nowhere/run is no run"), "{err}");
    let jobs = fs::read(out.join("jobs.csv")).unwrap();
    for part in [&jobs[..jobs.len() / 20], &[0xff, 0xfe]] {
        fs::write(out.join("jobs.csv"), part).unwrap();
        let (code, _, err) = why(&out, &[]);
        assert!(
            code == 1 && err.contains("jobs.csv: no list of jobs"),
            "{err}"
        );
    }
    fs::write(out.join("jobs.csv"), &jobs).unwrap();
    let (code, _, err) = why(&out, &["second", "--at", "soon"]);
    assert_eq!(code, 2, "{err}");
    let mut text = fs::read_to_string(&trace).unwrap();
    text.push_str(&job("more", 9, "root.dev", 1, 1));
    fs::write(&trace, text).unwrap();
    let (code, _, err) = why(&out, &["second"]);
    assert_eq!(code, 1);
    assert!(err.contains("changed since the run was recorded"), "{err}");
    fs::write(out.join("run.json"), "{\"settings\":").unwrap();
    assert_eq!(why(&out, &["second"]).0, 1);
    fs::write(out.join("run.json"), "{}").unwrap();
    let (code, _, err) = why(&out, &["second"]);
    assert_eq!(code, 1);
    assert!(err.contains("no document of a run"), "{err}");
    fs::write(out.join("run.json"), r#"{"capsched": "0.1.0"}"#).unwrap();
    let (code, _, err) = why(&out, &["second"]);
    assert_eq!(code, 1);
    assert!(err.contains("cannot be repeated"), "{err}");
    let (code, _, err) = run(&["why", trace.to_str().unwrap()]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("no snapshot of capsched"), "{err}");
    let (code, _, err) = run(&["why", trace.parent().unwrap().to_str().unwrap()]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no folder of a whole run"), "{err}");
}

#[test]
fn the_newest_run_below_runs_is_meant_when_none_is_named() {
    let (out, _) = recorded("why-newest");
    let folder = folder("why-newest-cwd");
    let mut command = support::command(&["why", "--at", "10s"]);
    let (code, _, err) = support::captured(&command.current_dir(&folder).output().unwrap());
    assert_eq!(code, 2);
    assert!(err.contains("no run is named"), "{err}");
    fs::create_dir(folder.join("runs")).unwrap();
    fs::rename(&out, folder.join("runs/last")).unwrap();
    let mut command = support::command(&["why", "--at", "10s"]);
    let (_, text, err) = support::captured(&command.current_dir(&folder).output().unwrap());
    assert!(text.contains("3 applications wait"), "{text}{err}");
}

#[test]
fn rounds_of_preemption_are_part_of_the_course_of_an_application() {
    let site = site_of_full_rounds("why-rounds-site");
    let jobs = [
        job("giver", 0, "root.dev", 10, 100),
        job("taker", 20, "root.prod", 8, 100),
    ];
    let site = site.to_str().unwrap();
    let (out, _) = recorded_jobs("why-rounds", &jobs, &["--preemption", "on", "--site", site]);
    let found = json(&out, &["taker"]);
    let rounds = found["preemption_timeline"].as_array().unwrap();
    let asked = |one: &&Value| one["token"] == "AWAITING_DEADLINE";
    let asked = rounds.iter().find(asked).unwrap();
    assert_eq!(asked["queues"], serde_json::json!(["root.dev"]), "{found}");
    assert_eq!(
        asked["rules"],
        serde_json::json!(["over-guarantee"]),
        "{found}"
    );
    let first = &asked["containers"][0];
    assert!(
        first["container"].as_str().unwrap().contains("_0001_"),
        "{found}"
    );
    assert!(first["deadline_ms"].as_u64().unwrap() > asked["from_ms"].as_u64().unwrap());
    let spans = found["timeline"].as_array().unwrap();
    let under_way = |one: &Value| one["why"]["reason"] == "PREEMPTION_IN_PROGRESS";
    assert!(spans.iter().any(under_way), "{found}");
    let taken = json(&out, &["giver"]);
    assert_eq!(
        taken["preemption_took"][0]["rule"], "over-guarantee",
        "{taken}"
    );
    let (_, text, _) = why(&out, &["taker"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "AWAITING_DEADLINE",
        "of root.dev: container_",
        "by the rule over-guarantee",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (_, text, _) = why(&out, &["giver"]);
    assert!(text.contains("preemption chose "), "{text}");
    // Without preemption nothing is said of it.
    let (out, _) = recorded_jobs("why-rounds-off", &jobs, &[]);
    let found = json(&out, &["taker"]);
    assert_eq!(found["preemption_timeline"], serde_json::json!([]));
}
