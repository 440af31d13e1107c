//! `capsched trace` and `capsched traces`: what a trace holds, conversion, generation, the formats.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use capsched::api::MAX_TYPES;
use capsched::simulator::import::{DeclaredTypes, Format, Source, declared_types, merged, ordered};
use capsched::simulator::{
    Job, MappingReport, ResourceTypes, Spread, TraceError, TraceStat, Workload,
};
use clap::{Subcommand, ValueEnum};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::generate;
use crate::output::{PROBLEM, line, note, put};
use crate::play::{NodeSource, TraceArgs, TraceFile, explain, listed, node_source};
use crate::sink::{OutArgs, counting};

/// Commands about traces.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Arrivals, sizes, run times and owners, before anyone runs anything.
    Stat(StatArgs),
    /// Write a trace in another format.
    Convert(ConvertArgs),
    /// Make a trace of the kinds of work that operators name, with nodes to run it on.
    Generate(generate::Args),
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
    /// File with nodes to put in front of the jobs, or equal nodes such as `100x64GiB,32vcores`; the
    /// trace itself when left out.
    #[arg(long, value_name = "FILE|NODES", value_parser = node_source)]
    nodes: Option<NodeSource>,
    /// The format to write.
    #[arg(long, value_enum, default_value = "native")]
    to: Target,
    #[command(flatten)]
    out: OutArgs,
    /// Print the account of what was written as one JSON object; needs --out.
    #[arg(long, requires = "out")]
    json: bool,
}

/// Memory, vcores and every further type that the files name.
fn types(
    args: &TraceArgs,
    files: &[TraceFile],
    nodes: Option<&NodeSource>,
) -> Result<ResourceTypes> {
    let mut types = DeclaredTypes::default();
    for source in sources(files)? {
        types.merge(&declared_types(source, args.format).map_err(explain)?);
    }
    if let Some(nodes) = nodes {
        types.merge(&nodes.types()?);
    }
    let names: Vec<&str> = types
        .offered
        .iter()
        .chain(&types.asked)
        .map(String::as_str)
        .collect();
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    ResourceTypes::with_extra(&known).with_context(|| {
        let listed = known.join(", ");
        format!("more resource types than {MAX_TYPES}: memory-mb, vcores, {listed}")
    })
}

/// The files from their start.
fn sources(files: &[TraceFile]) -> Result<Vec<Source>> {
    let again = files.iter().map(|file| file.again().map_err(explain));
    again.collect()
}

/// Files as one stream of jobs.
fn jobs(
    args: &TraceArgs,
    files: &[TraceFile],
    types: ResourceTypes,
) -> Result<Box<dyn Workload + Send>> {
    let (options, order) = (args.options(types), args.order());
    let part = |source| ordered(source, args.format, &options, &order).map_err(explain);
    let parts: Result<Vec<_>> = sources(files)?.into_iter().map(part).collect();
    Ok(merged(parts?))
}

fn kept(args: &TraceArgs, files: &[PathBuf]) -> Result<Vec<TraceFile>> {
    files.iter().map(|path| args.keep(path)).collect()
}

/// Runs a command about traces.
pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Stat(args) => stat(args),
        Command::Convert(args) => convert(args),
        Command::Generate(args) => generate::run(args),
    }
}

fn stat(args: &StatArgs) -> Result<ExitCode> {
    let files = kept(&args.trace, &args.files)?;
    let types = types(&args.trace, &files, None)?;
    let workload = jobs(&args.trace, &files, types)?;
    let bar = counting("read");
    let mut workload = Counted { workload, bar };
    let stat = TraceStat::of(&mut workload).map_err(explain)?;
    workload.bar.finish_and_clear();
    if stat.jobs == 0 {
        note("warning: the trace holds no job");
    }
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
    let files = kept(&args.trace, &args.files)?;
    let types = types(&args.trace, &files, args.nodes.as_ref())?;
    let options = args.trace.options(types.clone());
    let mut account = MappingReport::default();
    // What is wrong with the file as a whole is found here.
    let mut workload = jobs(&args.trace, &files, types.clone())?;
    // A trace that lists its nodes keeps them.
    let known = match &args.nodes {
        Some(given) => given.read(&mut account, &options)?,
        None => listed(sources(&files)?, &mut account, &options)?,
    };
    let jobs = args.out.write(&types, &known, workload.as_mut())?;
    let mut report = workload.report();
    report.add_counts(&account);
    if jobs == 0 {
        note("warning: the trace holds no job");
    }
    match args.out.file() {
        None => note(format_args!(
            "{report}{jobs} jobs and {} nodes written",
            known.len()
        )),
        Some(path) if args.json => line(json!({
            "jobs": jobs, "nodes": known.len(), "file": path.display().to_string(),
            "mapping": crate::replay::mapping(&report),
        })),
        Some(path) => put(&format!(
            "{report}{jobs} jobs and {} nodes written to {}\n",
            known.len(),
            path.display()
        )),
    }
    if report.lost.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let lost: Vec<&str> = report.lost.keys().map(String::as_str).collect();
    note(format_args!("lost in conversion: {}", lost.join(", ")));
    Ok(ExitCode::from(PROBLEM))
}

/// Jobs that are counted on a bar.
struct Counted {
    workload: Box<dyn Workload>,
    bar: ProgressBar,
}

impl Iterator for Counted {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.bar.inc(1);
        self.workload.next()
    }
}

impl Workload for Counted {
    fn report(&self) -> MappingReport {
        self.workload.report()
    }
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
        let one = |format: &Format| json!({"format": format.name(), "uses": format.uses(), "map": format.map_fields(), "ignores": format.ignores()});
        line(json!({"formats": Format::ALL.iter().map(one).collect::<Vec<_>>()}));
        return ExitCode::SUCCESS;
    }
    let mut text = String::new();
    for format in Format::ALL {
        text.push_str(&wrapped(
            &format!("{:<9} uses", format.name()),
            format.uses(),
        ));
        text.push_str(&wrapped(
            "          maps by",
            &format.map_fields().join(" "),
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
