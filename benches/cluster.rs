//! Benches of the cluster floor: reading nodes, copying one, and nodes that come and go.

mod common;

use std::hint::black_box;
use std::time::Duration;

use capsched::cluster::Killable;
use capsched::id::{AppSlot, ApplicationId, ContainerId, NodeName, NodeSlot, QueueSlot};
use capsched::queue::NodeSpec;
use capsched::resource::ResourceVector;
use common::{S1, container, ledger, place};
use criterion::{Criterion, criterion_group, criterion_main};

/// Containers that may be killed on one node.
const KILLABLE: u32 = 16;

/// What a walk over nodes reads of each: whether a container fits into what is free.
fn fit(c: &mut Criterion) {
    let mut ledger = ledger(S1);
    for node in 0..S1.nodes {
        assert!(place(&mut ledger, node), "an empty cluster has room");
    }
    let nodes = &ledger.state().nodes;
    // Two nodes in a thousand have a vcore too few.
    let large = container().times(31);
    c.bench_function(&format!("cluster/fit_free/{}", S1.nodes), |b| {
        b.iter(|| {
            let large = black_box(&large);
            let fits = |slot: &u32| large.fits_in(&nodes[NodeSlot(*slot)].free.get());
            (0..S1.nodes).filter(fits).count()
        });
    });
}

/// What a publication pays for a node that changed, and what lazy preemption reads of one.
fn row(c: &mut Criterion) {
    let ledger = ledger(S1);
    let mut node = ledger.state().nodes[NodeSlot(7)].clone();
    c.bench_function("cluster/copy_node/1", |b| {
        b.iter(|| black_box(&node).clone());
    });
    let app = ApplicationId::new(1);
    node.killable = (0..KILLABLE)
        .map(|number| Killable {
            container: ContainerId::new(app, number),
            app: AppSlot(0),
            leaf: QueueSlot(1),
            size: container(),
            ended: false,
        })
        .collect();
    assert_eq!(
        node.killable_total(),
        container().times(i64::from(KILLABLE))
    );
    c.bench_function(&format!("cluster/killable_total/{KILLABLE}"), |b| {
        b.iter(|| black_box(&node).killable_total());
    });
}

/// A node registers with a cluster and leaves it.
fn come_and_go(c: &mut Criterion) {
    let mut ledger = ledger(S1);
    let name = NodeName::new("guest", 8041).expect("a node's name");
    let node = NodeSpec::new(name, ResourceVector::of(&[128 * 1024, 32]));
    c.bench_function(&format!("cluster/add_remove_node/{}", S1.nodes), |b| {
        b.iter(|| {
            let slot = ledger.add_node(&node).expect("it is not registered");
            ledger.drain_follow_ups();
            ledger.remove_node(&node.name).expect("it is registered");
            ledger.drain_follow_ups();
            slot
        });
    });
    assert!(ledger.take_events().is_empty(), "it held nothing");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = fit, row, come_and_go
}
criterion_main!(benches);
