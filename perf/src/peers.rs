//! `perf peers`: our engine and Hadoop's scheduler in turn, on the same shapes.
//!
//! Beside every way to run Hadoop all our modes run, so that each ratio is one of rounds that took turns.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::hadoop::{self, Peer, PeerClock, PeerLine, VARIANTS};
use crate::output::{aside, say};
use crate::record::Origin;
use crate::rounds::{self, How, Round};
use crate::shape::{Run, Shape};
use crate::stats::{Ratio, Spread, grouped};
use crate::{ModeName, calibrate, limits, results};

/// Arguments of `perf peers`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shapes, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "S1,S2,S3,S4,S4U,S5,W1,W1-50k,W6,W7"
    )]
    shapes: Vec<String>,
    /// Our modes, separated by commas; Hadoop runs in all its modes in any case.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "heartbeat,asynchronous,global"
    )]
    modes: Vec<ModeName>,
    /// Measured rounds of each side in each pair.
    #[arg(long, default_value_t = 3, value_parser = limits::rounds())]
    rounds: usize,
    /// Rounds of Hadoop before the measured ones; by the size of the shape unless given.
    #[arg(long, value_parser = limits::more_rounds())]
    warmup: Option<usize>,
    /// Our proposer threads in the modes that have them.
    #[arg(long, default_value_t = 1, value_parser = limits::proposers())]
    threads: usize,
    /// Prints one JSON object for each shape and mode of ours.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
    /// Measures what Hadoop's work costs on shapes K500 to K20000, prints it as a file for
    /// `capsched compare --costs`, and how well it predicts S1 to S3 in the same run.
    #[arg(long, conflicts_with_all = ["shapes", "modes", "rounds", "warmup", "json"])]
    calibrate: bool,
    /// Calibrates on K500 and K2000 with few and short rounds, and predicts S1 alone: some minutes instead of an hour.
    #[arg(long, requires = "calibrate")]
    brief: bool,
}

/// All rounds of one side in one mode.
#[derive(Clone, Debug, Default)]
struct Side {
    name: &'static str,
    rates: Vec<u64>,
    /// Without the calls of applications, where they were taken apart.
    alone: Vec<u64>,
    placed: u64,
    complete: bool,
}

impl Side {
    fn named(name: &'static str) -> Self {
        Self {
            name,
            complete: true,
            ..Self::default()
        }
    }

    fn add_ours(&mut self, round: &Round) {
        self.rates.push(round.per_second());
        if let Some(ns) = round.scheduling_ns {
            self.alone.push(rounds::rate(round.counted, ns));
        }
        self.placed = round.placed;
        self.complete &= round.complete;
    }

    fn add_peer(&mut self, line: &PeerLine) {
        self.rates.push(line.per_second);
        if line.scheduling_per_second > 0 {
            self.alone.push(line.scheduling_per_second);
        }
        self.placed = line.placed;
        self.complete &= line.complete;
    }

    fn spread(&self) -> Spread {
        Spread::of(&self.rates).unwrap_or_default()
    }

    /// Takes in the rounds of the same side beside another way to run Hadoop.
    fn join(&mut self, other: &Self) {
        self.rates.extend(&other.rates);
        self.alone.extend(&other.alone);
        self.placed = other.placed;
        self.complete &= other.complete;
    }
}

/// The rounds of one way to run Hadoop, and those of each of our modes that took turns with them.
#[derive(Clone, Debug)]
struct Pairing {
    mode: ModeName,
    peer: Side,
    ours: Vec<(ModeName, Side)>,
}

/// All rounds of one of our modes, whatever they took turns with: the ratios to two ways to run Hadoop then
/// differ by Hadoop's rates alone, and the one to its fastest is never the greater one.
fn ours_in_all(mode: ModeName, pairings: &[Pairing]) -> Side {
    let mut all = Side::named(mode.name());
    let sides = pairings.iter().flat_map(|pairing| &pairing.ours);
    for (_, side) in sides.filter(|(known, _)| *known == mode) {
        all.join(side);
    }
    all
}

/// One line of the result: a shape in one of our modes.
#[derive(Clone, Debug, Serialize)]
struct Comparison {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    shape: String,
    mode: &'static str,
    threads: usize,
    /// Median of all rounds of this mode in the run; a ratio is one of medians, its least is our slowest round
    /// over Hadoop's fastest one and its greatest the reverse.
    ours_per_second: u64,
    ours_min: u64,
    ours_max: u64,
    ours_rounds: usize,
    /// The rounds in their order, so that those of several runs can be taken together.
    ours_rates: Vec<u64>,
    ours_placed: u64,
    ours_complete: bool,
    peer_best: &'static str,
    peer_best_per_second: u64,
    peer_best_min: u64,
    peer_best_max: u64,
    peer_best_rounds: usize,
    peer_best_rates: Vec<u64>,
    peer_best_placed: u64,
    peer_best_complete: bool,
    ratio_best: f64,
    ratio_best_min: f64,
    ratio_best_max: f64,
    peer_same_mode: &'static str,
    peer_same_mode_per_second: u64,
    peer_same_mode_min: u64,
    peer_same_mode_max: u64,
    peer_same_mode_rates: Vec<u64>,
    peer_same_mode_placed: u64,
    peer_same_mode_complete: bool,
    ratio_same_mode: f64,
    ratio_same_mode_min: f64,
    ratio_same_mode_max: f64,
    /// Churn only: without the time of the applications' calls.
    ours_scheduling_per_second: Option<u64>,
    peer_best_scheduling_per_second: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let shapes = shapes(&args.shapes)?;
    if let Some(missing) = hadoop::missing_tool() {
        let summary = format!(
            "Hadoop is not measured: {missing}. Its driver needs a JDK of version 17 or later and Maven; \
             `perf run` measures our engine alone."
        );
        if args.json {
            // Whoever reads lines of results finds none.
            aside!("{summary}");
        } else {
            say!("{summary}");
        }
        return Ok(());
    }
    hadoop::build()?;
    if args.calibrate {
        let extent = if args.brief {
            calibrate::Extent::Brief
        } else {
            calibrate::Extent::Whole
        };
        return calibrate::run(extent, args.record);
    }
    if !args.json {
        say!("{HEAD}");
    }
    for shape in &shapes {
        for comparison in compare(shape, args)? {
            if args.record {
                results::append(&results::of_this_machine(), &comparison)?;
            }
            if args.json {
                say!("{}", serde_json::to_string(&comparison)?);
            } else {
                say!("{}", row(&comparison));
            }
        }
    }
    Ok(())
}

/// The shapes of some names, all of which Hadoop's driver has to know too.
fn shapes(names: &[String]) -> Result<Vec<Shape>> {
    let shapes = Shape::all(names)?;
    for name in names {
        ensure!(
            hadoop::SHAPES.contains(&name.as_str()),
            "Hadoop's driver has no shape {name}; it has {}",
            hadoop::SHAPES.join(", ")
        );
    }
    Ok(shapes)
}

/// All rounds of a shape: one in each of our modes, one of Hadoop's, in turn.
fn compare(shape: &Shape, args: &Args) -> Result<Vec<Comparison>> {
    let beats = matches!(shape.run, Run::Beats { .. });
    let fits = |mode: ModeName| !beats || mode == ModeName::Heartbeat;
    let modes: Vec<ModeName> = args
        .modes
        .iter()
        .copied()
        .filter(|&mode| fits(mode))
        .collect();
    for &mode in &modes {
        // Warms up as Hadoop does below: memory here, the compiler there.
        rounds::run(shape, how(shape, mode, args.threads).briefly(shape))?;
    }
    let mut pairings = Vec::new();
    for variant in VARIANTS.iter().filter(|variant| fits(variant.mode)) {
        let warmup = args
            .warmup
            .unwrap_or_else(|| hadoop::normal_warmup(shape, variant));
        let mut hadoop = Peer::start(shape, variant, (warmup, args.rounds), PeerClock::Wall)?;
        let side = |&mode: &ModeName| (mode, Side::named(mode.name()));
        let mut pairing = Pairing {
            mode: variant.mode,
            peer: Side::named(variant.name),
            ours: modes.iter().map(side).collect(),
        };
        for _ in 0..args.rounds {
            for (mode, side) in &mut pairing.ours {
                side.add_ours(&rounds::run(shape, how(shape, *mode, args.threads))?);
            }
            pairing.peer.add_peer(&hadoop.round()?);
        }
        pairings.push(pairing);
    }
    let judged = modes
        .iter()
        .map(|&mode| judge(shape, mode, &pairings, args.threads));
    judged.collect()
}

fn how(shape: &Shape, mode: ModeName, threads: usize) -> How {
    let filled = matches!(shape.run, Run::Fill { .. });
    let threads = match mode {
        ModeName::Heartbeat => 0,
        ModeName::Asynchronous | ModeName::Global => threads,
    };
    How {
        seconds: Some(if filled { 30 } else { 3 }),
        ..How::of(mode, threads)
    }
}

fn judge(
    shape: &Shape,
    mode: ModeName,
    pairings: &[Pairing],
    threads: usize,
) -> Result<Comparison> {
    let fastest = |of: &dyn Fn(ModeName) -> bool| {
        let pairings = pairings.iter().filter(|pairing| of(pairing.mode));
        pairings.max_by_key(|pairing| pairing.peer.spread().median)
    };
    let by_best = fastest(&|_| true).context("Hadoop ran")?;
    let by_same = fastest(&|other| other == mode).context("Hadoop ran in this mode")?;
    let (best, same) = (&by_best.peer, &by_same.peer);
    let ours = &ours_in_all(mode, pairings);
    let [our, peer, equal] = [ours, best, same].map(Side::spread);
    let (to_best, to_same): (Ratio, Ratio) = (our.over(peer), our.over(equal));
    let alone = |side: &Side| Spread::of(&side.alone).map(|spread| spread.median);
    let fastest_alone = pairings
        .iter()
        .filter_map(|pairing| alone(&pairing.peer))
        .max();
    let threads = how(shape, mode, threads).threads;
    Ok(Comparison {
        origin: Origin::now(),
        kind: "peers",
        shape: shape.name.clone(),
        mode: mode.name(),
        threads,
        ours_per_second: our.median,
        ours_min: our.min,
        ours_max: our.max,
        ours_rounds: our.rounds,
        ours_rates: ours.rates.clone(),
        ours_placed: ours.placed,
        ours_complete: ours.complete,
        peer_best: best.name,
        peer_best_per_second: peer.median,
        peer_best_min: peer.min,
        peer_best_max: peer.max,
        peer_best_rounds: peer.rounds,
        peer_best_rates: best.rates.clone(),
        peer_best_placed: best.placed,
        peer_best_complete: best.complete,
        ratio_best: to_best.median,
        ratio_best_min: to_best.min,
        ratio_best_max: to_best.max,
        peer_same_mode: same.name,
        peer_same_mode_per_second: equal.median,
        peer_same_mode_min: equal.min,
        peer_same_mode_max: equal.max,
        peer_same_mode_rates: same.rates.clone(),
        peer_same_mode_placed: same.placed,
        peer_same_mode_complete: same.complete,
        ratio_same_mode: to_same.median,
        ratio_same_mode_min: to_same.min,
        ratio_same_mode_max: to_same.max,
        ours_scheduling_per_second: alone(ours),
        peer_best_scheduling_per_second: fastest_alone,
    })
}

const HEAD: &str = "\
| shape | our mode | ours, median (min to max) | Hadoop's best | median (min to max) | ratio (min to max) | to the same mode | placed, ours, Hadoop's best and same mode |
| --- | --- | --- | --- | --- | --- | --- | --- |";

fn row(found: &Comparison) -> String {
    let partial = |complete: bool| if complete { "" } else { ", out of time" };
    format!(
        "| {} | {} | {} ({} to {}) | {} | {} ({} to {}) | {} ({} to {}) | {} | {}{}, {}{}, {}{} |",
        found.shape,
        found.mode,
        grouped(found.ours_per_second),
        grouped(found.ours_min),
        grouped(found.ours_max),
        found.peer_best,
        grouped(found.peer_best_per_second),
        grouped(found.peer_best_min),
        grouped(found.peer_best_max),
        found.ratio_best,
        found.ratio_best_min,
        found.ratio_best_max,
        found.ratio_same_mode,
        grouped(found.ours_placed),
        partial(found.ours_complete),
        grouped(found.peer_best_placed),
        partial(found.peer_best_complete),
        grouped(found.peer_same_mode_placed),
        partial(found.peer_same_mode_complete),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &'static str, rates: &[u64]) -> Side {
        Side {
            rates: rates.to_vec(),
            ..Side::named(name)
        }
    }

    fn pairing(mode: ModeName, name: &'static str, rates: &[u64], ours: &[u64]) -> Pairing {
        Pairing {
            mode,
            peer: side(name, rates),
            ours: vec![(ModeName::Global, side("ours", ours))],
        }
    }

    fn judged(pairings: &[Pairing]) -> Comparison {
        let shape = Shape::named("S1").unwrap();
        judge(&shape, ModeName::Global, pairings, 1).unwrap()
    }

    #[test]
    fn the_best_peer_is_the_fastest_by_its_median_and_judged_by_all_rounds_of_ours() {
        let (steady, lucky) = ([90, 100, 110], [10, 10, 900]);
        let found = judged(&[
            pairing(ModeName::Heartbeat, "steady", &steady, &[1_000, 1_100, 900]),
            pairing(ModeName::Global, "once lucky", &lucky, &[500, 450, 550]),
        ]);
        assert_eq!(
            (found.peer_best, found.peer_same_mode),
            ("steady", "once lucky")
        );
        assert_eq!(found.ours_rates, [1_000, 1_100, 900, 500, 450, 550]);
        assert_eq!((found.ours_per_second, found.ours_rounds), (725, 6));
        let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(close(found.ratio_best, 7.25) && close(found.ratio_same_mode, 72.5));
        let ends = (found.ratio_best_min, found.ratio_best_max);
        assert!(close(ends.0, 4.09) && close(ends.1, 12.22), "{ends:?}");
        assert!(close(found.ratio_same_mode_min, 0.5));
    }

    #[test]
    fn the_ratio_to_the_same_mode_is_never_below_that_to_the_best() {
        // Our rounds beside the same mode were slow: by themselves they would make its ratio the smaller one.
        let found = judged(&[
            pairing(ModeName::Asynchronous, "fastest", &[100], &[3_000]),
            pairing(ModeName::Global, "same", &[99], &[1_000]),
        ]);
        assert_eq!((found.peer_best, found.peer_same_mode), ("fastest", "same"));
        assert!(found.ratio_same_mode > found.ratio_best);
    }

    #[test]
    fn shapes_are_refused_before_anything_is_looked_for() {
        let refused = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            shapes(&names).unwrap_err().to_string()
        };
        assert!(refused(&["S1", "NOPE"]).contains("NOPE"));
        let error = refused(&["W9", "S1"]);
        assert!(error.contains("W9") && error.contains("S4U"), "{error}");
    }
}
