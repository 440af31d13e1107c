//! `perf relate`: workloads in turn, and how fast each is beside the first one.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::HowArgs;
use crate::limits;
use crate::output::say;
use crate::record::Origin;
use crate::results;
use crate::rounds::{self, How};
use crate::shape::Shape;
use crate::stats::{Paired, Spread, grouped};

/// Arguments of `perf relate`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The workload that the others are related to, and these, separated by commas.
    #[arg(value_delimiter = ',', default_value = "S1,S3,S4,S4U")]
    shapes: Vec<String>,
    #[command(flatten)]
    how: HowArgs,
    /// Measured rounds of each, in turn.
    #[arg(long, default_value_t = 9, value_parser = limits::rounds())]
    rounds: usize,
    /// Prints one JSON object for each workload but the first.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
}

/// A workload beside the first one.
#[derive(Clone, Debug, Serialize)]
struct Relation {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    shape: String,
    first: String,
    mode: &'static str,
    threads: usize,
    rounds: usize,
    per_second: u64,
    first_per_second: u64,
    /// Of the first one's speed, as the median of the pairs; 19 times in 20 it is between the bounds.
    percent: f64,
    percent_low: f64,
    percent_high: f64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        args.shapes.len() > 1,
        "name a workload and one to relate it to"
    );
    let how = How::from(args.how);
    let shapes = Shape::all(&args.shapes)?;
    for shape in &shapes {
        rounds::run(shape, how.briefly(shape))?;
    }
    let mut rates = vec![Vec::new(); shapes.len()];
    for _ in 0..args.rounds {
        for (shape, rates) in shapes.iter().zip(&mut rates) {
            rates.push(rounds::whole(shape, how)?.per_second());
        }
    }
    let median = |rates: &[u64]| Spread::of(rates).unwrap_or_default().median;
    for (shape, found) in shapes.iter().zip(&rates).skip(1) {
        let pairs: Vec<(u64, u64)> = found
            .iter()
            .copied()
            .zip(rates[0].iter().copied())
            .collect();
        let paired = Paired::percent(&pairs).context("there was a round")?;
        let relation = Relation {
            origin: Origin::now(),
            kind: "relation",
            shape: shape.name.clone(),
            first: shapes[0].name.clone(),
            mode: how.mode.name(),
            threads: how.threads,
            rounds: args.rounds,
            per_second: median(found),
            first_per_second: median(&rates[0]),
            percent: paired.median,
            percent_low: paired.low,
            percent_high: paired.high,
        };
        if args.record {
            results::append(&results::of_this_machine(), &relation)?;
        }
        if args.json {
            say!("{}", serde_json::to_string(&relation)?);
        } else {
            say!(
                "{} {} reaches {} % of {} ({} to {}): {} and {} decisions a second",
                relation.shape,
                relation.mode,
                relation.percent,
                relation.first,
                relation.percent_low,
                relation.percent_high,
                grouped(relation.per_second),
                grouped(relation.first_per_second)
            );
        }
    }
    Ok(())
}
