//! Random scenarios for the differential test: small clusters, deep trees, every kind of step.
//!
//! A scenario is read off a list of drawn numbers, so that proptest can shrink it: smaller numbers
//! stand for plainer choices, and a list that ends early goes on with zeros.

mod dice;
mod steps;
mod tree;

use dice::Dice;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use serde_json::{Map, Value, json};
use steps::Steps;
use tree::Tree;

const PREFIX: &str = "yarn.scheduler.capacity.";
const CALCULATOR: &str = "org.apache.hadoop.yarn.util.resource.";
const LOOKUP: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                      ResourceUsageMultiNodeLookupPolicy";

/// What the steps need to know of the header.
#[derive(Debug)]
pub(crate) struct World {
    /// Number of resource types.
    pub(crate) types: usize,
    /// Full paths and settings of the queues.
    pub(crate) tree: Tree,
    /// Labels of the cluster.
    pub(crate) labels: Vec<&'static str>,
    /// Whether attempts look at all nodes.
    pub(crate) global: bool,
    /// Whether heartbeats leave scheduling to attempts.
    pub(crate) asynchronous: bool,
    /// Whether scheduling requests are taken.
    pub(crate) constraints: bool,
}

/// Scenarios without `expect`: header and steps.
pub(crate) fn scenarios() -> impl Strategy<Value = Value> {
    let header = vec(any::<u16>(), 20..200);
    let steps = vec(vec(any::<u16>(), 6..24), 4..110);
    (header, steps).prop_map(|(header, steps)| scenario(header, &steps))
}

fn scenario(header: Vec<u16>, steps: &[Vec<u16>]) -> Value {
    let mut dice = Dice::new(header);
    let (world, site, config) = world(&mut dice);
    let types: &[&str] = &["memory-mb", "vcores", "yarn.io/gpu"][..world.types];
    let mut writer = Steps::new(&world);
    writer.cluster(&mut dice);
    for (i, numbers) in steps.iter().enumerate() {
        writer.step(&mut Dice::new(numbers.clone()));
        if i % 6 == 5 {
            writer.state();
        }
    }
    writer.state();
    let exclusive = |i: usize| i % 2 == 1;
    let labels: Vec<Value> = world
        .labels
        .iter()
        .enumerate()
        .map(|(i, name)| json!({"name": name, "exclusive": exclusive(i)}))
        .collect();
    json!({
        "name": "generated", "resource_types": types, "site": site, "config": config,
        "cluster_labels": labels, "steps": writer.finish(),
    })
}

/// The header: what the cluster is like, and its configuration.
fn world(dice: &mut Dice) -> (World, Map<String, Value>, Map<String, Value>) {
    let gpu = dice.chance(10);
    let dominant = gpu || dice.chance(50);
    let labels: &[&str] = dice.pick(&[&[], &[], &[], &["x"], &["x", "y"]]);
    let mut site = Map::new();
    put(
        &mut site,
        "yarn.scheduler.minimum-allocation-mb",
        dice.pick(&["1024", "512", "1000"]),
    );
    put(
        &mut site,
        "yarn.scheduler.maximum-allocation-mb",
        dice.pick(&["8192", "16384", "4096"]),
    );
    put(
        &mut site,
        "yarn.scheduler.maximum-allocation-vcores",
        dice.pick(&["8", "4", "16"]),
    );
    if gpu {
        put(&mut site, "yarn.resource-types", "yarn.io/gpu");
    }
    if dice.chance(30) {
        put(&mut site, "yarn.cluster.max-application-priority", "10");
    }
    let constraints = dice.chance(15);
    if constraints {
        put(
            &mut site,
            "yarn.resourcemanager.placement-constraints.handler",
            "scheduler",
        );
    }
    let mut config = Map::new();
    let kind = if dominant { "Dominant" } else { "Default" };
    let class = format!("{CALCULATOR}{kind}ResourceCalculator");
    set(&mut config, "resource-calculator", &class);
    let global = dice.chance(15);
    if global {
        set(&mut config, "multi-node-placement-enabled", "true");
        set(&mut config, "multi-node-sorting.policy", "usage");
        set(&mut config, "multi-node-sorting.policy.names", "usage");
        set(&mut config, "multi-node-sorting.policy.usage.class", LOOKUP);
        set(
            &mut config,
            "multi-node-sorting.policy.usage.sorting-interval.ms",
            "0",
        );
    }
    let asynchronous = dice.chance(15);
    if asynchronous {
        set(&mut config, "schedule-asynchronously.enable", "true");
    }
    scheduler_settings(dice, &mut config);
    let tree = Tree::draw(dice, labels, gpu);
    tree.settings(&mut config);
    let world = World {
        types: if gpu { 3 } else { 2 },
        tree,
        labels: labels.to_vec(),
        global,
        asynchronous,
        constraints,
    };
    (world, site, config)
}

/// Settings of the whole scheduler, each with a chance to be absent.
fn scheduler_settings(dice: &mut Dice, config: &mut Map<String, Value>) {
    let choices: [(&str, u16, &[&str]); 11] = [
        (
            "maximum-am-resource-percent",
            80,
            &["1.0", "0.5", "0.3", "0.1"],
        ),
        ("node-locality-delay", 60, &["0", "1", "2", "-1", "40"]),
        ("rack-locality-additional-delay", 30, &["-1", "0", "1", "3"]),
        ("rack-locality-full-reset", 20, &["true", "false"]),
        (
            "per-node-heartbeat.multiple-assignments-enabled",
            20,
            &["false"],
        ),
        (
            "per-node-heartbeat.maximum-container-assignments",
            30,
            &["-1", "1", "2", "4"],
        ),
        (
            "per-node-heartbeat.maximum-offswitch-assignments",
            70,
            &["1", "2", "5", "100"],
        ),
        ("reservations-continue-look-all-nodes", 20, &["false"]),
        (
            "skip-allocate-on-nodes-with-reserved-containers",
            10,
            &["true"],
        ),
        ("max-parallel-apps", 15, &["4", "2", "1"]),
        ("user.max-parallel-apps", 15, &["3", "2", "1"]),
    ];
    for (key, chance, values) in choices {
        if dice.chance(chance) {
            set(config, key, dice.pick(values));
        }
    }
    if dice.chance(10) {
        set(config, "maximum-applications", dice.pick(&["20", "8", "3"]));
    }
}

fn put(pairs: &mut Map<String, Value>, key: &str, value: &str) {
    pairs.insert(key.to_owned(), json!(value));
}

/// Sets a key of capacity-scheduler.xml, without its common prefix.
pub(crate) fn set(config: &mut Map<String, Value>, key: &str, value: &str) {
    put(config, &format!("{PREFIX}{key}"), value);
}
