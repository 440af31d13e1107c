//! What follows from a comparison: which mode waits less, which finishes earlier, what is noise.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "ratios of a report"
)]

use std::fmt::Write as _;

use super::figures::{grouped, virtual_time};
use super::left::wrapped;
use super::outcome::Outcome;

/// Differences below this share say nothing when there is only one seed.
const NOISE: f64 = 0.05;

/// Differences below this share say nothing, however many seeds there are.
const LEAST: f64 = 0.01;

/// One column of a comparison: its runs over the seeds, at least one.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// What differs from the others.
    pub(crate) name: String,
    /// Its runs.
    pub(crate) runs: Vec<Outcome>,
}

/// A figure that columns are compared by: smaller is better.
struct Measure {
    /// The figure in a sentence such as `a waits 5 % less`.
    verb: &'static str,
    less: &'static str,
    tail: &'static str,
    /// What does not differ.
    alike: &'static str,
    of: fn(&Outcome) -> u64,
}

const MEASURES: [Measure; 2] = [
    Measure {
        verb: "waits",
        less: "less",
        tail: " for the first container at p95",
        alike: "how long the first container takes at p95",
        of: |run| run.report.first_container.p95_ms,
    },
    Measure {
        verb: "is done",
        less: "earlier",
        tail: "",
        alike: "when all is done",
        of: |run| run.report.finished_ms,
    },
];

/// Smallest, middle and largest of a figure over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    min: u64,
    median: u64,
    max: u64,
}

impl Range {
    fn of(column: &Column, of: impl Fn(&Outcome) -> u64) -> Self {
        let mut values: Vec<u64> = column.runs.iter().map(of).collect();
        values.sort_unstable();
        let at = |index: usize| values.get(index).copied().unwrap_or(0);
        Self {
            min: at(0),
            median: at(values.len() / 2),
            max: at(values.len().saturating_sub(1)),
        }
    }

    /// Whether this is smaller than another beyond noise.
    fn is_below(self, other: Self, seeds: usize) -> bool {
        let differs = |least: f64| {
            (other.median - self.median.min(other.median)) as f64 > least * other.median as f64
        };
        if seeds > 1 {
            return self.max < other.min && differs(LEAST);
        }
        differs(NOISE)
    }
}

/// The verdict in sentences.
pub(crate) fn verdict(columns: &[Column]) -> String {
    if columns.len() < 2 {
        return String::new();
    }
    let seeds = columns.iter().map(|column| column.runs.len()).min();
    let seeds = seeds.unwrap_or(1);
    let mut sentences = Vec::new();
    sentences.extend(unplaced(columns));
    if columns.iter().all(places_nothing) {
        let why = "No container was placed in any column, so that there is nothing to compare";
        return wrapped(&format!("Verdict: {why}: see what was refused or left."), 0);
    }
    sentences.extend(
        MEASURES
            .iter()
            .map(|measure| compared(columns, measure, seeds)),
    );
    sentences.push(if seeds > 1 {
        format!("Over {seeds} seeds; a difference is 1 % or more, and its ranges do not meet.")
    } else {
        "One seed: below 5 % is taken for noise; --repeats 5 shows more.".to_owned()
    });
    wrapped(&format!("Verdict: {}", sentences.join(" ")), 0)
}

/// Whether no run of a column placed anything.
fn places_nothing(column: &Column) -> bool {
    column.runs.iter().all(|run| run.report.counts.placed == 0)
}

/// Columns that leave more work than another do not compare by waits alone.
fn unplaced(columns: &[Column]) -> Option<String> {
    let left: Vec<u64> = columns
        .iter()
        .map(|column| Range::of(column, Outcome::not_placed).median)
        .collect();
    let least = left.iter().min().copied()?;
    let more = columns.iter().zip(&left).filter(|(_, n)| **n > least);
    let named: Vec<String> = more
        .map(|(column, n)| format!("{} leaves {} containers", column.name, grouped(*n)))
        .collect();
    (!named.is_empty()).then(|| {
        let list = listed(&named);
        format!(
            "{list}; the best leaves {}. Waits count only what was served.",
            grouped(least)
        )
    })
}

/// Which column is best by a measure, by how much, and which do not differ.
fn compared(columns: &[Column], measure: &Measure, seeds: usize) -> String {
    let mut ranges: Vec<(&str, Range)> = columns
        .iter()
        .map(|column| (column.name.as_str(), Range::of(column, measure.of)))
        .collect();
    ranges.sort_by_key(|(name, range)| (range.median, *name));
    let (best, least) = ranges[0];
    let worse: Vec<&(&str, Range)> = ranges[1..]
        .iter()
        .filter(|(_, range)| least.is_below(*range, seeds))
        .collect();
    let alike: Vec<String> = ranges
        .iter()
        .filter(|(_, range)| !least.is_below(*range, seeds))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let Some((_, next)) = worse.first() else {
        let (alike, of) = (measure.alike, virtual_time(least.median));
        return format!("They do not differ beyond noise in {alike}: some {of}.");
    };
    let saved = 100.0 * (next.median - least.median) as f64 / next.median.max(1) as f64;
    let others: Vec<String> = worse.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut out = format!(
        "{best} {} {saved:.0} % {} than {}{} ({} against {})",
        measure.verb,
        measure.less,
        listed(&others),
        measure.tail,
        virtual_time(least.median),
        virtual_time(next.median),
    );
    if alike.len() > 1 {
        let _ = write!(out, "; {} do not differ beyond noise", listed(&alike));
    }
    out.push('.');
    out
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A row of the spread: label, figure, how it is shown.
type SpreadRow = (&'static str, fn(&Outcome) -> u64, fn(u64) -> String);

const ROWS: [SpreadRow; 5] = [
    (
        "containers allocated",
        |run| run.report.counts.placed,
        grouped,
    ),
    ("containers left", Outcome::not_placed, grouped),
    (
        "first container p50",
        |run| run.report.first_container.p50_ms,
        virtual_time,
    ),
    (
        "first container p95",
        |run| run.report.first_container.p95_ms,
        virtual_time,
    ),
    ("all done after", |run| run.report.finished_ms, virtual_time),
];

/// Smallest and largest figures over the seeds; empty for one seed.
pub(crate) fn spread(columns: &[Column]) -> String {
    let seeds = columns.iter().map(|column| column.runs.len()).max();
    let seeds = seeds.unwrap_or(0);
    if seeds < 2 {
        return String::new();
    }
    let mut out = format!("\nover {seeds} seeds: smallest, middle, largest\n");
    for (label, of, shown) in ROWS {
        let _ = writeln!(out, "{label}");
        for column in columns {
            let range = Range::of(column, of);
            let _ = writeln!(
                out,
                "  {:<24}{:>16}{:>16}{:>16}",
                column.name,
                shown(range.min),
                shown(range.median),
                shown(range.max)
            );
        }
    }
    out
}

/// The same as JSON, by column.
pub(crate) fn spread_json(columns: &[Column]) -> serde_json::Value {
    let range = |range: Range| serde_json::json!({"min": range.min, "median": range.median, "max": range.max});
    let of_column = |column: &Column| {
        let figures = serde_json::json!({
            "seeds": column.runs.len(),
            "placed": range(Range::of(column, |run| run.report.counts.placed)),
            "left": range(Range::of(column, Outcome::not_placed)),
            "first_container_p50_ms":
                range(Range::of(column, |run| run.report.first_container.p50_ms)),
            "first_container_p95_ms":
                range(Range::of(column, |run| run.report.first_container.p95_ms)),
            "finished_ms": range(Range::of(column, |run| run.report.finished_ms)),
        });
        (column.name.clone(), figures)
    };
    serde_json::Value::Object(columns.iter().map(of_column).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: u64, median: u64, max: u64) -> Range {
        Range { min, median, max }
    }

    #[test]
    fn a_difference_is_beyond_noise_when_ranges_do_not_meet() {
        assert!(range(1, 2, 3).is_below(range(4, 5, 6), 3));
        assert!(!range(1, 2, 4).is_below(range(4, 5, 6), 3));
        assert!(!range(9_970, 9_980, 9_985).is_below(range(9_990, 9_995, 9_999), 3));
        assert!(range(90, 90, 90).is_below(range(100, 100, 100), 1));
        assert!(!range(96, 96, 96).is_below(range(100, 100, 100), 1));
        assert!(!range(0, 0, 0).is_below(range(0, 0, 0), 1));
        assert!(!range(9, 9, 9).is_below(range(3, 3, 3), 1));
    }

    #[test]
    fn names_are_listed_as_in_a_sentence() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..1]), "a");
    }
}
