//! `capsched demo`: a real GPU cluster's pods in all three modes, from data within the binary.

use std::io::Cursor;
use std::process::ExitCode;

use anyhow::Result;
use capsched::api::{ModeKind, Reference};
use capsched::config::{ConfigSource, Layer};
use capsched::simulator::MapRules;
use capsched::simulator::import::{self, Format, MAX_INFLATED};
use serde_json::{Value, json};

use crate::output::{PROBLEM, line, put};
use crate::play::{
    Cluster, Column, Outcome, Row, Saturated, Scene, Timing, Trace, TraceArgs, block, machine,
    progress, saturated_table, table, verdict,
};
use crate::recipe::Staged;
use crate::reference::ReferenceArg;
use crate::teach;
use crate::top::{Shown, watch};
use crate::values::{mode, seed, threads};

const SCHEDULER: &[u8] = include_bytes!("../../configs/capacity-scheduler/demo.xml");
const SITE: &[u8] = include_bytes!("../../configs/capacity-scheduler/demo-yarn-site.xml");
const NODES: &str = include_str!("../../configs/traces/openb/openb_node_list_all_node.csv");
const PODS: &str = include_str!("../../configs/traces/openb/openb_pod_list_default.csv");

/// The rules that `demo.xml` is made for.
const RULES: &str = "qos=LS:root.prod.serving,qos=Guaranteed:root.prod.critical,\
                     qos=BE:root.batch.besteffort,qos=Burstable:root.batch.burst";

/// Submissions come this many times faster than in the trace; as they are, the cluster idles.
const COMPRESS: u64 = 1000;

/// The seed unless another is given: in the trace's own order every node without GPUs comes first.
pub(crate) const SEED: u64 = 7;

/// The run ends this long after the last submission, in virtual ms; services run on for months.
const AFTER_MS: u64 = 3_600_000;

/// Arguments of `capsched demo`.
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "capsched demo [OPTIONS]\n       \
                      capsched demo <organisation|headroom|eleven-gb> [OPTIONS]"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    example: Option<teach::Example>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Measure real threads instead of the sequential engine: so many that decide in the
    /// asynchronous and the global mode; 0 takes as many as there are cores.
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Order in which nodes register, decimal or 0x and hexadecimal.
    #[arg(long, value_name = "S", default_value_t = SEED, value_parser = seed)]
    seed: u64,
    /// Use the sequential engine, whose runs repeat exactly: the default.
    #[arg(long, hide = true, conflicts_with = "threads")]
    sequential: bool,
    #[command(flatten)]
    reference: ReferenceArg,
    /// Play so many pods of the trace alone, the first ones: the run ends sooner.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pods: Option<u32>,
    /// Say below the table what each of its lines means.
    #[arg(long)]
    explain_rows: bool,
    /// Show the run of one mode in the terminal while it is played, as `capsched top` does.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true,
        default_missing_value = "global", value_parser = mode, conflicts_with_all = ["json", "threads"])]
    top: Option<ModeKind>,
}

/// The head of the trace and so many of its rows; all of them where it has fewer.
fn first_pods(most: Option<u32>) -> &'static str {
    let mut ends = PODS.match_indices('\n').map(|(at, _)| at + 1);
    let end = most.and_then(|most| ends.nth(usize::try_from(most).ok()?));
    end.map_or(PODS, |end| &PODS[..end])
}

/// Cluster and trace of the demonstration; fills in what `args` leave open.
pub(crate) fn data(
    args: &mut TraceArgs,
    seed: u64,
    reference: Reference,
) -> Result<(Cluster, Trace)> {
    data_of(args, (seed, reference), PODS)
}

/// The same with some of the pods.
fn data_of(
    args: &mut TraceArgs,
    (seed, reference): (u64, Reference),
    pods: &'static str,
) -> Result<(Cluster, Trace)> {
    let source = |name: &str, bytes: &[u8], layer| ConfigSource {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
        layer,
    };
    let sources = [
        source("demo.xml", SCHEDULER, Layer::Scheduler),
        source("demo-yarn-site.xml", SITE, Layer::Site),
    ];
    let loaded = crate::play::from_sources(&sources, reference)?;
    let types = crate::play::types_of(&loaded.settings)?;
    if args.map.is_none() {
        args.map = Some(MapRules::parse(RULES)?);
    }
    if args.compress <= 1 {
        args.compress = COMPRESS;
    }
    let options = args.options(types.clone());
    let nodes = import::nodes(import::Source::text("openb nodes", NODES), &options)?;
    let order = args.order();
    let trace = Trace::made(move || {
        let pods = Box::new(Cursor::new(pods.as_bytes()));
        let source = import::Source::of("openb pods", pods, MAX_INFLATED)?;
        import::ordered(source, Some(Format::Openb), &options, &order)
    })?;
    let mut cluster = Cluster::new(loaded, nodes, types)?;
    cluster.shuffle(seed);
    Ok((cluster, trace))
}

const MODES: [ModeKind; 3] = [
    ModeKind::Heartbeat,
    ModeKind::Asynchronous,
    ModeKind::Global,
];

/// What to try next.
const NEXT: &str = "
Next: capsched replay FILE --nodes FILE       your own trace on your own cluster
      capsched check capacity-scheduler.xml   your own queues
      capsched demo --explain-rows            what the lines mean
";

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(example) = &args.example {
        return teach::run(example);
    }
    let settings = (args.seed, args.reference.release);
    let (cluster, trace) = data_of(&mut TraceArgs::default(), settings, first_pods(args.pods))?;
    let timing = timing(Timing::default(), &trace);
    if let Some(mode) = args.top {
        let row = Row::new(mode, None).under(args.reference.release);
        let staged = Staged::without_costs((cluster, trace), row, timing)?;
        return watch(&Shown::of_demo(mode, staged), None);
    }
    let measured = MODES.map(Saturated::measure).into_iter();
    let saturated = measured.collect::<Result<Vec<Saturated>>>()?;
    let scene = Scene {
        cluster: &cluster,
        trace: &trace,
        timing,
        costs: None,
        tries: true,
        says_end: true,
    };
    let played = MODES.map(|mode| play(args, &scene, mode)).into_iter();
    let runs = played.collect::<Result<Vec<Outcome>>>()?;
    if args.json {
        line(document(args.seed, &scene, &runs, &saturated));
    } else {
        put(&shown(&cluster, &trace, &runs, args.explain_rows));
        put(&format!(
            "\n{}{NEXT}",
            saturated_table(&saturated, args.explain_rows)
        ));
    }
    Ok(exit_code(&runs, true))
}

fn document(seed: u64, scene: &Scene<'_>, runs: &[Outcome], saturated: &[Saturated]) -> Value {
    json!({
        "seed": seed,
        "machine": machine(),
        "nodes": scene.cluster.nodes.len(),
        "jobs": scene.trace.facts.jobs,
        "same_containers_placed": same(runs),
        "runs": runs.iter().map(Outcome::to_json).collect::<Vec<_>>(),
        "saturated": saturated.iter().map(Saturated::to_json).collect::<Vec<_>>(),
    })
}

/// Plays the trace in one mode.
fn play(args: &Args, scene: &Scene<'_>, mode: ModeKind) -> Result<Outcome> {
    let row = Row::new(mode, args.threads).under(args.reference.release);
    let bar = progress(scene.trace.facts.jobs, mode.name());
    let outcome = row.play(scene, &bar, &mut ());
    bar.finish_and_clear();
    outcome
}

/// The end of the demonstration, unless another is wanted.
pub(crate) fn timing(mut timing: Timing, trace: &Trace) -> Timing {
    let last = trace.facts.last_ms;
    timing.until_ms = timing.until_ms.or(Some(last + AFTER_MS));
    timing
}

/// Whether all rows placed the same containers.
pub(crate) fn same(runs: &[Outcome]) -> bool {
    runs.windows(2)
        .all(|pair| pair[0].placed_set == pair[1].placed_set)
}

/// Exit code of some runs: violations are a problem, and work that is refused or left unless that
/// is allowed.
pub(crate) fn exit_code(runs: &[Outcome], allow_unfinished: bool) -> ExitCode {
    let wrong = |run: &Outcome| run.violations() > 0 || !allow_unfinished && run.not_placed() > 0;
    if runs.iter().any(wrong) {
        ExitCode::from(PROBLEM)
    } else {
        ExitCode::SUCCESS
    }
}

/// The runs as columns with one seed.
pub(crate) fn columns(runs: &[Outcome]) -> Vec<Column> {
    let column = |run: &Outcome| Column {
        name: run.name.clone(),
        runs: vec![run.clone()],
    };
    runs.iter().map(column).collect()
}

/// Lines below a table: what follows, whether results are equal, what was refused or left.
pub(crate) fn footer(runs: &[Outcome]) -> String {
    let placed = if same(runs) { "yes" } else { "no" };
    let mut out = format!("same containers placed in every column: {placed}\n");
    for run in runs {
        let title = format!("Refused or left: {}", run.name);
        out.push_str(&block(&title, &run.left, 3));
    }
    for message in runs.iter().flat_map(|run| &run.report.messages).take(5) {
        out.push_str(&format!("note: {message}\n"));
    }
    out
}

fn shown(cluster: &Cluster, trace: &Trace, runs: &[Outcome], explain: bool) -> String {
    format!(
        "Alibaba openb 2023: {} nodes, {} pods, submitted\n\
         {COMPRESS} times faster than they were\n\n\
         {}\n{}{}",
        cluster.nodes.len(),
        crate::play::grouped(trace.facts.jobs),
        table(runs, explain),
        verdict(&columns(runs)),
        footer(runs)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pods_come_with_the_head_of_the_trace() {
        for most in [1, 300] {
            let lines = first_pods(Some(most)).lines().count();
            assert_eq!(lines, most as usize + 1);
        }
        for all in [None, Some(1_000_000)] {
            assert_eq!(first_pods(all), PODS);
        }
    }
}
