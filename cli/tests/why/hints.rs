//! Hints of `check` about labels and masters on a cluster, and colours on a terminal.

use std::fs;

use serde_json::Value;

use crate::conf_files::{conf, json};
use crate::support::{folder, printed, run};

/// Codes and messages of the findings of a file on a cluster.
fn findings(file: &str, cluster: &str) -> Vec<(String, String)> {
    let document = json(&printed(&["check", file, "--json", "--cluster", cluster]));
    let findings = document["files"][0]["findings"].as_array().unwrap().clone();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    findings
        .iter()
        .map(|one| (text(one, "code"), text(one, "message")))
        .collect()
}

#[test]
fn labels_of_nodes_and_queues_that_do_not_meet_are_hinted_at() {
    let folder = folder("desk-labels");
    let label = "accessible-node-labels";
    let names = [
        format!("root.a.{label}"),
        format!("root.a.{label}.gpu.capacity"),
        format!("root.{label}.gpu.capacity"),
    ];
    let pairs = [
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        (names[0].as_str(), "gpu"),
        (names[1].as_str(), "100"),
        (names[2].as_str(), "100"),
    ];
    let file = conf(&folder, "cs.xml", &pairs);
    let nodes = |label: &str| {
        let path = folder.join(format!("nodes-{label}.jsonl"));
        let head = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
        let node = |host: &str, label: &str| {
            format!(
                "{{\"node\":{{\"host\":\"{host}\",\"rack\":\"/r\",\"size\":[16384,8]{label}}}}}\n"
            )
        };
        let labelled = format!(",\"partition\":\"{label}\"");
        let text = [head, &node("n0", ""), &node("n1", &labelled)].concat();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let hints = |cluster: &str| -> Vec<(String, String)> {
        let all = findings(&file, cluster).into_iter();
        all.filter(|(code, _)| code.starts_with("H_LABEL_"))
            .collect()
    };
    assert_eq!(hints(&nodes("gpu")), []);
    let found = hints(&nodes("ssd"));
    let codes: Vec<&str> = found.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, ["H_LABEL_WITHOUT_NODES", "H_LABEL_WITHOUT_QUEUES"]);
    assert!(
        found[0].1.contains("`gpu`") && found[1].1.contains("`ssd`"),
        "{found:?}"
    );
    let plain = hints("2x16GiB,8vcores");
    assert_eq!(plain.len(), 1, "{plain:?}");
    let document = json(&printed(&[
        "check",
        &file,
        "--json",
        "--cluster",
        &nodes("gpu"),
    ]));
    assert_eq!(document["files"][0]["cluster"]["nodes"], 2);
    let (code, _, err) = run(&["check", &file, "--cluster", "/nowhere/nodes.jsonl"]);
    assert!(code == 2 && err.contains("/nowhere/nodes.jsonl"), "{err}");
}

#[test]
fn a_queue_whose_applications_run_one_by_one_is_hinted_at() {
    let folder = folder("desk-one-master");
    let hinted = |percent: &str| {
        let pairs = [
            ("root.queues", "a,b"),
            ("root.a.capacity", "50"),
            ("root.b.capacity", "50"),
            ("root.b.maximum-capacity", "50"),
            ("root.b.maximum-am-resource-percent", percent),
            ("root.a.maximum-am-resource-percent", "0.5"),
        ];
        let file = conf(&folder, "cs.xml", &pairs);
        let all = findings(&file, "2x8GiB,8vcores").into_iter();
        all.filter(|(code, _)| code == "H_ONE_MASTER")
            .collect::<Vec<_>>()
    };
    let found = hinted("0.1");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("`root.b`"), "{found:?}");
    assert_eq!(hinted("0.5"), []);
}

/// What a command prints on a terminal of its own.
fn on_terminal(line: &str, no_color: Option<&str>) -> String {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_capsched"));
    let mut command = std::process::Command::new("script");
    command
        .args(["-qec", &line, "/dev/null"])
        .env_remove("NO_COLOR");
    command.stdin(std::process::Stdio::null());
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Needs `script` of util-linux, which gives a command a terminal.
#[test]
fn colours_are_for_terminals_alone_and_no_color_takes_them_away() {
    let found = std::process::Command::new("script")
        .arg("--version")
        .output();
    if found.is_err() {
        eprintln!("skipped: there is no `script`");
        return;
    }
    let folder = folder("desk-colour");
    let file = conf(
        &folder,
        "cs.xml",
        &[("root.queues", "a"), ("root.a.capacity", "7")],
    );
    for line in [format!("check {file}"), "demo organisation".to_owned()] {
        let colours = |text: &str| text.contains("\u{1b}[");
        let shown = on_terminal(&line, None);
        assert!(colours(&shown), "{line}: {shown}");
        assert!(colours(&on_terminal(&line, Some(""))), "{line}");
        let plain = on_terminal(&line, Some("1"));
        assert!(!colours(&plain) && plain.len() > 200, "{line}: {plain}");
        let words: Vec<&str> = line.split(' ').collect();
        let (_, piped, _) = run(&words);
        assert!(!colours(&piped) && piped.len() > 200, "{line}: {piped}");
    }
}
