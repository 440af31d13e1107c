//! Each rule on cases of its kind, and refreshes that take effect in part.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::support::{captured, command, folder, run};
use super::{NATIVE, NODE, configuration, job, piped, replayed, written};

/// The findings of `check --json`, with its exit code.
fn checked(args: &[&str]) -> (i32, Vec<Value>) {
    let (code, out, err) = run(&[&["check", "--json"], args].concat());
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let findings = report["files"][0]["findings"].as_array().unwrap();
    (code, findings.clone())
}

// Kind 02: encodings.

#[test]
fn bytes_that_are_no_text_have_a_place_in_json_too() {
    let folder = folder("field-encodings");
    let path = configuration(&folder, "latin1.xml", "<!-- caf@ -->\n");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.iter().position(|byte| *byte == b'@').unwrap();
    bytes[at] = 0xe9;
    fs::write(&path, &bytes).unwrap();
    let (code, findings) = checked(&[path.to_str().unwrap()]);
    assert_eq!((code, &findings[0]["code"]), (1, &"E_XML_UTF8".into()));
    let place = &findings[0]["at"];
    assert_eq!((&place["line"], &place["column"]), (&4.into(), &9.into()));
    assert_eq!(
        (&place["start"], &place["end"]),
        (&at.into(), &(at + 1).into())
    );
}

// Refreshes that the reference does in part.

const OUTSIDE: &str = "<property><name>yarn.scheduler.capacity.legacy-queue-mode.enabled</name>\
                       <value>false</value></property>\n";

#[test]
fn a_refresh_that_leaves_legacy_mode_is_named_with_its_place() {
    let folder = folder("refresh-from");
    let legacy = configuration(&folder, "legacy.xml", "");
    let outside = configuration(&folder, "outside.xml", OUTSIDE);
    let (legacy, outside) = (legacy.to_str().unwrap(), outside.to_str().unwrap());
    let of = |args: &[&str]| -> Vec<Value> {
        let (_, findings) = checked(args);
        let mut own = findings;
        own.retain(|finding| finding["code"] == "W_MODE_AT_REFRESH");
        own
    };
    let named = of(&["--refresh-from", legacy, outside]);
    assert_eq!(named.len(), 1);
    assert_eq!(named[0]["at"]["line"], 4, "{}", named[0]);
    assert_eq!(named[0]["severity"], "warning");
    assert!(named[0]["help"].as_str().unwrap().contains("restart"));
    assert_eq!(of(&["--refresh-from", outside, legacy]), [Value::Null; 0]);
    assert_eq!(of(&["--refresh-from", outside, outside]), [Value::Null; 0]);
    assert_eq!(of(&["--refresh-from", legacy, legacy]), [Value::Null; 0]);
    assert_eq!(of(&[outside]), [Value::Null; 0]);
}

#[test]
fn a_refresh_from_a_file_that_no_scheduler_runs_with_is_a_problem_of_that_file() {
    let folder = folder("refresh-from-refused");
    let sound = configuration(&folder, "sound.xml", OUTSIDE);
    let broken = written(&folder, "broken.xml", &["<configuration>"]);
    let missing = folder.join("missing.xml");
    let from = |before: &Path| {
        let (before, sound) = (before.to_str().unwrap(), sound.to_str().unwrap());
        run(&["check", "--refresh-from", before, sound])
    };
    let (code, out, err) = from(&broken);
    assert_eq!((code, &*out), (1, ""), "{err}");
    assert!(
        err.contains("broken.xml: no scheduler runs with this"),
        "{err}"
    );
    let (code, out, err) = from(&missing);
    assert_eq!((code, &*out), (2, ""), "{err}");
    assert!(err.contains("missing.xml"), "{err}");
}

// Kind 14: windows of no length.

#[test]
fn jobs_that_all_come_at_once_have_use_and_no_rate() {
    let folder = folder("field-at-once");
    let (one, two) = (
        job("a", "root.q", "[4096,1]", 1),
        job("b", "root.q", "[4096,1]", 2),
    );
    let later = two.replace("\"at_ms\":0", "\"at_ms\":7000");
    for (name, jobs, peak) in [
        ("one", vec![&*one], 0.5),
        ("two", vec![&*one, &*two], 1.0),
        ("all-later", vec![&*later], 1.0),
    ] {
        let lines = [&[NATIVE, NODE], &*jobs].concat();
        let (code, report, err) = replayed(&written(&folder, name, &lines), &[]);
        assert_eq!(code, 0, "{name}: {err}");
        let run = &report["runs"][0];
        assert_eq!(run["load_per_hour"]["offered"], Value::Null, "{name}");
        assert_eq!(run["load_per_hour"]["achieved"], Value::Null, "{name}");
        let memory = &run["utilisation"]["memory-mb"];
        assert_eq!(memory["max"], peak, "{name}");
        // The figures cover the run until its last container ends.
        assert!(memory["mean"].as_f64().unwrap() > 0.3, "{name}: {memory}");
        assert!(run["virtual_seconds"].as_f64().unwrap() >= 60.0, "{name}");
    }
}

// Kind 15: jobs of queues that the configuration lacks.

#[test]
fn refused_work_counts_as_offered_and_has_a_row_with_its_job() {
    let folder = folder("field-refused");
    let conf = written(
        &folder,
        "a.xml",
        &[
            "<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>q",
            "</value></property><property><name>yarn.scheduler.capacity.root.q.capacity</name>",
            "<value>100</value></property></configuration>",
        ],
    );
    let conf = ["--conf", conf.to_str().unwrap()];
    let sound = job("sound", "root.q", "[1024,1]", 2);
    for (name, refused, count) in [
        ("missing", job("lost", "root.nosuch", "[1024,1]", 3), 3),
        ("a-parent", job("lost", "root", "[1024,1]", 4), 4),
        (
            "below-a-leaf",
            job("lost", "root.q.deeper", "[1024,1]", 5),
            5,
        ),
    ] {
        let lines = [NATIVE, NODE, &*sound, &*refused];
        let (code, report, _) = replayed(&written(&folder, name, &lines), &conf);
        assert_eq!(code, 1, "{name}");
        let run = &report["runs"][0];
        assert_eq!(run["offered"], 2 + count, "{name}");
        assert_eq!(run["refused"], count, "{name}");
        assert_eq!(run["jobs"]["refused"], 1, "{name}");
        let left = run["left"].as_array().unwrap();
        let row = left.iter().find(|row| row["example"] == "lost");
        let row = row.unwrap_or_else(|| panic!("{name}: {left:?}"));
        assert_eq!(
            (&row["containers"], &row["jobs"]),
            (&count.into(), &1.into()),
            "{name}"
        );
    }
    let lines = [NATIVE, NODE, &*sound];
    assert_eq!(replayed(&written(&folder, "sound", &lines), &conf).0, 0);
}

// Kind 16: resource types of traces.

#[test]
fn types_that_a_trace_declares_are_those_of_the_cluster() {
    let folder = folder("field-types");
    for (name, kind) in [
        ("gpu", "yarn.io/gpu"),
        ("licence", "licence"),
        ("fpga", "yarn.io/fpga"),
    ] {
        let head = format!(
            r#"{{"capsched":"trace","version":1,"types":["memory-mb","vcores","{kind}"]}}"#
        );
        let node = r#"{"node":{"host":"n1","rack":"/r1","size":[65536,32,4]}}"#;
        let three = job("j", "q", "[1024,1,2]", 3);
        let lines = [&*head, node, &*three];
        let trace = written(&folder, &format!("{name}.jsonl"), &lines);
        let (code, report, err) = replayed(&trace, &[]);
        assert_eq!(code, 0, "{name}: {err}");
        let run = &report["runs"][0];
        assert_eq!(run["utilisation"][kind]["max"], 1.0, "{name}");
        // Two at once, and the third one behind them.
        assert!(run["virtual_seconds"].as_f64().unwrap() >= 120.0, "{name}");
        let out = folder.join(format!("{name}-again.jsonl"));
        let args = [
            "trace",
            "convert",
            trace.to_str().unwrap(),
            "--to",
            "native",
            "--out",
        ];
        let mut convert = command(&args);
        let (code, _, err) = captured(&convert.arg(&out).output().unwrap());
        assert_eq!(code, 0, "{name}: {err}");
        let again = fs::read_to_string(&out).unwrap();
        assert!(
            again.contains(kind) && again.contains("[1024,1,2]"),
            "{name}: {again}"
        );
        // A site that says otherwise wins, and what it takes away is named.
        let site = written(&folder, "site.xml", &["<configuration/>"]);
        let text = "<configuration><property><name>yarn.resource-types</name><value>other</value></property></configuration>";
        fs::write(&site, text).unwrap();
        let (_, report, _) = replayed(&trace, &["--site", site.to_str().unwrap()]);
        let lost = report["mapping"]["lost"].as_object().unwrap();
        assert!(
            lost.keys().any(|key| key.contains(kind)),
            "{name}: {lost:?}"
        );
    }
}

// Kind 17: what is filled in or not used.

#[test]
fn every_unused_key_and_every_size_filled_in_is_named() {
    let folder = folder("field-silent");
    let synth = r#"{"num_nodes":2,"nodes_per_rack":1,"num_jobs":2,"rand_seed":2,"colour":1,
 "workloads":[{"workload_name":"w","workload_weight":1,"queue_name":"q","shape":2,
 "job_classes":[{"class_name":"c","class_weight":1.0,"user_name":"u","type":"mapreduce","hue":3,
 "tasks":[{"type":"map","priority":20,"count":{"val":3},"time":{"val":15},"mem":{"val":2048},"cores":{"val":1}}]}],
 "time_distribution":[{"time":1,"weight":100},{"time":60,"weight":0}]}]}"#;
    let sls = r#"{"am.type":"mapreduce","job.start.ms":0,"job.end.ms":9,"job.queue.name":"q","job.id":"j","job.user":"u","colour":"red","job.tasks":[{"container.host":"/r/n1","container.start.ms":1,"container.end.ms":9000,"container.priority":20,"container.type":"map","hue":7}]}"#;
    for (name, text, unused, filled) in [
        (
            "synth",
            synth,
            &["colour", "shape", "hue", "mem", "cores"][..],
            &["max_memory", "max_vcores", "master"][..],
        ),
        (
            "sls",
            sls,
            &["colour", "hue", "job.end.ms"],
            &["am.memory-mb", "container.memory-mb", "nodes"],
        ),
    ] {
        let trace = written(&folder, &format!("{name}.json"), &[text]);
        let (code, report, err) = replayed(&trace, &[]);
        assert_eq!(code, 0, "{name}: {err}");
        let says = |part: &str, what: &str| {
            let account = report["mapping"][part].as_object().unwrap();
            assert!(
                account
                    .keys()
                    .any(|key| key.split([' ', ':', ',']).any(|word| word == what)),
                "{name}: {part} names no {what}: {account:?}"
            );
        };
        unused.iter().for_each(|key| says("ignored", key));
        filled.iter().for_each(|key| says("guessed", key));
    }
    // The own format knows no unknown key.
    let wrong = job("a", "q", "[1024,1]", 1).replace("\"user\"", "\"hue\":1,\"user\"");
    let trace = written(&folder, "own.jsonl", &[NATIVE, NODE, &wrong]);
    let (code, _, err) = replayed(&trace, &[]);
    assert_eq!(code, 1);
    assert!(
        err.contains("own.jsonl:3:") && err.contains("`hue`"),
        "{err}"
    );
}

// Kind 18: arrays, repeated names, standard input.

#[test]
fn arrays_and_repeated_names_are_named_with_the_option_made_for_them() {
    let folder = folder("field-variants");
    let sls = |id: &str| {
        format!(
            r#"{{"am.type":"mapreduce","job.start.ms":0,"job.end.ms":9,"job.queue.name":"q","job.id":"{id}","job.user":"u","job.tasks":[{{"container.host":"/r/n1","container.start.ms":1,"container.end.ms":9000,"container.priority":20,"container.type":"map"}}]}}"#
        )
    };
    let array = written(
        &folder,
        "array.json",
        &[&format!("[{},\n{}]", sls("a"), sls("b"))],
    );
    let numbers = written(&folder, "numbers.json", &["[1,2]"]);
    let others = written(&folder, "others.json", &["[{\"x\":1}]"]);
    for (path, what) in [
        (&array, "sls"),
        (&numbers, "array"),
        (&others, "no known format"),
    ] {
        let (code, _, err) = replayed(path, &[]);
        assert_eq!(code, 1, "{}", path.display());
        assert!(
            err.contains("JSON array") && err.contains(what) && err.contains("jq"),
            "{err}"
        );
    }
    let twice = written(&folder, "twice.json", &[&sls("a"), &sls("a")]);
    let same = job("a", "q", "[1024,1]", 1);
    let native = written(&folder, "twice.jsonl", &[NATIVE, NODE, &same, &same]);
    for path in [&twice, &native] {
        let (code, _, err) = replayed(path, &[]);
        assert_eq!(code, 1);
        assert!(
            err.contains("appears twice") && err.contains("--rename-duplicates"),
            "{err}"
        );
        let (code, report, err) = replayed(path, &["--rename-duplicates"]);
        assert_eq!((code, &report["jobs"]), (0, &2.into()), "{err}");
    }
}

#[test]
fn a_dash_reads_standard_input_in_every_command_that_takes_a_trace() {
    let text = [NATIVE, NODE, &job("a", "q", "[1024,1]", 1)].join("\n");
    let conf = "<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>q</value></property><property><name>yarn.scheduler.capacity.root.q.capacity</name><value>100</value></property></configuration>";
    for (args, input) in [
        (&["replay", "-"][..], &*text),
        (&["trace", "stat", "-"], &text),
        (
            &["compare", "-", "--modes", "heartbeat", "--threads", "0"],
            &text,
        ),
        (&["check", "-"], conf),
    ] {
        let (code, out, err) = piped(args, input);
        assert_eq!(code, 0, "{args:?}: {err}");
        assert!(!out.is_empty(), "{args:?}");
    }
}

// Kind 19: why work still waits.

#[test]
fn work_that_still_waits_has_its_reason() {
    let folder = folder("field-waits");
    let conf = |more: &str| {
        format!(
            "<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>q,r</value></property>\
             <property><name>yarn.scheduler.capacity.root.q.capacity</name><value>50</value></property>\
             <property><name>yarn.scheduler.capacity.root.r.capacity</name><value>50</value></property>{more}</configuration>"
        )
    };
    let property = |key: &str, value: &str| {
        format!(
            "<property><name>yarn.scheduler.capacity.{key}</name><value>{value}</value></property>"
        )
    };
    let forever = |size: &str, count: u32| {
        job("a", "root.q", size, count).replace("{\"same\":60000}", "\"forever\"")
    };
    for (name, more, job, reason) in [
        (
            "maximum",
            property("root.q.maximum-capacity", "50"),
            forever("[2048,1]", 3),
            "QUEUE_MAX_CAPACITY",
        ),
        (
            "user",
            property("root.q.user-limit-factor", "0.5"),
            forever("[1024,1]", 8),
            "USER_LIMIT",
        ),
        (
            "full",
            property("root.q.user-limit-factor", "9"),
            forever("[3072,1]", 4),
            "NODE",
        ),
    ] {
        let path = written(&folder, &format!("{name}.xml"), &[&conf(&more)]);
        let trace = written(&folder, &format!("{name}.jsonl"), &[NATIVE, NODE, &job]);
        let (code, report, _) = replayed(&trace, &["--conf", path.to_str().unwrap()]);
        assert_eq!(code, 1, "{name}");
        let left = report["runs"][0]["left"].as_array().unwrap();
        let row = left.iter().find(|row| row["fate"] == "waiting").unwrap();
        let found = row["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{name}: {row}");
        assert!(row.get("advice").is_none(), "{name}: {row}");
        assert!(!row["detail"].as_str().unwrap().is_empty(), "{name}: {row}");
    }
}
