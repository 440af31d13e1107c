//! `perf trace`: the pods of Alibaba's openb cluster in their order, on its own nodes.
//!
//! Each pod is an application with one container of milli-cores, memory and milli-GPUs. It asks,
//! is looked at once among all nodes, and goes away if no node has room. The rate counts pods from
//! submission to verdict; the pods without a place are the measure of quality. That a fraction of
//! a GPU must lie within one device is not modelled.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Decision, Engine, NodeName, NodeSpec, ResourceVector,
    Sequential,
};
use capsched::metrics::Histogram;
use capsched::time::{Clock, SystemClock};

use crate::ModeName;
use crate::rounds::{Round, totals};
use crate::shape::{Run, Shape};

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
            Decision::Allocated { size, .. } => Some(*size),
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
pub(crate) fn run(shape: &Shape, mode: ModeName) -> Result<Round> {
    let Run::Trace { copies } = shape.run else {
        bail!("{} has no trace", shape.name);
    };
    ensure!(
        mode != ModeName::Asynchronous,
        "a trace is run by heartbeats or globally"
    );
    let mut replay = Replay::new(shape, mode, copies)?;
    let columns = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
    let pods = rows("openb_pod_list_default.csv", columns)?;
    let (clock, mut latency) = (SystemClock::new(), Histogram::new());
    let (mut placed, mut refused, mut sum) = (0, 0, ResourceVector::NONE);
    let began = clock.now_ns();
    let mut before = began;
    let all = pods.iter().flat_map(|pod| (0..copies).map(move |_| pod));
    for (i, [cpu, memory, count, each]) in (1..).zip(all) {
        let gpus = number(count)? * number(each)?;
        let size = ResourceVector::of(&[number(memory)?, number(cpu)?.max(1), gpus]);
        match replay.pod(ApplicationId::new(i), size)? {
            Some(size) => {
                placed += 1;
                sum += size;
            }
            None => refused += 1,
        }
        let now = clock.now_ns();
        latency.record(now - before);
        before = now;
    }
    totals(&replay.engine).check(placed, &sum)?;
    Ok(Round {
        placed,
        complete: true,
        counted: placed + refused,
        elapsed_ns: before - began,
        scheduling_ns: None,
        latency,
        latency_of: "pod",
        conflicts: [("no-place", refused)].into(),
        hash: sum.to_string(),
        aside: None,
    })
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
