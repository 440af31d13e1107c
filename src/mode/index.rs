//! The node index: the nodes of every partition in the order of the policy, sorted periodically.

use std::sync::Arc;

use super::pieces::{PIECE, Runs};
use crate::cluster::{Node, Partition};
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{NodeOrder, use_key};
use crate::queue::NodePolicy;
use crate::resource::with_width;
use crate::snapshot::{Frozen, Snapshot, State};

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
    /// Changes of the list of each partition when the names were last compared.
    changes: Vec<u64>,
    /// The slots in the order of the names, and the position of each.
    by_name: Vec<NodeSlot>,
    ranks: Vec<u32>,
}

impl NodeSorter {
    /// Sorts the nodes of a snapshot, with a pause after each piece of a partition that is larger than one. The
    /// result holds as long as no node comes or goes: with 100,000 nodes it takes some 0.3 s to get there.
    pub(super) fn sort(&mut self, snapshot: Arc<Snapshot>, pause: &mut impl FnMut()) -> NodeIndex {
        let settings = Arc::clone(&snapshot.settings);
        with_width!(settings.calculator, N => self.sort_by::<N>(snapshot, pause))
    }

    /// The same with keys of so many resource types.
    fn sort_by<const N: usize>(
        &mut self,
        snapshot: Arc<Snapshot>,
        pause: &mut impl FnMut(),
    ) -> NodeIndex {
        let policies = &snapshot.settings.multi_node.policies;
        let policy = policies
            .first()
            .map_or(NodePolicy::ResourceUsage, |policy| policy.order);
        let nodes: Vec<&Node> = snapshot.nodes.iter().collect();
        self.learn_names(&snapshot.partitions, &nodes, pause);
        let partitions = snapshot.partitions.iter().map(|partition| {
            let keys = partition.nodes.iter().map(|slot| {
                let at = slot.index();
                (use_key(policy, nodes[at]).narrow::<N>(), self.ranks[at])
            });
            (partition.changes, Runs::of(keys, pause))
        });
        let partitions: Vec<_> = partitions.collect();
        if let Some(snapshot) = Arc::into_inner(snapshot) {
            snapshot.nodes.forget(PIECE, &mut *pause);
        }
        let sorted = partitions.into_iter().map(|(changes, keys)| {
            let slots = keys.merge(pause).into_iter();
            let slots = slots.map(|(_, rank)| self.by_name[rank as usize]);
            Sorted {
                changes,
                order: slots.collect::<Vec<_>>().into(),
            }
        });
        NodeIndex {
            partitions: sorted.collect(),
        }
    }

    fn learn_names(
        &mut self,
        partitions: &Frozen<Partition>,
        nodes: &[&Node],
        pause: &mut impl FnMut(),
    ) {
        let changes = partitions.iter().map(|partition| partition.changes);
        let changes: Vec<u64> = changes.collect();
        if changes == self.changes {
            return;
        }
        self.changes = changes;
        let names = nodes.iter().enumerate();
        let names = names.map(|(slot, node)| (&node.name, NodeSlot::at(slot)));
        let sorted = Runs::of(names, pause).merge(pause).into_iter();
        self.by_name = sorted.map(|(_, slot)| slot).collect();
        self.ranks = vec![0; nodes.len()];
        for (rank, slot) in (0..).zip(&self.by_name) {
            self.ranks[slot.index()] = rank;
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
