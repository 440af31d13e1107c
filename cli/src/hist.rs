//! `capsched hist`: latencies of runs from their histogram logs, as tables and as files.

mod gate;
mod views;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail, ensure};
use capsched::metrics::{
    Histogram, LogError, TaggedInterval, read_hlog, write_csv, write_hgrm, write_tagged_hlog,
};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::aside;
use crate::interrupt::{INTERRUPTED, MARKERS};
use crate::output::{self, PROBLEM, Problem};
use crate::run_format;
use crate::text_file;

use gate::{Broken, Condition, condition};

/// Show the latencies of a run and write them in the formats of the usual tools.
///
/// A run is a histogram log (`.hlog`), such as `perf phases` writes: one histogram for each phase of
/// a decision. Or it is a folder of results, as `replay --out` and `compare --out` write: then every
/// log in it and in its folders is shown, and files are named after run and log. Values are
/// nanoseconds in logs and microseconds in what is shown here. The exit code is 1 when a condition
/// of `--fail-if` holds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Histogram log of a run, or folder of results.
    run: PathBuf,
    /// The same as `--against BASE`.
    #[arg(value_name = "BASE", conflicts_with = "against")]
    base: Option<PathBuf>,
    /// Files to write beside the table, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    format: Vec<Format>,
    /// Folder of the files; that of the run unless given.
    #[arg(short, long, value_name = "DIR", requires = "format")]
    out: Option<PathBuf>,
    /// Replace files of the same names.
    #[arg(long, requires = "format")]
    force: bool,
    /// Log or folder of another run: each percentile is compared with it.
    #[arg(long, value_name = "RUN")]
    against: Option<PathBuf>,
    /// Fail where this holds: `p99>100us`, `apply.p99.9>=1ms`, or `p99>1.1*base` with `--against`. A
    /// condition without a phase is about whole decisions (`propose`). Several may be given.
    #[arg(long, value_name = "CONDITION", value_parser = condition)]
    fail_if: Vec<Condition>,
    /// Show how the time of all passes divides into phases.
    #[arg(long)]
    shares: bool,
    /// Show the intervals with the longest latencies, and what took long in them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    stalls: Option<u16>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Format {
    /// One percentile distribution for each phase.
    Hgrm,
    /// One log with everything of a phase in one interval.
    Hlog,
    /// One table of percentiles of all phases.
    Csv,
}

/// Ends the names of the logs that are written here, which are nobody's run.
const MERGED: &str = "-merged.hlog";

/// Longest log that is read, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// A histogram log.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    /// Begins the names of its files.
    stem: String,
    /// The intervals as the log has them.
    intervals: Vec<TaggedInterval>,
    /// One interval for each tag.
    phases: Vec<TaggedInterval>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.fail_if.iter().any(Condition::needs_base) && args.base().is_none() {
        bail!("a condition compares with `base`; name that run, too: capsched hist RUN BASE");
    }
    let of_folder = args.run.is_dir();
    let logs = logs_of(&args.run)?;
    let bases = match args.base() {
        Some(base) => logs_of(base)?,
        None => Vec::new(),
    };
    let pairs: Vec<(&Log, Option<&Log>)> = logs
        .iter()
        .map(|log| (log, base_of(log, &logs, &bases)))
        .collect();
    let formats: BTreeSet<Format> = args.format.iter().copied().collect();
    let mut files = Vec::new();
    let mut failed: Vec<(&Log, Broken)> = Vec::new();
    for (at, (log, base)) in pairs.iter().enumerate() {
        if !args.json {
            let gap = if at > 0 { "\n" } else { "" };
            if of_folder {
                output::line(format_args!("{gap}{}", log.path.display()));
            }
            show_all(log, *base, args);
        }
        for format in &formats {
            files.extend(rendered(*format, log)?);
        }
        for condition in &args.fail_if {
            let broken = condition.broken(&log.phases, base.map(|base| &*base.phases));
            let broken = broken.map_err(|why| anyhow!("{}: {why}", log.path.display()))?;
            failed.extend(broken.into_iter().map(|one| (*log, one)));
        }
    }
    if args.json {
        output::put(&format!("{:#}\n", document(&pairs, &failed, args)));
    }
    write(args.folder(of_folder), &files, args.force)?;
    Ok(verdict(&failed))
}

impl Args {
    /// The run that percentiles are compared with.
    fn base(&self) -> Option<&Path> {
        self.base.as_deref().or(self.against.as_deref())
    }

    /// Where files go: into the folder that is named, or beside the run.
    fn folder(&self, of_folder: bool) -> &Path {
        let beside = if of_folder {
            Some(self.run.as_path())
        } else {
            self.run.parent()
        };
        self.out.as_deref().or(beside).unwrap_or(Path::new(""))
    }
}

/// The views of a log that are asked for.
fn show_all(log: &Log, base: Option<&Log>, args: &Args) {
    show(&log.phases);
    if let Some(base) = base {
        output::put(&views::against(log, base));
    }
    if args.shares {
        output::put(&views::shares(log));
    }
    if let Some(most) = args.stalls {
        output::put(&views::stalls(log, most.into()));
    }
}

fn document(pairs: &[(&Log, Option<&Log>)], failed: &[(&Log, Broken)], args: &Args) -> Value {
    let broken = |(log, one): &(&Log, Broken)| {
        json!({
            "log": log.path.display().to_string(),
            "condition": one.condition,
            "phase": one.phase,
            "ns": one.ns,
            "bound_ns": one.bound_ns,
        })
    };
    let logs = pairs.iter().map(|(log, base)| {
        let mut shown = views::to_json(log, *base);
        if args.shares {
            shown["shares"] = views::shares_json(log);
        }
        if let Some(most) = args.stalls {
            shown["stalls"] = views::stalls_json(log, most.into());
        }
        shown
    });
    json!({
        "logs": logs.collect::<Vec<Value>>(),
        "failed": failed.iter().map(broken).collect::<Vec<Value>>(),
    })
}

/// Says which conditions hold; the exit code.
fn verdict(failed: &[(&Log, Broken)]) -> ExitCode {
    for (log, one) in failed {
        output::note(format_args!(
            "failed: {}: {}: {} is {} us, the bound {} us",
            log.path.display(),
            one.condition,
            one.phase,
            views::us(one.ns),
            views::us(one.bound_ns)
        ));
    }
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(PROBLEM)
    }
}

/// The logs of a file or a folder.
fn logs_of(run: &Path) -> Result<Vec<Log>> {
    if run.is_dir() {
        logs_within(run)
    } else {
        Ok(vec![log_at(run)?])
    }
}

/// The log to compare with: the only one there is on both sides, or the one of the same run and name.
fn base_of<'a>(log: &Log, logs: &[Log], bases: &'a [Log]) -> Option<&'a Log> {
    if let ([_], [base]) = (logs, bases) {
        return Some(base);
    }
    let within = |log: &Log| {
        let folder = log.path.parent().and_then(Path::file_name);
        (text(folder), text(log.path.file_name()))
    };
    let found = bases.iter().find(|base| within(base) == within(log));
    if found.is_none() && !bases.is_empty() {
        output::note(format_args!("{}: not in the base", log.path.display()));
    }
    found
}

/// The log that was named.
fn log_at(path: &Path) -> Result<Log> {
    let intervals = read(path)?.map_err(|error| unreadable(path, &error))?;
    Ok(Log {
        path: path.to_path_buf(),
        stem: text(path.file_stem()),
        phases: merged(intervals.clone()),
        intervals,
    })
}

/// The logs of a folder of results and of the folders of its runs, by name. A run that measured
/// nothing is reported and skipped.
fn logs_within(folder: &Path) -> Result<Vec<Log>> {
    let mut runs = vec![folder.to_path_buf()];
    runs.extend(sorted(folder)?.into_iter().filter(|path| path.is_dir()));
    let mut logs = Vec::new();
    for run in runs {
        warn_of_part(&run);
        run_format::check_folder(&run)?;
        let name = name_of(&run);
        for path in sorted(&run)?.into_iter().filter(|path| is_log(path)) {
            let stem = format!("{name}-{}", text(path.file_stem()));
            match read(&path)? {
                Ok(intervals) => logs.push(Log {
                    path,
                    stem,
                    phases: merged(intervals.clone()),
                    intervals,
                }),
                Err(why @ LogError::Empty) => {
                    output::note(format_args!("passed over: {}: {why}", path.display()));
                }
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
    }
    ensure!(
        !logs.is_empty(),
        "{}: no histogram in it: looked for *.hlog and */*.hlog other than *{MERGED}",
        folder.display()
    );
    Ok(logs)
}

/// Says when a folder is that of a run which did not come to its end.
fn warn_of_part(run: &Path) {
    let has = |name: &str| run.join(name).exists();
    let whole = MARKERS.iter().any(|name| has(name));
    if !whole && (has("decisions.jsonl") || has(INTERRUPTED)) {
        output::note(format_args!(
            "warning: {}: the run did not come to its end: there is no {}",
            run.display(),
            MARKERS[0]
        ));
    }
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let paths: std::io::Result<Vec<PathBuf>> = paths.collect();
    let mut paths = paths.with_context(|| folder.display().to_string())?;
    paths.sort();
    Ok(paths)
}

fn is_log(path: &Path) -> bool {
    let name = text(path.file_name());
    name.ends_with(".hlog") && !name.ends_with(MERGED) && path.is_file()
}

/// Name of a folder, also of one that is given as `.`.
fn name_of(folder: &Path) -> String {
    let whole = folder.file_name().is_none().then(|| folder.canonicalize());
    let whole = whole.and_then(std::io::Result::ok);
    text(whole.as_deref().unwrap_or(folder).file_name())
}

fn text(name: Option<&OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The intervals of a log.
fn read(log: &Path) -> Result<Result<Vec<TaggedInterval>, LogError>> {
    let text = text_file::read(log, MOST_BYTES)?;
    Ok(read_hlog(&text))
}

fn unreadable(log: &Path, error: &LogError) -> anyhow::Error {
    anyhow!(Problem(format!("{}: {error}", log.display())))
}

fn show(phases: &[TaggedInterval]) {
    output::line(format_args!(
        "{:<14} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "phase, us", "n", "p50", "p90", "p99", "p99.9", "max"
    ));
    for phase in phases {
        output::line(row(phase));
    }
}

/// Writes files by name and prints their paths. Nothing is written when two bear the same name, or when
/// one exists that is not to be replaced.
fn write(folder: &Path, files: &[(String, Vec<u8>)], force: bool) -> Result<()> {
    let mut names = BTreeSet::new();
    if let Some((name, _)) = files.iter().find(|(name, _)| !names.insert(name)) {
        bail!("two histograms would be written as {name}; nothing was written");
    }
    if !files.is_empty() && !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let paths = || files.iter().map(|(name, _)| folder.join(name));
    let taken = |path: &PathBuf| !force && path.symlink_metadata().is_ok();
    if let Some(path) = paths().find(taken) {
        let shown = path.display();
        bail!("{shown} exists; say --force to replace it; nothing was written");
    }
    for (path, (_, text)) in paths().zip(files) {
        aside::write(&path, text, force)?;
        output::note(path.display());
    }
    Ok(())
}

/// All intervals of one tag as one, in the order in which the tags appear.
fn merged(intervals: Vec<TaggedInterval>) -> Vec<TaggedInterval> {
    let mut phases: Vec<TaggedInterval> = Vec::new();
    for interval in intervals {
        let known = phases.iter_mut().find(|phase| phase.tag == interval.tag);
        if let Some(phase) = known {
            phase.latencies.merge(&interval.latencies);
            let end = (interval.start + interval.length).max(phase.start + phase.length);
            phase.length = end.saturating_sub(phase.start);
        } else {
            phases.push(interval);
        }
    }
    phases
}

fn name(phase: &TaggedInterval) -> &str {
    if phase.tag.is_empty() {
        "all"
    } else {
        &phase.tag
    }
}

fn row(phase: &TaggedInterval) -> String {
    let us = views::us;
    let found = &phase.latencies;
    let latency = found.latency();
    format!(
        "{:<14} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        name(phase),
        found.len(),
        us(latency.p50),
        us(latency.p90),
        us(latency.p99),
        us(latency.p999),
        us(latency.max)
    )
}

/// The files of one format, by name.
fn rendered(format: Format, log: &Log) -> Result<Vec<(String, Vec<u8>)>> {
    let Log { stem, phases, .. } = log;
    let mut files = Vec::new();
    match format {
        Format::Hgrm => {
            for phase in phases {
                let text = text_of(|out| write_hgrm(out, &phase.latencies))?;
                files.push((format!("{stem}-{}.hgrm", plain(name(phase))), text));
            }
        }
        Format::Hlog => {
            let text = text_of(|out| write_tagged_hlog(out, 0, phases))?;
            files.push((format!("{stem}{MERGED}"), text));
        }
        Format::Csv => {
            let mut text = b"phase,percentile,us,count\n".to_vec();
            for phase in phases {
                let histogram: &Histogram = &phase.latencies;
                write_csv(&mut text, name(phase), histogram)?;
            }
            files.push((format!("{stem}.csv"), text));
        }
    }
    Ok(files)
}

fn text_of(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    write(&mut text)?;
    text.flush()?;
    Ok(text)
}

/// A tag of a foreign log as part of a file's name.
fn plain(tag: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    tag.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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

    #[test]
    fn intervals_of_one_phase_become_one_line() {
        let phases = merged(vec![
            interval("apply", 0, 1_000),
            interval("publish", 0, 9_000),
            interval("apply", 5, 3_000),
        ]);
        assert_eq!(phases.len(), 2);
        assert_eq!(
            (phases[0].latencies.len(), phases[0].length.as_secs()),
            (2, 6)
        );
        assert!(row(&phases[1]).contains("9.0"), "{}", row(&phases[1]));
    }

    #[test]
    fn every_format_is_written_and_a_log_is_read_back() {
        let log = Log {
            path: PathBuf::from("run.hlog"),
            stem: "run".to_owned(),
            intervals: Vec::new(),
            phases: vec![interval("apply", 0, 1_000), interval("", 0, 2_000)],
        };
        let formats = [Format::Hgrm, Format::Hlog, Format::Csv];
        let files: Vec<_> = formats
            .iter()
            .flat_map(|&format| rendered(format, &log).unwrap())
            .collect();
        let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "run-apply.hgrm",
                "run-all.hgrm",
                "run-merged.hlog",
                "run.csv"
            ]
        );
        let text = std::str::from_utf8(&files[2].1).unwrap();
        let tags: Vec<String> = read_hlog(text)
            .unwrap()
            .into_iter()
            .map(|one| one.tag)
            .collect();
        assert_eq!(tags, ["apply", ""]);
    }

    #[test]
    fn nothing_is_written_when_two_files_bear_one_name() {
        let folder = std::env::temp_dir().join(format!("capsched-hist-{}", std::process::id()));
        let file = |text: &[u8]| ("a-b-c.hgrm".to_owned(), text.to_vec());
        let error = write(&folder, &[file(b"1"), file(b"2")], true).unwrap_err();
        assert!(error.to_string().contains("a-b-c.hgrm"), "{error}");
        assert!(!folder.exists());
    }
}
