//! Benches of the api floor: calls of an application, and a container's way from ask to end.

#[path = "common/engine.rs"]
mod common;

use std::time::Duration;

use capsched::api::{
    ApplicationId, Ask, AskCall, Event, Latencies, Mode, ModeKind, NodeName, NodeReport, Scheduler,
    Stepped, Threaded,
};
use capsched::time::SystemClock;
use common::{container, engine};
use criterion::{Criterion, criterion_group, criterion_main};

/// Who asks; the other applications ask for nothing.
const APP: ApplicationId = ApplicationId::new(7);

/// How long to wait for a decision that comes at once.
const PATIENCE: Duration = Duration::from_secs(60);

fn asking(count: i32) -> AskCall {
    AskCall::asking(vec![Ask::anywhere(container(), count)])
}

/// The engine whose heartbeats decide, without threads.
fn stepped() -> (Stepped, Vec<NodeName>) {
    let (engine, nodes) = engine(0);
    (Stepped::new(engine, ModeKind::Heartbeat), nodes)
}

fn threaded(mode: Mode) -> (Threaded, Vec<NodeName>) {
    let (engine, nodes) = engine(0);
    let engine = Threaded::take_over(engine, mode, SystemClock::new(), Latencies::Off);
    let engine = engine.expect("threads start");
    engine.quiesce();
    (engine, nodes)
}

/// A call that changes what is wanted, and its answer.
fn ask_call(c: &mut Criterion, name: &str, engine: &mut impl Scheduler) {
    let mut count = 0;
    c.bench_function(&format!("api/ask/{name}"), |b| {
        b.iter(|| {
            count = count % 1_000 + 1;
            engine.ask(APP, asking(count)).expect("an ask in range")
        });
    });
    let mut events = Vec::new();
    engine.events(&mut events);
    assert!(events.is_empty(), "nothing is decided without heartbeats");
}

/// Asks for a container, has it placed by a heartbeat, fetches it, and ends it.
fn sequential(c: &mut Criterion) {
    let (mut engine, nodes) = stepped();
    let mut events = Vec::new();
    c.bench_function("api/container/sequential", |b| {
        b.iter(|| {
            engine.ask(APP, asking(1)).expect("an ask in range");
            let reply = engine.heartbeat(&nodes[7], NodeReport::AsExpected);
            reply.expect("the node is registered");
            events.clear();
            engine.events(&mut events);
            let placed = events.iter().find_map(|event| match event {
                Event::Allocated { container, .. } => Some(*container),
                _ => None,
            });
            let placed = placed.expect("there is room");
            let reply = engine.ask(APP, AskCall::default());
            assert_eq!(reply.expect("an empty call").allocated.len(), 1);
            engine.container_finished(placed).expect("it is live");
        });
    });
}

/// Why one application waits. Nothing of it is recorded while the engine decides, so that the benches
/// of asks and containers are those of an engine without it.
fn explained(c: &mut Criterion) {
    let (mut engine, _) = stepped();
    engine.ask(APP, asking(3)).expect("an ask in range");
    c.bench_function("api/explain/one", |b| {
        b.iter(|| engine.explain(APP).expect("it waits"));
    });
    c.bench_function("api/trial", |b| b.iter(|| engine.trial()));
}

fn calls(c: &mut Criterion) {
    ask_call(c, "sequential", &mut stepped().0);
    ask_call(c, "threaded", &mut threaded(Mode::Heartbeat).0);
}

/// The same without a heartbeat: a proposer's thread places it, and the caller sleeps until the
/// event comes.
fn threads(c: &mut Criterion) {
    let (engine, _) = threaded(Mode::Global { threads: 1 });
    let mut events = Vec::new();
    c.bench_function("api/container/threaded", |b| {
        b.iter(|| {
            engine.ask(APP, asking(1)).expect("an ask in range");
            let placed = loop {
                events.clear();
                assert!(
                    engine.await_events(&mut events, PATIENCE).is_some(),
                    "there is room"
                );
                let placed = events.iter().find_map(|event| match event {
                    Event::Allocated { container, .. } => Some(*container),
                    _ => None,
                });
                if let Some(placed) = placed {
                    break placed;
                }
            };
            let reply = engine.ask(APP, AskCall::default());
            assert_eq!(reply.expect("an empty call").allocated.len(), 1);
            assert!(engine.container_finished(placed), "it is live");
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = calls, sequential, explained, threads
}
criterion_main!(benches);
