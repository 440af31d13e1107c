//! Macro workloads: throughput and latency of the engine, and its memory.
//!
//! Without arguments the canonical workload runs and two numbers are printed: decisions per second
//! (the median of the rounds) and the 99th percentile of one decision in nanoseconds.
#![expect(
    clippy::print_stdout,
    reason = "results of a command go to standard output"
)]

mod conserve;
mod hash;
mod machine;
mod memory;
mod record;
mod rounds;
mod shape;

use anyhow::{Result, bail};
use capsched::metrics::Histogram;
use clap::{Parser, Subcommand, ValueEnum};

use record::Record;
use rounds::Round;
use shape::Shape;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How fast the engine decides.
#[derive(Parser, Debug)]
#[command(name = "perf", version)]
struct Cli {
    /// Cluster, queues and applications.
    #[arg(long, value_enum, default_value = "S1")]
    shape: ShapeName,
    /// Who decides.
    #[arg(long, value_enum, default_value = "heartbeat")]
    mode: ModeName,
    /// Proposer threads; 0 runs without any thread.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Measured rounds, each on a new engine; one more round before them is not measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Prints one JSON object a round.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Loads a large cluster and reports peak memory.
    Memory(memory::Args),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "verbatim")]
enum ShapeName {
    S1,
    S2,
    S3,
    W1,
}

/// The three modes by the names of their settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// Nodes are scheduled at their heartbeats.
    Heartbeat,
    /// Threads walk the nodes one by one.
    Asynchronous,
    /// Threads look at all nodes of a partition.
    Global,
}

impl ModeName {
    fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Asynchronous => "asynchronous",
            Self::Global => "global",
        }
    }
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if let Some(Command::Memory(args)) = &cli.command {
        return memory::run(args);
    }
    if cli.rounds == 0 {
        bail!("at least one round is needed for a figure");
    }
    let shape = Shape::named(cli.shape);
    let mut measured = Vec::new();
    for number in 0..=cli.rounds {
        let round = rounds::run(&shape, cli.mode, cli.threads)?;
        if number == 0 {
            continue;
        }
        if cli.json {
            let record = Record::new(&shape, cli.mode, cli.threads, number, &round);
            println!("{}", serde_json::to_string(&record)?);
        }
        measured.push(round);
    }
    if !cli.json {
        let (rate, p99) = figures(&mut measured);
        println!("{rate} decisions per second\n{p99} ns p99");
    }
    Ok(())
}

/// The median rate of the rounds and the 99th percentile over all of them.
fn figures(rounds: &mut [Round]) -> (u64, u64) {
    rounds.sort_unstable_by_key(Round::per_second);
    let mut all = Histogram::new();
    for round in rounds.iter() {
        all.merge(&round.latency);
    }
    (rounds[rounds.len() / 2].per_second(), all.quantile(0.99))
}
