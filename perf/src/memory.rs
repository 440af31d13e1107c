//! `perf memory`: a very large cluster in one engine, and what it takes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use capsched::api::{Ask, AskCall, Decision, Engine, NodeReport};
use capsched::time::{Clock, SystemClock};
use serde::Serialize;

use crate::record::Origin;
use crate::shape::{Shape, gib};
use crate::{ModeName, machine, rounds};

/// Most memory that the default load may take.
const LIMIT_KIB: u64 = 1 << 20;

/// Arguments of `perf memory`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Nodes of the cluster.
    #[arg(long, default_value_t = 100_000)]
    nodes: u32,
    /// Live containers.
    #[arg(long, default_value_t = 1_000_000)]
    containers: u32,
    /// Does not append the record to `perf/results`.
    #[arg(long)]
    no_record: bool,
}

/// What a load took.
#[derive(Clone, Debug, Serialize)]
struct Load {
    #[serde(flatten)]
    origin: Origin,
    workload: &'static str,
    workload_hash: String,
    nodes: u32,
    containers: u64,
    /// Resident with all nodes and no container.
    nodes_rss_kib: u64,
    rss_kib: u64,
    peak_rss_kib: u64,
    mib_per_million_containers: u64,
    elapsed_ns: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let load = fill(args)?;
    println!("{} MiB peak resident", load.peak_rss_kib / 1024);
    println!(
        "{} MiB per million containers",
        load.mib_per_million_containers
    );
    if !args.no_record {
        append(&load)?;
    }
    ensure!(
        load.peak_rss_kib < LIMIT_KIB,
        "{} KiB are more than {LIMIT_KIB} KiB",
        load.peak_rss_kib
    );
    Ok(())
}

fn shape(args: &Args) -> Shape {
    let each = args.containers.div_ceil(args.nodes.max(1));
    Shape {
        name: "memory",
        nodes: args.nodes,
        node: gib(i64::from(each) * 4, i64::from(each)),
        levels: &[5, 4, 5],
        apps: 1_000,
        users: 200,
        container: gib(4, 1),
        asked: args.containers,
        target: args.containers,
        a_heartbeat: each,
    }
}

/// Places, hands over and launches every container.
fn fill(args: &Args) -> Result<Load> {
    let shape = shape(args);
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let mut engine = Engine::builder(shape.settings(ModeName::Heartbeat)?).sequential()?;
    let nodes = shape.node_specs()?;
    for node in &nodes {
        engine.add_node(node)?;
    }
    drop(engine.take_events());
    let nodes_rss_kib = machine::status_kib("VmRSS");
    let apps = shape.app_specs();
    for (app, count) in &apps {
        engine.submit(app)?;
        let asks = vec![Ask::anywhere(shape.container, *count)];
        engine.ask(app.id, &AskCall::asking(asks))?;
    }
    let mut placed = 0;
    for node in &nodes {
        engine.heartbeat(&node.name, &NodeReport::AsExpected)?;
        let allocated = |event: &&Decision| matches!(event, Decision::Allocated { .. });
        placed += engine.take_events().iter().filter(allocated).count() as u64;
    }
    let mut fetched = 0;
    for (app, _) in &apps {
        fetched += engine.ask(app.id, &AskCall::default())?.allocated.len() as u64;
    }
    for node in &nodes {
        engine.heartbeat(&node.name, &NodeReport::AsExpected)?;
    }
    ensure!(fetched == placed, "{placed} placed, {fetched} handed over");
    rounds::totals(&engine).check(placed, &shape.container)?;
    let wanted = u64::from(shape.asked / shape.apps * shape.apps);
    ensure!(placed == wanted, "{placed} placed of {wanted}");
    let rss_kib = machine::status_kib("VmRSS");
    let grown = rss_kib.saturating_sub(nodes_rss_kib);
    Ok(Load {
        origin: Origin::now(),
        workload: shape.name,
        workload_hash: shape.hash(),
        nodes: shape.nodes,
        containers: placed,
        nodes_rss_kib,
        rss_kib,
        peak_rss_kib: machine::status_kib("VmHWM"),
        mib_per_million_containers: grown * 1_000_000 / 1024 / placed.max(1),
        elapsed_ns: clock.now_ns() - began,
    })
}

/// Adds the record to the file of this machine; earlier lines are never changed.
fn append(load: &Load) -> Result<()> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("results");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(format!("{}.jsonl", machine::slug()));
    let mut options = OpenOptions::new();
    let mut file = options
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| path.display().to_string())?;
    writeln!(file, "{}", serde_json::to_string(load)?)?;
    Ok(())
}
