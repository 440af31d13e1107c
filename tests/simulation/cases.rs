//! Random clusters, queues and workloads: labels, locality, reservations, preemption, loss of nodes.

use std::collections::BTreeMap;

use capsched::api::{ModeKind, NodeName, NodeSpec, ResourceVector};
use capsched::config::{self, Loaded};
use capsched::simulator::{Job, Random, Run, TaskGroup};

pub(crate) const MODES: [ModeKind; 3] = [
    ModeKind::Heartbeat,
    ModeKind::Asynchronous,
    ModeKind::Global,
];

const SORTED: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                      ResourceUsageMultiNodeLookupPolicy";

/// One random cluster with queues and jobs.
pub(crate) struct Case {
    pub(crate) mode: ModeKind,
    pub(crate) loaded: Loaded,
    pub(crate) exclusive: bool,
    pub(crate) preempts: bool,
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) leaves: Vec<(u64, NodeName)>,
    pub(crate) jobs: Vec<Job>,
}

fn chance(random: &mut Random, percent: u64) -> bool {
    random.below(100) < percent
}

fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    let len = u64::try_from(from.len()).expect("it fits");
    &from[usize::try_from(random.below(len)).expect("it fits")]
}

fn number(random: &mut Random, from: u64, to: u64) -> i64 {
    i64::try_from(from + random.below(to - from + 1)).expect("it fits")
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
    let count = u32::try_from(number(random, 1, 8)).expect("it fits");
    let mut group = TaskGroup::new(size, count, run);
    if chance(random, 30) {
        let node = pick(random, nodes);
        group.hosts.push(node.name.host().to_owned());
        group.racks.push(node.rack.clone());
    }
    group
}

pub(crate) fn case(seed: u64, mode: ModeKind) -> Case {
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
    let loaded = config::from_pairs(&site.into(), &pairs(random, mode), &types)
        .expect("the pairs make a tree");
    let labels = chance(random, 40);
    let nodes: Vec<_> = (0..number(random, 1, 9))
        .map(|i| {
            let memory = *pick(random, &[4096, 8192, 8192, 16384]);
            let size = ResourceVector::of(&[memory, number(random, 2, 16)]);
            let mut node = NodeSpec::new(
                NodeName::new(&format!("n{i}"), 0).expect("the name is one"),
                size,
            );
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
