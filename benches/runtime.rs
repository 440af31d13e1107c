//! Benches of the mode floor: a heartbeat, and a command's way to the committer and back.

#[path = "common/engine.rs"]
mod common;

use std::time::Duration;

use capsched::api::{AskCall, Latencies, Mode, NodeReport, Threaded};
use capsched::id::ApplicationId;
use capsched::time::SystemClock;
use common::engine;
use criterion::{Criterion, criterion_group, criterion_main};

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

/// A call of an application that changes nothing, to the committer and back: on the thread of its caller
/// where the committer rests, on its own where it is awake.
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
