//! `perf baselines`: what simpler designs reach on the same shapes, in the same minute.
//!
//! `one big lock`: this engine, with every step of every thread under a single lock. `lock per
//! node`: threads that lock a node and then its queues, with the most starved leaf first and a
//! first-in-first-out line of applications, but without user limits, classes, events and snapshots;
//! having less to do flatters it. `sequential`: this engine on one thread.
//!
//! All are timed alike: from the moment of the first containers to the one of the target, over fills
//! of new clusters until half a second was measured.

use anyhow::{Result, ensure};
use capsched::api::NodeName;
use capsched::sync::Mutex;
use capsched::time::{Clock, SystemClock};
use serde::Serialize;
use std::sync::PoisonError;

use crate::output::say;
use crate::record::Origin;
use crate::results;
use crate::rounds::{self, How, LEAST_NS};
use crate::shape::Shape;
use crate::stats::{Spread, grouped};
use crate::tally::Tally;
use crate::{ModeName, limits, machine};

/// Arguments of `perf baselines`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shapes, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "S1,S3")]
    shapes: Vec<String>,
    /// Threads of the designs that have them.
    #[arg(long, default_value_t = 2, value_parser = limits::proposers())]
    threads: usize,
    /// Measured rounds, all designs in turn.
    #[arg(long, default_value_t = 5, value_parser = limits::rounds())]
    rounds: usize,
    /// Prints one JSON object for each shape and design.
    #[arg(long)]
    json: bool,
    /// Adds the results to the file of this machine.
    #[arg(long)]
    record: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    origin: Origin,
    kind: &'static str,
    shape: String,
    design: &'static str,
    /// In which mode this engine decides; none where it does not.
    mode: &'static str,
    /// Threads that decide.
    threads: usize,
    #[serde(flatten)]
    per_second: Spread,
    rates: Vec<u64>,
}

/// All designs, simplest first.
pub(crate) const DESIGNS: [&str; 5] = [
    "one big lock",
    "lock per node",
    "sequential",
    "ours, asynchronous",
    "ours, global",
];

/// Longest time of a round.
const PATIENCE_NS: u64 = 30_000_000_000;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    for shape in Shape::all(&args.shapes)? {
        let mut rates = vec![Vec::new(); DESIGNS.len()];
        for round in 0..=args.rounds {
            for (design, rates) in rates.iter_mut().enumerate() {
                let rate = measure(&shape, design, args.threads)?;
                if round > 0 {
                    rates.push(rate);
                }
            }
        }
        for (design, rates) in rates.into_iter().enumerate() {
            print_rates(args, &shape, design, rates)?;
        }
    }
    Ok(())
}

/// The mode in which a design decides, and its threads.
fn how_of(design: usize, threads: usize) -> (&'static str, usize) {
    match design {
        1 => ("none", threads),
        2 => (ModeName::Asynchronous.name(), 1),
        4 => (ModeName::Global.name(), threads),
        _ => (ModeName::Asynchronous.name(), threads),
    }
}

fn print_rates(args: &Args, shape: &Shape, design: usize, rates: Vec<u64>) -> Result<()> {
    let per_second = Spread::of(&rates).unwrap_or_default();
    let (mode, threads) = how_of(design, args.threads);
    let design = DESIGNS[design];
    let line = Line {
        origin: Origin::now(),
        kind: "baseline",
        shape: shape.name.clone(),
        design,
        mode,
        threads,
        per_second,
        rates,
    };
    if args.record {
        results::append(&results::of_this_machine(), &line)?;
    }
    if args.json {
        say!("{}", serde_json::to_string(&line)?);
    } else {
        say!(
            "{} {design}, mode {mode}, {threads} deciding: {}/s ({} to {})",
            shape.name,
            grouped(per_second.median),
            grouped(per_second.min),
            grouped(per_second.max)
        );
    }
    Ok(())
}

fn measure(shape: &Shape, design: usize, threads: usize) -> Result<u64> {
    let ours = |mode, threads| {
        let how = How {
            seconds: Some(PATIENCE_NS / 1_000_000_000),
            ..How::of(mode, threads)
        };
        rounds::whole(shape, how).map(|round| round.per_second())
    };
    match design {
        0 => repeated(|| one_big_lock(shape, threads)),
        1 => repeated(|| lock_per_node(shape, threads)),
        2 => ours(ModeName::Asynchronous, 0),
        3 => ours(ModeName::Asynchronous, threads),
        _ => ours(ModeName::Global, threads),
    }
}

fn locked<T, R>(lock: &Mutex<T>, body: impl FnOnce(&mut T) -> R) -> R {
    body(&mut lock.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Containers and the time that they took, of as many fills as a round of the engine has.
fn repeated(mut fill: impl FnMut() -> Result<(u64, u64)>) -> Result<u64> {
    let clock = SystemClock::new();
    let end = clock.now_ns() + PATIENCE_NS;
    let (mut counted, mut elapsed_ns) = (0, 0);
    while elapsed_ns < LEAST_NS && clock.now_ns() < end {
        let (n, ns) = fill()?;
        counted += n;
        elapsed_ns += ns;
    }
    Ok(rounds::rate(counted, elapsed_ns))
}

/// Runs threads, each on a core as those of the engine, until all of them return.
fn together(threads: usize, work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || {
                machine::stand_on(thread);
                work(thread);
            });
        }
    });
}

/// Nodes one by one by all threads, each step under the lock of the whole engine; containers and time.
fn one_big_lock(shape: &Shape, threads: usize) -> Result<(u64, u64)> {
    let target = u64::from(shape.target());
    let engine = shape.engine(ModeName::Asynchronous)?;
    let shared = Mutex::new((engine, Tally::up_to(target)));
    let nodes = shape.node_names()?;
    together(threads, |thread| {
        let mine: Vec<&NodeName> = nodes.iter().skip(thread).step_by(threads).collect();
        let mut idle = 0;
        for node in mine.iter().cycle() {
            let (found, placed) = locked(&shared, |(engine, tally)| {
                engine.schedule_node(node);
                let found = tally.take(engine.take_events());
                (found, tally.placed())
            });
            idle = if found > 0 { 0 } else { idle + 1 };
            if placed >= target || idle > mine.len() {
                return;
            }
        }
    });
    let (engine, tally) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let placed = tally.placed();
    ensure!(placed >= target, "{placed} of {target} placed");
    rounds::totals(&engine).check(placed, &tally.sum())?;
    Ok(tally.counted())
}

/// A leaf of the simple scheduler.
struct Leaf {
    used: u64,
    /// Outstanding containers of its applications, oldest first.
    pending: Vec<u64>,
}

/// Containers under the root of the simple scheduler, and when the first and the last were placed.
#[derive(Debug, Default)]
struct Root {
    placed: u64,
    first_ns: u64,
    last_ns: u64,
}

/// Threads that walk their nodes; each container locks its node, a leaf and the root. Containers and time.
fn lock_per_node(shape: &Shape, threads: usize) -> Result<(u64, u64)> {
    let [node, container] = [&shape.cluster.node, &shape.load.containers[0]].map(|v| [v[0], v[1]]);
    let slots = (node[0] / container[0]).min(node[1] / container[1]);
    let nodes: Vec<Mutex<i64>> = (0..shape.cluster.nodes)
        .map(|_| Mutex::new(slots))
        .collect();
    let mut leaves: Vec<Leaf> = Vec::new();
    let count: u32 = shape.queues.levels.iter().product();
    leaves.extend((0..count).map(|_| Leaf {
        used: 0,
        pending: Vec::new(),
    }));
    for (app, at) in shape.app_plans().iter().zip((0..leaves.len()).cycle()) {
        leaves[at].pending.push(u64::try_from(app.count)?);
    }
    let leaves: Vec<Mutex<Leaf>> = leaves.into_iter().map(Mutex::new).collect();
    let root = Mutex::new(Root::default());
    let target = u64::from(shape.target());
    let clock = SystemClock::new();
    let count = |served: bool| {
        locked(&root, |root| {
            root.placed += u64::from(served);
            // The clock is read twice in all, so that it takes no time from the others.
            match root.placed {
                1 if served => root.first_ns = clock.now_ns(),
                placed if served && placed == target => root.last_ns = clock.now_ns(),
                _ => {}
            }
            root.placed < target
        })
    };
    together(threads, |thread| {
        let mine: Vec<&Mutex<i64>> = nodes.iter().skip(thread).step_by(threads).collect();
        for node in mine.iter().cycle() {
            let more = locked(node, |free| {
                if *free == 0 {
                    return count(false);
                }
                // The most starved leaf; shares are equal, so that use decides.
                let used = |leaf: &&Mutex<Leaf>| locked(leaf, |leaf| leaf.used);
                let Some(leaf) = leaves.iter().min_by_key(used) else {
                    return false;
                };
                let served = locked(leaf, |leaf| {
                    let app = leaf.pending.iter_mut().find(|left| **left > 0);
                    app.is_some_and(|left| {
                        *left -= 1;
                        leaf.used += 1;
                        true
                    })
                });
                *free -= i64::from(served);
                count(served)
            });
            if !more {
                return;
            }
        }
    });
    let root = root.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(root.placed >= target, "{} of {target} placed", root.placed);
    Ok((target.saturating_sub(1), root.last_ns - root.first_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_fills_a_small_cluster() {
        let mut shape = Shape::named("S1").unwrap();
        shape.cluster.nodes = 4;
        for (design, name) in DESIGNS.iter().enumerate() {
            assert!(measure(&shape, design, 2).unwrap() > 0, "{name}");
        }
    }
}
