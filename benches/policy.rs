//! Benches of the policy floor: the order of children, the limit of a user.

mod common;

use std::hint::black_box;
use std::time::Duration;

use capsched::id::PartitionId;
use capsched::policy::{compute_user_limit, order_children};
use capsched::queue::LimitKind;
use capsched::resource::NARROW;
use capsched::snapshot::State;
use common::{Size, ledger, place};
use criterion::{Criterion, criterion_group, criterion_main};

fn child_order(c: &mut Criterion) {
    for levels in [&[10], &[1_000]] {
        let [leaves] = *levels;
        let mut ledger = ledger(Size {
            nodes: 100,
            levels,
            apps: leaves,
            users: 20,
        });
        for node in 0..100 {
            assert!(place(&mut ledger, node), "an empty cluster has room");
        }
        let state = ledger.state();
        c.bench_function(&format!("policy/order_children/{leaves}"), |b| {
            b.iter(|| order_children(state, State::ROOT, black_box(PartitionId::DEFAULT)));
        });
    }
}

fn user_limit(c: &mut Criterion) {
    let ledger = ledger(common::S1);
    let state = ledger.state();
    let leaf = state.queues[State::ROOT].children[0];
    c.bench_function("policy/compute_user_limit/100", |b| {
        b.iter(|| {
            let partition = black_box(PartitionId::DEFAULT);
            compute_user_limit::<NARROW>(state, leaf, partition, LimitKind::Respect)
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = child_order, user_limit
}
criterion_main!(benches);
