//! Macro workloads: throughput and latency of the engine, and its memory.
//!
//! Without arguments the canonical workload runs and two numbers are printed: decisions per second
//! (the median of the rounds) and the 99th percentile of one decision in nanoseconds.

mod baselines;
mod beside;
mod calibrate;
mod callers;
mod calm;
mod check;
mod churn;
mod compare;
mod conserve;
mod echo;
mod hadoop;
mod handoff;
mod hash;
mod limits;
mod machine;
mod memory;
mod open;
mod output;
mod peers;
mod phases;
mod plot;
mod pool;
mod probe;
mod record;
mod relate;
mod replay;
mod report;
mod results;
mod rounds;
mod scale;
mod shape;
mod spec;
mod stats;
mod suite;
mod table;
mod tally;
mod trace;

use std::time::Duration;

use anyhow::Result;
use capsched::api::Mode;
use capsched::metrics::Histogram;
use clap::{Parser, Subcommand, ValueEnum};

use crate::output::say;
use record::Record;
use rounds::{How, Round};
use shape::Shape;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How fast the engine decides.
#[derive(Parser, Debug)]
#[command(name = "perf", version)]
struct Cli {
    /// Measures with a build of any profile; such a figure is no basis for a comparison.
    #[arg(long, global = true)]
    any_profile: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Measures one workload of `configs/workloads`; the canonical one without a name.
    Run(RunArgs),
    /// Measures our engine and Hadoop's scheduler in turn.
    Peers(peers::Args),
    /// Offers asks on a fixed schedule and takes latencies from the intended time.
    ///
    /// `perf open W12-1000 --half --mode global --threads 1 --seconds 600` is W12: first the churn
    /// in a closed loop for what it saturates at, then half of that with the heartbeats of all
    /// nodes mixed in.
    Open(open::Args),
    /// Measures workloads in every mode and adds the records to the file of this machine.
    Record(suite::Args),
    /// Measures and judges by the accepted ranges.
    Check(check::Args),
    /// Measures two builds of this driver in turn.
    Compare(compare::Args),
    /// Measures workloads in turn: what part of the first one's speed the others reach.
    Relate(relate::Args),
    /// Measures and draws throughput and conflicts against the number of proposers.
    Scale(scale::Args),
    /// Measures where the time of a decision goes.
    Phases(phases::Args),
    /// Measures an open loop in all modes and draws their percentiles over each other.
    Percentiles(phases::PercentileArgs),
    /// Measures how long the command needs for a cluster's day.
    Replay(replay::Args),
    /// Writes the tables of the README from the records of this machine.
    Report(report::Args),
    /// Lists the workloads.
    List,
    /// Measures a bare pipeline without any policy: the machine's ceiling.
    Probe(probe::Args),
    /// Measures simpler designs beside ours.
    Baselines(baselines::Args),
    /// Measures how long each call of the API, at its largest size, holds another caller.
    Callers(callers::Args),
    /// Loads a large cluster and reports peak memory.
    Memory(memory::Args),
}

impl Command {
    /// Whether the figures of the command come from the build of this process. `compare` starts other
    /// builds, each of which judges its own profile.
    fn measures(&self) -> bool {
        !matches!(self, Self::List | Self::Report(_) | Self::Compare(_))
    }
}

/// Arguments of `perf run`.
#[derive(clap::Args, Debug)]
struct RunArgs {
    /// Name of a workload.
    #[arg(default_value = "S1")]
    shape: String,
    #[command(flatten)]
    how: HowArgs,
    /// Measured rounds, each on a new engine; one more before them is not measured, and takes ten
    /// seconds at most where a round takes its time.
    #[arg(long, default_value_t = 5, value_parser = limits::rounds())]
    rounds: usize,
    /// Prints one JSON object a round.
    #[arg(long)]
    json: bool,
}

/// Who decides, and for how long.
#[derive(clap::Args, Clone, Copy, Debug)]
struct HowArgs {
    /// Who decides.
    #[arg(long, value_enum, default_value = "heartbeat")]
    mode: ModeName,
    /// Proposer threads; 0 runs without any thread. By default none in heartbeat mode and one in the
    /// others.
    #[arg(long, value_parser = limits::threads())]
    threads: Option<usize>,
    /// Length of a round, or its limit where it has another end.
    #[arg(long, value_parser = limits::seconds())]
    seconds: Option<u64>,
    /// How long the committer and its callers stay awake with nothing to do, in microseconds.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    awake_us: u64,
}

impl From<HowArgs> for How {
    fn from(args: HowArgs) -> Self {
        let threads = usize::from(args.mode != ModeName::Heartbeat);
        Self {
            seconds: args.seconds,
            awake: Duration::from_micros(args.awake_us),
            ..Self::of(args.mode, args.threads.unwrap_or(threads))
        }
    }
}

/// The three modes by the names of their settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
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

    /// The engine's mode with so many proposer threads, where it has any.
    fn with_threads(self, threads: usize) -> Mode {
        match self {
            Self::Heartbeat => Mode::Heartbeat,
            Self::Asynchronous => Mode::Asynchronous { threads },
            Self::Global => Mode::Global { threads },
        }
    }
}

fn main() -> Result<()> {
    let Cli {
        any_profile,
        command,
    } = Cli::parse();
    if command.as_ref().is_none_or(Command::measures) {
        if !any_profile {
            record::ensure_profile()?;
        }
        if !machine::keeps_memory() {
            output::aside!(
                "MIMALLOC_PURGE_DELAY is not set, as `cargo run` sets it: memory goes back to the system between \
                 two rounds, and figures are lower by up to a half"
            );
        }
    }
    match command {
        Some(Command::Run(args)) => run(&args),
        Some(Command::Peers(args)) => peers::run(&args),
        Some(Command::Open(args)) => open::run(&args),
        Some(Command::Record(args)) => suite::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Compare(args)) => compare::run(&args, any_profile),
        Some(Command::Relate(args)) => relate::run(&args),
        Some(Command::Scale(args)) => scale::run(&args),
        Some(Command::Phases(args)) => phases::run(&args),
        Some(Command::Percentiles(args)) => phases::percentiles(&args),
        Some(Command::Replay(args)) => replay::run(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::List) => list(),
        Some(Command::Probe(args)) => probe::run(&args),
        Some(Command::Baselines(args)) => baselines::run(&args),
        Some(Command::Callers(args)) => callers::run(&args),
        Some(Command::Memory(args)) => memory::run(&args),
        None => canonical(),
    }
}

/// Names of all workloads and what they are.
fn list() -> Result<()> {
    for name in shape::names()? {
        say!("{name:10} {}", Shape::named(&name)?.about);
    }
    Ok(())
}

/// Rounds of one workload.
fn run(args: &RunArgs) -> Result<()> {
    let shape = Shape::named(&args.shape)?;
    let how = How::from(args.how);
    let rounds = measured(
        &shape,
        args.rounds,
        || rounds::run(&shape, how.briefly(&shape)),
        || rounds::run(&shape, how),
        |number, round| {
            if args.json {
                let record = Record::new(&shape, how, number, round);
                say!("{}", serde_json::to_string(&record)?);
            } else {
                say!("{}", line(round));
            }
            Ok(())
        },
    )?;
    if !args.json {
        print_figures(&rounds);
    }
    Ok(())
}

/// One round for people.
fn line(round: &Round) -> String {
    let alone = round.scheduling_ns.map_or_else(String::new, |ns| {
        let alone = rounds::rate(round.counted, ns);
        format!(", {alone}/s of scheduling alone")
    });
    let aside = round.aside.map_or_else(String::new, |it| format!(", {it}"));
    let unplaced = round
        .unplaced
        .map_or_else(String::new, |n| format!(", {n} without a place"));
    format!(
        "{}/s{alone}, {} placed{}{unplaced}, {} refused, p50 {} ns, p99 {} ns, p99.9 {} ns{aside}",
        round.per_second(),
        round.placed,
        if round.complete { "" } else { " (out of time)" },
        round.rejected(),
        round.latency.quantile(0.5),
        round.latency.quantile(0.99),
        round.latency.quantile(0.999)
    )
}

fn canonical() -> Result<()> {
    let shape = Shape::named("S1")?;
    let how = How::of(ModeName::Heartbeat, 0);
    let round = || rounds::run(&shape, how);
    let rounds = measured(&shape, 5, round, round, |_, _| Ok(()))?;
    print_figures(&rounds);
    Ok(())
}

/// Warms up, and then measures `count` rounds, each printed as it ends. One that ran out of time is printed and then
/// an error: the rate of a part of a task is not comparable to anything.
fn measured(
    shape: &Shape,
    count: usize,
    warm_up: impl FnOnce() -> Result<Round>,
    mut round: impl FnMut() -> Result<Round>,
    mut print: impl FnMut(usize, &Round) -> Result<()>,
) -> Result<Vec<Round>> {
    warm_up()?;
    let mut rounds = Vec::new();
    for number in 1..=count {
        let one = round()?;
        print(number, &one)?;
        one.ensure_complete(shape)?;
        rounds.push(one);
    }
    Ok(rounds)
}

/// The median rate of the rounds and the 99th percentile over all of them.
fn print_figures(rounds: &[Round]) {
    let rates: Vec<u64> = rounds.iter().map(Round::per_second).collect();
    let mut all = Histogram::new();
    for round in rounds {
        all.merge(&round.latency);
    }
    let rate = stats::Spread::of(&rates).unwrap_or_default().median;
    say!("{rate} decisions per second\n{} ns p99", all.quantile(0.99));
}
