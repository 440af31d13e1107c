//! `capsched replay --preemption` on a trace in which one queue claims its half.
#![expect(
    clippy::unwrap_used,
    reason = "a command that does not run is a failed test"
)]

use std::process::Command;

use serde_json::Value;

/// The only run of a replay.
fn replay(preemption: &str) -> Value {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = Command::new(env!("CARGO_BIN_EXE_capsched"))
        .args(["replay", "configs/traces/native/preemption.jsonl"])
        .args(["--conf", "configs/scenarios/preemption.xml", "--json"])
        .args(["--preemption", preemption])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["runs"][0].clone()
}

#[test]
fn observing_reports_what_would_be_taken_from_whom_and_takes_nothing() {
    let (off, observed) = (replay("off"), replay("observe"));
    assert!(off["preemption"].is_null());
    let account = &observed["preemption"];
    assert_eq!(account["mode"], "observe");
    let taken = &account["taken"][0];
    assert_eq!(taken["queue"], "root.batch");
    assert_eq!(taken["reason"], "over-guarantee");
    assert_eq!(taken["containers"], 10, "a tenth of the cluster a round");
    assert!(account["waiting_application_rounds"]["OBSERVE_ONLY"].as_u64() > Some(0));
    assert_eq!(observed["lost"], 0);
    assert_eq!(observed["placed_set"], off["placed_set"]);
}

#[test]
fn preemption_gives_a_queue_its_half_within_seconds_instead_of_minutes() {
    let wait = |run: &Value| run["first_container_ms"]["p95"].as_u64().unwrap();
    let (off, on) = (replay("off"), replay("on"));
    assert_eq!(on["lost"], 40);
    assert!(wait(&on) < 30_000, "{}", wait(&on));
    assert!(wait(&off) > 500_000, "{}", wait(&off));
    assert_eq!(on["violations"], 0);
}
