//! Further cases of kinds 16 to 18: types and nodes of traces, what is not used, arrays and standard input.

use std::path::Path;

use super::support::{folder, run};
use super::{NATIVE, NODE, job, piped, replayed, sls, types, written};

// Kind 16.

#[test]
fn types_that_a_header_cannot_name_are_named_with_its_line() {
    let folder = folder("variants-types");
    for (name, list, what) in [
        (
            "twice",
            r#""memory-mb","vcores","yarn.io/gpu","yarn.io/gpu""#,
            "`yarn.io/gpu` twice",
        ),
        ("blank", r#""memory-mb","vcores","a b""#, "`a b`"),
        ("empty", r#""memory-mb","vcores","""#, "``"),
        (
            "nine",
            r#""memory-mb","vcores","a","b","c","d","e","f","g""#,
            "more than 8",
        ),
        ("number", r#""memory-mb","vcores",7"#, "the number `7`"),
        (
            "unknown",
            r#""memory-mb","vcores"],"colour":["x""#,
            "`colour`",
        ),
    ] {
        let trace = written(
            &folder,
            &format!("{name}.jsonl"),
            &[&types(list), NODE, &job("a", "q", "[1024,1]", 1)],
        );
        let path = trace.to_str().unwrap();
        for args in [
            &["replay", path][..],
            &["trace", "convert", path],
            &["trace", "stat", path],
        ] {
            let (code, out, err) = run(args);
            assert_eq!((code, &*out), (1, ""), "{args:?}: {err}");
            assert!(
                err.contains(&format!("{name}.jsonl:1:")) && err.contains(what),
                "{args:?}: {err}"
            );
        }
    }
}

#[test]
fn files_that_are_merged_keep_the_nodes_of_each() {
    let folder = folder("variants-merged");
    let part = |name: &str, host: &str, kind: &str, memory: u32| {
        let head = types(&format!(r#""memory-mb","vcores","{kind}""#));
        let node = format!(r#"{{"node":{{"host":"{host}","rack":"/r","size":[{memory},8,4]}}}}"#);
        let job = job(name, "q", "[1024,1,2]", 2);
        written(
            &folder,
            &format!("{name}-{memory}.jsonl"),
            &[&head, &node, &job],
        )
    };
    let gpu = part("g", "n1", "yarn.io/gpu", 8192);
    let (other, same) = (
        part("f", "n2", "yarn.io/fpga", 8192),
        part("s", "n1", "yarn.io/gpu", 8192),
    );
    let converted = |second: &Path| {
        run(&[
            "trace",
            "convert",
            gpu.to_str().unwrap(),
            second.to_str().unwrap(),
        ])
    };
    let (code, out, err) = converted(&other);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains(r#""n1","rack":"/r","size":[8192,8,4,0]"#),
        "{out}"
    );
    assert!(
        out.contains(r#""n2","rack":"/r","size":[8192,8,0,4]"#),
        "{out}"
    );
    let (code, report, err) = replayed(&gpu, &[other.to_str().unwrap()]);
    assert_eq!((code, &report["nodes"]), (0, &2.into()), "{err}");
    let (code, out, err) = converted(&same);
    assert_eq!((code, out.matches("\"node\"").count()), (0, 1), "{err}");
    // The same host with another size is said to be lost.
    let (code, out, err) = converted(&part("l", "n1", "yarn.io/gpu", 4096));
    assert_eq!((code, out.matches("\"node\"").count()), (1, 1), "{err}");
    assert!(err.contains("lost in conversion: node n1 as"), "{err}");
}

#[test]
fn a_pipe_is_converted_as_its_file_is() {
    let head = types(r#""memory-mb","vcores","licence""#);
    let node = r#"{"node":{"host":"n1","rack":"/r","size":[8192,8,4]}}"#;
    let text = [&*head, node, &job("a", "q", "[1024,1,2]", 1), ""].join("\n");
    let folder = folder("variants-pipe");
    let path = written(&folder, "licence.jsonl", &[&text]);
    for command in [["trace", "convert"], ["trace", "stat"]] {
        let from_file = run(&[&command[..], &[path.to_str().unwrap()]].concat());
        let from_pipe = piped(&[&command[..], &["-"]].concat(), &text);
        assert_eq!(from_pipe, from_file);
        assert_eq!(from_pipe.0, 0);
    }
    let (_, out, _) = piped(&["trace", "convert", "-"], &text);
    assert_eq!(out, text);
}

#[test]
fn a_broken_list_of_nodes_is_no_trace_without_nodes() {
    let folder = folder("variants-nodes");
    let one = job("a", "q", "[1024,1]", 1);
    let wide = NODE.replace("8192,8", "8192,8,8");
    for (name, lines, what) in [
        (
            "twice",
            [NATIVE, NODE, NODE, &one],
            "twice.jsonl:3: a node appears twice",
        ),
        (
            "wide",
            [NATIVE, &wide, &one, ""],
            "wide.jsonl:2: a size has 3 values",
        ),
    ] {
        let trace = written(&folder, &format!("{name}.jsonl"), &lines);
        for command in [&["trace", "convert"][..], &["replay"]] {
            let (code, out, err) = run(&[command, &[trace.to_str().unwrap()]].concat());
            assert_eq!((code, &*out), (1, ""), "{command:?} {name}: {err}");
            assert!(err.contains(what), "{command:?} {name}: {err}");
        }
    }
    // Without any node a conversion has nothing to keep.
    let trace = written(&folder, "none.jsonl", &[NATIVE, &one]);
    let (code, _, err) = run(&["trace", "convert", trace.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(replayed(&trace, &[]).0, 1);
}

// Kind 17.

#[test]
fn columns_and_keys_that_nobody_uses_are_named_in_further_formats() {
    let folder = folder("variants-unused");
    let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,pod_phase,colour\np,1000,1024,0,0,LS,Running,red";
    let pods = written(&folder, "pods.csv", &[pods]);
    let machines = "sn,cpu_milli,memory_mib,gpu,model,shape\nm,8000,8192,0,,round";
    let machines = written(&folder, "machines.csv", &[machines]);
    let rumen = r#"{"jobID":"job_1","user":"u","submitTime":0,"launchTime":1,"finishTime":100,"queue":"q","outcome":"SUCCESS","hue":1,"mapTasks":[{"taskID":"t","taskType":"MAP","colour":2,"attempts":[{"startTime":1,"finishTime":50,"result":"SUCCESS","hostName":"/r/n1"}]}],"reduceTasks":[],"otherTasks":[]}"#;
    let rumen = written(&folder, "rumen.json", &[rumen]);
    let one = written(
        &folder,
        "one.jsonl",
        &[NATIVE, &job("a", "q", "[1024,1]", 1)],
    );
    let nodes = r#"{"rack":"r1","nodes":[{"node":"n1","memory-mb":8192,"zone":"a"}]}"#;
    let nodes = written(&folder, "nodes.json", &[nodes]);
    let swf = "; MaxNodes: 2\n; MaxProcs: 4\n1 0 0 100 2 -1 -1 2 100 -1 1 1 1 -1 1 -1 -1 -1\n";
    let swf = written(&folder, "log.swf", &[swf]);
    let file = |path: &Path| path.to_str().unwrap().to_owned();
    for (trace, more, part, words) in [
        (
            &pods,
            vec!["--nodes".to_owned(), file(&machines)],
            "ignored",
            &["colour", "pod_phase", "shape"][..],
        ),
        (&rumen, vec![], "ignored", &["hue", "colour", "outcome"]),
        (
            &rumen,
            vec![],
            "guessed",
            &["memory-mb", "vcores", "master"],
        ),
        (
            &one,
            vec!["--nodes".to_owned(), file(&nodes)],
            "ignored",
            &["zone"],
        ),
        (
            &one,
            vec!["--nodes".to_owned(), file(&nodes)],
            "guessed",
            &["vcores"],
        ),
        (&swf, vec![], "guessed", &["memory", "queue"]),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let (code, report, err) = replayed(trace, &more);
        assert_eq!(code, 0, "{}: {err}", trace.display());
        let account = report["mapping"][part].as_object().unwrap();
        for word in words {
            let named = |key: &String| key.split([' ', ':', ',']).any(|part| part == *word);
            assert!(
                account.keys().any(named),
                "{}: no {word}: {account:?}",
                trace.display()
            );
        }
    }
    // A rule that reads the column uses it.
    let map = [
        "--map",
        "pod_phase=Running:root.q",
        "--nodes",
        &file(&machines),
    ];
    let (_, report, _) = replayed(&pods, &map);
    let account = report["mapping"]["ignored"].as_object().unwrap();
    assert!(!account.contains_key("column pod_phase"), "{account:?}");
}

#[test]
fn a_rule_of_map_that_matches_no_row_is_named() {
    let folder = folder("variants-rules");
    let lines = [
        sls("one", "q", 0),
        sls("two", "q", 1_000),
        sls("three", "r", 2_000),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let trace = written(&folder, "jobs.json", &lines);
    let path = trace.to_str().unwrap();
    let rules = "queue=q:root.q,queue=Q*:root.other,queue=*:root.r,queue=r:root.never";
    let stat = ["trace", "stat", path, "--map", rules];
    let (code, text, err) = run(&stat);
    assert_eq!(code, 0, "{err}");
    let said = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("rule "));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let wanted = [
        "warning  rule queue=Q*:root.other matches no row",
        "warning  rule queue=r:root.never decides no row: those before it do",
    ];
    assert_eq!(said(&text), wanted, "{text}");
    let (code, report, err) = replayed(&trace, &["--map", rules]);
    assert_eq!(code, 0, "{err}");
    let of = |rule: &str, matched: u64, decided: u64| serde_json::json!({"rule": rule, "matched": matched, "decided": decided});
    let all = [
        of("queue=q:root.q", 2, 2),
        of("queue=Q*:root.other", 0, 0),
        of("queue=*:root.r", 3, 1),
        of("queue=r:root.never", 1, 0),
    ];
    assert_eq!(report["mapping"]["rules"], serde_json::json!(all));
    // Two files are one trace: a rule that matches in one of them has an effect.
    let more = written(&folder, "more.json", &[&sls("four", "Q1", 0)]);
    let both = [
        "trace",
        "stat",
        path,
        more.to_str().unwrap(),
        "--map",
        rules,
    ];
    let (_, text, _) = run(&both);
    assert_eq!(said(&text), wanted[1..], "{text}");
    let (_, out, err) = run(&["replay", path, "--map", rules, "--nodes", "2x8GiB,8vcores"]);
    assert_eq!(said(&format!("{out}{err}")), wanted, "{out}{err}");
}

// Kind 18.

#[test]
fn arrays_of_every_kind_are_named_in_every_command() {
    let folder = folder("variants-arrays");
    let native = format!("[{NATIVE},\n {NODE}]");
    let jobs = format!("[ {} ]", job("a", "q", "[1024,1]", 1));
    let spaced = format!("\u{feff}\n [\n{}\n]", sls("a", "q", 0));
    let rumen = r#"[{"jobID":"job_1","submitTime":0}]"#;
    for (name, text, of) in [
        ("native", &*native, "native objects"),
        ("jobs", &jobs, "native objects"),
        ("spaced", &spaced, "sls objects"),
        ("rumen", rumen, "rumen objects"),
        ("empty", " [ ]", "an empty JSON array"),
        ("nested", "[[{}]]", "no known format"),
    ] {
        let trace = written(&folder, &format!("{name}.json"), &[text]);
        let path = trace.to_str().unwrap();
        for args in [
            &["replay", path][..],
            &["trace", "stat", path],
            &["trace", "convert", path],
            &["compare", path],
        ] {
            let (code, out, err) = run(args);
            assert_eq!((code, &*out), (1, ""), "{args:?}: {err}");
            let says = ["JSON array", of, "jq -c", name]
                .iter()
                .all(|part| err.contains(part));
            assert!(says, "{args:?}: {err}");
        }
        let (_, _, from_pipe) = piped(&["replay", "-"], text);
        assert!(
            from_pipe.contains(of) && from_pipe.contains("standard input:1"),
            "{from_pipe}"
        );
    }
}

#[test]
fn standard_input_is_read_once() {
    let text = [NATIVE, NODE, &job("a", "q", "[1024,1]", 1)].join("\n");
    for args in [
        &["replay", "-", "-"][..],
        &["replay", "-", "--conf", "-"],
        &["replay", "-", "--nodes", "-"],
        &["check", "-", "-"],
    ] {
        let (code, out, err) = piped(args, &text);
        assert_eq!((code, &*out), (2, ""), "{args:?}: {err}");
        assert!(err.contains("`-` stands twice"), "{args:?}: {err}");
    }
    let (code, out, err) = piped(&["trace", "convert", "-", "-o", "-"], &text);
    assert_eq!((code, out.trim_end()), (0, &*text), "{err}");
    // What else may be read from it.
    let folder = folder("variants-input");
    let trace = written(&folder, "trace.jsonl", &[&text]);
    let trace = trace.to_str().unwrap();
    assert_eq!(piped(&["replay", trace, "--nodes", "-"], &text).0, 0);
    let (code, _, err) = piped(&["replay", trace, "--conf", "-"], &text);
    assert_eq!(code, 1);
    assert!(err.contains("`capsched check -`"), "{err}");
}
