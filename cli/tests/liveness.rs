//! What waits for ever and what does not: services on every node, asks that fit beside none of them, small work behind.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "test code")]

#[expect(dead_code, reason = "these tests make their own traces")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use support::{folder, run};

/// Three nodes with a service on each, for two do not fit on one; two asks that fit beside none of them; small work
/// that comes later.
fn trace(folder: &Path) -> PathBuf {
    let mut lines =
        vec![r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores"]}"#.to_owned()];
    lines.extend(
        (0..3).map(|i| format!(r#"{{"node":{{"host":"n{i}","rack":"/r","size":[8192,8]}}}}"#)),
    );
    let job = |at_ms: u64, name: &str, queue: &str, memory: u32, count: u32, run: &str| {
        format!(
            r#"{{"job":{{"at_ms":{at_ms},"name":"{name}","user":"u-{queue}","queue":"root.{queue}","tasks":[{{"size":[{memory},1],"count":{count},"priority":20,"run":{run}}}]}}}}"#
        )
    };
    lines.push(job(0, "service", "s", 4608, 3, r#""forever""#));
    lines.push(job(1000, "large", "a", 4096, 2, r#"{"same":1000}"#));
    for i in 0..4 {
        let name = format!("small{i}");
        lines.push(job(2000 + 100 * i, &name, "b", 1024, 1, r#"{"same":1000}"#));
    }
    let path = folder.join("trace.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn replayed(args: &[&str]) -> (i32, Value, String) {
    let (code, out, err) = run(&[&["replay", "--json"], args].concat());
    (code, serde_json::from_str(&out).unwrap(), err)
}

#[test]
fn small_work_is_not_stopped_by_what_never_fits_in_any_mode() {
    let folder = folder("liveness");
    let trace = trace(&folder);
    let trace = trace.to_str().unwrap();
    for mode in ["heartbeat", "asynchronous", "global"] {
        for threads in [&[][..], &["--threads", "1"], &["--threads", "2"]] {
            let args = [&[trace, "--mode", mode], threads].concat();
            let (code, whole, err) = replayed(&args);
            let result = &whole["runs"][0];
            assert_eq!(
                (code, &result["waiting"]),
                (1, &2.into()),
                "{args:?}: {err}"
            );
            assert_eq!(result["violations"], 0, "{args:?}");
            let left = &result["left"][0];
            assert_eq!(left["example"], "large", "{args:?}: {left}");
            assert_eq!(left["reason"], "RESERVED_ON_NODE", "{args:?}: {left}");
        }
    }
}

/// A configuration of the three queues that decides over all nodes, with more properties.
fn configuration(folder: &Path, more: &[(&str, &str)]) -> PathBuf {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let own = [
        ("root.queues", "s,a,b"),
        ("root.s.capacity", "1w"),
        ("root.a.capacity", "1w"),
        ("root.b.capacity", "1w"),
        ("root.a.user-limit-factor", "-1"),
        ("root.b.user-limit-factor", "-1"),
        ("root.s.user-limit-factor", "-1"),
        ("maximum-am-resource-percent", "1"),
        ("multi-node-placement-enabled", "true"),
        ("multi-node-sorting.policy.names", "usage"),
        ("multi-node-sorting.policy", "usage"),
        ("multi-node-sorting.policy.usage.class", class),
    ];
    let own = own.map(|(key, value)| (format!("yarn.scheduler.capacity.{key}"), value));
    let more = more.iter().map(|(key, value)| ((*key).to_owned(), *value));
    let property = |(key, value): (String, &str)| {
        format!("<property><name>{key}</name><value>{value}</value></property>")
    };
    let text: String = own.into_iter().chain(more).map(property).collect();
    let path = folder.join("capacity-scheduler.xml");
    fs::write(&path, format!("<configuration>{text}</configuration>")).unwrap();
    path
}

#[test]
fn where_reserved_nodes_are_proposed_the_run_names_the_setting_with_and_without_threads() {
    let folder = folder("starving");
    let trace = trace(&folder);
    let trace = trace.to_str().unwrap();
    let skip = "yarn.scheduler.capacity.skip-allocate-on-nodes-with-reserved-containers";
    for threads in [&[][..], &["--threads", "1"]] {
        for skips in [false, true] {
            let mend = ("capsched.mend.reserved-last-node", "true");
            let more = if skips {
                &[(skip, "true"), mend][..]
            } else {
                &[]
            };
            let conf = configuration(&folder, more);
            let args = [
                &[trace, "--mode", "global", "--conf", conf.to_str().unwrap()],
                threads,
            ];
            let (code, whole, err) = replayed(&args.concat());
            let result = &whole["runs"][0];
            let refused = result["conflicts"]["reservation-changed"].as_u64();
            assert_eq!(code, 1, "{err}");
            if skips {
                assert_eq!((&result["waiting"], refused), (&2.into(), None), "{err}");
            } else {
                assert!(refused.unwrap() > 0 && err.contains(skip), "{err}");
            }
        }
    }
}

/// The stock configuration names no calculator, so that memory alone is counted.
#[test]
fn vcores_beyond_a_node_are_no_violation_where_memory_alone_is_counted() {
    let folder = folder("memory-only");
    let path = folder.join("trace.jsonl");
    let lines = [
        r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores"]}"#,
        r#"{"node":{"host":"n0","rack":"/r0","size":[8192,2]}}"#,
        r#"{"job":{"at_ms":0,"name":"a","user":"u","queue":"root.a","tasks":[{"size":[1024,1],"count":3,"priority":20,"run":{"same":60000}}]}}"#,
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    let conf = folder.join("capacity-scheduler.xml");
    let text = "<configuration>\
        <property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>\
        <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>\
        </configuration>";
    fs::write(&conf, text).unwrap();
    for mode in ["heartbeat", "asynchronous", "global"] {
        let args = [
            path.to_str().unwrap(),
            "--mode",
            mode,
            "--conf",
            conf.to_str().unwrap(),
        ];
        let (code, whole, err) = replayed(&args);
        let result = &whole["runs"][0];
        assert_eq!((code, &result["placed"]), (0, &3.into()), "{mode}: {err}");
        assert_eq!(result["violations"], 0, "{mode}: {result}");
    }
}

/// A node with a job that has a master, and one that waits for the whole node; `more`: further tasks of the first.
fn beside_a_master(folder: &Path, more: &str) -> PathBuf {
    let path = folder.join("trace.jsonl");
    let task = r#"{"size":[4096,1],"count":1,"priority":20,"run":{"same":10000}}"#;
    let lines = [
        r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores"]}"#.to_owned(),
        r#"{"node":{"host":"n0","rack":"/r0","size":[8192,8]}}"#.to_owned(),
        format!(
            r#"{{"job":{{"at_ms":0,"name":"a","user":"u","queue":"root.a","master":[1024,1],"tasks":[{task}{more}]}}}}"#
        ),
        r#"{"job":{"at_ms":5000,"name":"b","user":"u","queue":"root.b","tasks":[{"size":[8192,1],"count":1,"priority":20,"run":{"same":1000}}]}}"#.to_owned(),
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// Plays a trace in every mode with and without threads; each result with the exit code.
fn in_all_modes(trace: &Path) -> Vec<(i32, Value)> {
    let mut results = Vec::new();
    for mode in ["heartbeat", "asynchronous", "global"] {
        for threads in [&[][..], &["--threads", "1"]] {
            let args = [&[trace.to_str().unwrap(), "--mode", mode], threads].concat();
            let (code, whole, _) = replayed(&args);
            let result = whole["runs"][0].clone();
            assert_eq!(result["violations"], 0, "{args:?}: {result}");
            results.push((code, result));
        }
    }
    results
}

/// The master of a job that is done ends by itself, and its space is free at once.
#[test]
fn the_space_of_a_master_is_free_when_its_job_is_done() {
    let folder = folder("master");
    for (code, result) in in_all_modes(&beside_a_master(&folder, "")) {
        assert_eq!((code, &result["placed"]), (0, &3.into()), "{result}");
        let seconds = result["virtual_seconds"].as_f64().unwrap();
        assert!(seconds < 20.0, "{result}");
    }
}

/// The application ends with its master, so that the engine refuses no call about it.
#[test]
fn a_job_that_ends_with_its_master_is_no_refused_call() {
    let folder = folder("ends");
    let trace = beside_a_master(&folder, "");
    let (code, text, _) = run(&["replay", trace.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("note:"), "{text}");
}

/// What a killed container held is free with the next heartbeat of its node, once a minute where heartbeats place
/// nothing. No run ends before.
#[test]
fn a_run_awaits_the_report_of_what_was_killed() {
    let folder = folder("killed");
    // The request of the next stage is refused, and the job ends with its master.
    let more = r#",{"size":[1048576,1],"count":1,"priority":20,"stage":1,"run":{"same":1000}}"#;
    for (code, result) in in_all_modes(&beside_a_master(&folder, more)) {
        let jobs = &result["jobs"];
        assert_eq!((code, &jobs["failed"]), (1, &1.into()), "{result}");
        assert_eq!(jobs["finished"], 1, "{result}");
    }
}

/// A trace on two nodes of 8 GiB, with the jobs given.
fn on_two_nodes(folder: &Path, name: &str, jobs: &[&str]) -> PathBuf {
    let mut lines =
        vec![r#"{"capsched":"trace","version":1,"types":["memory-mb","vcores"]}"#.to_owned()];
    lines.extend(
        (0..2).map(|i| format!(r#"{{"node":{{"host":"n{i}","rack":"/r{i}","size":[8192,8]}}}}"#)),
    );
    lines.extend(jobs.iter().map(|job| (*job).to_owned()));
    let path = folder.join(name);
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// What is larger than every node is left alone; it holds up nobody, in any queue.
#[test]
fn an_ask_that_is_larger_than_every_node_stops_no_other() {
    let folder = folder("larger");
    let jobs = [
        r#"{"job":{"at_ms":0,"name":"huge","user":"u","queue":"root.a","tasks":[{"size":[9216,1],"count":1,"priority":20,"run":{"same":1000}}]}}"#,
        r#"{"job":{"at_ms":10,"name":"same-queue","user":"v","queue":"root.a","tasks":[{"size":[8192,1],"count":4,"priority":20,"run":{"same":1000}}]}}"#,
        r#"{"job":{"at_ms":20,"name":"other-queue","user":"w","queue":"root.b","tasks":[{"size":[1024,1],"count":16,"priority":20,"run":{"same":1000}}]}}"#,
    ];
    let trace = on_two_nodes(&folder, "larger.jsonl", &jobs);
    for (code, result) in in_all_modes(&trace) {
        assert_eq!((code, &result["placed"]), (1, &20.into()), "{result}");
    }
}

/// Asks for a whole node come to their turn beside a queue of small work.
#[test]
fn whole_nodes_are_served_one_after_the_other_behind_small_work_without_end() {
    let folder = folder("whole-nodes");
    let small = r#"{"job":{"at_ms":0,"name":"small","user":"u","queue":"root.a","tasks":[{"size":[1024,1],"count":64,"priority":20,"run":{"same":3000}}]}}"#;
    let whole = r#"{"job":{"at_ms":500,"name":"whole","user":"v","queue":"root.b","tasks":[{"size":[8192,8],"count":3,"priority":20,"run":{"same":2000}}]}}"#;
    let trace = on_two_nodes(&folder, "whole.jsonl", &[small, whole]);
    for (code, result) in in_all_modes(&trace) {
        assert_eq!((code, &result["placed"]), (0, &67.into()), "{result}");
        assert_eq!(result["waiting"], 0, "{result}");
    }
}
