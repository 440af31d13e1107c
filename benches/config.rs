//! Benches of the config floor: from properties to the settings of a tree.

use std::collections::BTreeMap;
use std::time::Duration;

use capsched::config;
use criterion::{Criterion, criterion_group, criterion_main};

fn pairs(leaves: u32) -> BTreeMap<String, String> {
    let names: Vec<String> = (0..leaves).map(|i| format!("q{i}")).collect();
    let mut pairs = BTreeMap::from([("root.queues".to_owned(), names.join(","))]);
    for name in &names {
        let share = format!("{}.{:03}", 100 / leaves, 100_000 / leaves % 1_000);
        pairs.insert(format!("root.{name}.capacity"), share);
        pairs.insert(format!("root.{name}.maximum-capacity"), "100".to_owned());
    }
    let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
    pairs.into_iter().map(prefixed).collect()
}

fn load(c: &mut Criterion) {
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    for leaves in [10, 100] {
        let pairs = pairs(leaves);
        c.bench_function(&format!("config/from_pairs/{leaves}"), |b| {
            b.iter(|| {
                config::from_pairs(&BTreeMap::new(), &pairs, &types).expect("a tree of leaves")
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = load
}
criterion_main!(benches);
