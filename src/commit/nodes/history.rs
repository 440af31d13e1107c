//! What the ledger keeps of registrations: their order, nodes that left, and the largest node.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::largest_total::LargestTotal;
use crate::id::{NodeName, NodeSlot};
use crate::resource::ResourceVector;

/// Registrations of nodes so far.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct NodeHistory {
    /// Nodes that left with tags on them, which count until they come back.
    departed: BTreeMap<NodeName, NodeSlot>,
    /// Nodes that left after their labels were set. Setting what they are changes nothing once they are back.
    labelled: BTreeSet<NodeName>,
    /// Position of each node in the order of registrations.
    registered_at: Vec<u64>,
    registrations: u64,
    /// Total that each node registered with or was given last; that of a decommissioning node falls below it.
    offered: Vec<ResourceVector>,
    largest: LargestTotal,
}

impl NodeHistory {
    /// Notes a registration.
    pub(in crate::commit) fn register(&mut self, slot: NodeSlot) {
        self.registrations += 1;
        if self.registered_at.len() <= slot.index() {
            self.registered_at.resize(slot.index() + 1, 0);
        }
        self.registered_at[slot.index()] = self.registrations;
    }

    /// Notes the total that a node was given.
    pub(in crate::commit) fn offer(&mut self, slot: NodeSlot, total: ResourceVector) {
        if self.offered.len() <= slot.index() {
            self.offered.resize(slot.index() + 1, ResourceVector::NONE);
        }
        self.offered[slot.index()] = total;
    }

    /// The total that a registered node was given last.
    pub(in crate::commit) fn offered(&self, slot: NodeSlot) -> ResourceVector {
        self.offered[slot.index()]
    }

    /// Position of a node in the order of registrations.
    pub(in crate::commit) fn position(&self, slot: NodeSlot) -> u64 {
        self.registered_at[slot.index()]
    }

    /// The same of all nodes by slot, lost ones too.
    pub(in crate::commit) fn positions(&self) -> &[u64] {
        &self.registered_at
    }

    /// Keeps the slot of a node that left with tags on it.
    pub(in crate::commit) fn depart(&mut self, name: NodeName, slot: NodeSlot) {
        self.departed.insert(name, slot);
    }

    /// Keeps that the labels of a node were set, when it leaves.
    // As RMNodeLabelsManager.deactivateNode.
    pub(in crate::commit) fn keep_labelled(&mut self, name: NodeName) {
        self.labelled.insert(name);
    }

    /// Whether the labels of a node were set before it left.
    pub(in crate::commit) fn was_labelled(&self, name: &NodeName) -> bool {
        self.labelled.contains(name)
    }

    /// The slot of a node that comes back.
    pub(in crate::commit) fn come_back(&mut self, name: &NodeName) -> Option<NodeSlot> {
        self.departed.remove(name)
    }

    /// The largest total of the nodes.
    pub(in crate::commit) const fn largest(&self) -> &LargestTotal {
        &self.largest
    }

    /// The same, for a node that comes, leaves or gets another total.
    pub(in crate::commit) const fn largest_mut(&mut self) -> &mut LargestTotal {
        &mut self.largest
    }
}
