//! `perf trace`: the pods of Alibaba's openb cluster in their order, on its own nodes.
//!
//! Each pod is an application with one container of milli-cores, memory and milli-GPUs. It asks,
//! is looked at once among all nodes, and goes away if no node has room. With threads the pods come
//! in windows, and those that wait when the engine is at rest go away. In global mode one goes as
//! soon as it reserves, which says the same; asynchronous mode reserves on the first node that is too
//! full, and tries as often as there are nodes before it rests. The rate counts pods from submission to
//! verdict; the pods without a place are the measure of quality. That a fraction of a GPU must lie
//! within one device is not modelled.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, CommitOutcome, Engine, Event, NodeName, NodeSpec,
    ResourceVector, Sequential, Threaded,
};
use capsched::metrics::{Closed, Histogram, Phase};
use capsched::time::{Clock, SystemClock};

use crate::ModeName;
use crate::rounds::{self, How, Round};
use crate::shape::{Run, Shape};

/// Pods that are on their way together in an engine with threads.
const WINDOW: usize = 1024;

/// How long nothing happens before the engine is asked whether it is at rest.
const SILENCE: Duration = Duration::from_millis(1);

/// An engine with the nodes of the trace.
struct Replay {
    engine: Sequential,
    mode: ModeName,
    nodes: Vec<NodeName>,
    /// Where the next pod begins to look when nodes take turns.
    turn: usize,
}

impl Replay {
    fn new(shape: &Shape, mode: ModeName, copies: u32) -> Result<Self> {
        let mut engine = Engine::builder(shape.settings(mode)?).sequential()?;
        let mut nodes = Vec::new();
        let columns = ["cpu_milli", "memory_mib", "gpu"];
        for (i, [cpu, memory, gpu]) in (0..).zip(rows("openb_node_list_all_node.csv", columns)?) {
            for copy in 0..copies {
                let name = NodeName::new(&format!("openb{i}-{copy}"), 8041)?;
                let amounts = [number(&memory)?, number(&cpu)?, 1_000 * number(&gpu)?];
                let total = ResourceVector::of(&amounts);
                engine.add_node(&NodeSpec::new(name.clone(), total))?;
                nodes.push(name);
            }
        }
        Ok(Self {
            engine,
            mode,
            nodes,
            turn: 0,
        })
    }

    /// Submits a pod and looks for a place once; what it got.
    fn pod(&mut self, id: ApplicationId, size: ResourceVector) -> Result<Option<ResourceVector>> {
        let engine = &mut self.engine;
        engine.submit(&AppSpec::new(id, "root.q0", "user0"))?;
        engine.ask(id, &AskCall::asking(vec![Ask::anywhere(size, 1)]))?;
        if self.mode == ModeName::Global {
            engine.schedule_partition("", 1);
        } else {
            // Nodes in turn until one takes it.
            let count = self.nodes.len();
            self.turn = (self.turn + 1) % count;
            for at in (self.turn..count).chain(0..self.turn) {
                let attempt = engine.schedule_node(&self.nodes[at]);
                if attempt.is_some_and(|attempt| attempt.proposed && !attempt.reserving) {
                    break;
                }
            }
        }
        let decisions = engine.take_events();
        let found = decisions.iter().find_map(|decision| match decision {
            Event::Allocated { size, .. } => Some(*size),
            _ => None,
        });
        if found.is_none() {
            engine.finish_app(id)?;
            drop(engine.take_events());
        }
        Ok(found)
    }
}

/// Runs one round of a workload whose run is a trace.
pub(crate) fn run(shape: &Shape, how: How) -> Result<Round> {
    let Run::Trace { copies } = shape.run else {
        bail!("{} has no trace", shape.name);
    };
    let replay = Replay::new(shape, how.mode, copies)?;
    let pods = pods(copies)?;
    match (how.mode, how.threads) {
        (ModeName::Heartbeat | ModeName::Global, 0) => one_by_one(replay, &pods),
        (ModeName::Heartbeat, _) | (_, 0) => {
            bail!("a trace is run by heartbeats without threads, and asynchronously with them")
        }
        (_, _) => in_windows(replay.engine, how, &pods),
    }
}

/// A pod after the other, on the driver's own thread.
fn one_by_one(mut replay: Replay, pods: &[ResourceVector]) -> Result<Round> {
    let (clock, mut latency) = (SystemClock::new(), Histogram::new());
    let mut verdict = Verdict::default();
    let began = clock.now_ns();
    let mut before = began;
    for (i, size) in (1..).zip(pods) {
        match replay.pod(ApplicationId::new(i), *size)? {
            Some(size) => verdict.place(size),
            None => verdict.unplaced += 1,
        }
        let now = clock.now_ns();
        latency.record(now - before);
        before = now;
    }
    let totals = rounds::totals(&replay.engine);
    totals.check(verdict.placed, &verdict.sum)?;
    Ok(verdict.round(before - began, latency, "pod"))
}

/// The pods in windows, decided by proposers. Those that wait when the engine is at rest have no place, nor
/// has one that reserves after a look at all nodes.
fn in_windows(engine: Sequential, how: How, pods: &[ResourceVector]) -> Result<Round> {
    let clock = SystemClock::new();
    let engine = Threaded::take_over(engine, how.engine_mode(), clock, how.running())?;
    let all_nodes = how.mode == ModeName::Global;
    let mut verdict = Verdict::default();
    let began = clock.now_ns();
    let mut next = 1;
    for window in pods.chunks(WINDOW) {
        let mut calls = Vec::with_capacity(window.len());
        let mut waiting = BTreeSet::new();
        for size in window {
            let id = ApplicationId::new(next);
            next += 1;
            engine.submit(AppSpec::new(id, "root.q0", "user0"))?;
            calls.push((id, AskCall::asking(vec![Ask::anywhere(*size, 1)])));
            waiting.insert(id);
        }
        for reply in engine.ask_all(calls) {
            reply?;
        }
        let mut decisions = Vec::new();
        while !waiting.is_empty() {
            if !engine.await_events(&mut decisions, SILENCE).is_some() {
                engine.quiesce();
                engine.append_events(&mut decisions);
                if decisions.is_empty() {
                    break;
                }
            }
            for decision in decisions.drain(..) {
                match decision {
                    Event::Allocated {
                        container, size, ..
                    } if waiting.remove(&container.app) => verdict.place(size),
                    Event::Reserved { container, .. }
                        if all_nodes && waiting.remove(&container.app) =>
                    {
                        verdict.give_up(&engine, container.app)?;
                    }
                    _ => {}
                }
            }
        }
        // One that gets its place only now gives it back with its end.
        for id in waiting {
            verdict.give_up(&engine, id)?;
        }
    }
    let elapsed_ns = clock.now_ns() - began;
    engine.quiesce();
    rounds::snapshot_totals(&engine).check(verdict.placed, &verdict.sum)?;
    let of = Phase::Propose;
    let latency = engine.latencies().get(of).cloned().unwrap_or_default();
    Ok(Round {
        conflicts: rounds::conflicts(&engine),
        retries: engine.outcomes().get(CommitOutcome::CommittedElsewhere),
        ..verdict.round(elapsed_ns, latency, of.name())
    })
}

/// What became of the pods.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    placed: u64,
    unplaced: u64,
    sum: ResourceVector,
}

impl Verdict {
    fn place(&mut self, size: ResourceVector) {
        self.placed += 1;
        self.sum += size;
    }

    fn give_up(&mut self, engine: &Threaded, id: ApplicationId) -> Result<()> {
        self.unplaced += 1;
        engine.finish_app(id)?;
        Ok(())
    }

    fn round(self, elapsed_ns: u64, latency: Histogram, latency_of: &'static str) -> Round {
        Round {
            placed: self.placed,
            complete: true,
            counted: self.placed + self.unplaced,
            elapsed_ns,
            scheduling_ns: None,
            latency,
            latency_of,
            conflicts: [].into(),
            retries: 0,
            unplaced: Some(self.unplaced),
            hash: self.sum.to_string(),
            aside: None,
        }
    }
}

/// The sizes of all pods in their order, each as often as there are copies.
fn pods(copies: u32) -> Result<Vec<ResourceVector>> {
    let columns = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
    let mut pods = Vec::new();
    for [cpu, memory, count, each] in rows("openb_pod_list_default.csv", columns)? {
        let gpus = number(&count)? * number(&each)?;
        let size = ResourceVector::of(&[number(&memory)?, number(&cpu)?.max(1), gpus]);
        pods.extend((0..copies).map(|_| size));
    }
    Ok(pods)
}

/// The named columns of a file of the trace.
fn rows<const N: usize>(file: &str, columns: [&str; N]) -> Result<Vec<[String; N]>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/traces/openb");
    let path = PathBuf::from(folder).join(file);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        let found = head.iter().position(|name| *name == column);
        *place = found.with_context(|| format!("{}: no column {column}", path.display()))?;
    }
    let cells = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        places.map(|place| fields.get(place).copied().unwrap_or_default().to_owned())
    };
    Ok(lines.filter(|line| !line.is_empty()).map(cells).collect())
}

fn number(text: &str) -> Result<i64> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse()
        .with_context(|| format!("`{text}` is no amount"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pods_find_a_place_whoever_decides() {
        let shape = Shape::named("W14").unwrap();
        let nodes = rows("openb_node_list_all_node.csv", ["gpu"]).unwrap();
        let whole = nodes.iter().filter(|[gpu]| gpu == "8").count();
        // Each takes all devices of a node; for the last ones there is none.
        let pods = vec![ResourceVector::of(&[1024, 1000, 8000]); whole + 9];
        let replay = || Replay::new(&shape, ModeName::Global, 1).unwrap();
        let how = How::of(ModeName::Global, 1);
        for round in [
            in_windows(replay().engine, how, &pods),
            one_by_one(replay(), &pods),
        ] {
            let round = round.unwrap();
            assert_eq!((round.placed, round.unplaced), (whole as u64, Some(9)));
        }
    }

    #[test]
    fn who_cannot_run_a_trace_is_refused_with_a_reason() {
        let shape = Shape::named("W14").unwrap();
        assert!(run(&shape, How::of(ModeName::Asynchronous, 0)).is_err());
        assert!(run(&shape, How::of(ModeName::Heartbeat, 1)).is_err());
    }
}
