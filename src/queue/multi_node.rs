//! Settings of attempts that look at several nodes.

use std::sync::Arc;

/// `multi-node-placement-enabled` and `multi-node-sorting.*`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MultiNodeSettings {
    /// Whether one attempt looks at all nodes of the partition.
    pub enabled: bool,
    /// The policies that are sorted, in the order of their list.
    pub policies: Vec<NodePolicySettings>,
}

impl MultiNodeSettings {
    /// Turns on looks at all nodes, by the first policy; least allocated first where there is none. The name of the
    /// policy.
    pub(super) fn look_at_all(&mut self) -> Arc<str> {
        self.enabled = true;
        if self.policies.is_empty() {
            self.policies.push(NodePolicySettings {
                name: "all-nodes".into(),
                order: NodePolicy::ResourceUsage,
                interval_ms: 0,
            });
        }
        let first = &mut self.policies[0];
        first.interval_ms = 0;
        Arc::clone(&first.name)
    }
}

/// One node lookup policy by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePolicySettings {
    /// Name that queues refer to.
    pub name: Arc<str>,
    /// How it orders nodes.
    pub order: NodePolicy,
    /// Time between two sorts in ms; 0: before each use.
    pub interval_ms: u64,
}

/// How a node lookup policy orders the nodes of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePolicy {
    /// Least allocated first (`ResourceUsageMultiNodeLookupPolicy`).
    ResourceUsage,
    /// The same with each full block of ten shuffled
    /// (`ResourceUsageWithPartialShuffleMultiNodeLookupPolicy`).
    ResourceUsagePartialShuffle,
    /// Most allocated first: fills nodes one after another. Not of the reference.
    BestFit,
}
