//! Heartbeats, rounds and attempts that surely come to nothing are counted, not carried out: whole runs decide and
//! count the same either way, on random clusters, queues and workloads.
//!
//! `CAPSCHED_SKIPPING_SEEDS` sets the number of runs in each mode.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use capsched::api::{
    ModeKind, NodeName, NodeSpec, PartitionSpec, ResourceVector, Sequential, Stepped,
};
use capsched::config::{self, Loaded};
use capsched::simulator::{Driver, DriverSettings, Job, Random, Ready, Run, RunReport, TaskGroup};

const MODES: [ModeKind; 3] = [
    ModeKind::Heartbeat,
    ModeKind::Asynchronous,
    ModeKind::Global,
];

/// Runs in each mode in an ordinary run of the tests.
const SEEDS: u64 = 12;

const SORTED: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                      ResourceUsageMultiNodeLookupPolicy";

/// One random cluster with queues and jobs.
struct Case {
    mode: ModeKind,
    loaded: Loaded,
    exclusive: bool,
    preempts: bool,
    nodes: Vec<NodeSpec>,
    leaves: Vec<(u64, NodeName)>,
    jobs: Vec<Job>,
}

fn chance(random: &mut Random, percent: u64) -> bool {
    random.below(100) < percent
}

fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    let len = u64::try_from(from.len()).unwrap();
    &from[usize::try_from(random.below(len)).unwrap()]
}

fn number(random: &mut Random, from: u64, to: u64) -> i64 {
    i64::try_from(from + random.below(to - from + 1)).unwrap()
}

fn pairs(random: &mut Random, mode: ModeKind) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let mut put = |key: &str, value: &str| {
        let key = format!("yarn.scheduler.capacity.{key}");
        pairs.insert(key, value.to_owned());
    };
    put("root.queues", "a,b,c");
    put("root.c.queues", "d,e");
    put("maximum-am-resource-percent", "1");
    let capacities = [
        ("a", "40"),
        ("b", "30"),
        ("c", "30"),
        ("c.d", "50"),
        ("c.e", "50"),
    ];
    put("root.accessible-node-labels.x.capacity", "100");
    for (queue, capacity) in capacities {
        put(&format!("root.{queue}.capacity"), capacity);
        put(&format!("root.{queue}.accessible-node-labels"), "x");
        put(
            &format!("root.{queue}.accessible-node-labels.x.capacity"),
            capacity,
        );
        let factor = pick::<&str>(random, &["1", "3", "10"]);
        put(&format!("root.{queue}.user-limit-factor"), factor);
        if chance(random, 30) {
            put(&format!("root.{queue}.maximum-capacity"), "80");
        }
        if chance(random, 30) {
            put(
                &format!("root.{queue}.ordering-policy"),
                if queue == "c" { "utilization" } else { "fair" },
            );
        }
        if chance(random, 30) {
            put(&format!("root.{queue}.minimum-user-limit-percent"), "25");
        }
    }
    put(
        "node-locality-delay",
        pick::<&str>(random, &["0", "3", "40"]),
    );
    put(
        "rack-locality-additional-delay",
        pick::<&str>(random, &["-1", "2"]),
    );
    let flag = |random: &mut Random| if chance(random, 60) { "true" } else { "false" };
    put("reservations-continue-look-all-nodes", flag(random));
    put(
        "skip-allocate-on-nodes-with-reserved-containers",
        flag(random),
    );
    put(
        "per-node-heartbeat.multiple-assignments-enabled",
        flag(random),
    );
    if chance(random, 60) {
        put(
            "resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        );
    }
    if mode == ModeKind::Global {
        put("multi-node-placement-enabled", "true");
        put("multi-node-sorting.policy.names", "usage");
        put("multi-node-sorting.policy", "usage");
        put("multi-node-sorting.policy.usage.class", SORTED);
    }
    pairs
}

fn task(random: &mut Random, nodes: &[NodeSpec]) -> TaskGroup {
    let memory = *pick(random, &[1024, 1024, 2048, 3072, 5120, 8192, 16384]);
    let size = ResourceVector::of(&[memory, number(random, 1, 4)]);
    let run = if chance(random, 8) {
        Run::Forever
    } else {
        Run::Same(500 + random.below(20_000))
    };
    let count = u32::try_from(number(random, 1, 8)).unwrap();
    let mut group = TaskGroup::new(size, count, run);
    if chance(random, 30) {
        let node = pick(random, nodes);
        group.hosts.push(node.name.host().to_owned());
        group.racks.push(node.rack.clone());
    }
    group
}

fn case(seed: u64, mode: ModeKind) -> Case {
    let mut random = Random::stream(seed, 77);
    let random = &mut random;
    let preempts = chance(random, 30);
    let site = [
        (
            "yarn.resourcemanager.scheduler.monitor.enable",
            preempts.to_string(),
        ),
        ("yarn.scheduler.maximum-allocation-mb", "16384".to_owned()),
        ("yarn.scheduler.maximum-allocation-vcores", "16".to_owned()),
    ];
    let site = site.map(|(key, value)| (key.to_owned(), value));
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    let loaded = config::from_pairs(&site.into(), &pairs(random, mode), &types).unwrap();
    let labels = chance(random, 40);
    let nodes: Vec<_> = (0..number(random, 1, 9))
        .map(|i| {
            let memory = *pick(random, &[4096, 8192, 8192, 16384]);
            let size = ResourceVector::of(&[memory, number(random, 2, 16)]);
            let mut node = NodeSpec::new(NodeName::new(&format!("n{i}"), 0).unwrap(), size);
            node.rack = format!("/r{}", i % 2);
            if labels && chance(random, 40) {
                node.partition = "x".to_owned();
            }
            node
        })
        .collect();
    let leaves = nodes.iter().filter(|_| chance(random, 10));
    let leaves = leaves.map(|node| node.name.clone()).collect::<Vec<_>>();
    let leaves = leaves
        .into_iter()
        .map(|name| (random.below(60_000), name))
        .collect();
    let jobs = (0..number(random, 3, 25)).map(|i| Job {
        at_ms: random.below(60_000),
        user: (*pick(random, &["u", "v", "w"])).to_owned(),
        queue: (*pick(random, &["root.a", "root.b", "root.c.d", "root.c.e"])).to_owned(),
        name: format!("j{i}"),
        priority: None,
        master: chance(random, 40).then(|| ResourceVector::of(&[1024, 1])),
        partition: (labels && chance(random, 30)).then(|| "x".to_owned()),
        tags: Vec::new(),
        tasks: (0..number(random, 1, 3))
            .map(|_| task(random, &nodes))
            .collect(),
        line: 0,
    });
    let mut jobs: Vec<_> = jobs.collect();
    jobs.sort_by_key(|job| job.at_ms);
    Case {
        mode,
        loaded,
        exclusive: chance(random, 50),
        preempts,
        leaves,
        jobs,
        nodes,
    }
}

/// What a run came to, and the counters of every key at its end.
type Outcome = (RunReport, Vec<(usize, i32, i32, i32)>);

fn play(case: &Case, plain: bool) -> Outcome {
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
