//! The comparison for people and as JSON: each queue before and after, and a sentence.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures of a report"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::figures::{QueueFigures, RunSummary};
use crate::play::{grouped, virtual_time};

/// Changes below this share are not worth a word in the sentence.
const NOTABLE: f64 = 0.05;

/// From so many times on, a multiple is said in place of percent.
const MANY: f64 = 5.0;

/// Queues that the sentence names.
const NAMED: usize = 3;

/// All candidates against the run as it was, which is the first.
pub(super) fn text(played: &[RunSummary]) -> String {
    let Some((base, candidates)) = played.split_first() else {
        return String::new();
    };
    let mut out = String::new();
    for candidate in candidates {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&against(base, candidate));
    }
    out
}

fn against(base: &RunSummary, candidate: &RunSummary) -> String {
    let (none, mut out) = (QueueFigures::default(), String::new());
    let _ = writeln!(out, "as it was -> {}", candidate.name);
    let preempted = if base.preemption { "  preempted" } else { "" };
    let _ = writeln!(
        out,
        "{:<24}{:>22}{:>22}{:>18}{:>20}{preempted}",
        "queue", "wait p50", "wait p95", "share", "containers"
    );
    let names: BTreeSet<&String> = base.queues.keys().chain(candidate.queues.keys()).collect();
    for name in names {
        let before = base.queues.get(name).unwrap_or(&none);
        let after = candidate.queues.get(name).unwrap_or(&none);
        out.push_str(&row(name, before, after, base.preemption));
    }
    out.push_str(&row("all", &base.all, &candidate.all, base.preemption));
    let _ = writeln!(out, "\n{}", sentence(base, candidate));
    let broken = base.violations + candidate.violations;
    if broken > 0 {
        let _ = writeln!(
            out,
            "{broken} invariants were broken; the figures are not to be trusted"
        );
    }
    out
}

fn row(name: &str, before: &QueueFigures, after: &QueueFigures, preemption: bool) -> String {
    let times = |a: u64, b: u64| format!("{} -> {}", virtual_time(a), virtual_time(b));
    let shares = format!(
        "{:.1} -> {:.1} %",
        before.share * 100.0,
        after.share * 100.0
    );
    let placed = format!("{} -> {}", grouped(before.placed), grouped(after.placed));
    let preempted = if preemption {
        format!(
            "  {} -> {}",
            grouped(before.preempted),
            grouped(after.preempted)
        )
    } else {
        String::new()
    };
    format!(
        "{name:<24} {:>21} {:>21} {shares:>17} {placed:>19}{preempted}\n",
        times(before.p50_ms, after.p50_ms),
        times(before.p95_ms, after.p95_ms)
    )
}

/// The largest changes of the waits at p95, and of what was placed.
fn sentence(base: &RunSummary, candidate: &RunSummary) -> String {
    let mut said = changed_waits(base, candidate);
    let pairs = [
        (
            "containers are placed",
            base.all.placed,
            candidate.all.placed,
        ),
        ("are preempted", base.all.preempted, candidate.all.preempted),
    ];
    for (what, before, after) in pairs {
        if before != after {
            let word = if after > before { "more" } else { "fewer" };
            said.push(format!("{} {word} {what}", grouped(before.abs_diff(after))));
        }
    }
    format!("With {}: {}.", candidate.name, said.join(", "))
}

/// Queues whose waits at p95 changed most.
fn changed_waits(base: &RunSummary, candidate: &RunSummary) -> Vec<String> {
    let mut changes: Vec<(f64, String)> = Vec::new();
    for (name, before) in &base.queues {
        let Some(after) = candidate.queues.get(name) else {
            changes.push((f64::MAX, format!("{name} is gone")));
            continue;
        };
        let by = change(before.p95_ms, after.p95_ms);
        if by.abs() >= NOTABLE {
            let how = compared(before.p95_ms, after.p95_ms);
            changes.push((by.abs(), format!("{name} waits {how} at p95")));
        }
    }
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    if changes.is_empty() {
        return vec!["no queue waits notably longer or shorter at p95".to_owned()];
    }
    changes
        .into_iter()
        .take(NAMED)
        .map(|(_, text)| text)
        .collect()
}

/// `64 % shorter`, `24 times as long`, or both waits where there was none before.
fn compared(before: u64, after: u64) -> String {
    let by = change(before, after);
    let percent = (by.abs() * 100.0).round();
    match by {
        _ if before == 0 => format!("{} instead of {}", virtual_time(after), virtual_time(0)),
        by if by >= MANY - 1.0 => {
            format!("{} times as long", grouped(after / before))
        }
        by if by > 0.0 => format!("{percent} % longer"),
        _ => format!("{percent} % shorter"),
    }
}

/// Relative change; 1 where something came of nothing.
pub(super) fn change(before: u64, after: u64) -> f64 {
    match (before, after) {
        (0, 0) => 0.0,
        (0, _) => 1.0,
        _ => after as f64 / before as f64 - 1.0,
    }
}

/// The same as JSON.
pub(super) fn json(played: &[RunSummary]) -> Value {
    let base = played.first();
    let run = |run: &RunSummary| {
        let queues = run.queues.iter();
        let queues = queues.map(|(name, figures)| (name.clone(), figures_json(figures)));
        let said = base.filter(|base| base.name != run.name);
        json!({
            "name": run.name,
            "queues": queues.collect::<serde_json::Map<String, Value>>(),
            "all": figures_json(&run.all),
            "finished_ms": run.finished_ms,
            "preemption": run.preemption,
            "violations": run.violations,
            "sentence": said.map(|base| sentence(base, run)),
        })
    };
    json!({"version": 1, "runs": played.iter().map(run).collect::<Vec<Value>>()})
}

fn figures_json(of: &QueueFigures) -> Value {
    json!({
        "jobs": of.jobs,
        "unserved": of.unserved,
        "wait_ms": {"p50": of.p50_ms, "p95": of.p95_ms},
        "share": of.share,
        "placed": of.placed,
        "unplaced": of.unplaced,
        "preempted": of.preempted,
    })
}

#[cfg(test)]
mod tests {
    use super::compared;

    #[test]
    fn changes_are_percent_a_multiple_or_both_waits() {
        for (before, after, said) in [
            (1_000, 640, "36 % shorter"),
            (1_000, 1_500, "50 % longer"),
            (1_000, 24_900, "24 times as long"),
            (626, 7_200_000, "11,501 times as long"),
            (0, 5, "5 ms instead of 0 ms"),
        ] {
            assert_eq!(compared(before, after), said);
        }
    }
}
