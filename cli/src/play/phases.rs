//! Lines of wall-clock latencies: decide, hand over, commit, each apart.

use capsched::metrics::{Latency, Phase};

use super::figures::time;
use super::outcome::Outcome;
use super::table::Line;

/// A quantile: its name and the figure.
type Quantile = (&'static str, fn(&Latency) -> u64);

const QUANTILES: [Quantile; 3] = [
    ("p50", |latency| latency.p50),
    ("p99", |latency| latency.p99),
    ("max", |latency| latency.max),
];

/// A phase: its label for engines of one kind, what it means.
struct Shown {
    label: &'static str,
    phase: Phase,
    /// Whether it is shown for the sequential engine, which decides and commits in one call.
    sequential: bool,
    meaning: &'static str,
}

const SHOWN: [Shown; 5] = [
    Shown {
        label: "decide and commit",
        phase: Phase::Propose,
        sequential: true,
        meaning: "Wall time of one decision that placed a container, its commit included.",
    },
    Shown {
        label: "propose",
        phase: Phase::Propose,
        sequential: false,
        meaning: "Wall time of one decision on a snapshot, in the thread that proposes.",
    },
    Shown {
        label: "hand-off",
        phase: Phase::HandOff,
        sequential: false,
        meaning: "How long a batch of decisions waits between its thread and the committer.",
    },
    Shown {
        label: "commit, check",
        phase: Phase::Validate,
        sequential: false,
        meaning: "Checking a decision against the live state.",
    },
    Shown {
        label: "commit, apply",
        phase: Phase::Apply,
        sequential: false,
        meaning: "Changing the live state.",
    },
];

/// The lines of all phases; those that nobody measured are empty.
pub(super) fn phases(runs: &[Outcome]) -> Vec<Line> {
    let mut lines = Vec::new();
    for shown in &SHOWN {
        for (index, (quantile, of)) in QUANTILES.into_iter().enumerate() {
            let (label, meaning) = if index == 0 {
                (format!("{} {quantile}", shown.label), shown.meaning)
            } else {
                (format!("{:>1$} {quantile}", "", shown.label.len()), "")
            };
            lines.push(Line::new(label, meaning, runs, |run| {
                let same = run.row.sequential == shown.sequential;
                let latency = run.phase(shown.phase).filter(|_| same)?;
                Some(time(of(&latency)))
            }));
        }
    }
    lines
}
