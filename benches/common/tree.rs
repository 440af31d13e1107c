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
    /// Queues with equal shares below each queue, from root down to the leaves.
    pub(crate) levels: &'static [u32],
    /// Applications, spread over the leaves.
    pub(crate) apps: u32,
    /// Users, spread over the applications.
    pub(crate) users: u32,
}

impl Size {
    pub(crate) fn leaves(&self) -> u32 {
        self.levels.iter().product()
    }

    /// The path of a leaf by its number.
    pub(crate) fn leaf(&self, number: u32) -> String {
        let (mut path, mut below) = ("root".to_owned(), self.leaves());
        for width in self.levels {
            below /= width;
            path += &format!(".q{}", number / below % width);
        }
        path
    }
}

/// The canonical workload's size.
pub(crate) const S1: Size = Size {
    nodes: 1_000,
    levels: &[10],
    apps: 100,
    users: 20,
};

/// Settings of a tree whose queues have equal shares of what is above them.
///
/// # Panics
///
/// When they are no tree, which they are.
#[must_use]
pub(crate) fn settings(levels: &[u32]) -> TreeSettings {
    let calculator = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    let mut pairs = vec![
        ("resource-calculator".to_owned(), calculator.to_owned()),
        ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
    ];
    let mut above = vec!["root".to_owned()];
    for width in levels {
        let names: Vec<String> = (0..*width).map(|i| format!("q{i}")).collect();
        let share = format!("{}.{:03}", 100 / width, 100_000 / width % 1_000);
        let mut children = Vec::new();
        for parent in above {
            pairs.push((format!("{parent}.queues"), names.join(",")));
            children.extend(names.iter().map(|name| format!("{parent}.{name}")));
        }
        pairs.extend(
            children
                .iter()
                .map(|child| (format!("{child}.capacity"), share.clone())),
        );
        above = children;
    }
    let factor = |leaf| (format!("{leaf}.user-limit-factor"), "1000".to_owned());
    pairs.extend(above.iter().map(factor));
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
