//! `perf baselines`: what simpler designs reach on the same shapes, in the same minute.
//!
//! `one big lock`: this engine, with every step of every thread under a single lock. `lock per
//! node`: threads that lock a node and then its queues, with the most starved leaf first and a
//! first-in-first-out line of applications, but without user limits, classes, events and snapshots;
//! having less to do flatters it. `sequential`: this engine on one thread.

use anyhow::{Result, ensure};
use capsched::api::{Decision, NodeName, Sequential};
use capsched::sync::Mutex;
use capsched::time::{Clock, SystemClock};
use serde::Serialize;
use std::sync::PoisonError;

use crate::ModeName;
use crate::output::say;
use crate::record::Origin;
use crate::results;
use crate::rounds::{self, How};
use crate::shape::Shape;
use crate::stats::{Spread, grouped};

/// Arguments of `perf baselines`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shapes, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "S1,S3")]
    shapes: Vec<String>,
    /// Threads of the designs that have them.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Measured rounds, all designs in turn.
    #[arg(long, default_value_t = 5)]
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
    threads: usize,
    #[serde(flatten)]
    per_second: Spread,
}

/// All designs, simplest first.
pub(crate) const DESIGNS: [&str; 5] = [
    "one big lock",
    "lock per node",
    "sequential",
    "ours, asynchronous",
    "ours, global",
];

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.rounds > 0, "at least one round is needed for a figure");
    ensure!(args.threads > 0, "at least one thread is needed");
    for name in &args.shapes {
        let shape = Shape::named(name)?;
        let mut rates = vec![Vec::new(); DESIGNS.len()];
        for round in 0..=args.rounds {
            for (design, rates) in rates.iter_mut().enumerate() {
                let rate = measure(&shape, design, args.threads)?;
                if round > 0 {
                    rates.push(rate);
                }
            }
        }
        for (design, rates) in DESIGNS.into_iter().zip(rates) {
            let per_second = Spread::of(&rates).unwrap_or_default();
            tell(args, &shape, design, per_second)?;
        }
    }
    Ok(())
}

fn tell(args: &Args, shape: &Shape, design: &'static str, per_second: Spread) -> Result<()> {
    let line = Line {
        origin: Origin::now(),
        kind: "baseline",
        shape: shape.name.clone(),
        design,
        threads: args.threads,
        per_second,
    };
    if args.record {
        results::append(&results::of_this_machine(), &line)?;
    }
    if args.json {
        say!("{}", serde_json::to_string(&line)?);
    } else {
        say!(
            "{} {design}: {}/s ({} to {})",
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
            seconds: Some(30),
            ..How::of(mode, threads)
        };
        rounds::run(shape, how).map(|round| round.per_second())
    };
    match design {
        0 => one_big_lock(shape, threads),
        1 => lock_per_node(shape, threads),
        2 => ours(ModeName::Asynchronous, 0),
        3 => ours(ModeName::Asynchronous, threads),
        _ => ours(ModeName::Global, threads),
    }
}

fn locked<T, R>(lock: &Mutex<T>, body: impl FnOnce(&mut T) -> R) -> R {
    body(&mut lock.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Nodes one by one by all threads, each step under the lock of the whole engine.
fn one_big_lock(shape: &Shape, threads: usize) -> Result<u64> {
    let engine = Mutex::new((shape.engine(ModeName::Asynchronous)?, 0_u64));
    let nodes = shape.node_names()?;
    let target = u64::from(shape.target());
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let work = |thread: usize| {
        let mine: Vec<&NodeName> = nodes.iter().skip(thread).step_by(threads).collect();
        let mut idle = 0;
        for node in mine.iter().cycle() {
            let step = |(engine, placed): &mut (Sequential, u64)| {
                engine.schedule_node(node);
                let decisions = engine.take_events();
                let found = decisions
                    .iter()
                    .filter(|one| matches!(one, Decision::Allocated { .. }))
                    .count();
                *placed += found as u64;
                (found, *placed)
            };
            let (found, placed) = locked(&engine, step);
            idle = if found > 0 { 0 } else { idle + 1 };
            if placed >= target || idle > mine.len() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    let elapsed_ns = clock.now_ns() - began;
    let placed = locked(&engine, |(_, placed)| *placed);
    ensure!(placed >= target, "{placed} of {target} placed");
    Ok(rounds::rate(placed, elapsed_ns))
}

/// A leaf of the simple scheduler.
struct Leaf {
    used: u64,
    /// Outstanding containers of its applications, oldest first.
    pending: Vec<u64>,
}

/// Threads that walk their nodes; each container locks its node, a leaf and the root.
fn lock_per_node(shape: &Shape, threads: usize) -> Result<u64> {
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
    let root = Mutex::new(0_u64);
    let target = u64::from(shape.target());
    let clock = SystemClock::new();
    let began = clock.now_ns();
    let work = |thread: usize| {
        let mine: Vec<&Mutex<i64>> = nodes.iter().skip(thread).step_by(threads).collect();
        for node in mine.iter().cycle() {
            let more = locked(node, |free| {
                if *free == 0 {
                    return locked(&root, |placed| *placed < target);
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
                locked(&root, |placed| {
                    *placed += u64::from(served);
                    *placed < target
                })
            });
            if !more {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    let elapsed_ns = clock.now_ns() - began;
    let placed = locked(&root, |placed| *placed);
    ensure!(placed >= target, "{placed} of {target} placed");
    Ok(rounds::rate(placed, elapsed_ns))
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
