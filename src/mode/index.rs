//! The node index: the nodes of every partition in the order of the policy, sorted periodically.

use crate::cluster::Node;
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::compare_nodes;
use crate::queue::NodePolicy;
use crate::snapshot::{Snapshot, State};

/// Nodes by partition, sorted at one moment; it may lag behind the state.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeIndex {
    partitions: Vec<Vec<NodeSlot>>,
}

impl NodeIndex {
    /// Sorts the nodes of a snapshot.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let policies = &snapshot.settings.multi_node.policies;
        let policy = policies
            .first()
            .map_or(NodePolicy::ResourceUsage, |policy| policy.order);
        let nodes: Vec<&Node> = snapshot.nodes.iter().collect();
        let partitions = snapshot.partitions.iter().map(|partition| {
            let mut sorted = partition.nodes.clone();
            sorted.sort_by(|a, b| compare_nodes(policy, nodes[a.index()], nodes[b.index()]));
            sorted
        });
        Self {
            partitions: partitions.collect(),
        }
    }

    /// The nodes of a partition; in order of arrival while these were not sorted.
    pub(super) fn nodes<'a>(&'a self, state: &'a State, partition: PartitionId) -> &'a [NodeSlot] {
        let sorted = self.partitions.get(partition.index());
        let arrived = &state.partitions[partition].nodes;
        let here = |&node: &NodeSlot| state.nodes[node].partition == partition;
        match sorted {
            Some(sorted) if sorted.len() == arrived.len() && sorted.iter().all(here) => sorted,
            _ => arrived,
        }
    }
}
