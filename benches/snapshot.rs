//! Benches of the snapshot floor: publishing after a batch, and taking a publication over.

mod common;

use std::sync::Arc;
use std::time::Duration;

use capsched::commit::Ledger;
use capsched::snapshot::{Snapshot, State};
use common::{S1, Size, ledger, place};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// Decisions between two publications.
const BATCH: u32 = 64;

fn tracked(nodes: u32) -> (Ledger, Snapshot) {
    let mut ledger = ledger(Size { nodes, ..S1 });
    ledger.track(true);
    let settings = Arc::clone(&ledger.state().settings);
    let snapshot = Snapshot::empty(settings).next(ledger.state_to_publish());
    (ledger, snapshot)
}

/// Places a container on each of the first nodes of a batch.
fn decide(ledger: &mut Ledger) {
    for node in 0..BATCH {
        assert!(place(ledger, node * 13), "there is room");
    }
}

fn publish(c: &mut Criterion) {
    for nodes in [1_000, 10_000] {
        let (mut ledger, first) = tracked(nodes);
        decide(&mut ledger);
        // A copy of the state remembers the writes of the batch, and forgets them once published.
        let written = ledger.state_to_publish().clone();
        c.bench_function(&format!("snapshot/publish_{BATCH}/{nodes}"), |b| {
            b.iter_batched_ref(
                || written.clone(),
                |state| first.next(state),
                BatchSize::LargeInput,
            );
        });
    }
}

fn refresh(c: &mut Criterion) {
    for nodes in [1_000, 10_000] {
        let (mut ledger, first) = tracked(nodes);
        decide(&mut ledger);
        let second = first.next(ledger.state_to_publish());
        let mut copy = State::new(Arc::clone(&first.settings));
        copy.refresh(
            &Snapshot::empty(Arc::clone(&first.settings)),
            &first,
            |_| {},
        );
        assert_eq!(copy.nodes.len(), nodes as usize);
        c.bench_function(&format!("snapshot/refresh_{BATCH}/{nodes}"), |b| {
            b.iter(|| {
                copy.refresh(&first, &second, |_| {});
                copy.refresh(&second, &first, |_| {});
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = publish, refresh
}
criterion_main!(benches);
