//! `perf scale`: throughput and conflict rate against the number of proposers, as records and SVG.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::output::say;
use crate::plot::{Chart, Ideal, Series, svg};
use crate::record::Record;
use crate::rounds::{self, How};
use crate::shape::Shape;
use crate::stats::{Spread, grouped};
use crate::{ModeName, limits, results};

/// Arguments of `perf scale`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Workloads, separated by commas; each gets a file of its own.
    #[arg(long, value_delimiter = ',', default_value = "S1,W9")]
    workloads: Vec<String>,
    /// Numbers of proposers, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_parser = limits::proposers())]
    threads: Vec<usize>,
    /// Measured rounds of each point.
    #[arg(long, default_value_t = 3, value_parser = limits::rounds())]
    rounds: usize,
    /// Length of a round, or its limit where it has another end.
    #[arg(long, value_parser = limits::seconds())]
    seconds: Option<u64>,
    /// Folder of the drawings.
    #[arg(long, default_value = "perf/plots")]
    plots: PathBuf,
    /// Adds the records to the file of this machine.
    #[arg(long)]
    record: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    fs::create_dir_all(&args.plots).with_context(|| args.plots.display().to_string())?;
    for shape in Shape::all(&args.workloads)? {
        let name = &shape.name;
        let mut rates = Vec::new();
        let mut conflicts = Vec::new();
        for mode in [ModeName::Asynchronous, ModeName::Global] {
            let (rate, refused) = lines(args, &shape, mode)?;
            rates.push(rate);
            conflicts.push(refused);
        }
        let path = args.plots.join(format!("scale-{name}.svg"));
        let best = ideal(&rates, &args.threads, cores());
        let text = svg(&[
            Chart {
                ideal: Some(best),
                ..chart(
                    args,
                    format!("{name}: throughput"),
                    "containers per second",
                    rates,
                )
            },
            chart(
                args,
                format!("{name}: conflicts"),
                "refused per 100 proposals",
                conflicts,
            ),
        ]);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        say!("{}", path.display());
    }
    Ok(())
}

/// Rates and conflict rates of one mode by the number of proposers.
fn lines(args: &Args, shape: &Shape, mode: ModeName) -> Result<(Series, Series)> {
    let named = || Series {
        name: mode.name().to_owned(),
        points: Vec::new(),
    };
    let (mut rate, mut refused) = (named(), named());
    for &threads in &args.threads {
        let how = How {
            seconds: args.seconds,
            ..How::of(mode, threads)
        };
        let (mut rates, mut proposals, mut rejected) = (Vec::new(), 0, 0);
        for number in 1..=args.rounds {
            let round = rounds::whole(shape, how)?;
            rates.push(round.per_second());
            proposals += round.counted + round.rejected();
            rejected += round.rejected();
            if args.record {
                let record = Record::new(shape, how, number, &round);
                results::append(&results::of_this_machine(), &record)?;
            }
        }
        let spread = Spread::of(&rates).unwrap_or_default();
        let share = crate::stats::ratio(100 * rejected, proposals);
        say!(
            "{} {} with {threads}: {}/s ({} to {}), {share} % refused",
            shape.name,
            mode.name(),
            grouped(spread.median),
            grouped(spread.min),
            grouped(spread.max)
        );
        let x = f64::from(u32::try_from(threads)?);
        rate.points
            .push((x, f64::from(u32::try_from(spread.median)?)));
        refused.points.push((x, share));
    }
    Ok((rate, refused))
}

fn chart(args: &Args, title: String, y_label: &str, series: Vec<Series>) -> Chart {
    let tick = |&threads: &usize| {
        let at = u32::try_from(threads).unwrap_or(0);
        (f64::from(at), threads.to_string())
    };
    Chart {
        title,
        x_label: "proposers".to_owned(),
        y_label: y_label.to_owned(),
        x_ticks: args.threads.iter().map(tick).collect(),
        log_y: false,
        series,
        ideal: None,
    }
}

/// Cores of this machine that threads may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The rate of the first point of each line times its proposers, as far as there are cores for them.
#[expect(
    clippy::float_arithmetic,
    reason = "positions on a drawing; nothing is decided by them"
)]
fn ideal(rates: &[Series], threads: &[usize], cores: usize) -> Ideal {
    let mut at: BTreeSet<usize> = threads.iter().copied().collect();
    let (first, last) = (at.first().copied(), at.last().copied());
    if first < Some(cores) && Some(cores) < last {
        at.insert(cores);
    }
    let number = |of: usize| f64::from(u32::try_from(of).unwrap_or(u32::MAX));
    let line = |series: &Series| {
        let (of, rate) = series.points.first().copied().unwrap_or((1.0, 0.0));
        let best = |&threads: &usize| (number(threads), rate / of * number(threads.min(cores)));
        at.iter().map(best).collect()
    };
    Ideal {
        name: format!("ideal on {cores} cores"),
        lines: rates.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_grows_with_the_proposers_up_to_the_cores() {
        let measured = Series {
            name: "global".to_owned(),
            points: vec![(1.0, 10.0), (4.0, 9.0)],
        };
        let best = ideal(&[measured], &[1, 4], 2);
        assert_eq!(best.name, "ideal on 2 cores");
        let line = "[[(1.0, 10.0), (2.0, 20.0), (4.0, 20.0)]]";
        assert_eq!(format!("{:?}", best.lines), line);
    }
}
