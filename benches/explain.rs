//! Benches of explanations: what they cost, and that asks and heartbeats cost the same whether anybody asks why.
//!
//! An explanation is a function of a state that nothing is kept for: neither an ask nor a heartbeat stores anything
//! on its behalf. The pairs `explained` and `unexplained` therefore differ by noise alone.

#[path = "common/engine.rs"]
mod common;

use std::hint::black_box;
use std::time::Duration;

use capsched::api::{
    Ask, AskCall, Engine, Latencies, Mode, NodeReport, Threaded, UnderWay, explain, explain_all,
};
use capsched::id::ApplicationId;
use capsched::sync::{AtomicBool, Ordering};
use capsched::time::SystemClock;
use common::{container, engine};
use criterion::{Criterion, criterion_group, criterion_main};

/// The cost of an explanation: of one application, and of all.
fn explanations(c: &mut Criterion) {
    let (engine, _) = engine(1_000);
    let app = ApplicationId::new(1);
    c.bench_function("explain/one/1000", |b| {
        b.iter(|| explain(black_box(engine.ledger()), app, UnderWay::default()));
    });
    c.bench_function("explain/all/1000", |b| {
        b.iter(|| explain_all(black_box(engine.ledger()), UnderWay::default()).len());
    });
}

/// An ask that changes what is outstanding, on an engine that nobody asks why, and on one that was asked.
fn asks(c: &mut Criterion) {
    for explained in [false, true] {
        let (mut engine, _) = engine(1_000);
        if explained {
            let all = explain_all(engine.ledger(), UnderWay::default());
            assert!(!all.is_empty(), "applications wait");
        }
        let name = if explained {
            "explained"
        } else {
            "unexplained"
        };
        let mut count = 1_000;
        c.bench_function(&format!("explain/ask_{name}/1000"), |b| {
            b.iter(|| {
                count = if count == 1_000 { 1_001 } else { 1_000 };
                let call = AskCall::asking(vec![Ask::anywhere(container(), count)]);
                engine.ask(ApplicationId::new(1), &call)
            });
        });
    }
}

/// A heartbeat that places nothing, in the same two states.
fn heartbeats(c: &mut Criterion) {
    for explained in [false, true] {
        let (mut engine, nodes) = engine(1_000_000);
        for _ in 0..32 {
            let _ = engine.heartbeat(&nodes[7], &NodeReport::AsExpected);
        }
        drop(engine.take_events());
        if explained {
            drop(explain_all(engine.ledger(), UnderWay::default()));
        }
        let name = if explained {
            "explained"
        } else {
            "unexplained"
        };
        c.bench_function(&format!("explain/heartbeat_{name}/1000"), |b| {
            b.iter(|| engine.heartbeat(&nodes[7], &NodeReport::AsExpected));
        });
        assert!(engine.take_events().is_empty(), "the node was full");
    }
}

/// A call to a threaded engine, alone and beside a thread that asks why without a pause. The asking thread works on
/// snapshots; what is left is that it uses a core.
fn beside(c: &mut Criterion) {
    let (engine, _) = engine(1);
    let mode = Mode::Global { threads: 1 };
    let engine = Threaded::take_over(engine, mode, SystemClock::new(), Latencies::Off);
    let engine = engine.expect("threads start");
    engine.quiesce();
    let app = ApplicationId::new(1);
    let call = |b: &mut criterion::Bencher<'_>| b.iter(|| engine.ask(app, AskCall::default()));
    c.bench_function("explain/empty_call_alone/1000", call);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                black_box(Engine::explain(&engine, app));
            }
        });
        c.bench_function("explain/empty_call_beside/1000", call);
        over.store(true, Ordering::Relaxed);
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = explanations, asks, heartbeats, beside
}
criterion_main!(benches);
