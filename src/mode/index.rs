//! The node index: the nodes of every partition in the order of the policy, sorted periodically.

use crate::cluster::Node;
use crate::id::PartitionId;
use crate::proposer::{NodeOrder, use_key};
use crate::queue::NodePolicy;
use crate::snapshot::{Snapshot, State};

/// Nodes by partition, sorted at one moment; it may lag behind the state.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeIndex {
    partitions: Vec<Sorted>,
}

/// The nodes of a partition, as its list was at a count of its changes.
#[derive(Clone, Debug)]
struct Sorted {
    changes: u64,
    order: NodeOrder,
}

/// Sorts nodes, and remembers the order of their names, which changes only as nodes come and go.
#[derive(Debug, Default)]
pub(super) struct NodeSorter {
    /// Of each slot when the names were last compared.
    incarnations: Vec<u32>,
    /// Position of each slot in the order of the names.
    ranks: Vec<u32>,
}

impl NodeSorter {
    /// Sorts the nodes of a snapshot.
    pub(super) fn sort(&mut self, snapshot: &Snapshot) -> NodeIndex {
        let policies = &snapshot.settings.multi_node.policies;
        let policy = policies
            .first()
            .map_or(NodePolicy::ResourceUsage, |policy| policy.order);
        let nodes: Vec<&Node> = snapshot.nodes.iter().collect();
        self.learn_names(&nodes);
        let partitions = snapshot.partitions.iter().map(|partition| {
            let mut sorted = partition.nodes.clone();
            sorted.sort_by_cached_key(|slot| {
                let at = slot.index();
                (use_key(policy, nodes[at]), self.ranks[at])
            });
            Sorted {
                changes: partition.changes,
                order: sorted.into(),
            }
        });
        NodeIndex {
            partitions: partitions.collect(),
        }
    }

    fn learn_names(&mut self, nodes: &[&Node]) {
        let incarnations = nodes.iter().map(|node| node.incarnation);
        if incarnations.clone().eq(self.incarnations.iter().copied()) {
            return;
        }
        self.incarnations = incarnations.collect();
        let mut by_name: Vec<_> = (0_u32..).zip(nodes).collect();
        by_name.sort_by_key(|(_, node)| &node.name);
        self.ranks = vec![0; nodes.len()];
        for (rank, (slot, _)) in (0..).zip(by_name) {
            self.ranks[slot as usize] = rank;
        }
    }
}

impl NodeIndex {
    /// The nodes of a partition; in order of arrival while these were not sorted.
    ///
    /// Cost: where they were, that of sharing their order.
    pub(super) fn order(&self, state: &State, partition: PartitionId) -> NodeOrder {
        let arrived = &state.partitions[partition];
        match self.partitions.get(partition.index()) {
            Some(sorted) if sorted.changes == arrived.changes => sorted.order.clone(),
            _ => arrived.nodes.clone().into(),
        }
    }
}
