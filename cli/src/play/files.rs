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

    /// A folder within it, for one run of several.
    pub(crate) fn within(&self, name: &str) -> Result<Self> {
        Self::create(&self.path.join(name), true)
    }

    /// The log of decisions, to be filled during the run. Its first line tells what made it.
    pub(crate) fn decisions(&self, types: usize, settings: &Value) -> Result<DecisionLog> {
        let mut file = self.file("decisions.jsonl")?;
        writeln!(file, "{}", json!({"made_with": made_with(settings)}))?;
        Ok(JsonLog::new(file, types))
    }

    /// Writes one document.
    pub(crate) fn document(&self, name: &str, document: &Value) -> Result<()> {
        let mut file = self.file(name)?;
        writeln!(file, "{document:#}")?;
        file.flush().with_context(|| name.to_owned())
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
        let made_with = made_with(settings);
        let mut csv = self.file("queues.csv")?;
        writeln!(csv, "# {made_with}")?;
        series(&mut csv, &outcome.report, &outcome.types).context("queues.csv")?;
        let mut hlog = self.file("latency.hlog")?;
        writeln!(hlog, "#{made_with}")?;
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
            writeln!(hgrm, "#{made_with}")?;
            hgrm.flush().context("decision.hgrm")?;
        }
        let mut run = made_with;
        let parts = json!({
            "began_ms": began_ms,
            "settings": settings,
            "offered": outcome.report.counts.offered,
            "achieved": outcome.report.counts.placed,
            "result": outcome.to_json(),
            "mapping": crate::replay::mapping(&outcome.report.mapping),
        });
        if let (Value::Object(run), Value::Object(mut parts)) = (&mut run, parts) {
            run.append(&mut parts);
        }
        self.document("run.json", &run)
    }
}

/// What makes figures comparable: program, machine, and what was asked for.
fn made_with(settings: &Value) -> Value {
    json!({
        "capsched": env!("CARGO_PKG_VERSION"),
        "commit": env!("CAPSCHED_COMMIT"),
        "machine": machine(),
        "mode": settings["mode"],
        "threads": settings["threads"],
        "seed": settings["seed"],
    })
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
