//! `capsched top` as pictures and as JSON.

use serde_json::Value;

use crate::support::run;
use crate::{recorded, recorded_with};

#[test]
fn a_moment_is_a_picture_of_80_by_24_and_a_document_with_the_reasons_of_why() {
    let (out, _) = recorded("top");
    let shown = out.to_str().unwrap();
    let (code, text, err) = run(&["top", shown, "--print", "--at", "30s"]);
    if cfg!(feature = "top") {
        assert_eq!(code, 0, "{err}");
        assert_eq!(text.lines().count(), 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(
            text.contains("AM_LIMIT_QUEUE") && text.contains("dev"),
            "{text}"
        );
    } else {
        assert!(code == 2 && err.contains("--features top"), "{err}");
    }
    let moment = assert_moment_of_why(shown, "30s");
    let waits = moment["applications"].as_array().unwrap().iter();
    assert!(waits.filter(|app| !app["reason"].is_null()).count() > 0);
    assert_eq!(moment["nodes"].as_array().unwrap().len(), 2);
}

/// In the modes without heartbeats nothing happens between two decisions, which are minutes apart.
#[test]
fn a_moment_between_two_decisions_is_what_the_last_one_left() {
    for mode in ["heartbeat", "async", "global"] {
        let (out, _) = recorded_with(&format!("top-{mode}"), &["--mode", mode]);
        for at in ["900ms", "30s", "80s"] {
            assert_moment_of_why(out.to_str().unwrap(), at);
        }
    }
}

/// The moment of a run; its reasons are those of `why` at the same time.
fn assert_moment_of_why(shown: &str, at: &str) -> Value {
    let (code, text, err) = run(&["top", shown, "--json", "--at", at]);
    assert_eq!(code, 0, "{err}");
    let moment: Value = serde_json::from_str(&text).unwrap();
    let (_, text, _) = run(&["why", shown, "--list", "--json", "--at", at]);
    let list: Value = serde_json::from_str(&text).unwrap();
    let of = |document: &Value, list: &str, name: &str, count: &str| -> Vec<(String, u64)> {
        let all = document[list].as_array().unwrap().iter();
        let pair = |one: &Value| {
            let name = one[name].as_str().unwrap().to_owned();
            (name, one[count].as_u64().unwrap())
        };
        all.map(pair).collect()
    };
    assert_eq!(
        of(&moment, "reasons", "reason", "applications"),
        of(&list, "groups", "name", "applications"),
        "{shown} {at}: {list}"
    );
    moment
}

#[test]
fn without_a_terminal_or_a_run_it_says_what_to_do() {
    let (out, _) = recorded("top-refused");
    let next = if cfg!(feature = "top") {
        "--print"
    } else {
        "--features top"
    };
    let (code, _, err) = run(&["top", out.to_str().unwrap()]);
    assert!(code == 2 && err.contains(next), "{err}");
    let (code, _, err) = run(&["top", out.parent().unwrap().to_str().unwrap(), "--print"]);
    assert!(code == 2 && err.contains("run.json"), "{err}");
    let (code, _, err) = run(&["demo", "--top"]);
    assert!(code == 2 && err.contains(next), "{err}");
}
