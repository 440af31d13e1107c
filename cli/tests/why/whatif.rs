//! Recorded runs with changes: settings, configurations, nodes, and the search for a value.

use std::fs;

use serde_json::Value;

use crate::support::run;
use crate::{CONF, recorded};

fn json(args: &[&str]) -> Value {
    let (code, text, err) = run(&[&["whatif"], args, &["--json"]].concat());
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_higher_share_for_masters_shortens_waits_and_the_run_as_it_was_stays_equal() {
    let (out, _) = recorded("whatif-set");
    let shown = out.to_str().unwrap();
    let key = "root.dev.maximum-am-resource-percent=0.6";
    let found = json(&[shown, "--set", key]);
    let (base, changed) = (&found["runs"][0], &found["runs"][1]);
    let p95 = |run: &Value| {
        run["queues"]["root.dev"]["wait_ms"]["p95"]
            .as_u64()
            .unwrap()
    };
    assert!(p95(changed) < p95(base), "{found}");
    assert_eq!(base["queues"]["root.dev"]["jobs"], 3);
    // All jobs come in the first seconds; the share is that of the whole run.
    let share = base["queues"]["root.dev"]["share"].as_f64().unwrap();
    assert!((0.3..0.7).contains(&share), "{share}");
    let sentence = changed["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("root.dev waits") && sentence.contains("shorter"),
        "{sentence}"
    );
    let recorded: Value =
        serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(base["all"]["placed"], recorded["result"]["placed"]);
    let seconds = recorded["result"]["virtual_seconds"].as_f64().unwrap();
    let finished = base["finished_ms"].as_f64().unwrap() / 1e3;
    assert!(
        (finished - seconds).abs() < 1e-9,
        "{finished} and {seconds}"
    );
    let (_, text, _) = run(&["whatif", shown, "--set", key]);
    assert!(
        text.contains("as it was -> root.dev.maximum-am-resource-percent = 0.6"),
        "{text}"
    );
}

#[test]
fn a_change_that_nothing_reads_is_named_with_what_may_be_meant() {
    let (out, _) = recorded("whatif-unread");
    let shown = out.to_str().unwrap();
    for (set, part) in [
        ("root.dev.maximum-capacty=90", "did you mean"),
        ("nonsense=1", "no key"),
        ("root.devel.capacity=40", "root.devel"),
    ] {
        let (code, _, err) = run(&["whatif", shown, "--set", set]);
        assert!(
            code == 0 && err.contains("warning: ") && err.contains(part),
            "{set}: {err}"
        );
    }
    let (_, _, err) = run(&["whatif", shown, "--set", "root.dev.maximum-capacity=90"]);
    assert!(!err.contains("warning"), "{err}");
    let wrong = out.parent().unwrap().join("utf-16.xml");
    fs::write(&wrong, b"\xff\xfe<\0c\0").unwrap();
    let (code, _, err) = run(&["whatif", shown, "--conf", wrong.to_str().unwrap()]);
    assert!(
        code == 1 && err.contains("utf-16.xml` prints everything"),
        "{err}"
    );
}

#[test]
fn candidates_are_files_sets_and_nodes_side_by_side() {
    let (out, _) = recorded("whatif-many");
    let folder = out.parent().unwrap();
    let conf = folder.join("new.xml");
    fs::write(
        &conf,
        CONF.replace("<value>60</value>", "<value>100</value>"),
    )
    .unwrap();
    let svg = folder.join("slopes.svg");
    let args = [
        out.to_str().unwrap(),
        "--conf",
        conf.to_str().unwrap(),
        "--nodes",
        "+2",
        "--try",
        "root.dev.user-limit-factor=1",
        "--svg",
        svg.to_str().unwrap(),
    ];
    let found = json(&args);
    let names: Vec<&str> = found["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 3);
    assert!(
        names[1].ends_with("new.xml, +2 nodes") && names[2].contains("user-limit-factor"),
        "{names:?}"
    );
    let picture = fs::read_to_string(&svg).unwrap();
    assert_eq!(picture.matches("<circle").count(), 3);
    assert!(picture.contains("root.dev") && picture.ends_with("</svg>\n"));
    let (code, _, err) = run(&[&["whatif"], &args[..]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("--force"), "{err}");
}

#[test]
fn the_best_value_is_found_with_how_sure_that_is() {
    let (out, _) = recorded("whatif-search");
    let shown = out.to_str().unwrap();
    let key = "root.dev.maximum-am-resource-percent=0.1..0.9:0.4";
    let found = json(&[
        shown,
        "--search",
        key,
        "--goal",
        "wait-p95:root.dev",
        "--seeds",
        "3",
    ]);
    assert_eq!(found["tried"].as_array().unwrap().len(), 3);
    assert!(found["best"].as_f64().unwrap() > 0.4, "{found}");
    assert_eq!(found["tried"][0]["better_than_now"], 0);
    let verdict = found["verdict"].as_str().unwrap();
    assert!(
        verdict.contains("better than now in 3 of them"),
        "{verdict}"
    );
    let key = "root.dev.capacity=40..60:10";
    let (code, text, err) = run(&["whatif", shown, "--search", key, "--seeds", "1"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        !text.contains("refused")
            && text.contains("by the goal: wait for the first container at p95"),
        "{text}"
    );
}

#[test]
fn changes_that_cannot_be_are_refused_in_place() {
    let (out, _) = recorded("whatif-bad");
    let shown = out.to_str().unwrap();
    for (args, code, part) in [
        (&[][..], 2, "nothing is changed"),
        (&["--set", "root.dev.capacity"], 2, "is not KEY=VALUE"),
        (&["--set", "root.dev.capacity=70"], 1, "refused"),
        (&["--set", "root.dev.capacity=x"], 1, "refused"),
        (&["--nodes", "-2"], 1, "the cluster has 2 nodes"),
        (&["--nodes", "7"], 2, "no change of the number of nodes"),
        (&["--try", "x"], 2, "is not KEY=VALUE"),
        (&["--conf", "missing.xml"], 2, "missing.xml"),
        (&["--search", "root.dev.capacity=9"], 2, "is not KEY=A..B"),
        (
            &["--search", "root.dev.capacity=110..120"],
            1,
            "no value of",
        ),
        (
            &[
                "--search",
                "root.dev.user-limit-factor=1..2:1",
                "--goal",
                "wait-p50:root.x",
            ],
            1,
            "no job is in root.x",
        ),
    ] {
        let (found, _, err) = run(&[&["whatif", shown], args].concat());
        assert_eq!(found, code, "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}
