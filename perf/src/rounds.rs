//! Rounds: a new engine, its cluster and applications, and the time until the cluster is full.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use capsched::api::{
    Ask, AskCall, Decision, Engine, Fate, Mode, NodeReport, NodeSpec, Sequential, Stepped, Threaded,
};
use capsched::api::{ModeKind, NodeName, Scheduler};
use capsched::metrics::{Closed, Histogram, Phase};
use capsched::time::{Clock, SystemClock};

use crate::ModeName;
use crate::conserve::Totals;
use crate::hash::Hash;
use crate::shape::Shape;

/// A round that takes longer is given up.
const PATIENCE_NS: u64 = 60_000_000_000;

/// What a round came to.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) placed: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) latency: Histogram,
    pub(crate) latency_of: &'static str,
    pub(crate) conflicts: BTreeMap<&'static str, u64>,
    pub(crate) hash: String,
}

impl Round {
    /// Containers placed per second.
    pub(crate) fn per_second(&self) -> u64 {
        let scaled = u128::from(self.placed) * 1_000_000_000 / u128::from(self.elapsed_ns.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// Runs one round and checks it.
pub(crate) fn run(shape: &Shape, mode: ModeName, threads: usize) -> Result<Round> {
    match (mode, threads) {
        (ModeName::Heartbeat, 0) => heartbeats(shape),
        (ModeName::Asynchronous, 0) => stepped(shape, mode, ModeKind::Asynchronous),
        (ModeName::Global, 0) => stepped(shape, mode, ModeKind::Global),
        (ModeName::Heartbeat, _) => threaded(shape, mode, Mode::Heartbeat),
        (ModeName::Asynchronous, threads) => threaded(shape, mode, Mode::Asynchronous { threads }),
        (ModeName::Global, threads) => threaded(shape, mode, Mode::Global { threads }),
    }
}

/// Tallies decisions.
#[derive(Debug)]
struct Tally {
    placed: u64,
    conflicts: BTreeMap<&'static str, u64>,
    hash: Hash,
}

impl Tally {
    fn new() -> Self {
        let conflicts = BTreeMap::new();
        Self {
            placed: 0,
            conflicts,
            hash: Hash::new(),
        }
    }

    fn take(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            match decision {
                Decision::Allocated {
                    container, node, ..
                } => {
                    self.placed += 1;
                    self.hash.number(u64::from(container.app.sequence));
                    self.hash.number(u64::from(container.number));
                    self.hash.bytes(node.host().as_bytes());
                }
                Decision::Rejected { conflict, .. } => {
                    *self.conflicts.entry(conflict.name()).or_default() += 1;
                }
                _ => {}
            }
        }
    }
}

/// A cluster with its applications, which have asked for nothing yet.
fn sequential(shape: &Shape, mode: ModeName) -> Result<(Sequential, Vec<NodeSpec>)> {
    let mut engine = Engine::builder(shape.settings(mode)?).sequential()?;
    let nodes = shape.node_specs()?;
    for node in &nodes {
        engine.add_node(node)?;
    }
    for (app, count) in shape.app_specs() {
        engine.submit(&app)?;
        let asks = vec![Ask::anywhere(shape.container, count)];
        engine.ask(app.id, &AskCall::asking(asks))?;
    }
    drop(engine.take_events());
    Ok((engine, nodes))
}

/// One thread delivers the heartbeats of the nodes round robin as fast as they are taken.
fn heartbeats(shape: &Shape) -> Result<Round> {
    let (mut engine, nodes) = sequential(shape, ModeName::Heartbeat)?;
    let clock = SystemClock::new();
    let (mut tally, mut latency) = (Tally::new(), Histogram::new());
    let began = clock.now_ns();
    let mut before = began;
    'round: while tally.placed < u64::from(shape.target) {
        let placed = tally.placed;
        for node in &nodes {
            engine.heartbeat(&node.name, &NodeReport::AsExpected)?;
            let now = clock.now_ns();
            tally.take(&engine.take_events());
            latency.record(now - before);
            before = clock.now_ns();
            if tally.placed >= u64::from(shape.target) || now - began > PATIENCE_NS {
                break 'round;
            }
        }
        ensure!(tally.placed > placed, "stuck at {placed} containers");
    }
    let elapsed_ns = clock.now_ns() - began;
    totals(&engine).check(tally.placed, &shape.container)?;
    Ok(Round {
        placed: tally.placed,
        elapsed_ns,
        latency,
        latency_of: "heartbeat",
        conflicts: tally.conflicts,
        hash: tally.hash.hex(),
    })
}

/// Rounds of a mode that does not wait for heartbeats, run step by step.
fn stepped(shape: &Shape, mode: ModeName, kind: ModeKind) -> Result<Round> {
    let engine = Engine::builder(shape.settings(mode)?).sequential()?;
    let mut engine = Stepped::new(engine, kind);
    for node in shape.node_specs()? {
        engine.add_node(node)?;
    }
    for (app, count) in shape.app_specs() {
        let (id, asks) = (app.id, vec![Ask::anywhere(shape.container, count)]);
        engine.submit(app)?;
        engine.ask(id, AskCall::asking(asks))?;
    }
    let clock = SystemClock::new();
    let (mut placed, mut latency) = (0, Histogram::new());
    let began = clock.now_ns();
    let mut before = began;
    while placed < u64::from(shape.target) && before - began < PATIENCE_NS {
        let more = engine.schedule() as u64;
        ensure!(more > 0, "stuck at {placed} containers");
        placed += more;
        let now = clock.now_ns();
        latency.record_n((now - before) / more, more);
        before = now;
    }
    let totals = totals(engine.engine());
    totals.check(placed, &shape.container)?;
    Ok(Round {
        placed,
        elapsed_ns: before - began,
        latency,
        latency_of: "round by its containers",
        conflicts: BTreeMap::new(),
        hash: queue_hash(&totals),
    })
}

/// An engine with threads, from the first ask until it is full.
fn threaded(shape: &Shape, name: ModeName, mode: Mode) -> Result<Round> {
    let engine = Engine::builder(shape.settings(name)?).mode(mode).start()?;
    let mut nodes: Vec<NodeName> = Vec::new();
    for node in shape.node_specs()? {
        nodes.push(node.name.clone());
        engine.add_node(node)?;
    }
    let apps = shape.app_specs();
    for (app, _) in &apps {
        engine.submit(app.clone())?;
    }
    engine.quiesce();
    drop(engine.take_events());
    let clock = SystemClock::new();
    let began = clock.now_ns();
    for (app, count) in &apps {
        let asks = vec![Ask::anywhere(shape.container, *count)];
        engine.ask(app.id, AskCall::asking(asks))?;
    }
    let mut tally = Tally::new();
    let mut turn = nodes.iter().cycle();
    while tally.placed < u64::from(shape.target) && clock.now_ns() - began < PATIENCE_NS {
        if mode == Mode::Heartbeat {
            for node in turn.by_ref().take(nodes.len()) {
                engine.heartbeat(node.clone(), NodeReport::AsExpected)?;
            }
        } else {
            std::thread::sleep(Duration::from_micros(500));
        }
        tally.take(&engine.take_events());
    }
    let (elapsed_ns, reached) = (clock.now_ns() - began, tally.placed);
    // Threads go on beyond the target; what is checked is the state at rest.
    engine.quiesce();
    tally.take(&engine.take_events());
    let totals = snapshot_totals(&engine);
    totals.check(tally.placed, &shape.container)?;
    let phase = if mode == Mode::Heartbeat {
        Phase::Apply
    } else {
        Phase::Propose
    };
    let latency = engine.latencies().get(phase).cloned().unwrap_or_default();
    Ok(Round {
        placed: reached,
        elapsed_ns,
        latency,
        latency_of: phase.name(),
        conflicts: conflicts(&engine),
        hash: queue_hash(&totals),
    })
}

fn conflicts(engine: &Threaded) -> BTreeMap<&'static str, u64> {
    let fates = engine.fates();
    let refused = fates
        .iter()
        .filter(|(fate, n)| *fate != Fate::Committed && *n > 0);
    refused.map(|(fate, n)| (fate.name(), n)).collect()
}

pub(crate) fn totals(engine: &Sequential) -> Totals {
    let mut totals = Totals::default();
    let state = engine.ledger().state();
    for queue in &state.queues {
        totals.queue(&queue.settings.path, queue.is_leaf(), queue.parts[0].used);
    }
    for node in &state.nodes {
        let amounts = [node.total, node.allocated, node.free];
        totals.node(&node.name, amounts, node.containers);
    }
    totals
}

fn snapshot_totals(engine: &Threaded) -> Totals {
    let mut totals = Totals::default();
    let snapshot = engine.snapshot();
    for queue in snapshot.queues.iter() {
        totals.queue(&queue.settings.path, queue.is_leaf(), queue.parts[0].used);
    }
    for node in snapshot.nodes.iter() {
        let amounts = [node.total, node.allocated, node.free];
        totals.node(&node.name, amounts, node.containers);
    }
    totals
}

/// Hash of what each leaf uses, for modes whose order of decisions is not the same twice.
fn queue_hash(totals: &Totals) -> String {
    let mut hash = Hash::new();
    for (path, used) in &totals.leaves {
        hash.bytes(path.as_bytes());
        hash.bytes(used.to_string().as_bytes());
    }
    hash.hex()
}
