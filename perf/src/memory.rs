//! `perf memory`: a very large cluster in one engine, and what it takes.

use anyhow::{Result, ensure};
use capsched::api::{AskCall, NodeReport};
use capsched::time::{Clock, SystemClock};
use serde::Serialize;

use crate::output::say;
use crate::record::Origin;
use crate::shape::{Cluster, Hopeless, Load, NodeOrder, Queues, Run, Shape};
use crate::tally::Tally;
use crate::{ModeName, machine, results, rounds};

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
struct Measured {
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
    say!("{} MiB peak resident", load.peak_rss_kib / 1024);
    say!(
        "{} MiB per million containers",
        load.mib_per_million_containers
    );
    if !args.no_record {
        results::append(&results::of_this_machine(), &load)?;
    }
    ensure!(
        load.peak_rss_kib < LIMIT_KIB,
        "{} KiB are more than {LIMIT_KIB} KiB",
        load.peak_rss_kib
    );
    Ok(())
}

fn shape(args: &Args) -> Shape {
    let each = i64::from(args.containers.div_ceil(args.nodes.max(1)));
    Shape {
        name: "memory".to_owned(),
        about: "A cluster filled with a given number of containers.".to_owned(),
        cluster: Cluster {
            nodes: args.nodes,
            node: vec![each * 4096, each],
            more_types: Vec::new(),
            minimum_mib: 1024,
            partitions: Vec::new(),
            order: NodeOrder::Spread,
        },
        queues: Queues {
            levels: vec![5, 4, 5],
            user_percent: 25,
            user_factor: "10".to_owned(),
            am_share: "0.1".to_owned(),
        },
        load: Load {
            apps: 1_000,
            users: 200,
            containers: vec![vec![4096, 1]],
            asked: Some(args.containers),
            hopeless: Hopeless::None,
            hopeless_tenths: 0,
            a_heartbeat: u32::try_from(each).unwrap_or(u32::MAX),
        },
        run: Run::Fill { until_percent: 100 },
    }
}

/// Places, hands over and launches every container.
fn fill(args: &Args) -> Result<Measured> {
    let shape = shape(args);
    shape.check("")?;
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let mut engine = shape.engine(ModeName::Heartbeat)?;
    let nodes_rss_kib = machine::status_kib("VmRSS");
    let nodes = shape.node_names()?;
    let mut tally = Tally::new();
    for node in &nodes {
        engine.heartbeat(node, &NodeReport::AsExpected)?;
        tally.take(engine.take_events());
    }
    let placed = tally.placed();
    let sum = tally.sum();
    drop(tally);
    let mut fetched = 0;
    for app in shape.app_plans() {
        let reply = engine.ask(app.spec.id, &AskCall::default())?;
        fetched += reply.allocated.len() as u64;
    }
    for node in &nodes {
        engine.heartbeat(node, &NodeReport::AsExpected)?;
    }
    ensure!(fetched == placed, "{placed} placed, {fetched} handed over");
    rounds::totals(&engine).check(placed, &sum)?;
    ensure!(
        placed >= u64::from(shape.target()),
        "{placed} placed of {}",
        shape.target()
    );
    let rss_kib = machine::status_kib("VmRSS");
    let grown = rss_kib.saturating_sub(nodes_rss_kib);
    Ok(Measured {
        origin: Origin::now(),
        workload: "memory",
        workload_hash: shape.hash(),
        nodes: shape.cluster.nodes,
        containers: placed,
        nodes_rss_kib,
        rss_kib,
        peak_rss_kib: machine::status_kib("VmHWM"),
        mib_per_million_containers: grown * 1_000_000 / 1024 / placed.max(1),
        elapsed_ns: clock.now_ns() - began,
    })
}
