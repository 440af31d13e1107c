//! Work that is left at the end of `replay`, `compare` and `demo`: grouped by reason and setting, in this form.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::CONF;
use crate::support::{captured, command, folder, run};

/// Memory of the cluster and what `root.dev` uses of it, in MiB.
const MEMORY: f64 = 20_480.0;
const USED: f64 = 12_288.0;

/// The smallest maximum of the trials that has room for one more container of 1,024 MiB. A share is a 32-bit number,
/// and a queue gets whole MiB rounded down: 65 % of 20,480 is 13,311 MiB, one too few.
#[expect(
    clippy::float_arithmetic,
    reason = "the rule is one of floating-point shares"
)]
fn smallest_maximum() -> u8 {
    let room = |percent: &u8| (MEMORY * f64::from(f32::from(*percent) / 100.0)).floor() - USED;
    let tried = [65_u8, 70, 80, 100];
    tried
        .into_iter()
        .find(|percent| room(percent) >= 1024.0)
        .unwrap()
}

fn groups() -> String {
    let step = smallest_maximum();
    format!(
        "containers     jobs  what became of them, and why
         8        2  waiting: QUEUE_MAX_CAPACITY
                     job etl: root.dev uses memory-mb 12288, vcores 12 of at
                     most memory-mb 12288, vcores 12; one container needs
                     memory-mb 1024, vcores 1
                     set by yarn.scheduler.capacity.root.dev.maximum-capacity =
                     60 cs.xml:6
                     would help, tried on a copy: set
                     yarn.scheduler.capacity.root.dev.maximum-capacity to {step}: 1
                     more container at once
         3        1  refused: QUEUE_NOT_FOUND
                     job lost: there is no queue `root.none`
                     set by yarn.scheduler.capacity.root.queues = prod,dev
                     cs.xml:2
                     --map 'queue=NAME:QUEUE' sends the jobs of NAME to QUEUE
"
    )
}

/// A trace of which work is left, and the arguments that play it.
fn arguments(at: &Path) -> Vec<String> {
    let job = |name: &str, queue: &str, count: u32| {
        format!(
            "{{\"job\":{{\"at_ms\":0,\"name\":\"{name}\",\"queue\":\"{queue}\",\"user\":\"ann\",\"tasks\":\
             [{{\"size\":[1024,1],\"count\":{count},\"priority\":20,\"run\":\"forever\"}}]}}}}\n"
        )
    };
    let head = "{\"capsched\":\"trace\",\"version\":1,\"types\":[\"memory-mb\",\"vcores\"]}\n";
    let jobs = [
        job("etl", "root.dev", 14),
        job("query", "root.dev", 6),
        job("lost", "root.none", 3),
    ];
    fs::write(at.join("t.jsonl"), format!("{head}{}", jobs.concat())).unwrap();
    let conf = CONF.replace("<value>0.1</value>", "<value>1</value>");
    fs::write(at.join("cs.xml"), conf).unwrap();
    let words = "t.jsonl --conf cs.xml --nodes 2x10GiB,10vcores --until 60000";
    words.split(' ').map(str::to_owned).collect()
}

fn typed(at: &Path, words: &[String]) -> (i32, String) {
    let output = command(words).current_dir(at).output().unwrap();
    let (code, out, _) = captured(&output);
    (code, out)
}

fn prepared(name: &str, first: &str) -> (PathBuf, Vec<String>) {
    let at = folder(name);
    let mut words = vec![first.to_owned()];
    words.extend(arguments(&at));
    (at, words)
}

#[test]
fn a_replay_ends_with_what_is_left_by_reason_and_names_the_command_that_tries_steps() {
    let (at, mut words) = prepared("left-replay", "replay");
    let (code, text) = typed(&at, &words);
    assert_eq!(code, 1, "{text}");
    let end = text.split("\nRefused or left\n").nth(1).unwrap();
    assert_eq!(end, groups(), "{text}");
    words.extend(["--out".to_owned(), "run".to_owned()]);
    let (_, text) = typed(&at, &words);
    let end = text.split("\nRefused or left\n").nth(1).unwrap();
    let more = "what would help: capsched why run etl\nfiles: run\n";
    assert_eq!(end, groups() + more);
    let tried = ["why", "run", "etl"].map(str::to_owned);
    let (_, text) = typed(&at, &tried);
    let step = "root.dev.maximum-capacity to";
    assert!(text.contains("would help") && text.contains(step), "{text}");
}

/// The limit of the user is below what the user has, so that a higher maximum of the queue alone brings nothing. A user
/// gets one container past the limit: with a limit of 11,264 MiB ann has 12,288.
#[test]
fn where_no_step_helps_the_end_says_so() {
    let (at, mut words) = prepared("left-nothing", "replay");
    let conf = fs::read_to_string(at.join("cs.xml")).unwrap();
    let factor = "user-limit-factor</name><value>10<";
    assert!(conf.contains(factor));
    let conf = conf.replace(factor, "user-limit-factor</name><value>1.1<");
    fs::write(at.join("cs.xml"), conf).unwrap();
    let (_, text) = typed(&at, &words);
    assert!(text.contains("waiting: QUEUE_MAX_CAPACITY"), "{text}");
    let meaning = "nothing that was tried on a copy helps at once";
    assert!(text.contains(meaning), "{text}");
    words.push("--json".to_owned());
    let (_, text) = typed(&at, &words);
    let document: Value = serde_json::from_str(&text).unwrap();
    let tried = &document["runs"][0]["left"][0]["tried"];
    let wanted = serde_json::json!({"result": "nothing helps", "step": null});
    assert_eq!(*tried, wanted);
}

#[test]
fn a_comparison_ends_with_what_each_column_left() {
    let (at, mut words) = prepared("left-compare", "compare");
    words.extend(["--modes".to_owned(), "heartbeat,async,global".to_owned()]);
    let (code, text) = typed(&at, &words);
    assert_eq!(code, 1, "{text}");
    let ends: Vec<&str> = text.split("\nRefused or left: ").skip(1).collect();
    let wanted =
        ["heartbeat", "asynchronous", "global"].map(|mode| format!("{mode}\n{}", groups()));
    assert_eq!(ends, wanted, "{text}");
}

/// The demonstration ends when everything has run, so that nothing is left of it.
#[test]
fn a_demonstration_shows_groups_for_exactly_what_its_document_has_left() {
    let shown = |more: &[&str]| {
        let (code, out, err) = run(&[&["demo", "--pods", "40"], more].concat());
        assert_eq!(code, 0, "{err}");
        out
    };
    let document: Value = serde_json::from_str(&shown(&["--json"])).unwrap();
    let runs = document["runs"].as_array().unwrap();
    let left = runs
        .iter()
        .filter(|run| run["left"] != Value::Array(Vec::new()));
    let text = shown(&[]);
    assert_eq!(text.matches("Refused or left: ").count(), left.count());
    assert!(!text.contains("to do:"), "{text}");
}

/// Times are read alike by all arguments: `--at 60s` of `why` and `--until 60s` of `replay`.
#[test]
fn the_end_of_a_replay_takes_units_and_bare_milliseconds() {
    let (at, mut words) = prepared("left-until", "replay");
    words.push("--json".to_owned());
    let ended = |words: &[String]| {
        let (_, text) = typed(&at, words);
        let document: Value = serde_json::from_str(&text).unwrap();
        document["runs"][0]["decisions"].clone()
    };
    let with = |time: &str| -> Vec<String> {
        let word = |word: &String| {
            if word == "60000" {
                time.to_owned()
            } else {
                word.clone()
            }
        };
        words.iter().map(word).collect()
    };
    let bare = ended(&words);
    assert!(bare.is_string());
    assert_eq!(
        (ended(&with("60s")), ended(&with("1min"))),
        (bare.clone(), bare)
    );
    let output = command(&with("60x")).current_dir(&at).output().unwrap();
    let (code, _, err) = captured(&output);
    assert!(
        code == 2 && err.contains("`60x` is no time such as"),
        "{err}"
    );
}
