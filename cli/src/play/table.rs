//! The table of a comparison: one column a row of the run, one line a figure.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures for people"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use capsched::simulator::Waits;

use super::outcome::Outcome;

/// A line of the table: its label and the figure of a run.
type Line = (&'static str, fn(&Outcome) -> String);

/// What every run is told by, before the lines whose number depends on the run.
const HEAD: &[Line] = &[
    ("mode", |run| run.row.mode.name().to_owned()),
    ("follows Hadoop", |run| run.row.reference.to_string()),
    ("threads", |run| run.row.threads.to_string()),
    ("containers offered", |run| {
        grouped(run.report.counts.offered)
    }),
    ("containers placed", |run| grouped(run.report.counts.placed)),
    ("load an hour, offered", |run| {
        format!("{:.0}", run.load().0)
    }),
    ("              achieved", |run| {
        format!("{:.0}", run.load().1)
    }),
    ("still waiting", |run| grouped(run.report.counts.waiting)),
    ("allocations a second", |run| {
        format!("{:.0}", run.per_second())
    }),
    ("wall time, engine's part", |run| {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let engine = seconds(run.engine_ns);
        format!("{:.2} s, {engine:.2}", seconds(run.wall_ns))
    }),
    ("decision p50", |run| time(run.latency().p50)),
    ("         p99", |run| time(run.latency().p99)),
    ("         p99.9", |run| time(run.latency().p999)),
    ("         max", |run| time(run.latency().max)),
    ("first container p50", |run| {
        first_wait(run, |waits| waits.p50_ms)
    }),
    ("                p95", |run| {
        first_wait(run, |waits| waits.p95_ms)
    }),
    ("conflicts", |run| {
        grouped(run.conflicts.iter().map(|(_, n)| n).sum())
    }),
];

/// Figures of some runs side by side.
pub(crate) fn table(runs: &[Outcome]) -> String {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    let mut line = |label: &str, cell: &dyn Fn(&Outcome) -> String| {
        lines.push((label.to_owned(), runs.iter().map(cell).collect()));
    };
    for (label, cell) in HEAD {
        line(label, cell);
    }
    let reasons: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| run.conflicts.iter().map(|(reason, _)| *reason))
        .collect();
    for reason in reasons {
        line(&format!("  {reason}"), &|run| {
            let found = run.conflicts.iter().find(|(name, _)| *name == reason);
            grouped(found.map_or(0, |(_, n)| *n))
        });
    }
    let types = runs.first().map_or(&[][..], |run| &run.types);
    for (index, name) in types.iter().enumerate() {
        line(&format!("use of {name}, most"), &|run| {
            let (mean, most) = run.utilisation[index];
            format!("{} %, {}", percent(mean), percent(most))
        });
    }
    line("fairness gap, most", &|run| {
        let (mean, most) = run.report.gap_permille;
        format!("{} %, {}", percent(mean), percent(most))
    });
    line("invariant violations", &|run| grouped(run.violations()));
    line("decisions (hash)", &hash);
    aligned(&lines)
}

/// Columns two blanks wider than their widest cell, all of one width.
fn aligned(lines: &[(String, Vec<String>)]) -> String {
    let label = lines.iter().map(|(label, _)| label.len()).max();
    let cell = lines.iter().flat_map(|(_, cells)| cells).map(String::len);
    let (first, width) = (label.unwrap_or(0), cell.max().unwrap_or(0) + 2);
    let mut out = String::new();
    for (label, cells) in lines {
        let mut text = format!("{label:<first$}");
        for cell in cells {
            let _ = write!(text, "{cell:>width$}");
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
    out
}

/// Names what was decided, in runs that repeat exactly.
fn hash(run: &Outcome) -> String {
    if run.row.sequential {
        format!("{:012x}", run.report.decisions >> 16)
    } else {
        "-".to_owned()
    }
}

/// A number with commas.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn percent(permille: u32) -> String {
    format!("{}.{}", permille / 10, permille % 10)
}

fn time(ns: u64) -> String {
    let ns_f = ns as f64;
    match ns {
        0 => "-".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns_f / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns_f / 1e6),
        _ => format!("{:.2} s", ns_f / 1e9),
    }
}

/// How long applications waited for their first container; a dash when none got one.
fn first_wait(run: &Outcome, of: impl Fn(&Waits) -> u64) -> String {
    let waits = &run.report.first_container;
    if waits.count == 0 {
        return "-".to_owned();
    }
    virtual_time(of(waits))
}

fn virtual_time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..600_000 => format!("{:.1} s", ms as f64 / 1e3),
        _ => format!("{:.1} h", ms as f64 / 3.6e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_never_touch() {
        let line = |label: &str, cells: [&str; 2]| {
            let cells = cells.map(str::to_owned).to_vec();
            (label.to_owned(), cells)
        };
        let lines = [
            line("mode", ["asynchronous", "asynchronous"]),
            line("a long label", ["1", "0.04 s, 0.0399999"]),
        ];
        let width = "0.04 s, 0.0399999".len() + 2;
        let text = aligned(&lines);
        let expected = format!(
            "mode        {:>width$}{:>width$}\na long label{:>width$}{:>width$}\n",
            "asynchronous", "asynchronous", "1", "0.04 s, 0.0399999"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn numbers_are_grouped_and_times_have_units() {
        assert_eq!((grouped(7), grouped(8152)), ("7".into(), "8,152".into()));
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!((time(0), time(999)), ("-".into(), "999 ns".into()));
        assert_eq!(
            (time(1500), time(2_500_000)),
            ("1.5 us".into(), "2.5 ms".into())
        );
        assert_eq!(virtual_time(1500), "1.5 s");
        assert_eq!(percent(65), "6.5");
    }
}
