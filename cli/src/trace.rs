//! `capsched trace` and `capsched traces`: what a trace holds, conversion, the formats.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use capsched::simulator::import::{Format, NativeWriter};
use capsched::simulator::{ResourceTypes, Spread, TraceStat, Workload};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::output::{line, put};
use crate::play::{TraceArgs, explain, nodes};

/// Commands about traces.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Arrivals, sizes, run times and owners, before anyone runs anything.
    Stat(StatArgs),
    /// Write a trace in another format.
    Convert(ConvertArgs),
}

/// Arguments of `capsched trace stat`.
#[derive(clap::Args, Debug)]
pub(crate) struct StatArgs {
    /// The trace; several are merged by time.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Formats that can be written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Our own, JSON lines.
    Native,
}

/// Arguments of `capsched trace convert`.
#[derive(clap::Args, Debug)]
pub(crate) struct ConvertArgs {
    /// The trace; several are merged by time.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    trace: TraceArgs,
    /// File with nodes to put in front of the jobs.
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// The format to write.
    #[arg(long, value_enum, default_value = "native")]
    to: Target,
    /// The file to write; packed when it ends in .zst; standard output when left out or `-`.
    #[arg(long, short = 'o', value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file when it exists.
    #[arg(long)]
    force: bool,
}

/// Memory, vcores and thousandths of GPUs: everything that a known format tells of.
fn types() -> Result<ResourceTypes> {
    ResourceTypes::with_extra(&["gpu-milli"]).context("three resource types are within the limit")
}

/// Runs a command about traces.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Stat(args) => stat(args),
        Command::Convert(args) => convert(args),
    }
}

fn stat(args: &StatArgs) -> Result<ExitCode> {
    let mut workload = args.trace.open(&args.files, types()?)?;
    let stat = TraceStat::of(workload.as_mut()).map_err(explain)?;
    if args.json {
        line(stat_json(&stat));
    } else {
        put(&stat.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn stat_json(stat: &TraceStat) -> Value {
    let spread = |spread: &Spread| json!({"p50": spread.p50, "p90": spread.p90, "p99": spread.p99, "max": spread.max});
    json!({
        "jobs": stat.jobs, "containers": stat.containers, "endless": stat.endless,
        "span_ms": stat.span_ms, "peak_per_hour": stat.peak_per_hour,
        "per_job": spread(&stat.per_job), "memory_mib": spread(&stat.memory_mib),
        "vcores": spread(&stat.vcores), "run_ms": spread(&stat.run_ms),
        "queues": stat.queues, "users": stat.users,
        "mapping": crate::replay::mapping(&stat.mapping),
    })
}

fn convert(args: &ConvertArgs) -> Result<ExitCode> {
    let types = types()?;
    let known = match &args.nodes {
        Some(path) => nodes(path, &args.trace.options(types.clone()))?,
        None => Vec::new(),
    };
    let mut workload = args.trace.open(&args.files, types.clone())?;
    let to_file = args.out.as_deref().filter(|path| *path != Path::new("-"));
    let Some(path) = to_file else {
        let mut text = NativeWriter::new(Vec::new(), &types)?;
        for node in &known {
            text.node(node)?;
        }
        for job in workload.by_ref() {
            text.job(&job.map_err(explain)?)?;
        }
        put(&String::from_utf8_lossy(&text.into_inner()));
        return Ok(ExitCode::SUCCESS);
    };
    let shown = path.display();
    if path.exists() && !args.force {
        bail!("{shown} exists; say --force to replace it");
    }
    // Written beside its place and moved there, so that a failure leaves no half of a trace.
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = write(&partial, path, &types, &known, workload.as_mut());
    match written {
        Ok(jobs) => {
            std::fs::rename(&partial, path).with_context(|| shown.to_string())?;
            put(&format!(
                "{}{jobs} jobs written to {shown}\n",
                workload.report()
            ));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let _ = std::fs::remove_file(&partial);
            Err(error)
        }
    }
}

/// Writes nodes and jobs to `partial`; packed when `path` says so. The number of jobs.
fn write(
    partial: &Path,
    path: &Path,
    types: &ResourceTypes,
    known: &[capsched::simulator::NodeLine],
    workload: &mut dyn Workload,
) -> Result<u64> {
    let file = File::create(partial)
        .with_context(|| format!("{} cannot be written", partial.display()))?;
    let plain = BufWriter::new(file);
    let packed = path.extension().is_some_and(|end| end == "zst");
    let into: Box<dyn Write> = if packed {
        Box::new(zstd::Encoder::new(plain, 3)?.auto_finish())
    } else {
        Box::new(plain)
    };
    let mut writer = NativeWriter::new(into, types)?;
    for node in known {
        writer.node(node)?;
    }
    let mut jobs = 0;
    for job in workload {
        writer.job(&job.map_err(explain)?)?;
        jobs += 1;
    }
    let mut into = writer.into_inner();
    into.flush()
        .map_err(|error| anyhow!("{}: {error}", path.display()))?;
    Ok(jobs)
}

/// Arguments of `capsched traces`.
#[derive(clap::Args, Debug)]
pub(crate) struct FormatsArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs `capsched traces`.
pub(crate) fn formats(args: &FormatsArgs) -> ExitCode {
    if args.json {
        let one = |format: &Format| json!({"format": format.name(), "uses": format.uses(), "ignores": format.ignores()});
        line(json!({"formats": Format::ALL.iter().map(one).collect::<Vec<_>>()}));
        return ExitCode::SUCCESS;
    }
    let mut text = String::new();
    for format in Format::ALL {
        text.push_str(&wrapped(
            &format!("{:<9} uses", format.name()),
            format.uses(),
        ));
        text.push_str(&wrapped("          ignores", format.ignores()));
    }
    put(&text);
    ExitCode::SUCCESS
}

/// A label and text in lines of at most 100 characters.
fn wrapped(label: &str, text: &str) -> String {
    const COLUMN: usize = 18;
    let mut out = format!("{label:<COLUMN$}");
    let mut width = COLUMN;
    for word in text.split_whitespace() {
        if width + word.len() > 100 {
            out.truncate(out.trim_end().len());
            out.push_str(&format!("\n{:COLUMN$}", ""));
            width = COLUMN;
        }
        out.push_str(word);
        out.push(' ');
        width += word.len() + 1;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}
