//! What the file of a workload holds.

use serde::Deserialize;

/// Equal nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cluster {
    pub(crate) nodes: u32,
    /// Amounts of one node by type: MiB, vcores, then the other types.
    pub(crate) node: Vec<i64>,
    /// Resource types beyond memory and vcores.
    #[serde(default)]
    pub(crate) more_types: Vec<String>,
    /// Smallest allocation in MiB.
    #[serde(default = "kib")]
    pub(crate) minimum_mib: i64,
    /// Labels; nodes and applications take turns through the default partition and these.
    #[serde(default)]
    pub(crate) partitions: Vec<String>,
    /// In which order global mode looks at nodes.
    #[serde(default)]
    pub(crate) order: NodeOrder,
}

/// Which node comes first of those with room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NodeOrder {
    /// The emptiest, as Hadoop's own order has it.
    #[default]
    Spread,
    /// The fullest.
    BestFit,
}

/// A tree of equal queues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queues {
    /// Children of each queue by level.
    pub(crate) levels: Vec<u32>,
    pub(crate) user_percent: u32,
    pub(crate) user_factor: String,
    /// Share of a queue that masters may have, as the configuration writes it.
    #[serde(default = "whole")]
    pub(crate) am_share: String,
}

fn whole() -> String {
    "1".to_owned()
}

/// Applications that ask once, each for containers of one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    pub(crate) apps: u32,
    pub(crate) users: u32,
    /// Sizes; applications take turns.
    pub(crate) containers: Vec<Vec<i64>>,
    /// Containers asked for in all; 1.25 times what fits unless given.
    pub(crate) asked: Option<u32>,
    #[serde(default)]
    pub(crate) hopeless: Hopeless,
    /// Share of the applications that are hopeless, in tenths of each leaf.
    #[serde(default = "nine")]
    pub(crate) hopeless_tenths: u32,
    /// Containers a heartbeat may place.
    #[serde(default = "one")]
    pub(crate) a_heartbeat: u32,
}

/// Why some applications get nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Hopeless {
    #[default]
    None,
    /// They ask for containers of twice the memory of a node.
    Size,
    /// Their users are held at their limit by weights.
    User,
}

/// What is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Run {
    /// From the first container until the cluster is as full as required.
    Fill {
        /// Share of what fits at which a round ends.
        #[serde(default = "ninety_nine")]
        until_percent: u32,
    },
    /// Containers given back and asked for again, one ask open for each application.
    Churn {
        /// Share of what fits that is allocated first.
        full_percent: u32,
        /// Length of a round unless the command says otherwise.
        seconds: u32,
        /// Each node reports once in so many milliseconds; no node does unless given, besides
        /// those that are scheduled by it.
        heartbeat_interval_ms: Option<u32>,
    },
    /// Asks on a fixed schedule, each with a container given back.
    Open {
        full_percent: u32,
        /// Asks a second, one run for each.
        rates: Vec<u32>,
        seconds: u32,
    },
    /// Heartbeats of nodes where nothing may be placed any more.
    Beats { seconds: u32 },
    /// A pod list of a real cluster, in its order.
    Trace {
        /// How often cluster and pods are repeated.
        copies: u32,
    },
}

const fn kib() -> i64 {
    1024
}

const fn nine() -> u32 {
    9
}

const fn one() -> u32 {
    1
}

const fn ninety_nine() -> u32 {
    99
}
