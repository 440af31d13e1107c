//! `capsched trace generate`: a synthetic trace of the seven kinds of work, with its cluster.

use std::process::ExitCode;

use anyhow::{Context, Result};
use capsched::api::ResourceVector;
use capsched::simulator::{
    Archetype, ResourceTypes, Synthetic, SyntheticSettings, Workload, equal_nodes,
    largest_beside_services,
};
use serde_json::json;

use crate::output::{line, note};
use crate::sink::OutArgs;
use crate::values::seed;

/// Arguments of `capsched trace generate`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Equal seeds and settings give equal traces, decimal or 0x and hexadecimal.
    #[arg(long, value_name = "S", default_value = "1", value_parser = seed)]
    seed: u64,
    /// Jobs that arrive, beside services.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    jobs: u64,
    /// Hours over which they arrive.
    #[arg(long, value_name = "H", default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    hours: u64,
    /// Services, which arrive first and run for ever.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    services: u64,
    /// Users, each job's drawn evenly.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    users: u64,
    /// Containers of every job in thousandths of the usual number.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    scale: u64,
    /// Kinds of work, separated by commas: adhoc, preferred, ml, dashboard, exploration, batch,
    /// service; all of them when left out.
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = kind)]
    only: Vec<Archetype>,
    /// Nodes of 64 GiB and 32 vcores in racks of 20; none with 0.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    nodes: u32,
    /// GPUs of each node; machine learning asks for one a container unless there are none.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=64))]
    gpus: u32,
    /// Let training ask for whole nodes, although services may hold a part of every node for ever.
    #[arg(long)]
    whole_nodes: bool,
    #[command(flatten)]
    out: OutArgs,
    /// Print a summary as JSON; with --out.
    #[arg(long, requires = "out")]
    json: bool,
}

fn kind(text: &str) -> Result<Archetype, String> {
    let found = Archetype::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| {
        let names = Archetype::ALL.map(Archetype::name).join(", ");
        format!(
            "`{}` is no kind of work; there are {names}",
            text.escape_debug()
        )
    })
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let types = if args.gpus == 0 {
        ResourceTypes::default()
    } else {
        ResourceTypes::with_extra(&["gpu-milli"]).context("three types are within the limit")?
    };
    let gpus = i64::from(args.gpus) * 1000;
    let size = [64 * 1024, 32, gpus];
    let nodes = equal_nodes(
        args.nodes,
        20,
        ResourceVector::of(&size[..types.names().len()]),
    );
    let mut settings = wanted(args, &types);
    if !args.whole_nodes && args.nodes > 0 {
        settings.largest_mib = largest_beside_services(&settings, args.nodes, size[0]);
    }
    let mut workload = Synthetic::new(settings);
    let jobs = args.out.write(&types, &nodes, &mut workload)?;
    let report = workload.report();
    note(format_args!(
        "{report}{jobs} jobs and {} nodes of seed {}",
        nodes.len(),
        args.seed
    ));
    if let (true, Some(path)) = (args.json, args.out.file()) {
        line(
            json!({"jobs": jobs, "nodes": nodes.len(), "seed": args.seed,
            "file": path.display().to_string()}),
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The kinds and numbers of work that the command line asks for.
fn wanted(args: &Args, types: &ResourceTypes) -> SyntheticSettings {
    let mut settings = SyntheticSettings {
        seed: args.seed,
        jobs: args.jobs,
        span_ms: args.hours * 3_600_000,
        services: args.services,
        users: args.users,
        scale_permille: args.scale,
        types: types.clone(),
        ..SyntheticSettings::default()
    };
    if !args.only.is_empty() {
        let wanted = |kind: Archetype| args.only.contains(&kind);
        settings.mix.retain(|share| wanted(share.archetype));
    }
    settings
}
