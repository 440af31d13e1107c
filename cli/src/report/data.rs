//! The data of all charts of a report, from the files of its runs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use capsched::metrics::{Histogram, TaggedInterval};
use serde::Serialize;
use serde_json::Value;

use super::decisions::{Decisions, Nodes};
use super::folder::{document, log, runs_of};
use super::latency_map::LatencyMap;
use super::repeated::{self, Repeated};
use super::tables::{BUCKETS, Job, Rate, Use, jobs, usage};
use crate::output::Problem;
use crate::run_format;

/// A report.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The folder.
    folder: String,
    /// Program, commit, machine, seed of the first run.
    made_with: Value,
    runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Serialize)]
struct Run {
    name: String,
    threads: u64,
    /// Nodes of the cluster; of an older run only where its command line describes them.
    node_count: Option<u64>,
    /// Figures of `run.json` as they are.
    figures: Value,
    /// Latency of decisions: share of all below, in millionths, with microseconds in thousandths.
    latency: Vec<(u64, u64)>,
    phases: Vec<PhaseTotal>,
    over_time: Vec<PhaseAt>,
    /// Latencies over time; nothing for a run without a course of them.
    latency_map: Option<LatencyMap>,
    rate: Rate,
    usage: Use,
    node_use: Nodes,
    /// What is seen when the run is played once more.
    repeated: Option<Repeated>,
    /// Why it is not.
    not_repeated: Option<String>,
}

/// The time that one phase took in all.
#[derive(Debug, Serialize)]
struct PhaseTotal {
    phase: String,
    n: u64,
    total_us: u64,
    p99_ns: u64,
}

/// Latencies of a phase in one interval of its log.
#[derive(Debug, Serialize)]
struct PhaseAt {
    at_ms: u64,
    phase: String,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// Shares at which the curve of latencies is read, in millionths.
const SHARES: [u64; 15] = [
    0, 250_000, 500_000, 750_000, 900_000, 950_000, 980_000, 990_000, 995_000, 998_000, 999_000,
    999_500, 999_900, 999_990, 1_000_000,
];

/// Reads a folder of results.
///
/// `given` is how the command line names it.
pub(super) fn of(given: &Path, folder: &Path) -> Result<Report> {
    let paths = runs_of(folder)?;
    run_format::check_folder(folder)?;
    let (mut runs, mut all_counts) = (Vec::new(), Vec::new());
    let mut made_with = Value::Null;
    for path in &paths {
        let file = path.join("run.json");
        let whole = document(&file)?;
        run_format::check(&file.display().to_string(), &whole)?;
        if made_with.is_null() {
            let parts = ["capsched", "commit", "machine", "seed"];
            let parts = parts.map(|part| (part.to_owned(), whole[part].clone()));
            made_with = Value::Object(parts.into_iter().collect());
        }
        let (run, counts) = run(path, &whole)?;
        runs.push(run);
        all_counts.push(counts);
    }
    for (run, rate) in runs.iter_mut().zip(rates(&all_counts)) {
        run.rate = rate;
    }
    tell_apart(&mut runs, &paths);
    Ok(Report {
        folder: given.display().to_string(),
        made_with,
        runs,
    })
}

/// Gives runs the names of their folders where two have one name: such columns differ in clusters or
/// settings.
fn tell_apart(runs: &mut [Run], paths: &[PathBuf]) {
    let names: BTreeSet<String> = runs.iter().map(|run| run.name.clone()).collect();
    if names.len() == runs.len() {
        return;
    }
    for (run, path) in runs.iter_mut().zip(paths) {
        if let Some(folder) = path.file_name() {
            run.name = folder.to_string_lossy().into_owned();
        }
    }
}

/// A run, and what its rates are made of, which have spans that all runs share.
fn run(path: &Path, whole: &Value) -> Result<(Run, PerSecond)> {
    let result = &whole["result"];
    if !result.is_object() {
        let shown = path.join("run.json").display().to_string();
        return Err(anyhow!(Problem(format!(
            "{shown}: no document of a run: it has no `result`"
        ))));
    }
    let mut figures = result.clone();
    if let Some(figures) = figures.as_object_mut() {
        figures.remove("messages");
    }
    let intervals = log(&path.join("latency.hlog"))?;
    let decisions = Decisions::read(&path.join("decisions.jsonl"))?;
    let name = result["name"].as_str().map(str::to_owned);
    let jobs = jobs(&path.join("jobs.csv"))?;
    let mut changes_ms: Vec<u64> = jobs.iter().map(|job| job.submitted_ms).collect();
    changes_ms.extend(decisions.times_ms());
    let (repeated, not_repeated) = played_again(path, &changes_ms);
    let folder = path.file_name().map(|name| name.to_string_lossy());
    let counts = PerSecond::of(&decisions, &jobs);
    let run = Run {
        name: name.or(folder.map(Cow::into_owned)).unwrap_or_default(),
        threads: result["threads"].as_u64().unwrap_or(1),
        node_count: node_count(&whole["settings"]),
        figures,
        latency: curve(&intervals),
        phases: totals(&intervals),
        over_time: over_time(&intervals),
        latency_map: LatencyMap::of(&intervals),
        rate: Rate::default(),
        usage: usage(&path.join("queues.csv"))?,
        node_use: decisions.nodes(),
        repeated,
        not_repeated,
    };
    Ok((run, counts))
}

/// What is seen when a run is played once more, or why it is not.
fn played_again(path: &Path, changes_ms: &[u64]) -> (Option<Repeated>, Option<String>) {
    match repeated::of(path, changes_ms) {
        Ok(repeated) => (Some(repeated), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    }
}

/// The nodes of a run; nothing when an older one read them from a file.
fn node_count(settings: &Value) -> Option<u64> {
    let count = settings["node_count"].as_u64();
    count.or_else(|| described(&settings["nodes"]))
}

/// The number of nodes of `100x64GiB,32vcores`; nothing when a file lists them.
fn described(nodes: &Value) -> Option<u64> {
    let text = match nodes {
        Value::Array(all) => all.first()?.as_str()?,
        other => other.as_str()?,
    };
    text.split_once('x')?.0.parse().ok()
}

/// All intervals of a phase as one.
fn merged(intervals: &[TaggedInterval]) -> BTreeMap<&str, Histogram> {
    let mut phases: BTreeMap<&str, Histogram> = BTreeMap::new();
    for interval in intervals {
        let phase = phases.entry(interval.tag.as_str()).or_default();
        phase.merge(&interval.latencies);
    }
    phases
}

/// The curve of whole decisions.
fn curve(intervals: &[TaggedInterval]) -> Vec<(u64, u64)> {
    let phases = merged(intervals);
    let Some(decisions) = phases.get("propose") else {
        return Vec::new();
    };
    #[expect(
        clippy::float_arithmetic,
        clippy::cast_precision_loss,
        reason = "a share of all latencies"
    )]
    let at = |share: &u64| (*share, decisions.quantile(*share as f64 / 1e6));
    SHARES.iter().map(at).collect()
}

#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "totals for a chart"
)]
fn totals(intervals: &[TaggedInterval]) -> Vec<PhaseTotal> {
    let phases = merged(intervals);
    let total = |(phase, histogram): (&&str, &Histogram)| {
        let latency = histogram.latency();
        PhaseTotal {
            phase: (*phase).to_owned(),
            n: latency.n,
            total_us: (latency.mean * latency.n as f64 / 1e3) as u64,
            p99_ns: latency.p99,
        }
    };
    phases.iter().map(total).collect()
}

fn over_time(intervals: &[TaggedInterval]) -> Vec<PhaseAt> {
    let at = |interval: &TaggedInterval| {
        let latency = interval.latencies.latency();
        PhaseAt {
            at_ms: u64::try_from(interval.start.as_millis()).unwrap_or(u64::MAX),
            phase: interval.tag.clone(),
            p50_ns: latency.p50,
            p99_ns: latency.p99,
            max_ns: latency.max,
        }
    };
    intervals.iter().map(at).collect()
}

/// Containers by second of virtual time.
struct PerSecond {
    asked: BTreeMap<u64, u64>,
    placed: BTreeMap<u64, u64>,
}

impl PerSecond {
    fn of(decisions: &Decisions, jobs: &[Job]) -> Self {
        let mut asked: BTreeMap<u64, u64> = BTreeMap::new();
        for job in jobs {
            *asked.entry(job.submitted_ms / 1_000).or_default() += job.asked;
        }
        Self {
            asked,
            placed: decisions.placed(1_000),
        }
    }

    /// The last second in which something was asked or placed.
    fn last(&self) -> u64 {
        let last = |counts: &BTreeMap<u64, u64>| counts.keys().next_back().copied().unwrap_or(0);
        last(&self.asked).max(last(&self.placed))
    }
}

/// Containers asked and placed in each of equal spans of time, of whole seconds, the same ones for all runs.
fn rates(runs: &[PerSecond]) -> Vec<Rate> {
    let last = runs.iter().map(PerSecond::last).max().unwrap_or(0);
    let width = last / BUCKETS + 1;
    let spans = last / width + 1;
    let sums = |counts: &BTreeMap<u64, u64>| -> Vec<u64> {
        let within = |span: u64| counts.range(span * width..(span + 1) * width);
        (0..spans)
            .map(|span| within(span).map(|(_, n)| n).sum())
            .collect()
    };
    let rate = |run: &PerSecond| Rate {
        at_s: (0..spans).map(|span| span * width).collect(),
        asked: sums(&run.asked),
        placed: sums(&run.placed),
    };
    runs.iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_all_runs_have_the_same_spans_and_lose_nothing() {
        let of = |asked: &[(u64, u64)], placed: &[(u64, u64)]| PerSecond {
            asked: asked.iter().copied().collect(),
            placed: placed.iter().copied().collect(),
        };
        let short = of(&[(0, 7)], &[(0, 3), (1, 4)]);
        let long = of(&[(0, 7)], &[(3 * BUCKETS, 7)]);
        let rates = rates(&[short, long]);
        assert_eq!(rates[0].at_s, rates[1].at_s);
        assert_eq!(rates[0].at_s[..2], [0, 4]);
        assert_eq!(rates[0].placed[..2], [7, 0]);
        for rate in &rates {
            assert_eq!(rate.asked.iter().sum::<u64>(), 7);
            assert_eq!(rate.placed.iter().sum::<u64>(), 7);
            assert_eq!(rate.placed.len(), rate.at_s.len());
        }
    }
}
