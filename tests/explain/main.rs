//! Explanations: one test for each reason, sums over random runs, copies for trials.
#![expect(clippy::unwrap_used, reason = "test code")]

mod cluster;
#[expect(clippy::too_many_lines, reason = "a command wrote it, call by call")]
mod from_live_snapshot;
mod from_snapshot;
mod gangs;
mod limits;
mod nodes;
mod opportunistic;
mod rebuilt;
mod refusals;
mod snapshots;
mod sums;
mod tokens;
mod trial;

/// Each reason stands in one of the files that build its state.
#[test]
fn every_reason_has_a_test() {
    let files = [
        include_str!("gangs.rs"),
        include_str!("limits.rs"),
        include_str!("nodes.rs"),
        include_str!("opportunistic.rs"),
        include_str!("refusals.rs"),
    ];
    for reason in capsched::api::Reason::ALL {
        let name = format!("Reason::{reason:?}");
        let end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        let names = |file: &&str| {
            file.match_indices(&name)
                .any(|(at, _)| end(&file[at + name.len()..]))
        };
        assert!(files.iter().any(names), "{name}");
    }
}
