//! The folder of a run: decision log, time series, histograms, and what they were made with.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::metrics::{Interval, write_hgrm, write_hlog};
use capsched::simulator::{JsonLog, RunReport};
use serde_json::{Value, json};

use super::outcome::Outcome;

/// A folder that a run writes into; `run.json` comes last and marks it complete.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

/// The log of decisions while it is written.
pub(crate) type DecisionLog = JsonLog<BufWriter<File>>;

impl RunFolder {
    /// Makes the folder, or takes an empty one; with `force` files of an earlier run are replaced.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self> {
        let shown = path.display();
        fs::create_dir_all(path)
            .with_context(|| format!("{shown} cannot be made; name another folder by --out"))?;
        let mut entries =
            fs::read_dir(path).with_context(|| format!("{shown} cannot be looked into"))?;
        if entries.next().is_some() && !force {
            bail!("{shown} is not empty; name another folder, or say --force to replace its files");
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The log of decisions, to be filled during the run.
    pub(crate) fn decisions(&self, types: usize) -> Result<DecisionLog> {
        Ok(JsonLog::new(self.file("decisions.jsonl")?, types))
    }

    fn file(&self, name: &str) -> Result<BufWriter<File>> {
        let path = self.path.join(name);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        Ok(BufWriter::new(file))
    }

    /// Writes everything that is known at the end.
    pub(crate) fn finish(
        &self,
        log: DecisionLog,
        began_ms: u64,
        outcome: &Outcome,
        settings: &Value,
    ) -> Result<()> {
        log.finish().context("decisions.jsonl")?;
        let mut csv = self.file("queues.csv")?;
        series(&mut csv, &outcome.report, &outcome.types).context("queues.csv")?;
        let mut hlog = self.file("latency.hlog")?;
        let interval = Interval {
            start: Duration::ZERO,
            length: Duration::from_nanos(outcome.wall_ns),
            latencies: outcome.latencies.clone(),
        };
        write_hlog(&mut hlog, began_ms, [interval])?;
        hlog.flush().context("latency.hlog")?;
        if let Some(histogram) = outcome.decisions() {
            let mut hgrm = self.file("decision.hgrm")?;
            write_hgrm(&mut hgrm, histogram)?;
            hgrm.flush().context("decision.hgrm")?;
        }
        let run = json!({
            "capsched": env!("CARGO_PKG_VERSION"),
            "commit": env!("CAPSCHED_COMMIT"),
            "machine": machine(),
            "began_ms": began_ms,
            "settings": settings,
            "offered": outcome.report.counts.offered,
            "achieved": outcome.report.counts.placed,
            "result": outcome.to_json(),
            "mapping": crate::replay::mapping(&outcome.report.mapping),
        });
        let mut file = self.file("run.json")?;
        writeln!(file, "{run:#}")?;
        file.flush().context("run.json")
    }
}

/// Use of every leaf at every sample, one line each.
fn series(out: &mut impl Write, report: &RunReport, types: &[String]) -> std::io::Result<()> {
    writeln!(
        out,
        "at_ms,queue,{},waiting_in_cluster,fairness_gap_permille",
        types.join(",")
    )?;
    for sample in &report.series {
        for (queue, used) in &sample.used {
            write!(out, "{},{queue}", sample.at_ms)?;
            for value in used.values(types.len()) {
                write!(out, ",{value}")?;
            }
            writeln!(out, ",{},{}", sample.waiting, sample.gap_permille)?;
        }
    }
    out.flush()
}

/// What the figures were measured on.
pub(crate) fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    json!({"cores": cores, "processor": model, "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "optimised": !cfg!(debug_assertions)})
}
