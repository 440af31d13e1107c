//! The teaching examples as a user runs them: numbers, charts, files.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const EXAMPLES: [&str; 3] = ["organisation", "headroom", "eleven-gb"];

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .arg("demo")
        .args(arguments)
        .output()
        .expect("the command was built with this test");
    assert!(output.status.success(), "{output:?}");
    output
}

fn text(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).stdout).expect("output is UTF-8")
}

fn json(example: &str) -> Value {
    serde_json::from_str(&text(&[example, "--json"])).expect("output is JSON")
}

fn assert_facts(lesson: &Value, expected: &[(&str, i64)]) {
    let facts = lesson["facts"].as_array().expect("facts are a list");
    for (key, value) in expected {
        let fact = facts.iter().find(|fact| fact["key"] == *key);
        let fact = fact.unwrap_or_else(|| panic!("no fact {key}"));
        assert_eq!(fact["value"], *value, "{key}");
    }
    assert_eq!(facts.len(), expected.len());
}

#[test]
fn the_organisation_shares_as_published() {
    assert_facts(
        &json("organisation"),
        &[
            ("first_user", 120),
            ("second_user", 120),
            ("two_users", 240),
            ("five_users", 600),
            ("qa_waits", 0),
            ("development_after", 120),
            ("qa_after", 480),
            ("development_settled", 120),
            ("qa_settled", 480),
            ("capped_two", 240),
            ("capped_five", 240),
            ("capped_qa", 360),
            ("preempted_development", 120),
            ("preempted_qa", 480),
        ],
    );
}

#[test]
fn headroom_moves_as_published() {
    assert_facts(
        &json("headroom"),
        &[
            ("alone_at_0", 60),
            ("alone_at_59", 60),
            ("alone_at_60", 61),
            ("alone_at_90", 91),
            ("second_before", 60),
            ("second_fits", 64),
            ("second_full", 60),
            ("one_user", 60),
            ("two_users", 30),
            ("three_users", 20),
            ("four_users", 18),
            ("five_users", 18),
        ],
    );
}

#[test]
fn eleven_gb_hold_what_is_allocated() {
    assert_facts(
        &json("eleven-gb"),
        &[
            ("a_allocated", 10),
            ("b_allocated", 0),
            ("b_waits", 10),
            ("free", 1),
            ("b_served", 12),
            ("large_together", 1),
            ("large_done", 30),
            ("small_together", 2),
            ("small_done", 20),
            ("default_containers", 11),
            ("default_vcores_left", -7),
            ("dominant_containers", 4),
            ("dominant_vcores_left", 0),
            ("default_wide", 11),
            ("default_wide_vcores", 1),
            ("dominant_wide", 2),
            ("dominant_wide_vcores", 2),
        ],
    );
}

#[test]
fn every_series_has_a_value_for_each_position() {
    for example in EXAMPLES {
        let lesson = json(example);
        for chart in lesson["charts"].as_array().expect("charts are a list") {
            let positions = chart["x"]["end"].as_u64().expect("an end") + 1;
            for kind in ["areas", "curves"] {
                for series in chart[kind].as_array().expect("series are a list") {
                    let values = series["values"].as_array().expect("values are a list");
                    assert_eq!(values.len() as u64, positions, "{example} {series}");
                }
            }
        }
    }
}

#[test]
fn charts_fit_80_columns_and_have_no_colour_when_piped() {
    for example in EXAMPLES {
        let text = text(&[example]);
        assert!(!text.contains('\u{1b}'), "{example}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{example}: {line}");
        }
    }
}

#[test]
fn a_run_repeats_exactly() {
    for example in EXAMPLES {
        assert_eq!(text(&[example, "--json"]), text(&[example, "--json"]));
    }
}

#[test]
fn files_are_written_as_asked_and_hold_every_series() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("teach");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder of test files can be written");
    let one = folder.join("all.svg");
    let many = folder.join("charts");
    let path = |path: &PathBuf| path.to_str().expect("a plain path").to_owned();
    run(&["eleven-gb", "--svg", &path(&one), "--out", &path(&many)]);
    let page = fs::read_to_string(&one).expect("the page was written");
    let lesson = json("eleven-gb");
    let charts = lesson["charts"].as_array().expect("charts are a list");
    for chart in charts {
        let name = chart["name"].as_str().expect("a name");
        let file = many.join(format!("eleven-gb-{name}.svg"));
        let single = fs::read_to_string(&file).expect("the chart was written");
        for part in [&page, &single] {
            assert_closed(part);
            for kind in ["areas", "curves", "levels"] {
                for series in chart[kind].as_array().expect("a list") {
                    let label = series["label"].as_str().expect("a label");
                    assert!(part.contains(label), "{name} lacks {label}");
                }
            }
        }
    }
    let written = fs::read_to_string(many.join("eleven-gb.json")).expect("the series");
    assert_eq!(
        serde_json::from_str::<Value>(&written).expect("JSON"),
        lesson
    );
}

#[test]
fn charts_that_exist_are_replaced_only_where_that_is_said() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("teach-again");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder of test files can be written");
    let (file, charts) = (folder.join("mine.svg"), folder.join("charts"));
    fs::write(&file, "mine").expect("a file");
    let arguments = ["eleven-gb", "--svg", file.to_str().expect("a plain path")];
    let again = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsched"));
        command.arg("demo").args(arguments).args(more);
        command
            .output()
            .expect("the command was built with this test")
    };
    let refused = again(&["--out", charts.to_str().expect("a plain path")]);
    let captured = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && captured.contains("mine.svg exists"),
        "{captured}"
    );
    assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");
    assert!(!charts.exists(), "nothing is written beside a refusal");
    assert!(again(&["--force"]).status.success());
    assert!(
        fs::read_to_string(&file)
            .expect("the file")
            .contains("<svg")
    );
}

/// Every element is closed, in order, and every `&` begins an entity.
fn assert_closed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, rest) = tag.split_once('>').expect("a tag ends");
        assert!(!rest.contains('>'), "a bare > after {tag}");
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    for entity in svg.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;"];
        assert!(known.iter().any(|known| entity.starts_with(known)));
    }
}

#[test]
fn the_picture_in_the_documents_is_what_the_example_draws() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("picture");
    let path = folder.to_str().expect("the folder's name is UTF-8");
    run(&["organisation", "--out", path, "--force"]);
    let name = "organisation-compared.svg";
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let kept = root.join("../docs/pictures").join(name);
    let read = |path: &PathBuf| fs::read_to_string(path).expect("the picture is there");
    assert!(
        read(&folder.join(name)) == read(&kept),
        "draw it again: capsched demo organisation --out docs/pictures --force"
    );
}

#[test]
fn an_unknown_example_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(["demo", "twelve-bananas"])
        .output()
        .expect("the command was built with this test");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    for named in ["twelve-bananas", "organisation", "headroom", "eleven-gb"] {
        assert!(message.contains(named), "{named} is not in: {message}");
    }
}
