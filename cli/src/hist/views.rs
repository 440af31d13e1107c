//! Further views of histogram logs: against another run, shares of phases, longest intervals.
//!
//! The bar of phases is text: ratatui has no stacked bar, and letters name the parts without colours.

use std::fmt::Write as _;
use std::time::Duration;

use capsched::metrics::{Histogram, TaggedInterval};
use serde_json::{Value, json};

use super::{Log, name};

/// Columns of a bar.
const BAR: u64 = 40;

/// Percentiles that two runs are compared at.
const SHARES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("max", 1.0),
];

/// Phases that a proposer's pass is made of.
const WITHIN: [&str; 4] = ["queue-order", "app-order", "headroom", "node-pick"];

/// Microseconds with three digits.
pub(super) fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// Change in tenths of a percent; nothing from 0.
fn change(ns: u64, base: u64) -> Option<i64> {
    let (ns, base) = (i128::from(ns), i128::from(base));
    let change = ((ns - base) * 1_000).checked_div(base)?;
    i64::try_from(change).ok()
}

fn percent(change: Option<i64>) -> String {
    match change {
        None => "-".to_owned(),
        Some(tenths) => {
            let sign = if tenths < 0 { '-' } else { '+' };
            let tenths = tenths.unsigned_abs();
            format!("{sign}{}.{} %", tenths / 10, tenths % 10)
        }
    }
}

/// The phase of the same name in another log.
fn of<'a>(phases: &'a [TaggedInterval], wanted: &TaggedInterval) -> Option<&'a Histogram> {
    let found = phases.iter().find(|phase| name(phase) == name(wanted));
    found.map(|phase| &phase.latencies)
}

/// Each percentile of each phase beside that of the base, with the change.
pub(super) fn against(log: &Log, base: &Log) -> String {
    let mut out = format!(
        "against {}\n{:<14} {:>7} {:>12} {:>12} {:>10}\n",
        base.path.display(),
        "phase, us",
        "",
        "run",
        "base",
        "change"
    );
    for phase in &log.phases {
        let Some(other) = of(&base.phases, phase) else {
            let _ = writeln!(out, "{:<14} not in the base", name(phase));
            continue;
        };
        for (at, (label, share)) in SHARES.iter().enumerate() {
            let (ns, base) = (phase.latencies.quantile(*share), other.quantile(*share));
            let title = if at == 0 { name(phase) } else { "" };
            let _ = writeln!(
                out,
                "{title:<14} {label:>7} {:>12} {:>12} {:>10}",
                us(ns),
                us(base),
                percent(change(ns, base))
            );
        }
    }
    out
}

/// One log as JSON, with the base when there is one.
pub(super) fn to_json(log: &Log, base: Option<&Log>) -> Value {
    let figures = |histogram: &Histogram| {
        let pairs =
            SHARES.map(|(label, share)| (label.to_owned(), histogram.quantile(share).into()));
        Value::Object(pairs.into_iter().collect())
    };
    let phase = |phase: &TaggedInterval| {
        let other = base.and_then(|base| of(&base.phases, phase));
        let changes = other.map(|other| {
            let pairs = SHARES.map(|(label, share)| {
                let change = change(phase.latencies.quantile(share), other.quantile(share));
                (label.to_owned(), json!(change))
            });
            Value::Object(pairs.into_iter().collect())
        });
        json!({
            "phase": name(phase),
            "n": phase.latencies.len(),
            "ns": figures(&phase.latencies),
            "base_ns": other.map(figures),
            "change_permille": changes,
        })
    };
    json!({
        "log": log.path.display().to_string(),
        "base": base.map(|base| base.path.display().to_string()),
        "phases": log.phases.iter().map(phase).collect::<Vec<_>>(),
    })
}

/// Nanoseconds that a phase took in all.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a total for a chart"
)]
fn total(phase: &TaggedInterval) -> u64 {
    let latency = phase.latencies.latency();
    (latency.mean * latency.n as f64) as u64
}

/// Phases with the nanoseconds that they took, the rest among them, and the time of all passes.
fn parts(log: &Log) -> (Vec<(&str, u64)>, u64) {
    let find = |wanted: &str| log.phases.iter().find(|phase| name(phase) == wanted);
    let whole = find("propose").map(total);
    let parts = log.phases.iter().filter(|phase| match whole {
        Some(_) => WITHIN.contains(&name(phase)),
        None => true,
    });
    let mut parts: Vec<(&str, u64)> = parts.map(|phase| (name(phase), total(phase))).collect();
    let known: u64 = parts.iter().map(|(_, ns)| *ns).sum();
    let whole = whole.unwrap_or(0).max(known);
    if whole > known {
        parts.push(("the rest", whole - known));
    }
    (parts, whole)
}

fn permille(ns: u64, whole: u64) -> u64 {
    ns.saturating_mul(1_000).checked_div(whole).unwrap_or(0)
}

/// How the time of all passes divides into their phases: one bar of letters, then its legend.
pub(super) fn shares(log: &Log) -> String {
    let (parts, whole) = parts(log);
    let mut bar = String::new();
    let mut legend = String::new();
    for ((name, ns), mark) in parts.iter().zip('A'..) {
        let columns = ns.saturating_mul(BAR).checked_div(whole).unwrap_or(0);
        bar.extend((0..columns).map(|_| mark));
        let permille = permille(*ns, whole);
        let _ = writeln!(
            legend,
            "  {mark} {name:<14} {:>12} us {:>3}.{} %",
            us(*ns),
            permille / 10,
            permille % 10
        );
    }
    format!("time by phase |{bar:<40}|\n{legend}")
}

/// The same as JSON.
pub(super) fn shares_json(log: &Log) -> Value {
    let (parts, whole) = parts(log);
    let part = |(name, ns): &(&str, u64)| json!({"phase": name, "total_ns": ns, "permille": permille(*ns, whole)});
    parts.iter().map(part).collect()
}

/// Starts of all intervals, those with the longest latencies first.
fn longest_first(log: &Log) -> Vec<Duration> {
    let mut starts: Vec<(Duration, u64)> = Vec::new();
    for interval in &log.intervals {
        let longest = interval.latencies.latency().max;
        match starts
            .iter_mut()
            .find(|(start, _)| *start == interval.start)
        {
            Some((_, max)) => *max = (*max).max(longest),
            None => starts.push((interval.start, longest)),
        }
    }
    starts.sort_by_key(|(start, longest)| (std::cmp::Reverse(*longest), *start));
    starts.into_iter().map(|(start, _)| start).collect()
}

/// Longest latency of each phase in an interval, the longest first.
fn within(log: &Log, start: Duration) -> Vec<(u64, &str)> {
    let within = log.intervals.iter().filter(|one| one.start == start);
    let mut phases: Vec<(u64, &str)> = within
        .map(|one| (one.latencies.latency().max, name(one)))
        .collect();
    phases.sort_unstable_by(|a, b| b.cmp(a));
    phases
}

/// The intervals with the longest latencies, each with what took long in the same interval.
pub(super) fn stalls(log: &Log, most: usize) -> String {
    let starts = longest_first(log);
    let mut out = format!("longest of {} intervals\n", starts.len());
    for start in starts.into_iter().take(most) {
        let phases = within(log, start).into_iter().take(5);
        let shown = phases.map(|(ns, name)| format!("{name} {} us", us(ns)));
        let shown: Vec<String> = shown.collect();
        let _ = writeln!(
            out,
            "  at {:>10.3} s  {}",
            start.as_secs_f64(),
            shown.join(", ")
        );
    }
    out
}

/// The same as JSON, with all phases.
pub(super) fn stalls_json(log: &Log, most: usize) -> Value {
    let stall = |start: Duration| {
        let phases = within(log, start).into_iter();
        let phases = phases.map(|(ns, name)| json!({"phase": name, "max_ns": ns}));
        json!({"at_s": start.as_secs_f64(), "phases": phases.collect::<Vec<Value>>()})
    };
    longest_first(log)
        .into_iter()
        .take(most)
        .map(stall)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(tag: &str, start: u64, ns: u64) -> TaggedInterval {
        let mut latencies = Histogram::new();
        latencies.record(ns);
        TaggedInterval {
            tag: tag.to_owned(),
            start: Duration::from_secs(start),
            length: Duration::from_secs(1),
            latencies,
        }
    }

    fn log(intervals: Vec<TaggedInterval>) -> Log {
        Log {
            path: "a.hlog".into(),
            stem: "a".to_owned(),
            phases: super::super::merged(intervals.clone()),
            intervals,
        }
    }

    #[test]
    fn changes_are_percentages_of_the_base() {
        assert_eq!(percent(change(150, 100)), "+50.0 %");
        assert_eq!(percent(change(99, 100)), "-1.0 %");
        assert_eq!(percent(change(1, 0)), "-");
        let shown = against(
            &log(vec![interval("apply", 0, 2_000)]),
            &log(vec![interval("apply", 0, 1_000)]),
        );
        assert_eq!(shown.matches("+100.0 %").count(), 6, "{shown}");
    }

    #[test]
    fn parts_of_a_pass_and_the_rest_make_the_whole() {
        let shown = shares(&log(vec![
            interval("propose", 0, 2_000),
            interval("queue-order", 0, 500),
            interval("node-pick", 0, 1_000),
            interval("apply", 0, 9_000),
        ]));
        assert!(
            shown.contains("AAAAAAAAAABBBBBBBBBBBBBBBBBBBBCCCCCCCCCC"),
            "{shown}"
        );
        assert!(
            shown.contains("the rest") && !shown.contains("apply"),
            "{shown}"
        );
    }

    #[test]
    fn the_longest_interval_names_what_took_long_in_it() {
        let shown = stalls(
            &log(vec![
                interval("propose", 0, 1_000),
                interval("propose", 1, 9_000),
                interval("publish", 1, 8_000),
            ]),
            1,
        );
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 2, "{shown}");
        assert!(lines[1].contains("1.000 s  propose 9."), "{shown}");
        assert!(lines[1].contains("publish 8."), "{shown}");
    }
}
