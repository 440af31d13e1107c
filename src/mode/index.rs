//! The node index: the nodes of every partition in the order of the policy, sorted periodically.

use std::sync::Arc;

use crate::id::{NodeSlot, PartitionId};
use crate::proposer::sort_nodes;
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
        let mut state = State::new(Arc::clone(&snapshot.settings));
        let empty = Snapshot::empty(Arc::clone(&snapshot.settings));
        state.nodes.refresh(&empty.nodes, &snapshot.nodes);
        let policy = snapshot
            .settings
            .multi_node
            .policies
            .first()
            .map_or(NodePolicy::ResourceUsage, |policy| policy.order);
        let partitions = snapshot
            .partitions
            .iter()
            .map(|partition| sort_nodes(&state, policy, &partition.nodes))
            .collect();
        Self { partitions }
    }

    /// The nodes of a partition; in order of arrival while nothing was sorted.
    pub(super) fn nodes<'a>(&'a self, state: &'a State, partition: PartitionId) -> &'a [NodeSlot] {
        let sorted = self.partitions.get(partition.index());
        let arrived = &state.partitions[partition].nodes;
        match sorted {
            Some(sorted) if sorted.len() == arrived.len() => sorted,
            _ => arrived,
        }
    }
}
