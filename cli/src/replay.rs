//! `capsched replay` and `capsched compare`: a trace on a cluster, in one mode or in several.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use capsched::api::{ModeKind, Reference};
use capsched::simulator::{MappingReport, ResourceTypes};
use capsched::time::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::demo::{SEED, data, footer, same, verdict};
use crate::output::{Nothing, line, note, put};
use crate::play::{
    Cluster, Outcome, Preemption, Row, RunFolder, Timing, Trace, TraceArgs, machine, progress,
    table,
};
use crate::reference::ReferenceArg;
use crate::values::{mode, seed, threads};

/// Trace, nodes and configuration.
#[derive(clap::Args, Clone, Debug)]
struct Input {
    #[command(flatten)]
    trace: TraceArgs,
    /// File with the nodes: openb's list, SLS, SYNTH, Rumen, SWF or native; the trace itself when
    /// left out.
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// capacity-scheduler.xml; without it the trace's own queues get equal weights.
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,
    /// yarn-site.xml or resource-types.xml below it; later ones win.
    #[arg(long, value_name = "FILE", requires = "conf")]
    site: Vec<PathBuf>,
    #[command(flatten)]
    timing: Timing,
    /// Order in which nodes register, decimal or 0x and hexadecimal; as in the file when left out.
    #[arg(long, value_name = "S", value_parser = seed)]
    seed: Option<u64>,
    /// Use the engine without threads, whose runs repeat exactly.
    #[arg(long)]
    sequential: bool,
    /// What preemption does: observe reports what would have been taken from whom. Without it no
    /// round runs, whatever the configuration says; with it the engine without threads is used.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Preemption::Off)]
    preemption: Preemption,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Arguments of `capsched replay`.
#[derive(clap::Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The trace, plain or packed with gzip or zstd; several are merged by time.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    reference: ReferenceArg,
    /// heartbeat, async or global.
    #[arg(long, default_value = "heartbeat", value_parser = mode)]
    mode: ModeKind,
    /// Deciding threads of the asynchronous and the global mode; 0 takes as many as there are cores.
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    threads: usize,
    /// Write decisions, time series, histograms and run.json into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files of an earlier run in that folder.
    #[arg(long, requires = "out")]
    force: bool,
}

/// Arguments of `capsched compare`.
#[derive(clap::Args, Debug)]
pub(crate) struct CompareArgs {
    /// The trace, plain or packed; that of `capsched demo` with its cluster when left out.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    input: Input,
    /// Modes to compare, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "heartbeat,async,global", value_parser = mode)]
    modes: Vec<ModeKind>,
    /// Numbers of deciding threads to compare, separated by commas.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1", value_parser = threads)]
    threads: Vec<usize>,
    /// Releases of Hadoop to compare, separated by commas: 3.4, 3.5.
    #[arg(
        long,
        value_name = "RELEASE",
        value_delimiter = ',',
        default_value = "3.4"
    )]
    reference: Vec<Reference>,
    /// Write the files of every column into a folder of its own here, and compare.json.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files of an earlier run in that folder.
    #[arg(long, requires = "out")]
    force: bool,
}

impl Input {
    fn read(&self, files: &[PathBuf], reference: Reference) -> Result<(Cluster, Trace)> {
        let configured = match &self.conf {
            Some(conf) => Some({
                let monitor = self.preemption != Preemption::Off;
                crate::play::load(conf, &self.site, monitor, reference)?
            }),
            None => None,
        };
        let types = match &configured {
            Some(loaded) => crate::play::types_of(&loaded.settings)?,
            None => ResourceTypes::with_extra(&["gpu-milli"])
                .context("three resource types are within the limit")?,
        };
        let trace = self.trace.scan(files, &types)?;
        let path = self.nodes.as_ref().unwrap_or(&files[0]);
        let nodes = crate::play::nodes(path, &self.trace.options(types.clone()))?;
        let loaded = match configured {
            Some(loaded) => loaded,
            None => {
                note("no --conf: the trace's own queues get equal weights");
                crate::play::for_trace(&trace.facts.queues, &nodes, &types, reference)?
            }
        };
        let mut cluster = Cluster::new(loaded, nodes, types)?;
        if let Some(seed) = self.seed {
            cluster.shuffle(seed);
        }
        cluster.preemption = self.preemption.apply(&cluster.configured);
        Ok((cluster, trace))
    }

    /// The same; of a trace without a job the account is told as the object of a run that has no rows.
    fn read_or_tell(&self, files: &[PathBuf], reference: Reference) -> Result<(Cluster, Trace)> {
        self.read(files, reference).inspect_err(|error| {
            let nothing = error
                .chain()
                .find_map(|cause| cause.downcast_ref::<Nothing>());
            if self.json
                && let Some(Nothing(account)) = nothing
            {
                line(object(None, (0, account), &[], self.seed));
            }
        })
    }

    /// Whether the engine without threads runs: virtual time and rounds of preemption go together
    /// only there.
    fn steps(&self) -> bool {
        self.sequential || self.preemption != Preemption::Off
    }

    /// Plays a row; with a folder its files are written there.
    fn play(
        &self,
        row: Row,
        (cluster, trace): (&Cluster, &Trace),
        files: &[PathBuf],
        folder: Option<&RunFolder>,
    ) -> Result<Outcome> {
        let bar = progress(trace.facts.jobs, row.mode.name());
        let Some(folder) = folder else {
            let outcome = row.play(cluster, trace, self.timing, &bar, &mut ());
            bar.finish_and_clear();
            return outcome;
        };
        let settings = self.settings(files, row);
        let began_ms = SystemClock::new().now_ms();
        let mut recorder = folder.recorder(cluster.types.names().len(), &settings)?;
        let outcome = row.play(cluster, trace, self.timing, &bar, &mut recorder);
        bar.finish_and_clear();
        let outcome = outcome?;
        folder.finish(recorder, began_ms, &outcome, &settings)?;
        Ok(outcome)
    }

    fn settings(&self, files: &[PathBuf], row: Row) -> Value {
        let shown = |path: &PathBuf| path.display().to_string();
        json!({
            "files": files.iter().map(shown).collect::<Vec<_>>(),
            "nodes": self.nodes.as_ref().map(shown),
            "conf": self.conf.as_ref().map(shown),
            "mode": row.mode.name(), "threads": row.threads, "sequential": row.sequential,
            "preemption": format!("{:?}", self.preemption).to_lowercase(),
            "seed": self.seed, "compress": self.trace.compress, "hold": self.trace.hold,
            "heartbeat_ms": self.timing.heartbeat_ms, "round_ms": self.timing.round_ms,
        })
    }
}

/// Runs `capsched replay`.
pub(crate) fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    let out = args.out.as_deref();
    let folder = out.map(|path| RunFolder::create(path, args.force));
    let folder = folder.transpose()?;
    let (cluster, trace) = args
        .input
        .read_or_tell(&args.files, args.reference.release)?;
    let row = Row::new(args.mode, args.threads, args.input.steps()).under(args.reference.release);
    let outcome = args
        .input
        .play(row, (&cluster, &trace), &args.files, folder.as_ref())?;
    let runs = [outcome];
    if args.input.json {
        let jobs = (trace.facts.jobs, &trace.facts.mapping);
        line(object(Some(&cluster), jobs, &runs, args.input.seed));
    } else {
        put(&format!("{}\n{}\n", trace.facts.mapping, table(&runs)));
        if let Some(account) = &runs[0].preemption {
            put(&account.table(20));
        }
        for message in runs[0].report.messages.iter().take(5) {
            line(format_args!("note: {message}"));
        }
        if let Some(folder) = &folder {
            line(format_args!("files: {}", folder.path().display()));
        }
    }
    Ok(verdict(&runs))
}

impl CompareArgs {
    /// Cluster and trace under the rules of a release; those of the demonstration without files.
    fn read(&self, input: &mut Input, reference: Reference) -> Result<(Cluster, Trace)> {
        if !self.files.is_empty() {
            return input.read_or_tell(&self.files, reference);
        }
        let seed = *input.seed.get_or_insert(SEED);
        let (cluster, trace) = data(&mut input.trace, seed, reference)?;
        input.timing = crate::demo::timing(input.timing, &trace);
        Ok((cluster, trace))
    }

    /// The columns, each once.
    fn rows(&self, input: &Input) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for &reference in &self.reference {
            for &mode in &self.modes {
                for &threads in &self.threads {
                    let row = Row::new(mode, threads, input.steps()).under(reference);
                    if !rows.contains(&row) {
                        rows.push(row);
                    }
                }
            }
        }
        rows
    }

    /// The name of a column's folder; with the release where there are several.
    fn column(&self, row: Row) -> String {
        let name = format!("{}-{}", row.mode.name(), row.threads);
        match self.reference.as_slice() {
            [_] => name,
            _ => format!("{name}-{}", row.reference),
        }
    }
}

/// Runs `capsched compare`.
pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let out = args.out.as_deref();
    let folder = out.map(|path| RunFolder::create(path, args.force));
    let folder = folder.transpose()?;
    let mut input = args.input.clone();
    let mut clusters = Vec::new();
    for &reference in &args.reference {
        clusters.push(args.read(&mut input, reference)?);
    }
    let (cluster, trace) = clusters.first().context("at least one release is named")?;
    let mut runs = Vec::new();
    for row in args.rows(&input) {
        let own = folder
            .as_ref()
            .map(|folder| folder.within(&args.column(row)));
        let own = own.transpose()?;
        let at = args.reference.iter().position(|&one| one == row.reference);
        let cluster = &clusters[at.unwrap_or(0)].0;
        runs.push(input.play(row, (cluster, trace), &args.files, own.as_ref())?);
    }
    let jobs = (trace.facts.jobs, &trace.facts.mapping);
    let whole = object(Some(cluster), jobs, &runs, input.seed);
    if let Some(folder) = &folder {
        folder.document("compare.json", &whole)?;
    }
    if input.json {
        line(whole);
    } else {
        put(&format!(
            "{} nodes, {} jobs, the same trace for every column\n\n{}\n{}",
            cluster.nodes.len(),
            trace.facts.jobs,
            table(&runs),
            footer(&runs)
        ));
        if let Some(folder) = &folder {
            line(format_args!("files: {}", folder.path().display()));
        }
    }
    Ok(verdict(&runs))
}

/// The result of runs; without a cluster when none was read.
fn object(
    cluster: Option<&Cluster>,
    (jobs, account): (u64, &MappingReport),
    runs: &[Outcome],
    seed: Option<u64>,
) -> Value {
    json!({
        "seed": seed,
        "machine": machine(),
        "nodes": cluster.map(|cluster| cluster.nodes.len()),
        "jobs": jobs,
        "mapping": mapping(account),
        "same_containers_placed": same(runs),
        "runs": runs.iter().map(Outcome::to_json).collect::<Vec<_>>(),
    })
}

/// The account of an import as JSON.
pub(crate) fn mapping(report: &MappingReport) -> Value {
    json!({"format": report.format, "rows": report.rows, "used": report.used,
        "dropped": report.dropped, "clamped": report.clamped, "guessed": report.guessed,
        "ignored": report.ignored, "warnings": report.warnings,
        "more_warnings": report.more_warnings})
}
