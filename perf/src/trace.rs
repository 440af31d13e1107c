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
};
use capsched::metrics::Histogram;
use capsched::time::{Clock, SystemClock};

use crate::ModeName;
use crate::rounds::{Round, totals};
use crate::shape::{Run, Shape};

/// Runs one round of a workload whose run is a trace.
pub(crate) fn run(shape: &Shape, mode: ModeName) -> Result<Round> {
    let Run::Trace { copies } = shape.run else {
        bail!("{} has no trace", shape.name);
    };
    ensure!(
        mode != ModeName::Asynchronous,
        "a trace is run by heartbeats or globally"
    );
    let mut engine = Engine::builder(shape.settings(mode)?).sequential()?;
    let mut names = Vec::new();
    for (i, [_, cpu, memory, gpu]) in rows(
        "openb_node_list_all_node.csv",
        ["sn", "cpu_milli", "memory_mib", "gpu"],
    )?
    .iter()
    .enumerate()
    {
        for copy in 0..copies {
            let name = NodeName::new(&format!("openb{i}-{copy}"), 8041)?;
            let total = ResourceVector::of(&[number(memory)?, number(cpu)?, 1_000 * number(gpu)?]);
            engine.add_node(&NodeSpec::new(name.clone(), total))?;
            names.push(name);
        }
    }
    let pods = rows(
        "openb_pod_list_default.csv",
        ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"],
    )?;
    let (clock, mut latency) = (SystemClock::new(), Histogram::new());
    let (mut placed, mut refused, mut sum) = (0, 0, ResourceVector::NONE);
    let began = clock.now_ns();
    let mut before = began;
    let all = pods.iter().flat_map(|pod| (0..copies).map(move |_| pod));
    for ((i, [cpu, memory, count, each]), turn) in (0..).zip(all).zip((0..names.len()).cycle()) {
        let size = [
            number(memory)?,
            number(cpu)?.max(1),
            number(count)? * number(each)?,
        ];
        let size = ResourceVector::of(&size);
        let id = ApplicationId::new(i + 1);
        engine.submit(&AppSpec::new(id, "root.q0", "user0"))?;
        engine.ask(id, &AskCall::asking(vec![Ask::anywhere(size, 1)]))?;
        if mode == ModeName::Global {
            engine.schedule_partition("", 1);
        } else {
            // Nodes in turn until one takes it.
            for at in (turn..names.len()).chain(0..turn) {
                if engine
                    .schedule_node(&names[at])
                    .is_some_and(|attempt| attempt.proposed && !attempt.reserving)
                {
                    break;
                }
            }
        }
        let found = engine
            .take_events()
            .iter()
            .find_map(|decision| match decision {
                Decision::Allocated { size, .. } => Some(*size),
                _ => None,
            });
        match found {
            Some(size) => {
                placed += 1;
                sum += size;
            }
            None => {
                engine.finish_app(id)?;
                drop(engine.take_events());
                refused += 1;
            }
        }
        let now = clock.now_ns();
        latency.record(now - before);
        before = now;
    }
    totals(&engine).check(placed, &sum)?;
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
