//! Further cases of kinds 14, 15, 19 and 20: other reasons, other resources, other commands.

use serde_json::Value;

use super::support::{folder, run};
use super::{NATIVE, NODE, halves, job, json, replayed, sls, types, written};

// Kind 14.

#[test]
fn at_once_in_other_formats_and_in_columns_there_is_no_rate_either() {
    let folder = folder("variants-at-once");
    let both = [sls("a", "q", 500), sls("b", "q", 500)];
    let sls = written(&folder, "sls.json", &[&both[0], &both[1]]);
    let endless = job("a", "q", "[1024,1]", 2).replace("{\"same\":60000}", "\"forever\"");
    let endless = written(&folder, "endless.jsonl", &[NATIVE, NODE, &endless]);
    let native = job("a", "q", "[1024,1]", 3);
    let native = written(
        &folder,
        "native.jsonl",
        &[NATIVE, NODE, &native, &native.replace("\"a\"", "\"b\"")],
    );
    for trace in [&sls, &endless, &native] {
        let shown = trace.display();
        let (code, out, err) = run(&[
            "compare",
            "--json",
            trace.to_str().unwrap(),
            "--modes",
            "heartbeat,global",
        ]);
        assert_eq!(code, 0, "{shown}: {err}");
        for run in json(&out)["runs"].as_array().unwrap() {
            assert_eq!(
                run["load_per_hour"]["offered"],
                Value::Null,
                "{shown}: {run}"
            );
            assert_eq!(
                run["load_per_hour"]["achieved"],
                Value::Null,
                "{shown}: {run}"
            );
        }
        let (_, text, _) = run(&["replay", trace.to_str().unwrap()]);
        assert!(!text.contains("an hour"), "{shown}: {text}");
        assert!(text.contains("used, mean"), "{shown}: {text}");
    }
}

#[test]
fn a_window_with_a_length_has_the_rate_of_that_window() {
    let folder = folder("variants-window");
    let first = job("a", "q", "[1024,1]", 1);
    let last = job("b", "q", "[1024,1]", 1).replace("\"at_ms\":0", "\"at_ms\":10000");
    let trace = written(&folder, "ten.jsonl", &[NATIVE, NODE, &first, &last]);
    let (code, report, err) = replayed(&trace, &["--mode", "global"]);
    assert_eq!(code, 0, "{err}");
    let run = &report["runs"][0];
    // Two containers in ten seconds.
    assert_eq!(run["load_per_hour"]["offered"], 720.0, "{run}");
    // Each holds an eighth for 60 s of the 70 s that the run takes.
    let mean = run["utilisation"]["memory-mb"]["mean"].as_f64().unwrap();
    assert!((mean - 120.0 / 560.0).abs() < 0.005, "{mean}");
}

#[test]
fn a_burst_within_a_second_has_no_rate() {
    let folder = folder("variants-burst");
    let first = job("a", "q", "[1024,1]", 1);
    for (ms, rate) in [(1, Value::Null), (999, Value::Null), (1000, 7200.0.into())] {
        let last = job("b", "q", "[1024,1]", 1).replace("\"at_ms\":0", &format!("\"at_ms\":{ms}"));
        let trace = written(
            &folder,
            &format!("{ms}.jsonl"),
            &[NATIVE, NODE, &first, &last],
        );
        let (code, report, err) = replayed(&trace, &["--mode", "global"]);
        assert_eq!(code, 0, "{err}");
        let run = &report["runs"][0];
        assert_eq!(run["load_per_hour"]["offered"], rate, "{ms} ms: {run}");
    }
}

// Kind 15.

#[test]
fn work_is_refused_for_other_reasons_and_in_columns() {
    let folder = folder("variants-refused");
    let sound = job("sound", "root.q", "[1024,1]", 1);
    let lost = |queue: &str, size: &str| job("lost", queue, size, 3);
    let conf = |name: &str, more: &[(&str, &str)]| halves(&folder, name, more);
    for (name, conf, lost, reason) in [
        (
            "stopped",
            conf("stopped.xml", &[("root.r.state", "STOPPED")]),
            lost("root.r", "[1024,1]"),
            "QUEUE_STOPPED",
        ),
        (
            "limit",
            conf("limit.xml", &[("root.r.maximum-applications", "0")]),
            lost("root.r", "[1024,1]"),
            "MAX_APPLICATIONS",
        ),
        (
            "large",
            conf("large.xml", &[]),
            lost("root.r", "[9000,1]"),
            "LARGER_THAN_MAX_ALLOCATION",
        ),
        (
            "label",
            conf("label.xml", &[]),
            lost("root.r", "[1024,1]").replace("\"tasks\"", "\"partition\":\"x\",\"tasks\""),
            "LABEL_NOT_ACCESSIBLE",
        ),
    ] {
        let trace = written(
            &folder,
            &format!("{name}.jsonl"),
            &[NATIVE, NODE, &sound, &lost],
        );
        let args = [trace.to_str().unwrap(), "--conf", conf.to_str().unwrap()];
        let of = |command: &[&str], more: &[&str]| {
            let (code, out, err) = run(&[command, &args, more].concat());
            assert!(out.starts_with('{'), "{name}: {err}");
            (code, json(&out))
        };
        let (code, report) = of(
            &["compare", "--json"],
            &["--modes", "heartbeat,asynchronous"],
        );
        assert_eq!(code, 1, "{name}");
        for run in report["runs"].as_array().unwrap() {
            let found = (&run["offered"], &run["refused"]);
            assert_eq!(found, (&4.into(), &3.into()), "{name}: {run}");
            let row = run["left"]
                .as_array()
                .unwrap()
                .iter()
                .find(|row| row["example"] == "lost");
            let row = row.unwrap_or_else(|| panic!("{name}: {run}"));
            assert_eq!(
                (&row["reason"], &row["fate"]),
                (&reason.into(), &"refused".into()),
                "{name}"
            );
        }
        let (code, _) = of(&["replay", "--json"], &["--allow-unfinished"]);
        assert_eq!(code, 0, "{name}");
    }
}

#[test]
fn a_refused_job_of_another_format_has_its_row() {
    let folder = folder("variants-refused-sls");
    let other = written(&folder, "other.json", &[&sls("lost", "nosuch", 0)]);
    let conf = halves(&folder, "sls.xml", &[]);
    let (code, report, _) = replayed(&other, &["--conf", conf.to_str().unwrap()]);
    let run = &report["runs"][0];
    assert_eq!(
        (code, &run["refused"], &run["offered"]),
        (1, &2.into(), &2.into()),
        "{run}"
    );
    assert_eq!(run["left"][0]["example"], "lost");
}

// Kind 19.

#[test]
fn a_reason_names_the_key_that_the_file_has_and_its_place() {
    let folder = folder("variants-waits");
    let master = |name: &str| {
        let job = job(name, "root.q", "[1024,1]", 1).replace("{\"same\":60000}", "\"forever\"");
        job.replace("\"tasks\"", "\"master\":[2048,1],\"tasks\"")
    };
    let trace = written(
        &folder,
        "two.jsonl",
        &[NATIVE, NODE, &master("a"), &master("b")],
    );
    let (whole, own) = (
        "maximum-am-resource-percent",
        "root.q.maximum-am-resource-percent",
    );
    for (name, more, reason, place) in [
        (
            "whole",
            &[(whole, "0.1")][..],
            "AM_LIMIT_QUEUE",
            Some((whole, "0.1", 5)),
        ),
        (
            "own",
            &[(whole, "0.9"), (own, "0.1")],
            "AM_LIMIT_QUEUE",
            Some((own, "0.1", 6)),
        ),
        ("default", &[], "AM_LIMIT_QUEUE", None),
        (
            "parallel",
            &[(whole, "1"), ("max-parallel-apps", "1")],
            "MAX_PARALLEL_APPS",
            Some(("max-parallel-apps", "1", 6)),
        ),
        (
            "user",
            &[(whole, "1"), ("root.q.user-limit-factor", "0.5")],
            "AM_LIMIT_USER",
            Some(("root.q.user-limit-factor", "0.5", 6)),
        ),
    ] {
        let conf = halves(&folder, &format!("{name}.xml"), more);
        let conf = conf.to_str().unwrap();
        let (code, report, err) = replayed(&trace, &["--conf", conf]);
        assert_eq!(code, 1, "{name}: {err}");
        let rows = report["runs"][0]["left"].as_array().unwrap();
        let row = rows.iter().find(|row| row["reason"] == reason);
        let row = row.unwrap_or_else(|| panic!("{name}: {rows:?}"));
        let (_, text, _) = run(&["replay", trace.to_str().unwrap(), "--conf", conf]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((key, value, line)) = place else {
            assert_eq!(row["set_by"], Value::Null, "{name}: {row}");
            assert!(text.contains("(default)"), "{name}: {text}");
            continue;
        };
        let key = format!("yarn.scheduler.capacity.{key}");
        let set_by =
            serde_json::json!({"property": key, "value": value, "file": conf, "line": line});
        assert_eq!(row["set_by"], set_by, "{name}");
        assert!(
            text.contains(&format!("set by {key} = {value} {conf}:{line}")),
            "{name}: {text}"
        );
    }
}

// Kind 20.

#[test]
fn small_work_goes_on_beside_what_a_further_resource_stops() {
    let folder = folder("variants-liveness");
    let drf = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let conf = halves(
        &folder,
        "drf.xml",
        &[
            ("resource-calculator", drf),
            ("maximum-am-resource-percent", "1"),
            // Without these, global mode repeats YARN-11573.
            ("skip-allocate-on-nodes-with-reserved-containers", "true"),
            ("capsched.mend.reserved-last-node", "true"),
            ("root.q.user-limit-factor", "9"),
            ("root.r.user-limit-factor", "9"),
        ],
    );
    // A service holds a bit of every node, of memory, vcores or a further type; two asks want all of it.
    for (name, service, large) in [
        ("memory", "[1024,1,0]", "[8192,1,0]"),
        ("vcores", "[512,1,0]", "[512,4,0]"),
        ("licence", "[512,1,1]", "[512,1,4]"),
    ] {
        let mut lines = vec![types(r#""memory-mb","vcores","licence""#)];
        lines.extend(
            (0..3)
                .map(|i| format!(r#"{{"node":{{"host":"n{i}","rack":"/r","size":[8192,4,4]}}}}"#)),
        );
        let forever = |job: String| job.replace("{\"same\":60000}", "\"forever\"");
        // The strict hosts spread the service over the nodes.
        for i in 0..3 {
            let one = forever(job(&format!("s{i}"), "root.r", service, 1));
            lines.push(one.replace("\"count\"", &format!("\"hosts\":[\"n{i}\"],\"count\"")));
        }
        let late = |job: String, at: u32| job.replace("\"at_ms\":0", &format!("\"at_ms\":{at}"));
        lines.push(late(job("large", "root.q", large, 2), 5000));
        lines.extend((0..4).map(|i| {
            late(
                job(&format!("small{i}"), "root.r", "[1024,1,0]", 1),
                9000 + i,
            )
        }));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let trace = written(&folder, &format!("{name}.jsonl"), &lines);
        for mode in ["heartbeat", "asynchronous", "global"] {
            let (code, report, err) =
                replayed(&trace, &["--mode", mode, "--conf", conf.to_str().unwrap()]);
            let run = &report["runs"][0];
            assert_eq!(
                (code, &run["waiting"]),
                (1, &2.into()),
                "{name} {mode}: {err} {run}"
            );
            assert_eq!(
                (&run["placed"], &run["violations"]),
                (&7.into(), &0.into()),
                "{name} {mode}"
            );
            assert_eq!(run["left"][0]["example"], "large", "{name} {mode}: {run}");
        }
    }
}
