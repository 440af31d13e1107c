//! Benches of the resource floor: comparing, dividing, normalizing amounts.

use std::hint::black_box;
use std::time::Duration;

use capsched::resource::{Calculator, ResourceVector};
use criterion::{Criterion, criterion_group, criterion_main};

fn calculators() -> [(&'static str, Calculator); 2] {
    [
        ("memory", Calculator::MemoryOnly { types: 2 }),
        ("dominant", Calculator::Dominant { types: 2 }),
    ]
}

fn amounts(c: &mut Criterion) {
    let cluster = ResourceVector::of(&[128 * 1024 * 1000, 32_000]);
    let small = ResourceVector::of(&[1_234_567, 301]);
    let large = ResourceVector::of(&[1_234_569, 300]);
    let step = ResourceVector::of(&[1024, 1]);
    for (name, calculator) in calculators() {
        c.bench_function(&format!("resource/compare/{name}"), |b| {
            b.iter(|| calculator.compare(&cluster, black_box(&small), black_box(&large)));
        });
        c.bench_function(&format!("resource/divide/{name}"), |b| {
            b.iter(|| calculator.divide(&cluster, black_box(&small), black_box(&large)));
        });
        c.bench_function(&format!("resource/normalize/{name}"), |b| {
            b.iter(|| calculator.normalize(black_box(&small), &step, &cluster, &step));
        });
        c.bench_function(&format!("resource/containers/{name}"), |b| {
            b.iter(|| calculator.containers(black_box(&large), black_box(&step)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = amounts
}
criterion_main!(benches);
