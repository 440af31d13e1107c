//! A partition (node label): its nodes and what they offer together.

use std::sync::Arc;

use crate::id::NodeSlot;
use crate::resource::ResourceVector;

/// Nodes that share one label, or none.
#[derive(Clone, Debug)]
pub struct Partition {
    /// The label; empty for the default partition.
    pub name: Arc<str>,
    /// Whether the cluster knows the label; the configuration may name others.
    pub exists: bool,
    /// Whether only requests that name the label are served here.
    pub exclusive: bool,
    /// Sum of the totals of its active nodes.
    pub total: ResourceVector,
    /// Its nodes in order of arrival; [`Partition::enter`], [`Partition::leave`] and [`Partition::keep`] change it.
    pub nodes: Vec<NodeSlot>,
    /// Counts the changes of that list: where two counts are equal, so are the lists.
    pub changes: u64,
}

impl Partition {
    /// A partition without nodes.
    #[must_use]
    pub fn new(name: Arc<str>, exists: bool, exclusive: bool) -> Self {
        Self {
            name,
            exists,
            exclusive,
            total: ResourceVector::NONE,
            nodes: Vec::new(),
            changes: 0,
        }
    }

    /// A node comes to the partition.
    pub fn enter(&mut self, node: NodeSlot) {
        self.nodes.push(node);
        self.changes += 1;
    }

    /// A node leaves the partition.
    ///
    /// Cost: a look at each node.
    pub fn leave(&mut self, node: NodeSlot) {
        self.nodes.retain(|&other| other != node);
        self.changes += 1;
    }

    /// All nodes but those that stay leave the partition.
    ///
    /// Cost: a look at each node.
    pub fn keep(&mut self, stays: impl Fn(NodeSlot) -> bool) {
        let before = self.nodes.len();
        self.nodes.retain(|&node| stays(node));
        self.changes += (before - self.nodes.len()) as u64;
    }
}
