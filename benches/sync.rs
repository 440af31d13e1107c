//! Benches of the sync floor: what a hand-off and a publication cost without anybody waiting.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use capsched::id::Version;
use capsched::sync::{Received, inbox, published, ring};
use criterion::{Criterion, criterion_group, criterion_main};

/// Batches that are sent before any is taken.
const BURST: u64 = 8;

fn hand_off(c: &mut Criterion) {
    let (mut sender, mut receiver) = ring(16);
    c.bench_function(&format!("sync/ring/{BURST}"), |b| {
        b.iter(|| {
            for item in 0..BURST {
                assert!(sender.try_send(black_box(item)).is_ok(), "there is room");
            }
            let mut sum = 0;
            while let Received::Item(item) = receiver.try_recv() {
                sum += item;
            }
            assert_eq!(sum, BURST * (BURST - 1) / 2);
        });
    });
    let (sender, mut receiver) = inbox(16);
    c.bench_function(&format!("sync/inbox/{BURST}"), |b| {
        b.iter(|| {
            for item in 0..BURST {
                assert!(sender.try_send(black_box(item)).is_ok(), "there is room");
            }
            let mut sum = 0;
            while let Received::Item(item) = receiver.try_recv() {
                sum += item;
            }
            assert_eq!(sum, BURST * (BURST - 1) / 2);
        });
    });
}

fn publication(c: &mut Criterion) {
    let (mut publisher, values) = published(Version(1), Arc::new(1_u64));
    let mut reader = values.reader();
    c.bench_function("sync/refresh/unchanged", |b| {
        b.iter(|| **black_box(reader.refresh()));
    });
    let mut version = 1;
    c.bench_function("sync/publish_refresh/1", |b| {
        b.iter(|| {
            version += 1;
            drop(publisher.publish(Version(version), Arc::new(version)));
            assert_eq!(**reader.refresh(), version);
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = hand_off, publication
}
criterion_main!(benches);
