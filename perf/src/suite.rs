//! `perf record`: every workload in every mode with every number of proposers, as records.

use anyhow::{Result, ensure};

use crate::output::{aside, say};
use crate::record::Record;
use crate::rounds::{self, How};
use crate::shape::{self, Run, Shape};
use crate::{ModeName, limits, open, results};

/// Arguments of `perf record`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Workloads, separated by commas; all that have a file unless given.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<String>,
    /// Modes, separated by commas.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "heartbeat,asynchronous,global"
    )]
    modes: Vec<ModeName>,
    /// Numbers of proposers, separated by commas, for the modes that have them.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_parser = limits::threads())]
    threads: Vec<usize>,
    /// Measured rounds of each.
    #[arg(long, default_value_t = 1, value_parser = limits::rounds())]
    rounds: usize,
    /// Length of a round, or its limit where it has another end.
    #[arg(long, value_parser = limits::seconds())]
    seconds: Option<u64>,
    /// Prints the records and keeps no file.
    #[arg(long)]
    dry: bool,
}

/// Runs the command. A workload that fails is reported and does not stop the others.
pub(crate) fn run(args: &Args) -> Result<()> {
    let names = if args.workloads.is_empty() {
        shape::names()?
    } else {
        args.workloads.clone()
    };
    let mut failed = 0;
    for shape in Shape::all(&names)? {
        for how in ways(args, &shape) {
            if let Err(error) = measure(args, &shape, how) {
                let (name, mode) = (&shape.name, how.mode.name());
                aside!("{name} {mode} with {}: {error:#}", how.threads);
                failed += 1;
            }
        }
    }
    ensure!(failed == 0, "{failed} runs failed");
    Ok(())
}

/// Every mode with every number of proposers that it can have.
fn ways(args: &Args, shape: &Shape) -> Vec<How> {
    let mut ways = Vec::new();
    for &mode in &args.modes {
        let threads = match (mode, &shape.run) {
            (ModeName::Asynchronous | ModeName::Global, Run::Beats { .. }) => continue,
            (ModeName::Heartbeat, _) => &[0][..],
            _ => &args.threads,
        };
        ways.extend(threads.iter().map(|&threads| How {
            seconds: args.seconds,
            ..How::of(mode, threads)
        }));
    }
    ways
}

fn measure(args: &Args, shape: &Shape, how: How) -> Result<()> {
    let keep = |line: &serde_json::Value| -> Result<()> {
        say!("{line}");
        if args.dry {
            return Ok(());
        }
        results::append(&results::of_this_machine(), line)
    };
    for number in 1..=args.rounds {
        if let Run::Open { rates, seconds, .. } = &shape.run {
            let seconds = how.seconds.unwrap_or(u64::from(*seconds));
            for &rate in rates {
                let (line, _) = open::measure(shape, how, u64::from(rate), seconds)?;
                keep(&serde_json::to_value(line)?)?;
            }
        } else {
            let round = rounds::run(shape, how)?;
            let record = Record::new(shape, how, number, &round);
            keep(&serde_json::to_value(record)?)?;
            round.ensure_complete(shape)?;
        }
    }
    Ok(())
}
