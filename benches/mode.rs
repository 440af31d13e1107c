//! Benches of the mode floor: a heartbeat, and a command's way to the committer and back.

#[path = "common/tree.rs"]
mod tree;

use std::time::Duration;

use capsched::api::{Ask, AskCall, Engine, Latencies, Mode, NodeReport, Threaded};
use capsched::id::{ApplicationId, NodeName};
use capsched::mode::Sequential;
use capsched::queue::{AppSpec, NodeSpec};
use capsched::resource::ResourceVector;
use capsched::time::SystemClock;
use criterion::{Criterion, criterion_group, criterion_main};
use tree::{S1, container, settings};

fn engine(asked: i32) -> (Sequential, Vec<NodeName>) {
    let builder = Engine::builder(settings(S1.leaves));
    let mut engine = builder.sequential().expect("a tree");
    let mut nodes = Vec::new();
    for i in 0..S1.nodes {
        let name = NodeName::new(&format!("host{i}"), 8041).expect("a node's name");
        let node = NodeSpec::new(name.clone(), ResourceVector::of(&[128 * 1024, 32]));
        engine.add_node(&node).expect("a new node");
        nodes.push(name);
    }
    for i in 0..S1.apps {
        let (leaf, user) = (i % S1.leaves, (i + i / S1.leaves) % S1.users);
        let id = ApplicationId::new(i + 1);
        let spec = AppSpec::new(id, &format!("root.q{leaf}"), &format!("user{user}"));
        engine.submit(&spec).expect("an open queue");
        let call = AskCall::asking(vec![Ask::anywhere(container(), asked)]);
        engine.ask(id, &call).expect("an ask in range");
    }
    drop(engine.take_events());
    (engine, nodes)
}

/// A heartbeat of a full node: the price of looking.
fn heartbeat(c: &mut Criterion) {
    let (mut engine, nodes) = engine(1_000_000);
    for _ in 0..32 {
        let _ = engine.heartbeat(&nodes[7], &NodeReport::AsExpected);
    }
    drop(engine.take_events());
    c.bench_function("mode/heartbeat_full/1000", |b| {
        b.iter(|| engine.heartbeat(&nodes[7], &NodeReport::AsExpected));
    });
    assert!(engine.take_events().is_empty(), "the node was full");
}

/// A call of an application that changes nothing, to the committer's thread and back.
fn round_trip(c: &mut Criterion) {
    let (engine, _) = engine(1);
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::take_over(engine, mode, SystemClock::new(), Latencies::Off);
    let engine = engine.expect("threads start");
    engine.quiesce();
    c.bench_function("mode/empty_call/1000", |b| {
        b.iter(|| engine.ask(ApplicationId::new(1), AskCall::default()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = heartbeat, round_trip
}
criterion_main!(benches);
