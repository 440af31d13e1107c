//! Heartbeats, rounds and attempts that surely come to nothing are counted, not carried out: whole runs decide and
//! count the same either way, on random clusters, queues and workloads.
//!
//! `CAPSCHED_SKIPPING_SEEDS` sets the number of runs in each mode.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use capsched::api::{ModeKind, PartitionSpec, Sequential, Stepped};
use capsched::simulator::{Driver, DriverSettings, Ready, RunReport};

use crate::cases::{Case, MODES, case};

/// Runs in each mode in an ordinary run of the tests.
const SEEDS: u64 = 12;

/// What a run came to, and the counters of every key at its end.
pub(crate) type Outcome = (RunReport, Vec<(usize, i32, i32, i32)>);

pub(crate) fn play(case: &Case, plain: bool) -> Outcome {
    let partition = PartitionSpec {
        name: "x".to_owned(),
        exclusive: case.exclusive,
    };
    let engine = Sequential::new(case.loaded.settings.clone(), &[partition]).unwrap();
    let mut engine = Stepped::new(engine, case.mode);
    if plain {
        engine = engine.carrying_out_all();
    }
    if case.preempts {
        engine = engine.with_preemption(case.loaded.preemption.clone());
    }
    let settings = DriverSettings {
        round_ms: (case.mode != ModeKind::Heartbeat).then_some(500),
        heartbeat_ms: 1000,
        quiet_ms: Some(90_000),
        patience_ms: 120_000,
        until_ms: Some(240_000),
        ..DriverSettings::default()
    };
    let mut driver = Driver::new(engine, settings);
    for (i, node) in case.nodes.iter().enumerate() {
        if i > 0 && i % 4 == 0 {
            driver.node_arrives(20_000, node.clone());
        } else {
            driver.node_arrives(0, node.clone());
        }
    }
    for (at_ms, name) in &case.leaves {
        driver.node_leaves(at_ms + 21_000, name.clone());
    }
    let report = driver
        .run(&mut Ready::new(case.jobs.clone()), &mut ())
        .unwrap();
    let state = driver.scheduler().engine().ledger().state();
    let apps = state.apps.iter().enumerate();
    let counters = apps.flat_map(|(i, app)| {
        let keys = app.keys.iter();
        keys.map(move |key| (i, key.opportunities, key.missed, key.re_reservations))
    });
    (report, counters.collect())
}

fn seeds() -> u64 {
    let set = std::env::var("CAPSCHED_SKIPPING_SEEDS").ok();
    set.and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS)
}

#[test]
fn runs_decide_and_count_the_same_whether_every_attempt_is_carried_out_or_not() {
    let mut placed = 0;
    for mode in MODES {
        for seed in 0..seeds() {
            let case = case(seed, mode);
            let (plain, plain_counters) = play(&case, true);
            let (skipping, counters) = play(&case, false);
            assert_eq!(
                plain.decisions, skipping.decisions,
                "{mode:?} {seed}\n{plain}\n{skipping}"
            );
            assert_eq!(plain.counts, skipping.counts, "{mode:?} {seed}");
            assert_eq!(plain.ended_ms, skipping.ended_ms, "{mode:?} {seed}");
            assert_eq!(plain_counters, counters, "{mode:?} {seed}");
            placed += plain.counts.placed;
        }
    }
    assert!(placed > 100, "the runs place something: {placed}");
}
