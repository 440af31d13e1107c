//! `perf open`: asks on a schedule fixed beforehand, latency from the intended time.
//!
//! One thread asks and watches. Whatever is due is asked for in one call of the next application,
//! which gives back as many containers as it asks for; where it has fewer, the applications after
//! it ask for the rest. A container's latency runs from the moment its ask was due to the moment
//! the driver learnt of it, so that a stall is charged to everything it delayed; nothing is
//! corrected afterwards. Heartbeats by the clock, where the workload has any, go on beside it.
//! A warm-up on the same schedule comes first: touching memory for the first time stalls for
//! milliseconds on some machines, which would be most of the tail.

use std::collections::VecDeque;

use anyhow::{Result, bail, ensure};
use capsched::api::Event;
use capsched::metrics::Histogram;
use capsched::time::{Clock, SystemClock};
use serde::Serialize;

use crate::beside::{Aside, Beside};
use crate::calm::{Calm, Found};
use crate::churn::{self, Driven, Masters, Turns};
use crate::conserve::Containers;
use crate::echo;
use crate::output::say;
use crate::record::{Origin, Percentiles};
use crate::rounds::{self, How};
use crate::shape::{Run, Shape};
use crate::stats::grouped;
use crate::{HowArgs, ModeName, limits, machine, results};

/// Shares of saturation that a sweep offers, in percent.
const SWEEP: [u64; 5] = [10, 30, 50, 70, 90];

/// The share that stands for a busy cluster that is not overloaded.
const HALF: [u64; 1] = [50];

/// More than any engine serves: what it reaches then is its saturation.
const FLOOD: u64 = 20_000_000;

/// How long saturation is measured at most, in seconds.
const FLOOD_SECONDS: u64 = 2;

/// The same for a churn, whose closed loop takes longer to come to a steady state.
const CHURN_SECONDS: u64 = 10;

/// What the latencies are of.
const LATENCY_OF: &str = "ask due to container seen";

/// Arguments of `perf open`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of a workload whose run is open, or of a churn.
    #[arg(default_value = "S5-open")]
    shape: String,
    #[command(flatten)]
    how: HowArgs,
    /// Asks a second, separated by commas; those of the workload unless given.
    #[arg(long, value_delimiter = ',', value_parser = limits::rate())]
    rates: Vec<u64>,
    /// Measures saturation first and offers 10 to 90 % of it; a churn is saturated by its closed
    /// loop.
    #[arg(long, conflicts_with = "rates")]
    sweep: bool,
    /// The same with half of saturation alone.
    #[arg(long, conflicts_with_all = ["rates", "sweep"])]
    half: bool,
    /// Offers each rate for as long, without a warm-up, to a thread that only answers, too: what of
    /// the latencies is the machine's own.
    #[arg(long)]
    echo: bool,
    /// Prints one JSON object a rate.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
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
    /// Offered before the measured time; no figure of the asks counts it.
    warm_up_ms: u64,
    /// What the offer is a share of.
    #[serde(skip_serializing_if = "Option::is_none")]
    saturation_per_second: Option<u64>,
    offered_per_second: u64,
    served_per_second: u64,
    asked: u64,
    /// Asks without a container ten seconds after the last was due.
    unserved: u64,
    latency_of: &'static str,
    latency_ns: Percentiles,
    /// The same where the system took no core away.
    #[serde(flatten)]
    calm: Found,
    /// The same rate, answered by a thread that decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    echo_latency_ns: Option<Percentiles>,
    involuntary_switches: u64,
    peak_rss_kib: u64,
    #[serde(flatten)]
    aside: Aside,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shape = Shape::named(&args.shape)?;
    let (rates, seconds) = match &shape.run {
        Run::Open { rates, seconds, .. } => (rates.as_slice(), *seconds),
        Run::Churn { seconds, .. } => (&[][..], *seconds),
        _ => bail!("{} has no open run; `perf run` measures it", shape.name),
    };
    let how = How::from(args.how);
    let seconds = how.seconds.unwrap_or(u64::from(seconds));
    let shares = match (args.sweep, args.half) {
        (true, _) => &SWEEP[..],
        (_, true) => &HALF[..],
        _ => &[],
    };
    let mut saturated = None;
    let rates = if !shares.is_empty() {
        let found = saturation(&shape, how, seconds)?;
        saturated = Some(found);
        shares.iter().map(|share| found * share / 100).collect()
    } else if args.rates.is_empty() {
        rates.iter().map(|&rate| u64::from(rate)).collect()
    } else {
        args.rates.clone()
    };
    ensure!(
        !rates.is_empty(),
        "{} has no rates; `--half` or `--sweep` finds them, `--rates` says them",
        shape.name
    );
    for rate in rates {
        let (mut line, histogram) = measure(&shape, how, rate, seconds)?;
        line.saturation_per_second = saturated;
        let echo = args
            .echo
            .then(|| echo::measure(rate, seconds))
            .transpose()?;
        line.echo_latency_ns = echo.as_ref().map(Percentiles::of);
        if args.record {
            results::append(&results::of_this_machine(), &line)?;
        }
        if args.json {
            say!("{}", serde_json::to_string(&line)?);
        } else {
            let of = saturated.map(|all| format!(" of {}/s", grouped(all)));
            say!(
                "{} {} at {}/s{}: {}/s served, {} unserved, {}, {}",
                line.workload,
                line.mode,
                grouped(line.offered_per_second),
                of.unwrap_or_default(),
                grouped(line.served_per_second),
                line.unserved,
                histogram.latency(),
                line.aside
            );
            say!("{}", line.calm);
        }
        if let Some(echo) = echo.filter(|_| !args.json) {
            say!("an echo at {}/s: {}", grouped(rate), echo.latency());
        }
    }
    Ok(())
}

/// Moments at which asks are due: evenly, whatever happens.
#[derive(Debug)]
pub(crate) struct Schedule {
    began: u64,
    rate: u64,
    asked: u64,
}

impl Schedule {
    /// From a moment on, so many a second, of which there is at least one.
    pub(crate) fn new(began: u64, rate: u64) -> Self {
        Self {
            began,
            rate,
            asked: 0,
        }
    }

    /// How many were due so far.
    fn asked(&self) -> u64 {
        self.asked
    }

    /// How many of those that were due so far were due before a moment.
    fn due_before(&self, moment: u64) -> u64 {
        let elapsed = u128::from(moment.saturating_sub(self.began));
        let due = (elapsed * u128::from(self.rate)).div_ceil(1_000_000_000);
        u64::try_from(due).unwrap_or(u64::MAX).min(self.asked)
    }

    /// The moment of the next one.
    pub(crate) fn next(&self) -> u64 {
        let after = u128::from(self.asked) * 1_000_000_000 / u128::from(self.rate);
        self.began
            .saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// What has become due up to a moment, at most so many.
    pub(crate) fn due(&mut self, now: u64, most: usize) -> Vec<u64> {
        let mut due = Vec::new();
        while due.len() < most {
            let at = self.next();
            if at > now {
                break;
            }
            due.push(at);
            self.asked += 1;
        }
        due
    }
}

/// What the engine serves when it is offered more than that.
fn saturation(shape: &Shape, how: How, seconds: u64) -> Result<u64> {
    if matches!(shape.run, Run::Churn { .. }) {
        let round = churn::run(shape, how, seconds.min(CHURN_SECONDS))?;
        return Ok(round.per_second());
    }
    let seconds = seconds.min(FLOOD_SECONDS);
    let (line, _) = machine::on_its_own(|| drive(shape, how, FLOOD, seconds, 0))?;
    Ok(line.served_per_second)
}

/// Asks that are open, by application, with the moments they were due.
struct Book {
    due: Vec<VecDeque<u64>>,
    /// Containers of each application that no ask is open for. A call says how many are wanted in
    /// all, and what was decided when it came may not be seen yet, so that it comes once more.
    surplus: Vec<usize>,
    open: u64,
    /// Served in the measured time, whenever they were due.
    served: u64,
    placed: Containers,
    latency: Histogram,
    calm: Calm,
    /// What was due before belongs to the warm-up, ns.
    from: u64,
}

impl Book {
    fn new(apps: usize, from: u64) -> Self {
        Self {
            from,
            due: vec![VecDeque::new(); apps],
            surplus: vec![0; apps],
            open: 0,
            served: 0,
            placed: Containers::default(),
            latency: Histogram::new(),
            calm: Calm::new(from),
        }
    }

    /// Open asks of the measured time.
    fn unserved(&self) -> u64 {
        let open = self.due.iter().flatten();
        open.filter(|&&due| due >= self.from).count() as u64
    }

    /// Closes the oldest ask of each application that got a container.
    fn serve(&mut self, decisions: &[Event], now: u64) {
        for decision in decisions {
            if let Event::Allocated {
                container, size, ..
            } = decision
            {
                let app = container.app.sequence as usize - 1;
                self.placed.add(size);
                if let Some(due) = self.due[app].pop_front() {
                    self.open -= 1;
                    self.served += u64::from(now >= self.from);
                    if due >= self.from {
                        let latency_ns = now.saturating_sub(due);
                        self.latency.record(latency_ns);
                        self.calm.record(latency_ns);
                    }
                } else {
                    self.surplus[app] += 1;
                }
            }
        }
    }
}

/// Length of a warm-up in ms: ten seconds before a minute or more, a sixth of anything shorter.
fn warm_up_ms(seconds: u64) -> u64 {
    (seconds * 1000 / 6).min(10_000)
}

/// Offers `rate` asks a second for some seconds, after a warm-up.
pub(crate) fn measure(
    shape: &Shape,
    how: How,
    rate: u64,
    seconds: u64,
) -> Result<(Line, Histogram)> {
    ensure!(rate > 0, "a rate is at least one ask a second");
    machine::on_its_own(|| drive(shape, how, rate, seconds, warm_up_ms(seconds)))
}

/// Drives a round, on a thread that ends with it.
fn drive(
    shape: &Shape,
    how: How,
    rate: u64,
    seconds: u64,
    warm_up_ms: u64,
) -> Result<(Line, Histogram)> {
    let (mut engine, mut turns, mut masters, mut placed) = churn::filled(shape, how)?;
    how.stand_aside();
    let clock = SystemClock::new();
    let switches = machine::involuntary_switches();
    let began = clock.now_ns();
    let from = began + warm_up_ms * 1_000_000;
    let mut book = Book::new(masters.all.len(), from);
    let end = from + seconds * 1_000_000_000;
    let mut beside = Beside::new(shape, how, began, end - began)?;
    let (mut schedule, mut next) = (Schedule::new(began, rate), 0);
    loop {
        let now = clock.now_ns();
        if now >= end {
            break;
        }
        let due = schedule.due(now, MOST);
        if !due.is_empty() {
            ask(&mut engine, &mut masters, &mut book, &mut next, due)?;
        }
        beside.tend(&mut engine, now)?;
        turn(how, &mut engine, &mut turns, &mut book)?;
        book.serve(&engine.take_events(), clock.now_ns());
        book.calm.tend(now);
    }
    let ended = clock.now_ns();
    let elapsed_ns = ended - from;
    let rss_kib = machine::status_kib("VmRSS");
    let served = book.served;
    let served_per_second = rounds::rate(served, elapsed_ns);
    while book.open > 0 && clock.now_ns() < end + GRACE_NS {
        turn(how, &mut engine, &mut turns, &mut book)?;
        book.serve(&engine.take_events(), clock.now_ns());
    }
    placed.join(book.placed);
    let totals = churn::finish(&mut engine, &masters, &mut placed, &mut Default::default())?;
    let aside = beside.finish(ended, rss_kib, &totals);
    ensure!(served > 0, "nothing was served");
    let line = Line {
        origin: Origin::now(),
        kind: "open",
        workload: shape.name.clone(),
        workload_hash: shape.hash(),
        mode: how.mode.name(),
        threads: how.threads,
        awake_us: u64::try_from(how.awake.as_micros()).unwrap_or(u64::MAX),
        seed: churn::SEED,
        warm_up_ms,
        saturation_per_second: None,
        offered_per_second: rate,
        served_per_second,
        asked: schedule.asked() - schedule.due_before(from),
        unserved: book.unserved(),
        latency_of: LATENCY_OF,
        latency_ns: Percentiles::of(&book.latency),
        calm: book.calm.finish(),
        echo_latency_ns: None,
        involuntary_switches: machine::involuntary_switches().saturating_sub(switches),
        peak_rss_kib: machine::status_kib("VmHWM"),
        aside,
    };
    Ok((line, book.latency))
}

/// How long asks may be open after the end; only an engine that cannot keep up takes it, ns.
pub(crate) const GRACE_NS: u64 = 10_000_000_000;

/// Most asks that are handed over together.
const MOST: usize = 256;

/// Asks for everything that is due, by applications in turn. Who asked for more than it gives back
/// would fill the cluster for good, so that nobody is asked for more while anybody has containers.
fn ask(
    engine: &mut Driven,
    masters: &mut Masters,
    book: &mut Book,
    next: &mut usize,
    mut due: Vec<u64>,
) -> Result<()> {
    book.open += due.len() as u64;
    let (mut apps, mut calls) = (Vec::new(), Vec::new());
    while !due.is_empty() {
        let n = masters.all.len();
        let mut turn = (1..=n).map(|i| (*next + i) % n);
        let able = turn.find(|&app| masters.live(app) > 0);
        let app = able.unwrap_or((*next + 1) % n);
        let count = able.map_or(due.len(), |app| masters.live(app).min(due.len()));
        book.due[app].extend(due.drain(..count));
        let surplus = &mut book.surplus[app];
        let due_now = count + *surplus;
        let call = masters.call(app, due_now, book.due[app].len());
        *surplus = due_now - call.release.len();
        calls.push((masters.all[app].id, call));
        apps.push(app);
        *next = app;
    }
    for (app, reply) in apps.into_iter().zip(engine.ask_all(calls)?) {
        masters.learn(app, &reply);
    }
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

    /// Ten nodes, with room for whatever falls due together while this thread has to wait for a
    /// processor.
    fn small() -> Shape {
        let mut shape = Shape::named("S5-open").unwrap();
        shape.cluster.nodes = 10;
        if let Run::Open { full_percent, .. } = &mut shape.run {
            *full_percent = 20;
        }
        shape
    }

    #[test]
    fn every_ask_of_a_slow_schedule_is_served() {
        let how = How::of(ModeName::Heartbeat, 0);
        let (line, latency) = measure(&small(), how, 200, 1).unwrap();
        assert_eq!((line.unserved, latency.len()), (0, line.asked));
    }

    #[test]
    fn asks_of_a_warm_up_are_not_among_the_measured() {
        let how = How::of(ModeName::Heartbeat, 0);
        let (line, latency) = drive(&small(), how, 200, 1, 300).unwrap();
        assert_eq!(line.asked, latency.len() + line.unserved);
        assert!(line.asked <= 200, "{}", line.asked);
    }

    #[test]
    fn what_was_due_in_the_warm_up_is_not_measured() {
        assert_eq!(
            [0, 1, 6, 59, 60, 600].map(warm_up_ms),
            [0, 166, 1000, 9833, 10_000, 10_000]
        );
        let mut schedule = Schedule::new(1_000, 3);
        let due = schedule.due(1_000 + 2_000_000_000, 100);
        assert_eq!(due.len(), 7);
        for from in [0, 1_000, 1_001, due[3], due[3] + 1, u64::MAX] {
            let before = due.iter().filter(|&&at| at < from).count();
            assert_eq!(schedule.due_before(from), before as u64, "{from}");
        }
    }

    /// Applications that hold two containers each cannot give back what a busy moment asks for.
    #[test]
    fn more_than_one_application_gives_back_is_asked_for_by_several() {
        let mut shape = Shape::named("W12-1000").unwrap();
        (shape.cluster.nodes, shape.load.apps) = (10, 152);
        let how = How::of(ModeName::Heartbeat, 0);
        let (mut engine, _, mut masters, _) = churn::filled(&shape, how).unwrap();
        let mut book = Book::new(masters.all.len(), 0);
        let live = |masters: &Masters| (0..152).map(|app| masters.live(app)).sum::<usize>();
        let (before, mut next) = (live(&masters), 0);
        ask(&mut engine, &mut masters, &mut book, &mut next, vec![0; 7]).unwrap();
        assert_eq!((before, before - live(&masters), next), (304, 7, 4));
        let waiting = book.due.iter().map(VecDeque::len);
        assert_eq!((waiting.max(), book.open), (Some(2), 7));
        // A container that nobody waits for is given back beside the one that is exchanged.
        // What it has not received yet waits for the next time.
        (book.surplus[4], book.surplus[5], next) = (1, 1, 3);
        let two = vec![0, 0];
        ask(&mut engine, &mut masters, &mut book, &mut next, two).unwrap();
        assert_eq!((before - live(&masters), next), (10, 5));
        assert_eq!(book.surplus[4..6], [1, 0]);
    }
}
