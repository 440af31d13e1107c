//! The command that simulates faults: what it prints, what it exits with, and what it makes of reports.
#![cfg(unix)]

mod support;

use std::fs;

use capsched::simulator::faults::{Replay, Setup, draw};
use serde_json::Value;

use support::{folder, generated, printed, run};

#[test]
fn seeds_that_keep_every_promise_end_with_success() {
    let args = ["simulate", "--seeds", "2..6", "--events", "300"];
    let text = printed(&args);
    assert!(text.contains("no invariant was broken"), "{text}");
    let report = printed(&[&args[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["failures"].as_array().unwrap().len(), 0);
    assert_eq!(report["seeds"], 4);
    assert!(report["summary"]["steps"].as_u64().unwrap() > 1200);
}

#[test]
fn the_release_that_is_named_decides() {
    let hash = |release: &[&str]| {
        let args = ["simulate", "--seeds", "0..20", "--events", "400", "--json"];
        let report = printed(&[&args[..], release].concat());
        let report: Value = serde_json::from_str(&report).unwrap();
        report["hash"].as_str().unwrap().to_owned()
    };
    let newest = hash(&["--reference", "3.5"]);
    assert_eq!(newest, hash(&[]));
    assert_ne!(newest, hash(&["--reference", "3.4"]));
}

#[test]
fn an_invariant_that_is_demanded_and_holds_is_a_failure() {
    let args = ["simulate", "--seeds", "2..4", "--events", "200"];
    let (code, out, err) = run(&[&args[..], &["--demand", "N1,panic"]].concat());
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("none of N1, panic was broken"), "{out}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    for args in [
        &["--seeds", "7..3"][..],
        &["--seeds", "a"],
        &["--events", "0"],
        &["--threads", "0"],
        &["--replay", "no-such-file.json"],
        &["--replay", "x.json", "--demand", "N1"],
    ] {
        let (code, out, err) = run(&[&["simulate"], args].concat());
        assert_eq!(code, 2, "{args:?}: {out}{err}");
        assert!(!err.is_empty(), "{args:?}");
    }
}

#[test]
fn a_report_is_replayed_and_says_when_nothing_breaks_any_more() {
    let folder = folder("replay");
    let setup = Setup::of(5);
    let replay = Replay {
        invariant: "N1".to_owned(),
        text: "what was seen".to_owned(),
        actions: draw(&setup, 150),
        setup,
    };
    let file = folder.join("N1-5.json");
    let text = serde_json::to_string(&replay).unwrap();
    assert!(text.contains(r#""reference":"3.5""#), "{text}");
    fs::write(&file, text).unwrap();
    let text = printed(&["simulate", "--replay", file.to_str().unwrap()]);
    assert!(
        text.contains("150 steps do not break N1 any more"),
        "{text}"
    );
}

#[test]
fn what_is_no_report_is_refused_with_its_place() {
    let folder = folder("no-report");
    let setup = Setup::of(5);
    let good = Replay {
        invariant: "N1".to_owned(),
        text: String::new(),
        actions: draw(&setup, 3),
        setup,
    };
    let good = serde_json::to_value(good).unwrap();
    let mut strange = good.clone();
    strange["setup"]["more"] = 1.into();
    let mut huge = good;
    huge["setup"]["parents"] = 255.into();
    for (name, value) in [("strange", strange), ("huge", huge), ("null", Value::Null)] {
        let file = folder.join(format!("{name}.json"));
        fs::write(&file, value.to_string()).unwrap();
        let (code, out, err) = run(&["simulate", "--replay", file.to_str().unwrap()]);
        assert_eq!(code, 1, "{name}: {out}{err}");
        assert!(err.contains(&format!("{name}.json")), "{err}");
    }
    let trace = generated(&folder, "adhoc", "3");
    assert_eq!(run(&["simulate", "--replay", trace.to_str().unwrap()]).0, 1);
}
