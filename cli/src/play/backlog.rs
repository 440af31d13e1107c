//! Containers that wait over virtual time: a sparkline for each run, and points for JSON.

use capsched::simulator::{RunReport, Sample};
use serde_json::{Value, json};

use super::figures::{grouped, virtual_time};
use super::outcome::Outcome;
use crate::printed::sparkline;

/// Columns of a chart.
const COLUMNS: u64 = 60;

/// Points in JSON.
const POINTS: u64 = 240;

/// The most that waited in each of so many equal parts of a run, up to a virtual time in ms.
fn by_part(series: &[Sample], end_ms: u64, parts: u64) -> Vec<u64> {
    let length = end_ms.div_ceil(parts).max(1);
    let mut samples = series.iter().peekable();
    let mut last = 0;
    let part = |index: u64| {
        let mut most = last;
        while let Some(sample) = samples.next_if(|sample| sample.at_ms < (index + 1) * length) {
            last = sample.waiting;
            most = most.max(last);
        }
        most
    };
    (0..end_ms.div_ceil(length)).map(part).collect()
}

/// The backlog of a run as points of virtual ms and containers.
pub(super) fn backlog_json(report: &RunReport) -> Value {
    let end_ms = report.ended_ms.max(1);
    let length = end_ms.div_ceil(POINTS).max(1);
    let most = by_part(&report.series, end_ms, POINTS);
    json!({"every_ms": length, "most": most})
}

/// The backlogs of some runs side by side, on one scale; nothing where nothing ever waited.
pub(super) fn chart(runs: &[Outcome]) -> String {
    let end_ms = runs
        .iter()
        .map(|run| run.report.ended_ms)
        .max()
        .unwrap_or(0);
    let lines: Vec<Vec<u64>> = runs
        .iter()
        .map(|run| by_part(&run.report.series, end_ms, COLUMNS))
        .collect();
    let most = lines.iter().flatten().copied().max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let mut out = format!(
        "\nContainers pending over {} (full height: {}, steps of an eighth)\n",
        virtual_time(end_ms),
        grouped(most)
    );
    for (run, line) in runs.iter().zip(&lines) {
        let name: String = run.name.chars().take(16).collect();
        out.push_str(&format!("{name:<16} |{}|\n", sparkline(line, most)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, waiting: u64) -> Sample {
        Sample {
            at_ms,
            waiting,
            ..Sample::default()
        }
    }

    #[test]
    fn a_part_shows_the_most_that_waited_in_it_and_what_stands_goes_on() {
        let series = [sample(0, 5), sample(10, 9), sample(11, 2), sample(35, 0)];
        assert_eq!(by_part(&series, 40, 4), [5, 9, 2, 2]);
        assert_eq!(by_part(&series, 41, 1), [9]);
        assert!(by_part(&series, 0, 4).is_empty());
    }
}
