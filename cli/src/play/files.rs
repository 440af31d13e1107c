//! The folder of a run: decision log, jobs, time series, histograms, and what they were made with.
//!
//! `run.json` comes last and marks the folder as whole. It goes before the first byte of another
//! run is written. A lock on the folder keeps a second run out of it.

use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::metrics::{Interval, write_hgrm, write_hlog};
use capsched::simulator::RunReport;
use serde_json::{Value, json};

use super::outcome::Outcome;
#[cfg(feature = "parquet")]
use super::parquet_jobs::JobsParquet;
use super::recorder::Recorder;
use crate::aside;
use crate::interrupt::{self, Guarded, INTERRUPTED, MARKERS};
use crate::run_format;

/// Files of an earlier run, which go before another one begins. Those that mark it as whole are first.
const FILES: [&str; 9] = [
    MARKERS[0],
    MARKERS[1],
    INTERRUPTED,
    "decisions.jsonl",
    "jobs.csv",
    "jobs.parquet",
    "queues.csv",
    "latency.hlog",
    "decision.hgrm",
];

/// A folder that a run writes into.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    _lock: File,
    _guarded: Guarded,
}

impl RunFolder {
    /// Makes the folder, or takes an empty one; with `force` files of an earlier run are removed.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self> {
        let shown = path.display();
        fs::create_dir_all(path)
            .with_context(|| format!("{shown} cannot be made; name another folder by --out"))?;
        let lock = locked(path)?;
        let mut entries =
            fs::read_dir(path).with_context(|| format!("{shown} cannot be looked into"))?;
        if entries.next().is_some() && !force {
            bail!("{shown} is not empty; name another folder, or say --force to replace its files");
        }
        clear(path)?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
            _guarded: interrupt::run_folder(path),
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

    /// The logs that are filled during the run. Their first lines say what made them.
    pub(crate) fn recorder(&self, types: usize, settings: &Value) -> Result<Recorder> {
        let made_with = made_with(settings);
        let mut decisions = self.file("decisions.jsonl")?;
        writeln!(decisions, "{}", json!({"made_with": made_with}))?;
        let mut jobs = self.file("jobs.csv")?;
        writeln!(jobs, "# {made_with}")?;
        #[cfg(feature = "parquet")]
        let table = {
            let file = self.file("jobs.parquet")?.into_parts().0;
            JobsParquet::new(file, made_with.to_string())?
        };
        Recorder::new(
            decisions,
            jobs,
            types,
            #[cfg(feature = "parquet")]
            table,
        )
    }

    /// Writes one document.
    pub(crate) fn document(&self, name: &str, document: &Value) -> Result<()> {
        let path = self.path.join(name);
        let text = format!("{document:#}\n");
        interrupt::undisturbed(|| aside::write(&path, text.as_bytes(), true))
    }

    /// A new file of the run. Nothing lies at its name, so that no link is followed.
    fn file(&self, name: &str) -> Result<BufWriter<File>> {
        let path = self.path.join(name);
        let file = File::create_new(&path).with_context(|| path.display().to_string())?;
        Ok(BufWriter::new(file))
    }

    /// Writes everything that is known at the end.
    pub(crate) fn finish(
        &self,
        recorder: Recorder,
        began_ms: u64,
        outcome: &Outcome,
        settings: &Value,
    ) -> Result<()> {
        recorder.finish()?;
        let made_with = made_with(settings);
        let mut csv = self.file("queues.csv")?;
        writeln!(csv, "# {made_with}")?;
        series(&mut csv, &outcome.report, &outcome.types).context("queues.csv")?;
        synced(csv).context("queues.csv")?;
        self.histograms(&made_with, began_ms, outcome)?;
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

    fn histograms(&self, made_with: &Value, began_ms: u64, outcome: &Outcome) -> Result<()> {
        let mut hlog = self.file("latency.hlog")?;
        writeln!(hlog, "#{made_with}")?;
        let whole = Interval {
            start: Duration::ZERO,
            length: Duration::from_nanos(outcome.wall_ns),
            latencies: outcome.latencies.clone(),
        };
        let intervals = match outcome.intervals.is_empty() {
            true => vec![whole],
            false => outcome.intervals.clone(),
        };
        write_hlog(&mut hlog, began_ms, intervals)?;
        synced(hlog).context("latency.hlog")?;
        if let Some(histogram) = outcome.decisions() {
            let mut hgrm = self.file("decision.hgrm")?;
            write_hgrm(&mut hgrm, histogram)?;
            writeln!(hgrm, "#{made_with}")?;
            synced(hgrm).context("decision.hgrm")?;
        }
        Ok(())
    }
}

/// Writes a file to the disk.
pub(super) fn synced(file: BufWriter<File>) -> std::io::Result<()> {
    let file = file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// A lock on a folder, held until the value is dropped. File systems without locks do without.
fn locked(path: &Path) -> Result<File> {
    let shown = path.display();
    let folder = File::open(path).with_context(|| format!("{shown} cannot be looked into"))?;
    if let Err(TryLockError::WouldBlock) = folder.try_lock() {
        bail!("{shown} is in use by another run; name another folder by --out");
    }
    Ok(folder)
}

/// Removes what an earlier run left, and the folders of its columns.
fn clear(path: &Path) -> Result<()> {
    let compared = path.join(MARKERS[1]).exists();
    remove_files(path)?;
    if !compared {
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
    for entry in entries {
        let below = entry.with_context(|| path.display().to_string())?.path();
        let is_run = below.is_dir() && !below.is_symlink() && below.join(MARKERS[0]).exists();
        if is_run {
            remove_files(&below)?;
            // A folder with files of somebody else stays.
            let _kept = fs::remove_dir(&below);
        }
    }
    Ok(())
}

fn remove_files(folder: &Path) -> Result<()> {
    for name in FILES {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error)
                    .with_context(|| format!("{} cannot be replaced", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What makes figures comparable: program, machine, and what was asked for.
fn made_with(settings: &Value) -> Value {
    json!({
        "capsched": env!("CARGO_PKG_VERSION"),
        run_format::MEMBER: run_format::VERSION,
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
        "at_ms,queue,{},waiting_in_cluster,fairness_gap_permille,scheduler_late_ms",
        types.join(",")
    )?;
    for sample in &report.series {
        for (queue, used) in &sample.used {
            write!(out, "{},{queue}", sample.at_ms)?;
            for value in used.values(types.len()) {
                write!(out, ",{value}")?;
            }
            let (gap, late) = (sample.gap_permille, sample.late_ms);
            writeln!(out, ",{},{gap},{late}", sample.waiting)?;
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
