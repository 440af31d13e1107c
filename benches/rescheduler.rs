//! Benches of the rescheduler floor: one round of preemption, with and without anything to do.

mod common;

use std::time::Duration;

use capsched::commit::Ledger;
use capsched::id::ApplicationId;
use capsched::queue::{AppSpec, Ask, AskCall};
use capsched::rescheduler::{Rescheduler, Settings};
use common::{S1, Size, container, ledger, place};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// Containers of a full node.
const SLOTS: usize = 32;

/// A round may take all quotas.
fn settings() -> Settings {
    Settings {
        enabled: true,
        total_per_round: 1.0,
        natural_termination_factor: 1.0,
        ..Settings::default()
    }
}

/// A cluster that one of two queues with equal shares fills.
fn full(nodes: u32) -> Ledger {
    let mut ledger = ledger(Size {
        nodes,
        levels: &[2],
        apps: 1,
        ..S1
    });
    for node in (0..nodes).cycle().take(nodes as usize * SLOTS) {
        assert!(place(&mut ledger, node), "there is room");
    }
    assert!(!place(&mut ledger, 0), "every node is full");
    drop(ledger.take_events());
    ledger
}

/// The other queue asks for its half.
fn claim(ledger: &mut Ledger) {
    let spec = AppSpec::new(ApplicationId::new(2), "root.q1", "user1");
    let app = ledger.submit(&spec).expect("an open queue");
    ledger.drain_follow_ups();
    let asks = vec![Ask::anywhere(container(), 1_000_000)];
    let reply = ledger.ask(app, &AskCall::asking(asks));
    reply.expect("an ask in range");
    ledger.drain_follow_ups();
}

fn round(c: &mut Criterion) {
    for nodes in [10, 100] {
        let mut ledger = full(nodes);
        let mut policy = Rescheduler::new(settings());
        assert!(policy.round(&ledger).verdicts.is_empty(), "nobody claims");
        c.bench_function(&format!("rescheduler/round_at_rest/{nodes}"), |b| {
            b.iter(|| policy.round(&ledger));
        });
        claim(&mut ledger);
        let half = nodes as usize * SLOTS / 2;
        assert_eq!(policy.round(&ledger).verdicts.len(), half);
        c.bench_function(&format!("rescheduler/round_asks_back_half/{nodes}"), |b| {
            b.iter_batched_ref(
                || Rescheduler::new(settings()),
                |policy| policy.round(&ledger),
                BatchSize::SmallInput,
            );
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = round
}
criterion_main!(benches);
