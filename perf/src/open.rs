//! `perf open`: asks on a schedule fixed beforehand, latency from the intended time.
//!
//! One thread asks and watches. Whatever is due is asked for in one call of the next application,
//! which gives back as many containers as it asks for. A container's latency runs from the moment
//! its ask was due to the moment the driver learnt of it, so that a stall is charged to everything
//! it delayed; nothing is corrected afterwards.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use capsched::api::Decision;
use capsched::metrics::Histogram;
use capsched::time::{Clock, SystemClock};
use serde::Serialize;

use crate::churn::{self, Driven, Masters, Turns};
use crate::record::{Origin, Percentiles};
use crate::rounds::{self, How};
use crate::shape::{Run, Shape};
use crate::stats::grouped;
use crate::{HowArgs, ModeName, machine};

/// Shares of saturation that a sweep offers, in percent.
const SWEEP: [u64; 5] = [10, 30, 50, 70, 90];

/// More than any engine serves: what it reaches then is its saturation.
const FLOOD: u64 = 20_000_000;

/// Arguments of `perf open`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of a workload whose run is open.
    #[arg(default_value = "S5-open")]
    shape: String,
    #[command(flatten)]
    how: HowArgs,
    /// Asks a second, separated by commas; those of the workload unless given.
    #[arg(long, value_delimiter = ',')]
    rates: Vec<u64>,
    /// Measures saturation first and offers 10 to 90 % of it.
    #[arg(long, conflicts_with = "rates")]
    sweep: bool,
    /// How long the committer stays awake with nothing to do, in microseconds.
    #[arg(long, default_value_t = 0)]
    awake_us: u64,
    /// Prints one JSON object a rate.
    #[arg(long)]
    json: bool,
}

/// One rate.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    workload: String,
    workload_hash: String,
    mode: &'static str,
    threads: usize,
    awake_us: u64,
    seed: u64,
    offered_per_second: u64,
    served_per_second: u64,
    asked: u64,
    /// Asks without a container two seconds after the last was due.
    unserved: u64,
    latency_of: &'static str,
    latency_ns: Percentiles,
    involuntary_switches: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shape = Shape::named(&args.shape)?;
    let Run::Open { rates, seconds, .. } = &shape.run else {
        bail!("{} has no open run; `perf run` measures it", shape.name);
    };
    let how = How {
        awake: Duration::from_micros(args.awake_us),
        ..How::from(args.how)
    };
    let seconds = how.seconds.unwrap_or(u64::from(*seconds));
    let rates = if args.sweep {
        let saturation = measure(&shape, how, FLOOD, seconds.min(2))?
            .0
            .served_per_second;
        SWEEP.iter().map(|share| saturation * share / 100).collect()
    } else if args.rates.is_empty() {
        rates.iter().map(|&rate| u64::from(rate)).collect()
    } else {
        args.rates.clone()
    };
    for rate in rates {
        let (line, histogram) = measure(&shape, how, rate, seconds)?;
        if args.json {
            println!("{}", serde_json::to_string(&line)?);
        } else {
            println!(
                "{} {} at {}/s: {}/s served, {} unserved, {}",
                line.workload,
                line.mode,
                grouped(line.offered_per_second),
                grouped(line.served_per_second),
                line.unserved,
                histogram.latency()
            );
        }
    }
    Ok(())
}

/// Asks that are open, by application, with the moments they were due.
struct Book {
    due: Vec<VecDeque<u64>>,
    open: u64,
    served: u64,
    latency: Histogram,
}

impl Book {
    /// Closes the oldest ask of each application that got a container.
    fn serve(&mut self, decisions: &[Decision], now: u64) {
        for decision in decisions {
            if let Decision::Allocated { container, .. } = decision {
                let app = container.app.sequence as usize - 1;
                if let Some(due) = self.due[app].pop_front() {
                    self.latency.record(now.saturating_sub(due));
                    self.open -= 1;
                    self.served += 1;
                }
            }
        }
    }
}

/// Offers `rate` asks a second for some seconds.
pub(crate) fn measure(
    shape: &Shape,
    how: How,
    rate: u64,
    seconds: u64,
) -> Result<(Line, Histogram)> {
    ensure!(rate > 0, "a rate is at least one ask a second");
    let (mut engine, mut turns, mut masters, mut placed) = churn::filled(shape, how)?;
    let mut book = Book {
        due: vec![VecDeque::new(); masters.all.len()],
        open: 0,
        served: 0,
        latency: Histogram::new(),
    };
    let clock = SystemClock::new();
    let switches = machine::involuntary_switches();
    let began = clock.now_ns();
    let (mut asked, mut next) = (0, 0);
    let end = began + seconds * 1_000_000_000;
    let due_at = |n: u64| {
        began + u64::try_from(u128::from(n) * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX)
    };
    loop {
        let now = clock.now_ns();
        if now >= end {
            break;
        }
        let mut due = Vec::new();
        while due_at(asked) <= now && due.len() < MOST {
            due.push(due_at(asked));
            asked += 1;
        }
        if !due.is_empty() {
            next = (next + 1) % masters.all.len();
            ask(&mut engine, &mut masters, &mut book, next, due)?;
        }
        turn(how, &mut engine, &mut turns, &mut book)?;
        book.serve(&engine.take_events(), clock.now_ns());
    }
    let elapsed_ns = clock.now_ns() - began;
    let served_per_second = rounds::rate(book.served, elapsed_ns);
    while book.open > 0 && clock.now_ns() < end + 2_000_000_000 {
        turn(how, &mut engine, &mut turns, &mut book)?;
        book.serve(&engine.take_events(), clock.now_ns());
    }
    placed += book.served;
    churn::finish(&mut engine, &masters, &mut placed, &mut Default::default())?;
    ensure!(book.served > 0, "nothing was served");
    let line = Line {
        origin: Origin::now(),
        kind: "open",
        workload: shape.name.clone(),
        workload_hash: shape.hash(),
        mode: how.mode.name(),
        threads: how.threads,
        awake_us: u64::try_from(how.awake.as_micros()).unwrap_or(u64::MAX),
        seed: churn::SEED,
        offered_per_second: rate,
        served_per_second,
        asked,
        unserved: book.open,
        latency_of: "ask due to container seen",
        latency_ns: Percentiles::of(&book.latency),
        involuntary_switches: machine::involuntary_switches().saturating_sub(switches),
    };
    Ok((line, book.latency))
}

/// Most asks of one call.
const MOST: usize = 256;

/// One call for everything that is due.
fn ask(
    engine: &mut Driven,
    masters: &mut Masters,
    book: &mut Book,
    app: usize,
    due: Vec<u64>,
) -> Result<()> {
    let count = due.len();
    book.open += count as u64;
    book.due[app].extend(due);
    let call = masters.call(app, count, book.due[app].len());
    let reply = engine.ask(masters.all[app].id, call)?;
    masters.learn(app, &reply);
    Ok(())
}

/// Engines without threads of their own are stepped while asks are open.
fn turn(how: How, engine: &mut Driven, turns: &mut Turns, book: &mut Book) -> Result<()> {
    let alone = how.threads > 0 && how.mode != ModeName::Heartbeat;
    if book.open > 0 && !alone {
        turns.step(engine)?;
    } else {
        std::thread::yield_now();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Run;

    #[test]
    fn every_ask_of_a_slow_schedule_is_served() {
        let mut shape = Shape::named("S5-open").unwrap();
        shape.cluster.nodes = 10;
        // Room for whatever falls due together while this thread has to wait for a processor.
        if let Run::Open { full_percent, .. } = &mut shape.run {
            *full_percent = 20;
        }
        let how = How::of(ModeName::Heartbeat, 0);
        let (line, latency) = measure(&shape, how, 200, 1).unwrap();
        assert_eq!((line.unserved, latency.len()), (0, line.asked));
    }
}
