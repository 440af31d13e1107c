//! `capsched hist`: latencies of a run from its histogram log, as tables and as files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use capsched::metrics::{
    Histogram, TaggedInterval, read_hlog, write_csv, write_hgrm, write_tagged_hlog,
};
use clap::ValueEnum;

use crate::output::{self, Problem};

/// Show the latencies of a run and write them in the formats of the usual tools.
///
/// A run is a histogram log (`.hlog`), such as `perf phases` writes: one histogram for each phase of
/// a decision. Values are nanoseconds in logs and microseconds in what is shown here.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Histogram log of a run.
    run: PathBuf,
    /// Files to write beside the table, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    format: Vec<Format>,
    /// Folder of the files; that of the run unless given.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One percentile distribution for each phase.
    Hgrm,
    /// One log with everything of a phase in one interval.
    Hlog,
    /// One table of percentiles of all phases.
    Csv,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let text = fs::read_to_string(&args.run).with_context(|| args.run.display().to_string())?;
    let intervals = read_hlog(&text)
        .map_err(|error| anyhow!(Problem(format!("{}: {error}", args.run.display()))))?;
    let phases = merged(intervals);
    output::line(format_args!(
        "{:<14} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "phase, us", "n", "p50", "p90", "p99", "p99.9", "max"
    ));
    for phase in &phases {
        output::line(row(phase));
    }
    let folder = args.out.clone().unwrap_or_else(|| {
        let parent = args.run.parent();
        parent.map(Path::to_path_buf).unwrap_or_default()
    });
    if !args.format.is_empty() && !folder.as_os_str().is_empty() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let stem = args.run.file_stem().unwrap_or_default().to_string_lossy();
    for format in &args.format {
        for path in write(*format, &folder, &stem, &phases)? {
            output::note(path.display());
        }
    }
    Ok(ExitCode::SUCCESS)
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
    let us = |ns: u64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
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

/// Writes the files of one format; their paths.
fn write(
    format: Format,
    folder: &Path,
    stem: &str,
    phases: &[TaggedInterval],
) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut file = |name: String, text: &[u8]| -> Result<()> {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        paths.push(path);
        Ok(())
    };
    match format {
        Format::Hgrm => {
            for phase in phases {
                let text = text_of(|out| write_hgrm(out, &phase.latencies))?;
                file(format!("{stem}-{}.hgrm", plain(name(phase))), &text)?;
            }
        }
        Format::Hlog => {
            let text = text_of(|out| write_tagged_hlog(out, 0, phases))?;
            file(format!("{stem}-merged.hlog"), &text)?;
        }
        Format::Csv => {
            let mut text = b"phase,percentile,us,count\n".to_vec();
            for phase in phases {
                let histogram: &Histogram = &phase.latencies;
                write_csv(&mut text, name(phase), histogram)?;
            }
            file(format!("{stem}.csv"), &text)?;
        }
    }
    Ok(paths)
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
        let folder = std::env::temp_dir().join(format!("capsched-hist-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let phases = [interval("apply", 0, 1_000), interval("", 0, 2_000)];
        let mut written = Vec::new();
        for format in [Format::Hgrm, Format::Hlog, Format::Csv] {
            written.extend(write(format, &folder, "run", &phases).unwrap());
        }
        let log = fs::read_to_string(folder.join("run-merged.hlog")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(written.len(), 4);
        let tags: Vec<String> = read_hlog(&log)
            .unwrap()
            .into_iter()
            .map(|one| one.tag)
            .collect();
        assert_eq!(tags, ["apply", ""]);
    }
}
