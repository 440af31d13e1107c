//! Rounds: a new engine, its cluster and applications, and the time until the cluster is full.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use capsched::api::{
    CommitOutcome, EngineEnd, Latencies, Mode, NodeName, NodeReport, Placement, Running,
    Sequential, Threaded,
};
use capsched::metrics::{Closed, Histogram, Phase};
use capsched::time::{Clock, SystemClock};

use crate::beside::Aside;
use crate::conserve::Totals;
use crate::shape::{Run, Shape};
use crate::tally::Tally;
use crate::{ModeName, machine};

/// How often the driver of a threaded engine looks at what was decided: each look takes a core from
/// the engine. The moments are the engine's own.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Longest time of a round that only warms up, where rounds take their time.
const WARM_UP_SECONDS: u64 = 10;

/// Heartbeats between two of which the latency is taken.
const SAMPLE: usize = 16;

/// What a round came to.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// Containers placed until the end of the measure, at most the target.
    pub(crate) placed: u64,
    /// Whether the target was reached in time.
    pub(crate) complete: bool,
    /// Decisions that `elapsed_ns` is the time of.
    pub(crate) counted: u64,
    pub(crate) elapsed_ns: u64,
    /// The time without that of the applications' calls, where it was taken apart.
    pub(crate) scheduling_ns: Option<u64>,
    pub(crate) latency: Histogram,
    pub(crate) latency_of: &'static str,
    pub(crate) conflicts: BTreeMap<&'static str, u64>,
    /// Proposals that went to their second node.
    pub(crate) retries: u64,
    /// Traces only: pods that no node had room for.
    pub(crate) unplaced: Option<u64>,
    pub(crate) hash: String,
    /// What went on beside the decisions of a churn.
    pub(crate) aside: Option<Aside>,
}

impl Round {
    /// Decisions per second of the time measured.
    pub(crate) fn per_second(&self) -> u64 {
        rate(self.counted, self.elapsed_ns)
    }

    /// Refuses a round that ran out of time, whose rate is that of another task.
    pub(crate) fn ensure_complete(&self, shape: &Shape) -> Result<()> {
        ensure!(
            self.complete,
            "{}: out of time at {} of {} containers; --seconds gives it more",
            shape.name,
            self.placed,
            shape.target()
        );
        Ok(())
    }

    /// Refused proposals.
    pub(crate) fn rejected(&self) -> u64 {
        self.conflicts.values().sum()
    }
}

/// So many a second, when `n` took `ns`.
pub(crate) fn rate(n: u64, ns: u64) -> u64 {
    let scaled = u128::from(n) * 1_000_000_000 / u128::from(ns.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// How a round is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) mode: ModeName,
    /// Proposer threads; 0 runs everything on the driver's own thread.
    pub(crate) threads: usize,
    /// Longest time of a round, and length of one that has no other end.
    pub(crate) seconds: Option<u64>,
    /// Whether the engine measures where its time goes.
    pub(crate) latencies: Latencies,
    /// How long the committer stays awake with nothing to do.
    pub(crate) awake: Duration,
}

impl How {
    /// Some mode with some proposers, with everything else as usual.
    pub(crate) fn of(mode: ModeName, threads: usize) -> Self {
        Self {
            mode,
            threads,
            seconds: None,
            latencies: Latencies::Sampled,
            awake: Duration::ZERO,
        }
    }

    /// Longest time of a fill in nanoseconds.
    pub(crate) fn patience_ns(self) -> u64 {
        self.seconds.unwrap_or(60) * 1_000_000_000
    }

    /// How the engine's threads run: each on a core of its own, as far as there are cores.
    pub(crate) fn running(self) -> Running {
        Running {
            latencies: self.latencies,
            placement: Placement::Pinned,
            awake: self.awake,
            ..Running::default()
        }
    }

    /// Moves the calling driver off the committer's core, for the time that it lives: beyond the proposers, or
    /// where a proposer stands that mostly rests. On the committer's core each would wait for the other.
    pub(crate) fn stand_aside(self) {
        if self.threads > 0 && self.mode == ModeName::Global {
            let beyond = self.threads + 1;
            let core = if beyond < machine::cores() { beyond } else { 1 };
            machine::stand_on(core);
        }
    }

    /// The engine's mode with this number of threads.
    pub(crate) fn engine_mode(self) -> Mode {
        self.mode.with_threads(self.threads)
    }
}

/// Runs one round and checks it.
pub(crate) fn run(shape: &Shape, how: How) -> Result<Round> {
    match shape.run {
        Run::Fill { .. } => fills(shape, how),
        Run::Churn { seconds, .. } => crate::churn::run(shape, how, how.seconds(seconds)),
        Run::Beats { seconds } => beats(shape, how.seconds(seconds)),
        Run::Open { .. } => bail!("{} is measured by `perf open`", shape.name),
        Run::Trace { .. } => crate::trace::run(shape, how),
    }
}

/// The same for figures that are no record by themselves: a round that ran out of time has none.
pub(crate) fn whole(shape: &Shape, how: How) -> Result<Round> {
    let round = run(shape, how)?;
    round.ensure_complete(shape)?;
    Ok(round)
}

impl How {
    /// The same for a round that only warms up.
    pub(crate) fn briefly(self, shape: &Shape) -> Self {
        let (Run::Churn { seconds, .. } | Run::Beats { seconds }) = shape.run else {
            return self;
        };
        Self {
            seconds: Some(self.seconds(seconds).min(WARM_UP_SECONDS)),
            ..self
        }
    }

    fn seconds(self, normal: u32) -> u64 {
        self.seconds.unwrap_or(u64::from(normal))
    }
}

/// Shortest time that a round of fills measures. What a machine does in a few milliseconds says
/// more about its caches and its other work than about the engine.
pub(crate) const LEAST_NS: u64 = 500_000_000;

/// Fills of new engines, one after the other, until long enough was measured; counted together.
fn fills(shape: &Shape, how: How) -> Result<Round> {
    let clock = SystemClock::new();
    let end = clock.now_ns() + how.patience_ns();
    let mut all = fill(shape, how)?;
    // Making engines takes its time too, the more of it the less a fill takes.
    while all.complete && all.elapsed_ns < LEAST_NS && clock.now_ns() < end {
        let next = fill(shape, how)?;
        all.complete = next.complete;
        all.counted += next.counted;
        all.retries += next.retries;
        all.elapsed_ns += next.elapsed_ns;
        all.latency.merge(&next.latency);
        for (reason, n) in next.conflicts {
            *all.conflicts.entry(reason).or_default() += n;
        }
    }
    Ok(all)
}

fn fill(shape: &Shape, how: How) -> Result<Round> {
    let engine = shape.engine(how.mode)?;
    if how.threads == 0 {
        stepped(shape, how, engine)
    } else {
        threaded(shape, how, engine)
    }
}

/// What every node reports: nothing, as the nodes of the peers do.
pub(crate) fn silence() -> NodeReport {
    NodeReport::Exactly {
        launched: Vec::new(),
        exited: Vec::new(),
    }
}

/// Labels of the partitions, the default one included.
fn labels(shape: &Shape) -> Vec<String> {
    let labels = shape.cluster.partitions.iter().cloned();
    [String::new()].into_iter().chain(labels).collect()
}

/// Everything on one thread: heartbeats round robin, nodes one by one, or partitions, as fast as
/// they are taken.
fn stepped(shape: &Shape, how: How, mut engine: Sequential) -> Result<Round> {
    let target = u64::from(shape.target());
    let nodes = shape.node_names()?;
    let labels = labels(shape);
    let (mut tally, mut latency) = (Tally::new(), Histogram::new());
    let clock = SystemClock::new();
    let end = clock.now_ns() + how.patience_ns();
    let (mut idle, mut late) = (0, false);
    for step in 0.. {
        let sampled = step % SAMPLE == 0;
        let before = if sampled { clock.now_ns() } else { 0 };
        match how.mode {
            ModeName::Heartbeat => {
                engine.heartbeat(&nodes[step % nodes.len()], &silence())?;
            }
            ModeName::Asynchronous => {
                engine.schedule_node(&nodes[step % nodes.len()]);
            }
            ModeName::Global => {
                engine.schedule_partition(&labels[step % labels.len()], 1);
            }
        }
        if sampled {
            let now = clock.now_ns();
            latency.record(now - before);
            late = now > end;
        }
        let placed = tally.take(engine.take_events());
        if late || tally.placed() >= target {
            break;
        }
        idle = if placed > 0 { 0 } else { idle + 1 };
        ensure!(
            idle < 2 * nodes.len().max(2),
            "stuck at {} containers of {target}",
            tally.placed()
        );
    }
    totals(&engine).check(tally.placed(), &tally.sum())?;
    let hash = tally.hash();
    Ok(finished(shape, &tally, latency, "one step", hash))
}

/// An engine with threads, from its first container until it is full.
fn threaded(shape: &Shape, how: How, engine: Sequential) -> Result<Round> {
    let target = u64::from(shape.target());
    let nodes = shape.node_names()?;
    let mut tally = Tally::up_to(target);
    let clock = tally.clock();
    let end = clock.now_ns() + how.patience_ns();
    let mut engine = Threaded::take_over(engine, how.engine_mode(), clock, how.running())?;
    let mut turn = nodes.iter().cycle();
    let mut calls = Histogram::new();
    while tally.placed() < target && clock.now_ns() < end {
        if how.mode == ModeName::Heartbeat {
            beat(&engine, turn.by_ref().take(64), &mut calls, &clock)?;
        } else {
            std::thread::sleep(LOOK_EVERY);
        }
        tally.look(&engine);
    }
    let reached = finished(shape, &tally, Histogram::new(), "", String::new());
    // Heartbeats are the driver's own, and so is their end.
    let ends_by_itself =
        how.mode == ModeName::Heartbeat || target >= u64::from(shape.fits().min(shape.asked()));
    let totals = if ends_by_itself {
        settle(&engine, &mut tally)
    } else {
        cut_short(&mut engine, &mut tally)
    };
    totals.check(tally.placed(), &tally.sum())?;
    let (latency, latency_of) = if how.mode == ModeName::Heartbeat {
        (calls, "heartbeat")
    } else {
        let of = Phase::Propose;
        (
            engine.latencies().get(of).cloned().unwrap_or_default(),
            of.name(),
        )
    };
    Ok(Round {
        latency,
        latency_of,
        conflicts: conflicts(&engine),
        retries: engine.outcomes().get(CommitOutcome::CommittedElsewhere),
        hash: tally.queue_hash(),
        ..reached
    })
}

/// Heartbeats of nodes in turn; the first is timed, from the call to its answer.
fn beat<'a>(
    engine: &Threaded,
    nodes: impl Iterator<Item = &'a NodeName>,
    calls: &mut Histogram,
    clock: &SystemClock,
) -> Result<()> {
    let mut before = Some(clock.now_ns());
    for node in nodes {
        engine.heartbeat(node.clone(), silence())?;
        if let Some(before) = before.take() {
            calls.record(clock.now_ns().saturating_sub(before));
        }
    }
    Ok(())
}

/// Ends an engine that would go on beyond a target, far beyond it where a part of a large cluster
/// is filled; what is checked is the state that it ended in.
fn cut_short(engine: &mut Threaded, tally: &mut Tally) -> Totals {
    let _: EngineEnd = engine.end();
    tally.look(engine);
    snapshot_totals(engine)
}

/// Threads go on beyond a target; what is checked is the state at rest.
pub(crate) fn settle(engine: &Threaded, tally: &mut Tally) -> Totals {
    loop {
        engine.quiesce();
        let decisions = engine.take_events();
        if decisions.is_empty() {
            return snapshot_totals(engine);
        }
        tally.take(decisions);
    }
}

fn finished(
    shape: &Shape,
    tally: &Tally,
    latency: Histogram,
    latency_of: &'static str,
    hash: String,
) -> Round {
    let target = u64::from(shape.target());
    let (counted, elapsed_ns) = tally.counted();
    Round {
        placed: tally.placed().min(target),
        complete: tally.placed() >= target,
        counted,
        elapsed_ns,
        scheduling_ns: None,
        latency,
        latency_of,
        conflicts: tally.conflicts(),
        retries: 0,
        unplaced: None,
        hash,
        aside: None,
    }
}

/// Heartbeats of nodes once they place nothing any more.
fn beats(shape: &Shape, seconds: u64) -> Result<Round> {
    let mut engine = shape.engine(ModeName::Heartbeat)?;
    let nodes = shape.node_names()?;
    let mut tally = Tally::new();
    let mut idle = 0;
    while idle < 2 {
        for node in &nodes {
            engine.heartbeat(node, &silence())?;
        }
        let placed = tally.take(engine.take_events());
        idle = if placed > 0 { 0 } else { idle + 1 };
    }
    ensure!(tally.placed() > 0, "no application got anything");
    let (clock, mut latency) = (SystemClock::new(), Histogram::new());
    let (began, mut n) = (clock.now_ns(), 0);
    let mut now = began;
    while now - began < seconds * 1_000_000_000 {
        let before = clock.now_ns();
        for node in nodes.iter().cycle().take(SAMPLE) {
            engine.heartbeat(node, &silence())?;
        }
        now = clock.now_ns();
        n += SAMPLE as u64;
        latency.record_n((now - before) / SAMPLE as u64, SAMPLE as u64);
    }
    ensure!(
        tally.take(engine.take_events()) == 0,
        "something was placed"
    );
    totals(&engine).check(tally.placed(), &tally.sum())?;
    Ok(Round {
        counted: n,
        elapsed_ns: now - began,
        complete: true,
        ..finished(shape, &tally, latency, "heartbeat", tally.hash())
    })
}

/// Refused proposals of a threaded engine by reason.
pub(crate) fn conflicts(engine: &Threaded) -> BTreeMap<&'static str, u64> {
    let outcomes = engine.outcomes();
    let refused = outcomes
        .iter()
        .filter(|(outcome, n)| outcome.is_refused() && *n > 0);
    refused.map(|(outcome, n)| (outcome.name(), n)).collect()
}

pub(crate) fn totals(engine: &Sequential) -> Totals {
    let mut totals = Totals::default();
    let state = engine.ledger().state();
    for queue in &state.queues {
        for part in &queue.parts {
            let held = part.used.get() - part.reserved.get();
            totals.queue(&queue.settings.path, queue.is_leaf(), held);
        }
    }
    for node in &state.nodes {
        let amounts = [&node.total, &node.allocated, &node.free].map(|amount| amount.get());
        totals.node(&node.name, amounts, node.containers);
    }
    totals
}

pub(crate) fn snapshot_totals(engine: &Threaded) -> Totals {
    let mut totals = Totals::default();
    let snapshot = engine.snapshot();
    for queue in snapshot.queues.iter() {
        for part in &queue.parts {
            let held = part.used.get() - part.reserved.get();
            totals.queue(&queue.settings.path, queue.is_leaf(), held);
        }
    }
    for node in snapshot.nodes.iter() {
        let amounts = [&node.total, &node.allocated, &node.free].map(|amount| amount.get());
        totals.node(&node.name, amounts, node.containers);
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_fill_with_threads_ends_at_its_target_and_adds_up() {
        let mut shape = Shape::named("W6").unwrap();
        (shape.cluster.nodes, shape.load.apps) = (2000, 1000);
        shape.run = Run::Fill { until_percent: 10 };
        let target = shape.target();
        assert!(target > 0 && target * 9 < shape.fits().min(shape.asked()));
        for mode in [
            ModeName::Heartbeat,
            ModeName::Asynchronous,
            ModeName::Global,
        ] {
            let engine = shape.engine(mode).unwrap();
            let round = threaded(&shape, How::of(mode, 1), engine).unwrap();
            let reached = (round.complete, round.placed);
            assert_eq!(reached, (true, u64::from(target)), "{mode:?}");
            assert!(!round.latency.is_empty(), "{mode:?}: nothing measured");
            assert_ne!(round.hash, Tally::new().queue_hash(), "{mode:?}");
        }
    }
}
