//! Nodes from the least to the most loaded: by the length of their queues, then by when they were looked at.
//!
//! Of nodes with queues of one length the one that was looked at longest ago comes first. So containers are spread
//! over them, and nodes that cannot take a container are not looked at again and again.
//!
//! Cost of each change: a few searches in a sorted set.
//!
//! Tests: `tests/commit/opportunistic/placement.rs`.
// As NodeQueueLoadMonitor, which sorts in intervals and takes a random one of the first nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::Node;
use crate::id::{NameId, NodeSlot, PartitionId};

/// What nodes have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NodeGroup {
    /// The partition.
    Partition(PartitionId),
    /// The host or the rack.
    Place(NameId),
}

/// Where a node stands in the groups that it belongs to.
#[derive(Clone, Copy, Debug)]
struct NodeLoad {
    groups: [NodeGroup; 3],
    length: u32,
    /// When it was looked at, counted in looks.
    looked_at: u64,
}

/// Nodes in the order of their load, in each group.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadOrder {
    nodes: BTreeMap<NodeSlot, NodeLoad>,
    order: BTreeSet<(NodeGroup, u32, u64, NodeSlot)>,
    looks: u64,
}

impl LoadOrder {
    /// A node with an empty queue comes, and was not looked at yet.
    pub(super) fn enter(&mut self, node: NodeSlot, row: &Node) {
        let load = NodeLoad {
            groups: groups_of(row),
            length: 0,
            looked_at: 0,
        };
        self.put(node, load);
    }

    /// A node goes; the length of its queue.
    pub(super) fn leave(&mut self, node: NodeSlot) -> u32 {
        self.take(node).map_or(0, |load| load.length)
    }

    /// A node has another partition.
    pub(super) fn regroup(&mut self, node: NodeSlot, row: &Node) {
        if let Some(load) = self.take(node) {
            let groups = groups_of(row);
            self.put(node, NodeLoad { groups, ..load });
        }
    }

    /// The queue of a node has another length; the one before.
    pub(super) fn set_length(&mut self, node: NodeSlot, length: u32) -> u32 {
        let before = self.nodes.get(&node).map_or(0, |load| load.length);
        if before != length
            && let Some(load) = self.take(node)
        {
            self.put(node, NodeLoad { length, ..load });
        }
        before
    }

    /// A node was looked at: it comes behind others with a queue of the same length.
    pub(super) fn note_look(&mut self, node: NodeSlot) {
        if let Some(load) = self.take(node) {
            self.looks += 1;
            let looked_at = self.looks;
            self.put(node, NodeLoad { looked_at, ..load });
        }
    }

    /// The least loaded nodes of a group, so many at most.
    pub(super) fn least_loaded(&self, group: NodeGroup, most: usize) -> Vec<NodeSlot> {
        let first = (group, 0, 0, NodeSlot(0));
        let of_group = self.order.range(first..);
        let of_group = of_group.take_while(|&&(of, ..)| of == group);
        of_group.map(|&(.., node)| node).take(most).collect()
    }

    fn put(&mut self, node: NodeSlot, load: NodeLoad) {
        for group in load.groups {
            self.order
                .insert((group, load.length, load.looked_at, node));
        }
        self.nodes.insert(node, load);
    }

    fn take(&mut self, node: NodeSlot) -> Option<NodeLoad> {
        let load = self.nodes.remove(&node)?;
        for group in load.groups {
            self.order
                .remove(&(group, load.length, load.looked_at, node));
        }
        Some(load)
    }
}

fn groups_of(row: &Node) -> [NodeGroup; 3] {
    let place = NodeGroup::Place;
    [
        NodeGroup::Partition(row.partition),
        place(row.host),
        place(row.rack),
    ]
}
