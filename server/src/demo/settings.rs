//! The configuration of the demonstration: four parts of a company, a partition with GPUs, limits that bind.

use crate::rm::Pairs;

/// The user that administers the demonstration.
pub const ADMINISTRATOR: &str = "yarn";

/// The label of nodes with GPUs.
pub(super) const GPU: &str = "gpu";

/// A leaf of the demonstration, with what is submitted to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) path: &'static str,
    pub(super) users: &'static [&'static str],
    /// Applications of a hundred that go there.
    pub(super) share: u64,
    /// Whether tasks ask for nodes with GPUs.
    pub(super) gpu: bool,
}

/// The leaves; their shares make a hundred.
pub(super) const LEAVES: [Leaf; 6] = [
    leaf("root.prod.serving", &["ann", "bea"], 20, false),
    leaf("root.prod.etl", &["etl"], 25, false),
    leaf("root.dev.search", &["cyd", "dan", "eve"], 20, false),
    leaf("root.dev.ads", &["fay", "gus"], 15, false),
    leaf("root.ml", &["hal", "ida"], 8, true),
    leaf("root.adhoc", &["joe", "kim", "lou", "max"], 12, false),
];

const fn leaf(path: &'static str, users: &'static [&'static str], share: u64, gpu: bool) -> Leaf {
    Leaf {
        path,
        users,
        share,
        gpu,
    }
}

const SITE: [(&str, &str); 8] = [
    ("yarn.acl.enable", "true"),
    ("yarn.admin.acl", ADMINISTRATOR),
    ("yarn.scheduler.minimum-allocation-mb", "1024"),
    ("yarn.scheduler.maximum-allocation-mb", "65536"),
    ("yarn.scheduler.minimum-allocation-vcores", "1"),
    ("yarn.scheduler.maximum-allocation-vcores", "16"),
    ("yarn.node-labels.enabled", "true"),
    ("yarn.scheduler.configuration.store.class", "memory"),
];

/// Below `yarn.scheduler.capacity.`.
const SCHEDULER: [(&str, &str); 37] = [
    ("maximum-applications", "20000"),
    ("maximum-am-resource-percent", "0.2"),
    (
        "resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    ),
    ("root.queues", "prod,dev,ml,adhoc"),
    ("root.acl_submit_applications", "*"),
    ("root.acl_administer_queue", ADMINISTRATOR),
    ("root.accessible-node-labels", "*"),
    ("root.accessible-node-labels.gpu.capacity", "100"),
    ("root.prod.capacity", "50"),
    ("root.prod.maximum-capacity", "100"),
    ("root.prod.accessible-node-labels.gpu.capacity", "20"),
    ("root.prod.queues", "serving,etl"),
    ("root.prod.serving.capacity", "60"),
    ("root.prod.serving.priority", "5"),
    ("root.prod.serving.user-limit-factor", "2"),
    (
        "root.prod.serving.accessible-node-labels.gpu.capacity",
        "100",
    ),
    ("root.prod.etl.capacity", "40"),
    ("root.prod.etl.user-limit-factor", "3"),
    ("root.prod.etl.accessible-node-labels.gpu.capacity", "0"),
    ("root.dev.capacity", "30"),
    ("root.dev.maximum-capacity", "60"),
    ("root.dev.accessible-node-labels.gpu.capacity", "10"),
    ("root.dev.queues", "search,ads"),
    ("root.dev.search.capacity", "60"),
    ("root.dev.search.minimum-user-limit-percent", "25"),
    ("root.dev.search.ordering-policy", "fair"),
    ("root.dev.search.accessible-node-labels.gpu.capacity", "50"),
    ("root.dev.ads.capacity", "40"),
    ("root.dev.ads.maximum-am-resource-percent", "0.1"),
    ("root.dev.ads.accessible-node-labels.gpu.capacity", "50"),
    ("root.ml.capacity", "10"),
    ("root.ml.maximum-capacity", "20"),
    ("root.ml.user-limit-factor", "2"),
    ("root.ml.accessible-node-labels.gpu.capacity", "70"),
    ("root.adhoc.capacity", "10"),
    ("root.adhoc.maximum-capacity", "25"),
    ("root.adhoc.accessible-node-labels.gpu.capacity", "0"),
];

fn pairs(prefix: &str, list: &[(&str, &str)]) -> Pairs {
    let owned = list
        .iter()
        .map(|(key, value)| (format!("{prefix}{key}"), (*value).to_owned()));
    owned.collect()
}

/// `yarn-site.xml` of the demonstration.
pub(super) fn site() -> Pairs {
    pairs("", &SITE)
}

/// `capacity-scheduler.xml` of the demonstration.
pub(super) fn scheduler() -> Pairs {
    pairs("yarn.scheduler.capacity.", &SCHEDULER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_the_leaves_make_a_hundred() {
        let sum: u64 = LEAVES.iter().map(|leaf| leaf.share).sum();
        assert_eq!(sum, 100);
    }
}
