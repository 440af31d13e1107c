//! `perf check`: measures what has accepted ranges in `configs/ranges` and judges it by them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::output::say;
use crate::record::Record;
use crate::rounds::{self, How};
use crate::shape::{Run, Shape};
use crate::{ModeName, limits, open, results};

/// Arguments of `perf check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Workloads with ranges, separated by commas; all of them unless given.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<String>,
    /// Judges the latest records of this file instead of measuring.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Rounds of each run; the median of a figure is judged.
    #[arg(long, default_value_t = 3, value_parser = limits::rounds())]
    rounds: usize,
}

/// The accepted ranges of a workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranges {
    bound: Vec<Bound>,
}

/// The accepted range of one figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    mode: ModeName,
    threads: usize,
    /// Offered asks a second, for an open run.
    rate: Option<u64>,
    /// Field of a record, with a dot for a field of a field.
    field: String,
    min: Option<u64>,
    max: Option<u64>,
}

impl Bound {
    fn judge(&self, found: u64) -> Option<String> {
        let low = self.min.filter(|&min| found < min);
        let high = self.max.filter(|&max| found > max);
        let what = match (low, high) {
            (Some(min), _) => format!("is less than {min}"),
            (_, Some(max)) => format!("is more than {max}"),
            _ => return None,
        };
        Some(format!("{} {found} {what}", self.field))
    }
}

/// Runs the command; fails when a figure is out of its range.
pub(crate) fn run(args: &Args) -> Result<()> {
    let all = ranges(&args.workloads)?;
    let records = args
        .records
        .as_ref()
        .map(|path| results::read(path))
        .transpose()?;
    let mut wrong = 0;
    for (shape, ranges) in &all {
        let name = &shape.name;
        for bound in &ranges.bound {
            let place = format!("{name} {} with {}", bound.mode.name(), bound.threads);
            let found = match &records {
                Some(records) => latest(records, name, bound),
                None => Some(measure(shape, bound, args.rounds)?),
            };
            let Some(found) = found else {
                say!("{place}: no record");
                wrong += 1;
                continue;
            };
            match bound.judge(found) {
                Some(what) => {
                    say!("{place}: {what}");
                    wrong += 1;
                }
                None => say!("{place}: {} {found} is in its range", bound.field),
            }
        }
    }
    ensure!(wrong == 0, "{wrong} figures are out of their range");
    Ok(())
}

/// Some workloads with their ranges, of those that have any; all of them where none is named. Nothing is
/// measured before everything was read.
fn ranges(wanted: &[String]) -> Result<Vec<(Shape, Ranges)>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/ranges"));
    let mut known = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        known.extend(name.strip_suffix(".toml").map(str::to_owned));
    }
    known.sort_unstable();
    for name in wanted {
        ensure!(
            known.contains(name),
            "no ranges of {name}; there are those of {}",
            known.join(", ")
        );
    }
    let names = if wanted.is_empty() { &known } else { wanted };
    let read = |name: &String| -> Result<(Shape, Ranges)> {
        let path = folder.join(format!("{name}.toml"));
        let place = || path.display().to_string();
        let text = fs::read_to_string(&path).with_context(place)?;
        let ranges: Ranges = toml::from_str(&text).with_context(place)?;
        for bound in &ranges.bound {
            let few = bound.threads as u64 <= limits::THREADS;
            ensure!(
                few,
                "{}: threads = {}: 0 to {}",
                place(),
                bound.threads,
                limits::THREADS
            );
        }
        Ok((Shape::named(name)?, ranges))
    };
    names.iter().map(read).collect()
}

/// The figure of the latest record of a run.
fn latest(records: &[Value], name: &str, bound: &Bound) -> Option<u64> {
    let fits = |record: &&Value| {
        results::text(record, "workload") == name
            && results::text(record, "mode") == bound.mode.name()
            && results::number(record, "threads") == u64::try_from(bound.threads).ok()
            && (bound.rate.is_none() || results::number(record, "offered_per_second") == bound.rate)
    };
    results::number(records.iter().rev().find(fits)?, &bound.field)
}

/// The median of a figure over some rounds.
fn measure(shape: &Shape, bound: &Bound, rounds: usize) -> Result<u64> {
    let how = How::of(bound.mode, bound.threads);
    let mut found = Vec::new();
    for number in 1..=rounds {
        let record = match (&shape.run, bound.rate) {
            (Run::Open { seconds, .. }, Some(rate)) => {
                let seconds = u64::from(*seconds);
                serde_json::to_value(open::measure(shape, how, rate, seconds)?.0)?
            }
            (Run::Open { .. }, None) => bail!("{}: a bound of an open run has a rate", shape.name),
            _ => {
                let round = rounds::whole(shape, how)?;
                serde_json::to_value(Record::new(shape, how, number, &round))?
            }
        };
        let figure = results::number(&record, &bound.field);
        found.push(figure.with_context(|| format!("no figure `{}`", bound.field))?);
    }
    found.sort_unstable();
    Ok(found[found.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> Bound {
        let text = "mode = \"global\"\nthreads = 1\nfield = \"latency_ns.p99\"\nmin = 10\nmax = 20";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it() {
        let bound = bound();
        assert_eq!([10, 20].map(|found| bound.judge(found)), [None, None]);
        assert!(
            bound
                .judge(9)
                .is_some_and(|what| what.contains("less than 10"))
        );
        assert!(
            bound
                .judge(21)
                .is_some_and(|what| what.contains("more than 20"))
        );
    }

    #[test]
    fn ranges_that_are_not_there_are_answered_with_those_that_are() {
        let wanted = |name: &str| ranges(&[name.to_owned()]);
        for name in ["NOPE", "../ranges/S1"] {
            let error = wanted(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("W9-pack"), "{error}");
        }
        assert_eq!(wanted("S1").unwrap()[0].0.name, "S1");
        assert!(ranges(&[]).unwrap().len() > 5);
    }

    #[test]
    fn the_latest_record_of_the_same_run_is_judged() {
        let record = |threads: u64, p99: u64| {
            serde_json::json!({"workload": "S1", "mode": "global", "threads": threads,
                "latency_ns": {"p99": p99}})
        };
        let records = [record(1, 5), record(1, 15), record(2, 99)];
        assert_eq!(latest(&records, "S1", &bound()), Some(15));
        assert_eq!(latest(&records, "S2", &bound()), None);
    }
}
