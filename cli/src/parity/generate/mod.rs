//! Random scenarios: small clusters, deep trees, every kind of step.
//!
//! A scenario is read off a list of drawn numbers, so that it can be shrunk: smaller numbers
//! stand for plainer choices, and a list that ends early goes on with zeros.

pub(crate) mod admissions;
mod asks;
mod dice;
mod lists;
mod profile;
mod refresh;
mod rules;
mod steps;
mod tree;

use dice::Dice;
pub(crate) use profile::Profile;
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
    /// Whether rounds of preemption are among the steps.
    pub(crate) preemption: bool,
    /// Whether many users submit.
    pub(crate) many_users: bool,
    /// Whether refreshes are frequent.
    pub(crate) refreshes: bool,
    /// Whether containers change.
    pub(crate) updates: bool,
}

/// A scenario without `expect`, for the real scheduler or for the model of the tests: the header follows from
/// the first numbers, a step from each list.
pub(crate) fn scenario(
    profile: Profile,
    real: bool,
    header: Vec<u16>,
    steps: &[Vec<u16>],
) -> Value {
    let mut dice = Dice::with(header, real);
    let (world, site, config) = world(profile, &mut dice);
    let types: &[&str] = &["memory-mb", "vcores", "yarn.io/gpu", "licences"][..world.types];
    let mut writer = Steps::new(&world);
    writer.cluster(&mut dice);
    for (i, numbers) in steps.iter().enumerate() {
        writer.step(&mut Dice::with(numbers.clone(), real));
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

/// Whether nodes are looked at without heartbeats.
const ASYNCHRONOUS: &str = "schedule-asynchronously.enable";

/// The header: what the cluster is like, and its configuration.
fn world(profile: Profile, dice: &mut Dice) -> (World, Map<String, Value>, Map<String, Value>) {
    let gpu = dice.chance(10) || profile == Profile::Drf;
    let dominant = gpu || dice.chance(50);
    let labels = labels(profile, dice);
    let constraints = dice.chance(15) || profile == Profile::Constraints;
    let licences = gpu && dice.rare(30);
    let mut site = site(profile, dice, gpu, constraints);
    if licences {
        put(&mut site, "yarn.resource-types", "yarn.io/gpu,licences");
    }
    let mut config = Map::new();
    let kind = if dominant { "Dominant" } else { "Default" };
    let class = format!("{CALCULATOR}{kind}ResourceCalculator");
    set(&mut config, "resource-calculator", &class);
    let global = dice.chance(15) || profile == Profile::Global;
    if global {
        global_settings(dice, &mut config);
    }
    let asynchronous = dice.chance(15) || profile == Profile::AsyncNode;
    set(&mut config, ASYNCHRONOUS, &asynchronous.to_string());
    scheduler_settings(dice, &mut config);
    if profile == Profile::Preempt {
        profile::preemption_of_queues(dice, &mut config);
    }
    let tree = Tree::draw(profile, dice, labels, gpu);
    tree.settings(&mut config);
    let world = World {
        types: 2 + usize::from(gpu) + usize::from(licences),
        tree,
        labels: labels.to_vec(),
        global,
        asynchronous,
        constraints,
        preemption: profile == Profile::Preempt,
        many_users: profile == Profile::Users,
        refreshes: profile == Profile::Refresh,
        updates: profile == Profile::Updates,
    };
    (world, site, config)
}

/// The labels of the cluster.
fn labels(profile: Profile, dice: &mut Dice) -> &'static [&'static str] {
    let labels: &[&str] = dice.pick(&[&[], &[], &[], &["x"], &["x", "y"]]);
    if profile == Profile::Labels && labels.is_empty() {
        return &["x", "y"];
    }
    labels
}

/// Placement over all nodes, which are sorted at each look.
fn global_settings(dice: &mut Dice, config: &mut Map<String, Value>) {
    set(config, "multi-node-placement-enabled", "true");
    // Without a policy of the scheduler only queues that name one look at all nodes sorted.
    if !dice.rare(15) {
        set(config, "multi-node-sorting.policy", "usage");
    }
    set(config, "multi-node-sorting.policy.names", "usage");
    set(config, "multi-node-sorting.policy.usage.class", LOOKUP);
    let interval = "multi-node-sorting.policy.usage.sorting-interval.ms";
    set(config, interval, "0");
}

/// Properties of the site.
fn site(profile: Profile, dice: &mut Dice, gpu: bool, constraints: bool) -> Map<String, Value> {
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
    if constraints {
        put(
            &mut site,
            "yarn.resourcemanager.placement-constraints.handler",
            "scheduler",
        );
    }
    if profile == Profile::Preempt {
        profile::preemption(dice, &mut site);
    }
    site
}

/// Settings of the whole scheduler: the key, the chance in percent to be present, the values.
const SCHEDULER_SETTINGS: [(&str, u16, &[&str]); 11] = [
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

/// Settings of the whole scheduler, each with a chance to be absent.
fn scheduler_settings(dice: &mut Dice, config: &mut Map<String, Value>) {
    for (key, chance, values) in SCHEDULER_SETTINGS {
        if dice.chance(chance) {
            set(config, key, dice.pick(values));
        }
    }
    if dice.chance(10) {
        set(config, "maximum-applications", dice.pick(&["20", "8", "3"]));
    }
}

pub(crate) fn put(pairs: &mut Map<String, Value>, key: &str, value: &str) {
    pairs.insert(key.to_owned(), json!(value));
}

/// Sets a key of capacity-scheduler.xml, without its common prefix.
pub(crate) fn set(config: &mut Map<String, Value>, key: &str, value: &str) {
    put(config, &format!("{PREFIX}{key}"), value);
}
