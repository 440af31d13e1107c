//! Nodes that register at once leave the queues as they would one after the other.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use capsched::api::{
    ModeKind, NodeSpec, PartitionSpec, ResourceVector, Scheduler, Sequential, Stepped,
};
use capsched::config;
use capsched::simulator::Random;

/// What the tree is given by: percentages, weights, absolute amounts, and vectors of mixed capacities.
const CAPACITIES: [[&str; 4]; 4] = [
    ["40", "60", "50", "50"],
    ["1w", "3w", "2w", "5w"],
    [
        "[memory=4096,vcores=4]",
        "[memory=8192,vcores=3]",
        "[memory=3000,vcores=2]",
        "[memory=4000,vcores=1]",
    ],
    [
        "[memory=50%,vcores=2]",
        "[memory=1w,vcores=1w]",
        "[memory=2048,vcores=30%]",
        "[memory=1w,vcores=1w]",
    ],
];

fn settings(random: &mut Random, kind: usize) -> capsched::api::TreeSettings {
    let mut pairs = BTreeMap::new();
    let mut put = |key: &str, value: &str| {
        pairs.insert(format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    };
    put("root.queues", "a,b");
    put("root.b.queues", "c,d");
    put(
        "legacy-queue-mode.enabled",
        if kind == 3 { "false" } else { "true" },
    );
    let of = CAPACITIES[kind];
    for (queue, capacity) in ["a", "b", "b.c", "b.d"].iter().zip(of) {
        put(&format!("root.{queue}.capacity"), capacity);
        if random.below(2) == 0 {
            let most = ["0", "1", "70"][usize::try_from(random.below(3)).unwrap()];
            let most = if kind == 2 {
                "[memory=9000,vcores=7]"
            } else {
                most
            };
            let least = capacity.parse::<u64>().unwrap_or(0);
            if kind > 0 || most.parse::<u64>().is_ok_and(|most| most >= least) {
                put(&format!("root.{queue}.maximum-capacity"), most);
            }
        }
    }
    if random.below(2) == 0 {
        let class = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
        put("resource-calculator", class);
    }
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    config::from_pairs(&BTreeMap::new(), &pairs, &types)
        .unwrap()
        .settings
}

/// Everything of queues and partitions that a decision reads; of figures that are kept by version, nothing.
fn shown(engine: &Stepped) -> Vec<String> {
    let state = engine.engine().ledger().state();
    let queues = state.queues.iter().map(|queue| {
        let parts = state.partition_ids().map(|partition| {
            let part = queue.part(partition);
            let own = (part.configured, part.known, part.counted, part.mode);
            let shares = (part.capacity, part.absolute_capacity, part.maximum_capacity);
            let other = (part.absolute_maximum, part.weight, part.normalized_weight);
            let used = (part.used_capacity, part.absolute_used, &part.minimum_ratio);
            let amounts = (&part.guaranteed, &part.limit, part.amounts.maximum());
            format!("{own:?} {shares:?} {other:?} {used:?} {amounts:?}")
        });
        let parts: Vec<String> = parts.collect();
        let leaf = queue.leaf.as_ref().map(|leaf| {
            let most = (
                leaf.maximum_applications,
                leaf.maximum_applications_per_user,
            );
            let limits = state
                .partition_ids()
                .map(|at| leaf.parts[at].master_limit());
            let limits: Vec<_> = limits.collect();
            format!("{:?} {most:?} {limits:?}", leaf.published_limit)
        });
        format!("{} {parts:?} {leaf:?}", queue.settings.path)
    });
    let partitions = state.partitions.iter().map(|partition| {
        format!(
            "{} {:?} {}",
            partition.total, partition.nodes, partition.changes
        )
    });
    queues.chain(partitions).collect()
}

#[test]
fn nodes_that_register_at_once_leave_the_same_capacities() {
    for kind in 0..CAPACITIES.len() {
        for seed in 0..20 {
            let mut random = Random::stream(seed, 91);
            let settings = settings(&mut random, kind);
            let partition = PartitionSpec {
                name: "x".to_owned(),
                exclusive: true,
            };
            let engine = || {
                let partitions = std::slice::from_ref(&partition);
                let engine = Sequential::new(settings.clone(), partitions).unwrap();
                Stepped::new(engine, ModeKind::Heartbeat)
            };
            let nodes = (0..1 + random.below(9)).map(|i| {
                let memory = [1, 1000, 8192][usize::try_from(random.below(3)).unwrap()];
                let cores = i64::try_from(random.below(9)).unwrap();
                let total = ResourceVector::of(&[memory, cores]);
                let mut node = NodeSpec::new(format!("n{i}:1").parse().unwrap(), total);
                if random.below(4) == 0 {
                    node.partition = "x".to_owned();
                }
                node
            });
            let nodes: Vec<NodeSpec> = nodes.collect();
            let (mut together, mut alone) = (engine(), engine());
            together.add_nodes(nodes.clone()).unwrap();
            for node in nodes {
                alone.add_node(node).unwrap();
            }
            assert_eq!(shown(&together), shown(&alone), "{kind} {seed}");
        }
    }
}

#[test]
fn nodes_before_one_that_is_refused_are_registered() {
    let settings = settings(&mut Random::stream(1, 91), 0);
    let mut engine = Stepped::new(Sequential::new(settings, &[]).unwrap(), ModeKind::Heartbeat);
    let node = |name: &str| {
        let total = ResourceVector::of(&[4096, 4]);
        NodeSpec::new(name.parse().unwrap(), total)
    };
    let twice = engine.add_nodes(vec![node("a:1"), node("b:1"), node("a:1"), node("c:1")]);
    assert!(twice.unwrap_err().to_string().contains("a:1"));
    let state = engine.engine().ledger().state();
    assert_eq!(state.node_count, 2);
    assert_eq!(state.cluster, ResourceVector::of(&[8192, 8]));
    let root = &state.queues.iter().next().unwrap().parts;
    assert_eq!(root.iter().next().unwrap().guaranteed, state.cluster);
}
