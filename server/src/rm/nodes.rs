//! Nodes as they registered, those that are gone included.

use std::collections::BTreeMap;

use capsched::api::NodeName;

use super::command::NodeRegistration;

/// Where a node stands.
// As NodeState of YARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeLife {
    /// Takes containers.
    Running,
    /// Reports that it is not well.
    Unhealthy,
    /// Takes no new containers and leaves when the last one ended.
    Decommissioning,
    /// Left by order.
    Decommissioned,
    /// Did not report in time.
    Lost,
    /// Left by itself.
    Shutdown,
}

impl NodeLife {
    /// YARN's words for what a filter may name, in YARN's order.
    pub const NAMES: [&'static str; 8] = [
        "NEW",
        "RUNNING",
        "UNHEALTHY",
        "DECOMMISSIONED",
        "LOST",
        "REBOOTED",
        "DECOMMISSIONING",
        "SHUTDOWN",
    ];

    /// YARN's word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Unhealthy => "UNHEALTHY",
            Self::Decommissioning => "DECOMMISSIONING",
            Self::Decommissioned => "DECOMMISSIONED",
            Self::Lost => "LOST",
            Self::Shutdown => "SHUTDOWN",
        }
    }

    /// Whether the node has left the cluster.
    #[must_use]
    pub const fn is_gone(self) -> bool {
        matches!(self, Self::Decommissioned | Self::Lost | Self::Shutdown)
    }
}

/// What is known of a node beside what the scheduler counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeRecord {
    /// As it registered last.
    pub registration: NodeRegistration,
    /// Where it stands.
    pub life: NodeLife,
    /// When it last reported, in ms since the Unix epoch.
    pub reported_ms: u64,
    /// What it says about its health.
    pub health: String,
}

/// All nodes that ever registered, by name.
#[derive(Debug, Default)]
pub struct NodeRegistry {
    nodes: BTreeMap<NodeName, NodeRecord>,
}

impl NodeRegistry {
    /// A node.
    #[must_use]
    pub fn get(&self, name: &NodeName) -> Option<&NodeRecord> {
        self.nodes.get(name)
    }

    /// All nodes in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeName, &NodeRecord)> {
        self.nodes.iter()
    }

    /// How many nodes stand somewhere.
    #[must_use]
    pub fn count(&self, life: NodeLife) -> usize {
        self.nodes.values().filter(|node| node.life == life).count()
    }

    pub(super) fn get_mut(&mut self, name: &NodeName) -> Option<&mut NodeRecord> {
        self.nodes.get_mut(name)
    }

    pub(super) fn register(&mut self, name: NodeName, of: NodeRegistration, now_ms: u64) {
        let record = NodeRecord {
            registration: of,
            life: NodeLife::Running,
            reported_ms: now_ms,
            // As RMNodeImpl, until the first heartbeat.
            health: "Healthy".to_owned(),
        };
        self.nodes.insert(name, record);
    }
}
