//! Every command that prints results takes `--json`, prints JSON then, and has its form in the reference.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::support::{command, folder, run};
use serde_json::Value;

/// Commands without `--json`, and what they print.
const OTHERS: [(&str, &str); 1] = [("completions", "a script for a shell")];

/// Commands whose `--json` is tried by tests of their own: they need a JDK, a server or a browser, or do not end.
const ELSEWHERE: [&str; 9] = [
    "app",
    "conf apply",
    "conf history",
    "conf rollback",
    "hadoop-demo",
    "node-agent",
    "open",
    "router",
    "serve",
];

/// Commands that print one object a line.
const LINES: [&str; 1] = ["parity"];

const REFERENCE: &str = include_str!("../../../docs/reference/commands.md");
const FORMS: &str = include_str!("../../../docs/reference/json.md");

/// The usage of each command that is no group of commands, by its name without `capsched`. The page is that of
/// this build, as another test says.
fn commands() -> BTreeMap<&'static str, &'static str> {
    let sections = REFERENCE.split("\n## `capsched").skip(1);
    let named = sections.filter_map(|section| {
        let (name, text) = section.split_once('`')?;
        let group = text.contains("<COMMAND>") || text.contains("[COMMAND]");
        let lesson = name.starts_with(" demo ");
        (!group && !lesson && !name.is_empty()).then_some((name.trim(), text))
    });
    named.collect()
}

#[test]
fn every_command_takes_json_or_prints_no_results() {
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for (name, text) in &commands {
        let takes = text.contains("      --json");
        let other = OTHERS.iter().any(|(other, _)| other == name);
        assert!(takes != other, "{name}");
        let group = name.split(' ').next().unwrap();
        let group = if group == "why-not" { "why" } else { group };
        let has_form = FORMS.contains(&format!("\n## `{group}`\n"));
        assert!(other || has_form, "{name} has no section in json.md");
    }
}

/// A run, a snapshot of it, a comparison, and the arguments that show each command's form.
fn cases(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let conf = "<configuration>\
        <property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>\
        <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>\
        </configuration>";
    fs::write(at("cs.xml"), conf).unwrap();
    let fair = "<allocations><queue name='a'><weight>1</weight></queue></allocations>";
    fs::write(at("fair.xml"), fair).unwrap();
    let job = |at_ms: u32, count: u32| {
        format!(
            "{{\"job\":{{\"at_ms\":{at_ms},\"name\":\"j{at_ms}\",\"queue\":\"root.a\",\"user\":\"ann\",\
             \"master\":[1024,1],\"tasks\":[{{\"size\":[1024,1],\"count\":{count},\"priority\":20,\
             \"run\":{{\"same\":60000}}}}]}}}}\n"
        )
    };
    let head = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    fs::write(at("t.jsonl"), [head, &job(0, 6), &job(1_000, 6)].concat()).unwrap();
    let (trace, run, snap, xml) = (at("t.jsonl"), at("run"), at("m.snap"), at("cs.xml"));
    let words = |text: &str| -> Vec<String> {
        let replaced = |word: &str| match word {
            "TRACE" => trace.clone(),
            "RUN" => run.clone(),
            "SNAP" => snap.clone(),
            "CONF" => xml.clone(),
            "PARITY" => concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../tests/parity/acls.jsonl.zst"
            )
            .to_owned(),
            word => word.strip_prefix('@').map_or_else(|| word.to_owned(), &at),
        };
        text.split(' ').map(replaced).collect()
    };
    lines()
        .into_iter()
        .map(|(name, line)| (name, words(&line)))
        .collect()
}

/// Each command as it is typed; capitals and `@` stand for files of the folder.
fn lines() -> Vec<(&'static str, String)> {
    let on = "--conf CONF --nodes 1x8GiB,8vcores --allow-unfinished";
    vec![
        ("check", "check CONF".to_owned()),
        ("conf diff", "conf diff CONF CONF".to_owned()),
        ("replay", format!("replay TRACE {on} --out RUN")),
        (
            "compare",
            format!("compare TRACE {on} --modes heartbeat,global --out @cmp"),
        ),
        ("trace stat", "trace stat TRACE".to_owned()),
        (
            "trace convert",
            "trace convert TRACE --out @c.jsonl".to_owned(),
        ),
        (
            "trace generate",
            "trace generate --jobs 2 --services 1 --nodes 2 --out @g.jsonl".to_owned(),
        ),
        ("traces", "traces".to_owned()),
        (
            "cells",
            "cells --cells 2 --nodes 3 --queues 4 --spread 2 --seconds 12 --fail-at 6".to_owned(),
        ),
        ("why", "why RUN".to_owned()),
        ("why", "why RUN 1".to_owned()),
        ("why", "why RUN 1 --at 2s".to_owned()),
        ("why", "why RUN --at 2s".to_owned()),
        ("why-not", "why-not RUN 1 node0 --at 2s".to_owned()),
        ("whatif", "whatif RUN --nodes +1".to_owned()),
        (
            "snapshot save",
            "snapshot save RUN --at 2s -o SNAP".to_owned(),
        ),
        ("snapshot replay", "snapshot replay SNAP".to_owned()),
        ("snapshot to-test", "snapshot to-test SNAP".to_owned()),
        (
            "conf plan",
            "conf plan CONF CONF --snapshot SNAP".to_owned(),
        ),
        ("conf convert", "conf convert @fair.xml".to_owned()),
        ("hist", "hist RUN".to_owned()),
        ("hist", "hist RUN RUN --shares --stalls 2".to_owned()),
        ("check", "check CONF --cluster 2x8GiB,8vcores".to_owned()),
        (
            "conf diff",
            "conf diff CONF CONF --cluster 2x8GiB,8vcores".to_owned(),
        ),
        ("top", "top RUN".to_owned()),
        ("verify", "verify RUN".to_owned()),
        ("report", "report RUN".to_owned()),
        ("parity", "parity PARITY".to_owned()),
        ("simulate", "simulate --seeds 0..1 --events 50".to_owned()),
        ("fsck", "fsck @rm".to_owned()),
        ("man", "man @man".to_owned()),
        ("demo organisation", "demo organisation".to_owned()),
    ]
}

/// A data directory, as a server that is killed leaves it.
fn served(folder: &Path) {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    assert_first_line("serve", &["--conf", &at("cs.xml"), "--data", &at("rm")]);
    assert_first_line("router", &["--data", &at("router")]);
}

/// The first line of a server that listens.
fn assert_first_line(name: &str, args: &[&str]) {
    let listens = ["--listen", "127.0.0.1:0", "--json"];
    let args = [&[name], args, &listens].concat();
    let mut child = command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut first).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_form(name, &first);
}

/// The text is one value, or lines of them, whose members the section of the command names.
fn assert_form(name: &str, text: &str) {
    let group = name.split(' ').next().unwrap();
    let group = if group == "why-not" { "why" } else { group };
    let section = FORMS.split(&format!("\n## `{group}`\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let pages = [
        include_str!("../../../docs/reference/why.md"),
        include_str!("../../../docs/reference/whatif.md"),
    ];
    let described: String = match group {
        "why" => pages[0].to_owned(),
        "compare" => FORMS.to_owned(),
        _ => section.to_owned(),
    };
    let parts = match LINES.contains(&group) {
        true => text.lines().collect(),
        false => vec![text],
    };
    for part in parts {
        let value: Value =
            serde_json::from_str(part).unwrap_or_else(|error| panic!("{name}: {error}: {part}"));
        let members = value
            .as_object()
            .unwrap_or_else(|| panic!("{name}: no object"));
        assert!(!members.is_empty(), "{name}");
        let all = [FORMS, pages[0], pages[1]].concat();
        assert_named(name, &value, ("", &all));
        for member in members.keys() {
            let shown = format!("`{member}`");
            let quoted = format!("\"{member}\"");
            let is_named = described.contains(&shown) || described.contains(&quoted);
            assert!(is_named, "{name}: {member} is not in the reference");
        }
    }
}

/// Members whose own members are data: paths, labels, types, columns, properties, reasons.
const MAPS: [&str; 27] = [
    "capacity_scheduler",
    "clamped",
    "conflicts",
    "dropped",
    "first_container_ms_by_queue",
    "guaranteed",
    "guaranteed_fraction",
    "guessed",
    "ignored",
    "latency_ns_by_phase",
    "lost",
    "maximum",
    "maximum_fraction",
    "nodes_short_of",
    "outcomes",
    "partitions",
    "queues",
    "reasons",
    "resources",
    "size",
    "spread",
    "updates",
    "users",
    "utilisation",
    "violations_by_invariant",
    "waiting_application_rounds",
    "yarn_site",
];

/// Every member at every depth is named by the reference, but for keys that are data.
fn assert_named(command: &str, value: &Value, (member, described): (&str, &str)) {
    match value {
        Value::Array(all) => {
            for one in all {
                assert_named(command, one, (member, described));
            }
        }
        Value::Object(all) => {
            for (name, one) in all {
                let is_named = [format!("`{name}`"), format!("\"{name}\"")]
                    .iter()
                    .any(|shown| described.contains(shown));
                let is_data = MAPS.contains(&member);
                assert!(
                    is_named || is_data,
                    "{command}: {name} in {member} is not in the reference"
                );
                let below = if is_data && !is_named { "" } else { name };
                assert_named(command, one, (below, described));
            }
        }
        _ => {}
    }
}

#[test]
fn json_is_one_value_whose_members_the_reference_names() {
    let folder = folder("json-forms");
    let cases = cases(&folder);
    served(&folder);
    for (name, args) in &cases {
        let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json"]).collect();
        let (code, out, err) = run(&args);
        assert!(code < 2, "{name}: {code} {err}");
        assert_form(name, &out);
    }
    let tried = |name: &&str| {
        let is_case = cases
            .iter()
            .any(|(case, _)| case == name || case.starts_with(&format!("{name} ")));
        is_case || ELSEWHERE.contains(name) || OTHERS.iter().any(|(other, _)| other == name)
    };
    let untried: Vec<&str> = commands().into_keys().filter(|name| !tried(name)).collect();
    assert!(untried.is_empty(), "{untried:?}");
}
