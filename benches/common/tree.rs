//! Sizes and settings of the cluster of the benches.

use std::collections::BTreeMap;

use capsched::config;
use capsched::queue::TreeSettings;
use capsched::resource::ResourceVector;

/// Sizes of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Nodes of 128 GiB and 32 vcores.
    pub(crate) nodes: u32,
    /// Leaves under root, with equal shares.
    pub(crate) leaves: u32,
    /// Applications, spread over the leaves.
    pub(crate) apps: u32,
    /// Users, spread over the applications.
    pub(crate) users: u32,
}

/// The canonical workload's size.
pub(crate) const S1: Size = Size {
    nodes: 1_000,
    leaves: 10,
    apps: 100,
    users: 20,
};

/// Settings of `leaves` equal leaves.
///
/// # Panics
///
/// When they are no tree, which they are.
#[must_use]
pub(crate) fn settings(leaves: u32) -> TreeSettings {
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let names: Vec<String> = (0..leaves).map(|i| format!("q{i}")).collect();
    let mut pairs = vec![
        ("resource-calculator".to_owned(), calculator.to_owned()),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
        ("root.queues".to_owned(), names.join(",")),
    ];
    for name in &names {
        let share = format!("{}.{:03}", 100 / leaves, 100_000 / leaves % 1_000);
        pairs.push((format!("root.{name}.capacity"), share));
        pairs.push((format!("root.{name}.user-limit-factor"), "1000".to_owned()));
    }
    let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
    let pairs: BTreeMap<String, String> = pairs.into_iter().map(prefixed).collect();
    let types = ["memory-mb".to_owned(), "vcores".to_owned()];
    // Otherwise every queue is exempt from preemption; rounds run only where a bench runs them.
    let monitor = "yarn.resourcemanager.scheduler.monitor.enable";
    let site = BTreeMap::from([(monitor.to_owned(), "true".to_owned())]);
    let loaded = config::from_pairs(&site, &pairs, &types);
    loaded.expect("a tree of equal leaves").settings
}

/// One container of every application here: 4 GiB, 1 vcore.
#[must_use]
pub(crate) fn container() -> ResourceVector {
    ResourceVector::of(&[4096, 1])
}
