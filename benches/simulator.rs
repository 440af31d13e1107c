//! Benches of the simulator floor: a small trace in virtual time, and drawing a synthetic one.

#[path = "common/tree.rs"]
mod tree;

use std::time::Duration;

use capsched::api::{Engine, ModeKind, Stepped};
use capsched::resource::ResourceVector;
use capsched::simulator::{
    Driver, DriverSettings, Job, Ready, Run, RunReport, Synthetic, SyntheticSettings, TaskGroup,
    equal_nodes,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tree::{S1, Size, container, settings};

/// A cluster that some jobs fill; each application is a job.
const SMALL: Size = Size { nodes: 20, ..S1 };

/// Containers of each job, which run a minute.
const TASKS: u32 = 10;

/// Jobs a second apart, spread over leaves and users.
fn jobs(count: u32) -> Vec<Job> {
    let job = |i: u32| Job {
        at_ms: u64::from(i) * 1_000,
        user: format!("user{}", i % SMALL.users),
        queue: SMALL.leaf(i),
        name: format!("job{i}"),
        priority: None,
        master: Some(ResourceVector::of(&[1_024, 1])),
        partition: None,
        tags: Vec::new(),
        tasks: vec![TaskGroup::new(container(), TASKS, Run::Same(60_000))],
        line: 0,
    };
    (0..count).map(job).collect()
}

/// A driver whose cluster has registered.
fn driver(mode: ModeKind) -> Driver<Stepped> {
    let engine = Engine::builder(settings(SMALL.levels)).sequential();
    let scheduler = Stepped::new(engine.expect("a tree"), mode);
    let round_ms = (mode != ModeKind::Heartbeat).then_some(1_000);
    let settings = DriverSettings {
        round_ms,
        ..DriverSettings::default()
    };
    let mut driver = Driver::new(scheduler, settings);
    let size = ResourceVector::of(&[128 * 1024, 32]);
    let nodes = equal_nodes(SMALL.nodes, 10, size);
    driver.add_nodes(&nodes).expect("new nodes");
    driver
}

fn play(driver: &mut Driver<Stepped>, trace: &mut Ready) -> RunReport {
    driver.run(trace, &mut ()).expect("a trace without errors")
}

/// Every job of a trace from submission to end, with books kept by the auditor.
fn trace(c: &mut Criterion) {
    for mode in [ModeKind::Heartbeat, ModeKind::Global] {
        for count in [SMALL.apps / 10, SMALL.apps] {
            let jobs = jobs(count);
            let report = play(&mut driver(mode), &mut Ready::new(jobs.clone()));
            assert_eq!(report.counts.finished, u64::from(count));
            assert_eq!(report.counts.completed, u64::from(count * TASKS));
            assert!(report.violations.is_empty(), "{report}");
            let name = format!("simulator/run_{}/{count}", mode.name());
            c.bench_function(&name, |b| {
                b.iter_batched_ref(
                    || (driver(mode), Ready::new(jobs.clone())),
                    |(driver, trace)| play(driver, trace),
                    BatchSize::SmallInput,
                );
            });
        }
    }
}

fn draw(c: &mut Criterion) {
    let settings = SyntheticSettings {
        jobs: 1_000,
        services: 0,
        ..SyntheticSettings::default()
    };
    assert_eq!(Synthetic::new(settings.clone()).count(), 1_000);
    c.bench_function("simulator/draw_jobs/1000", |b| {
        b.iter(|| Synthetic::new(settings.clone()).count());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = trace, draw
}
criterion_main!(benches);
