//! Benches of the metrics floor: what it costs to count and to measure.

use std::hint::black_box;
use std::time::Duration;

use capsched::metrics::{Collector, Laps, Phase, Sampler, counters};
use capsched::time::SystemClock;
use criterion::{Criterion, criterion_group, criterion_main};

fn counting(c: &mut Criterion) {
    let (mut writer, reader) = counters::<Phase>();
    c.bench_function("metrics/count/1", |b| {
        b.iter(|| writer.count(black_box(Phase::Apply)));
    });
    assert!(reader.read().get(Phase::Apply) > 0, "it was counted");
}

fn measuring(c: &mut Criterion) {
    let clock = SystemClock::new();
    let mut collector = Collector::new();
    let mut recorder = collector.recorder();
    let mut laps = Laps::start(&clock);
    c.bench_function("metrics/lap_and_record/1", |b| {
        b.iter(|| recorder.record(Phase::NodePick, laps.lap(&clock)));
    });
    let mut sampler = Sampler::one_in(32);
    c.bench_function("metrics/lap_and_record/32", |b| {
        b.iter(|| {
            if sampler.is_due() {
                recorder.record(Phase::NodePick, laps.lap(&clock));
            }
        });
    });
    recorder.hand_over();
    assert!(!collector.collect().is_empty(), "it was recorded");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = counting, measuring
}
criterion_main!(benches);
