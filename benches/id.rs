//! Benches of the id floor: names at the edge, and the hash orders that the reference takes decisions in.

use std::hint::black_box;
use std::time::Duration;

use capsched::id::{ApplicationId, ContainerId, Map, NodeName, NodeSlot, java_order};
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};

/// Sizes of clusters: the canonical one, and ten times as many nodes.
const NODES: [u32; 2] = [1_000, 10_000];

/// Names as an operator gives them, whose hosts have all but a few signs in common.
fn names(count: u32) -> Vec<NodeName> {
    let name = |i| NodeName::new(&format!("worker-{i:05}.rack-{}.example.com", i % 40), 8041);
    let names = (0..count).map(name).collect::<Result<_, _>>();
    names.expect("names of nodes")
}

/// A name is read once for each message, and looked up in a table of slots.
fn interning(c: &mut Criterion) {
    let text = "worker-00042.rack-2.example.com:8041";
    c.bench_function("id/parse/node", |b| {
        b.iter(|| black_box(text).parse::<NodeName>());
    });
    for count in NODES {
        let names = names(count);
        let slots: Map<NodeName, NodeSlot> =
            names.iter().cloned().zip((0..).map(NodeSlot)).collect();
        let mut turn = names.iter().cycle();
        c.bench_function(&format!("id/look_up/{count}"), |b| {
            b.iter(|| slots.get(black_box(turn.next().expect("names go round"))));
        });
    }
}

fn container(cluster: u64, number: u32) -> ContainerId {
    let sequence = 42;
    ContainerId::new(ApplicationId { cluster, sequence }, number)
}

/// Hashes as Java's, of a name, a container and a key.
fn hashes(c: &mut Criterion) {
    let name = &names(1)[0];
    c.bench_function("id/java_hash/node", |b| {
        b.iter(|| black_box(name).java_hash());
    });
    c.bench_function("id/java_hash/container", |b| {
        let id = container(1_700_000_000_000, 7);
        b.iter(|| java_order::container_hash(black_box(id)));
    });
    c.bench_function("id/java_hash/key", |b| {
        b.iter(|| java_order::scheduler_key_hash(black_box(20), black_box(1 << 40)));
    });
}

/// The order in which a hash map of nodes is walked, and one of the containers of an application.
fn orders(c: &mut Criterion) {
    let mut group = c.benchmark_group("id/java_order");
    for count in NODES {
        let names = names(count);
        group.bench_with_input(BenchmarkId::new("nodes", count), &names, |b, names| {
            b.iter_batched_ref(
                || names.iter().collect::<Vec<_>>(),
                |names| java_order::sort(names, 0, |name| name.java_hash()),
                BatchSize::LargeInput,
            );
        });
    }
    for count in [16, 1_000] {
        let numbers: Vec<u32> = (1..=count).collect();
        group.bench_with_input(
            BenchmarkId::new("containers", count),
            &numbers,
            |b, numbers| {
                b.iter_batched_ref(
                    || numbers.clone(),
                    |numbers| {
                        let hash = |&number: &u32| java_order::container_hash(container(1, number));
                        java_order::sort(numbers, 0, hash);
                    },
                    BatchSize::SmallInput,
                );
            },
        );
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = interning, hashes, orders
}
criterion_main!(benches);
