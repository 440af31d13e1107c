//! `capsched replay`: a trace on a cluster, in one mode; and the inputs that `compare` shares with it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use capsched::api::{ModeKind, Reference};
use capsched::config::ConfigSource;
use capsched::simulator::{MappingReport, NodeLine, ResourceTypes, RuleUse};
use capsched::time::{Clock, SystemClock};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::demo::{exit_code, same};
use crate::output::{Nothing, line, note, put};
use crate::play::{
    Cluster, NamedCosts, NodeSource, Outcome, Preemption, Row, RunFolder, Scene, Timing, Trace,
    TraceArgs, block, for_trace, from_sources, machine, node_source, pointer, progress, sources_of,
    table, types_of, types_source,
};
use crate::recipe::{Recipe, Staged};
use crate::reference::ReferenceArg;
use crate::values::{mode, seed, threads};

/// Trace, nodes and configuration.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Input {
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// File with the nodes (openb's list, SLS, SYNTH, Rumen, SWF or native), or equal nodes such as
    /// `100x64GiB,32vcores,2gpu,label=x`. The trace itself when left out.
    #[arg(long, value_name = "FILE|NODES", value_parser = node_source)]
    pub(crate) nodes: Vec<NodeSource>,
    /// capacity-scheduler.xml; without it the trace's own queues get equal weights.
    #[arg(long, value_name = "FILE")]
    pub(crate) conf: Vec<PathBuf>,
    /// What the scheduler's work costs in virtual time: none, hadoop (measured on the reference),
    /// ours, or a TOML file.
    #[arg(
        long,
        value_name = "COSTS",
        value_delimiter = ',',
        default_value = "none"
    )]
    pub(crate) costs: Vec<String>,
    /// Scheduler threads that the costs are for; as in the file when left out.
    #[arg(long, value_name = "N", requires = "costs")]
    pub(crate) cost_threads: Option<u32>,
    /// yarn-site.xml or resource-types.xml below it; later ones win.
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) timing: Timing,
    /// Order in which nodes register, decimal or 0x and hexadecimal; as in the file when left out.
    #[arg(long, value_name = "S", value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Use the sequential engine, whose runs repeat exactly: the default.
    #[arg(long, hide = true, conflicts_with = "threads")]
    pub(crate) sequential: bool,
    /// Exit with 0 although work was refused or left.
    #[arg(long)]
    pub(crate) allow_unfinished: bool,
    /// Say below the table what each of its lines means.
    #[arg(long)]
    pub(crate) explain_rows: bool,
    /// What preemption does: observe reports what would have been taken from whom. Without it no
    /// round runs, whatever the configuration says; with it only the sequential engine runs.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Preemption::Off)]
    pub(crate) preemption: Preemption,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
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
    /// Measure real threads instead of the sequential engine: so many that decide in the
    /// asynchronous and the global mode; 0 takes as many as there are cores.
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Write decisions, time series, histograms and run.json into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files of an earlier run in that folder.
    #[arg(long, requires = "out")]
    force: bool,
}

/// Which of several inputs a setting is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) conf: Option<&'a PathBuf>,
    pub(crate) nodes: Option<&'a NodeSource>,
    pub(crate) seed: Option<u64>,
    pub(crate) load: u64,
    pub(crate) reference: Reference,
}

impl Input {
    /// The only configuration, list of nodes and costs.
    fn single(&self, reference: Reference) -> Result<(Choice<'_>, NamedCosts)> {
        if self.conf.len() > 1 || self.nodes.len() > 1 || self.costs.len() > 1 {
            bail!("replay takes one --conf, --nodes and --costs; compare takes several");
        }
        let choice = Choice {
            conf: self.conf.first(),
            nodes: self.nodes.first(),
            seed: self.seed,
            load: 1,
            reference,
        };
        let costs = self.named_costs()?.pop();
        Ok((choice, costs.context("--costs names none")?))
    }

    pub(crate) fn named_costs(&self) -> Result<Vec<NamedCosts>> {
        let named = |name: &String| NamedCosts::named(name, self.cost_threads);
        self.costs.iter().map(named).collect()
    }

    fn read(&self, files: &[PathBuf], choice: Choice<'_>) -> Result<(Cluster, Trace)> {
        let looked = self.trace.look(files)?;
        let mut declared = looked.types.clone();
        if let Some(nodes) = choice.nodes {
            declared.merge(&nodes.types()?);
        }
        let monitor = self.preemption != Preemption::Off;
        let mut sources: Vec<ConfigSource> = types_source(&declared.offered).into_iter().collect();
        sources.extend(sources_of(choice.conf, &self.site, monitor)?);
        let reference = choice.reference;
        let configured = match choice.conf {
            Some(_) => Some(from_sources(&sources, reference)?),
            None => None,
        };
        let types = match &configured {
            Some(loaded) => types_of(&loaded.settings)?,
            None => declared_in(&sources, reference)?,
        };
        let mut given = self.trace.clone();
        given.compress = given.compress.saturating_mul(choice.load);
        let mut trace = given.scan(looked, &types)?;
        let nodes = self.nodes_of(&mut trace, choice.nodes, types.clone())?;
        let loaded = match configured {
            Some(loaded) => loaded,
            None => {
                note("no --conf: the trace's own queues get equal weights");
                for_trace(&trace.facts.queues, &nodes, &types, reference, &sources)?
            }
        };
        let mut cluster = Cluster::new(loaded, nodes, types)?;
        if let Some(seed) = choice.seed {
            cluster.shuffle(seed);
        }
        cluster.preemption = self.preemption.apply(&cluster.configured);
        Ok((cluster, trace))
    }

    /// The nodes of the command line, or those that the trace lists.
    fn nodes_of(
        &self,
        trace: &mut Trace,
        given: Option<&NodeSource>,
        types: ResourceTypes,
    ) -> Result<Vec<NodeLine>> {
        let options = self.trace.options(types);
        let mut account = MappingReport::default();
        let nodes = match given {
            Some(given) => given.read(&mut account, &options)?,
            None => trace.nodes(&mut account, &options)?,
        };
        trace.facts.mapping.add_counts(&account);
        Ok(nodes)
    }

    /// The same; of a trace without a job the account is printed as the object of a run without rows.
    pub(crate) fn read_or_report(
        &self,
        files: &[PathBuf],
        choice: Choice<'_>,
    ) -> Result<(Cluster, Trace)> {
        self.read(files, choice).inspect_err(|error| {
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

    /// The row of a mode: virtual time and rounds of preemption go together only in the sequential
    /// engine.
    pub(crate) fn row(&self, mode: ModeKind, threads: Option<usize>) -> Result<Row> {
        if threads.is_some() && self.preemption != Preemption::Off {
            bail!("--preemption runs in the sequential engine only; leave --threads out");
        }
        Ok(Row::new(mode, threads))
    }

    /// Plays a row and writes its files.
    pub(crate) fn record(
        &self,
        row: Row,
        (scene, bar): (&Scene<'_>, &ProgressBar),
        folder: &RunFolder,
        settings: &Value,
    ) -> Result<Outcome> {
        let began_ms = SystemClock::new().now_ms();
        let mut recorder = folder.recorder(scene.cluster.types.names().len(), settings)?;
        let outcome = row.play(scene, bar, &mut recorder)?;
        let mut settings = settings.clone();
        settings["node_count"] = json!(scene.cluster.nodes.len());
        folder.finish(recorder, began_ms, &outcome, &settings)?;
        Ok(outcome)
    }

    pub(crate) fn settings(&self, files: &[PathBuf], row: Row) -> Value {
        let shown = |paths: &[PathBuf]| -> Vec<String> {
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect()
        };
        json!({
            "files": shown(files),
            "nodes": self.nodes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "conf": shown(&self.conf),
            "costs": self.costs,
            "cost_threads": self.cost_threads,
            "mode": row.mode.name(), "threads": row.threads, "sequential": row.sequential,
            "preemption": format!("{:?}", self.preemption).to_lowercase(),
            "seed": self.seed, "compress": self.trace.compress, "hold": self.trace.hold,
            "heartbeat_ms": self.timing.heartbeat_ms, "round_ms": self.timing.round_ms,
            "repeat": Recipe::of_this_run(self.files(files)),
        })
    }

    /// Every file that a run reads.
    fn files<'a>(&'a self, files: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
        let nodes = self.nodes.iter().filter_map(|nodes| match nodes {
            NodeSource::File(path) => Some(path.as_path()),
            NodeSource::Equal(_) => None,
        });
        let costs = self
            .costs
            .iter()
            .map(Path::new)
            .filter(|path| path.is_file());
        let named = files.iter().chain(&self.conf).chain(&self.site);
        named.map(PathBuf::as_path).chain(nodes).chain(costs)
    }
}

impl ReplayArgs {
    /// Reads the inputs.
    pub(crate) fn stage(&self) -> Result<Staged> {
        let (choice, costs) = self.input.single(self.reference.release)?;
        let (cluster, trace) = self.input.read_or_report(&self.files, choice)?;
        let row = self.input.row(self.mode, self.threads)?;
        let row = row.under(self.reference.release);
        if costs.costs().is_some() && !row.sequential {
            bail!("--costs are of virtual time; leave --threads out");
        }
        Ok(Staged {
            cluster,
            trace,
            row,
            timing: self.input.timing,
            costs,
        })
    }

    /// Plays the row; with a folder its files are written there.
    fn play(&self, row: Row, scene: &Scene<'_>, folder: Option<&RunFolder>) -> Result<Outcome> {
        let bar = progress(scene.trace.facts.jobs, row.mode.name());
        let outcome = match folder {
            None => row.play(scene, &bar, &mut ()),
            Some(folder) => {
                let settings = self.input.settings(&self.files, row);
                self.input.record(row, (scene, &bar), folder, &settings)
            }
        };
        bar.finish_and_clear();
        outcome
    }

    /// Writes the result, for people or as JSON.
    fn report(
        &self,
        cluster: &Cluster,
        trace: &Trace,
        runs: &[Outcome],
        folder: Option<&RunFolder>,
    ) {
        if self.input.json {
            let jobs = (trace.facts.jobs, &trace.facts.mapping);
            line(object(Some(cluster), jobs, runs, self.input.seed));
        } else {
            put(&format!(
                "{}\n{}",
                trace.facts.mapping,
                table(runs, self.input.explain_rows)
            ));
            put(&block("Refused or left", &runs[0].left, 10));
            if let Some(account) = &runs[0].preemption {
                put(&account.table(20));
            }
            for message in runs[0].report.messages.iter().take(5) {
                line(format_args!("note: {message}"));
            }
            if let Some(folder) = folder {
                if runs[0].row.sequential {
                    put(&pointer(&runs[0].left, folder.path()));
                }
                line(format_args!("files: {}", folder.path().display()));
            }
        }
    }
}

/// Runs `capsched replay`.
pub(crate) fn replay(args: &ReplayArgs) -> Result<ExitCode> {
    let out = args.out.as_deref();
    let folder = out.map(|path| RunFolder::create(path, args.force));
    let folder = folder.transpose()?;
    let staged = args.stage()?;
    let scene = Scene {
        tries: true,
        ..staged.scene()
    };
    let outcome = args.play(staged.row, &scene, folder.as_ref())?;
    let runs = [outcome];
    args.report(&staged.cluster, &staged.trace, &runs, folder.as_ref());
    Ok(exit_code(&runs, args.input.allow_unfinished))
}

/// The result of runs; without a cluster when none was read.
pub(crate) fn object(
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
    let rule =
        |of: &RuleUse| json!({"rule": of.rule, "matched": of.matched, "decided": of.decided});
    let rules: Vec<Value> = report.rules.iter().map(rule).collect();
    json!({"format": report.format, "rows": report.rows, "used": report.used, "rules": rules,
        "dropped": report.dropped, "clamped": report.clamped, "guessed": report.guessed,
        "ignored": report.ignored, "lost": report.lost, "warnings": report.warnings,
        "more_warnings": report.more_warnings})
}

/// The resource types that configuration files declare, whatever their queues.
fn declared_in(sources: &[ConfigSource], reference: Reference) -> Result<ResourceTypes> {
    let queues = ["root.default".to_owned()].into();
    let basic = ResourceTypes::default();
    let loaded = for_trace(&queues, &[], &basic, reference, sources)?;
    types_of(&loaded.settings)
}
