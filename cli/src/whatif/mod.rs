//! `capsched whatif`: a recorded run once more, as it was and with changes, queue by queue.

mod candidate;
mod figures;
mod search;
mod shown;
mod slope;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use capsched::sync::{AtomicUsize, Ordering};
use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::aside;
use crate::output::{line, note, put};
use crate::play::{Cluster, Scene, grouped};
use crate::recipe::{Recorded, Staged};
use crate::why::newest_run;
use candidate::{Candidate, NodeChange, node_change, setting};
use figures::{PerQueue, RunSummary};
use search::{Goal, Range, goal, range};

/// Arguments of `capsched whatif`.
///
/// Each `--conf` and each `--try` makes a candidate; `--set` and `--nodes` hold for all of them, and make
/// one alone. The run as it was is played beside them.
#[derive(clap::Args, Debug)]
pub(crate) struct WhatifArgs {
    /// Folder of a run (`replay --out`, or one column of `compare --out`); the newest one below `runs`
    /// when left out.
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    /// Set a property, by full name or without `yarn.scheduler.capacity.`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Another capacity-scheduler.xml instead of that of the run.
    #[arg(long, value_name = "FILE")]
    conf: Vec<PathBuf>,
    /// Add so many nodes of the commonest kind, as in +20, or take the last ones away, as in -5.
    #[arg(long, value_name = "+N|-N", value_parser = node_change, allow_hyphen_values = true)]
    nodes: Option<NodeChange>,
    /// Properties of one more candidate, separated by commas.
    #[arg(long = "try", value_name = "KEY=VALUE,...")]
    tries: Vec<String>,
    /// Find the best value of a property between two, in steps: `root.dev.capacity=20..60:10`. Capacities in
    /// percent of the queues beside it share what is left as they do now.
    #[arg(long, value_name = "KEY=A..B[:STEP]", value_parser = range, conflicts_with_all = ["conf", "tries"])]
    search: Option<Range>,
    /// What the search makes small: wait-p50, wait-p95 or unplaced, of one queue as in wait-p95:root.dev.
    #[arg(long, value_name = "GOAL", value_parser = goal, default_value = "wait-p95", requires = "search")]
    goal: Goal,
    /// Orders of the nodes that the search plays each value with.
    #[arg(long, value_name = "N", default_value_t = 5, requires = "search", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Write the slope chart of the waits at p95 into this file.
    #[arg(long, value_name = "FILE", conflicts_with = "search")]
    svg: Option<PathBuf>,
    /// Replace the file when it exists.
    #[arg(long, requires = "svg")]
    force: bool,
    /// Print one JSON object, as docs/reference/whatif.md describes it.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &WhatifArgs) -> Result<ExitCode> {
    let run = match &args.run {
        Some(run) => run.clone(),
        None => newest_run(Path::new("runs"))?,
    };
    let svg = args.svg.as_ref().map(std::path::absolute).transpose()?;
    let confs: std::io::Result<Vec<PathBuf>> = args.conf.iter().map(std::path::absolute).collect();
    let confs = confs?;
    let staged = Recorded::open(&run)?.stage()?;
    if let Some(range) = &args.search {
        let found = search::search(&staged, (range, &args.goal, args.seeds), &args.common())?;
        if args.json {
            line(found.to_json());
        } else {
            put(&found.to_string());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let candidates = args.candidates(&staged, &confs)?;
    let mut all = vec![Candidate::as_it_was(&staged)];
    all.extend(candidates);
    let played = play_all(&staged, &all)?;
    if let Some(path) = &svg {
        aside::write(path, slope::chart(&played).as_bytes(), args.force)?;
    }
    if args.json {
        line(shown::json(&played));
    } else {
        put(&shown::text(&played));
    }
    if let Some(path) = &args.svg {
        note(format_args!("chart: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Plays every candidate, on all cores.
fn play_all(staged: &Staged, all: &[Candidate]) -> Result<Vec<RunSummary>> {
    let progress = Progress::of(all.len());
    let played: Vec<Result<RunSummary>> = all
        .par_iter()
        .map(|candidate| {
            let summary = play(staged, &candidate.name, &candidate.cluster)?;
            let placed = grouped(summary.all.placed);
            progress.ended(format_args!("{}: {placed} containers placed", summary.name));
            Ok(summary)
        })
        .collect();
    played.into_iter().collect()
}

/// Says on standard error how many of the runs ended.
struct Progress {
    runs: usize,
    ended: AtomicUsize,
}

impl Progress {
    fn of(runs: usize) -> Self {
        let ended = AtomicUsize::new(0);
        Self { runs, ended }
    }

    fn ended(&self, what: fmt::Arguments<'_>) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        note(format_args!("{ended} of {}: {what}", self.runs));
    }
}

/// Plays the run on a cluster.
fn play(staged: &Staged, name: &str, cluster: &Cluster) -> Result<RunSummary> {
    let scene = Scene {
        cluster,
        says_end: false,
        ..staged.scene()
    };
    let mut watch = PerQueue::default();
    let bar = ProgressBar::hidden();
    let outcome = staged.row.play(&scene, &bar, &mut watch)?;
    Ok(RunSummary::of(name, &outcome, watch))
}

impl WhatifArgs {
    /// What holds for every candidate.
    fn common(&self) -> candidate::Common<'_> {
        candidate::Common {
            set: &self.set,
            nodes: self.nodes,
        }
    }

    /// The candidates, the run as it was left out.
    fn candidates(&self, staged: &Staged, confs: &[PathBuf]) -> Result<Vec<Candidate>> {
        let common = self.common();
        let mut all = Vec::new();
        for (conf, named) in confs.iter().zip(&self.conf) {
            all.push(common.with_conf(staged, conf, &named.display().to_string())?);
        }
        for tried in &self.tries {
            let pairs: Result<Vec<_>, String> = tried.split(',').map(setting).collect();
            let pairs = pairs.map_err(|error| anyhow::anyhow!("--try: {error}"))?;
            common.note_warnings(staged, &pairs);
            all.push(common.with_pairs(staged, &pairs, tried)?);
        }
        if all.is_empty() {
            if self.set.is_empty() && self.nodes.is_none() {
                bail!("nothing is changed; say --set, --conf, --nodes, --try or --search");
            }
            common.note_warnings(staged, &[]);
            all.push(common.with_pairs(staged, &[], &common.name())?);
        }
        Ok(all)
    }
}
