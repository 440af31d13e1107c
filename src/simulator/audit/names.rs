//! Numbers of what the outputs name: nodes, partitions, users and queues.

use super::{AuditBooks, AuditedQueue, NodeEntry};
use crate::api::{NodeName, ResourceVector};

impl AuditBooks {
    /// The number of a registered node.
    pub(super) fn node(&self, name: &NodeName) -> Option<usize> {
        let registered = |&node: &usize| self.nodes.row(node).registered;
        self.nodes.find(name).filter(registered)
    }

    /// The number of a node, registered or not.
    pub(super) fn named_node(&mut self, name: &NodeName) -> usize {
        let known = self.nodes.find(name);
        known.unwrap_or_else(|| self.nodes.add(name.clone(), NodeEntry::default()))
    }

    /// The number of a partition.
    pub(super) fn partition(&mut self, label: &str) -> usize {
        let known = self.partitions.find(label);
        known.unwrap_or_else(|| self.partitions.add(label.into(), ()))
    }

    /// The number of a user.
    pub(super) fn user(&mut self, name: &str) -> usize {
        let known = self.names.find(name);
        known.unwrap_or_else(|| self.names.add(name.into(), ()))
    }

    /// The number of a queue; those above it have one, too.
    pub(super) fn queue(&mut self, path: &str) -> usize {
        if let Some(queue) = self.queues.find(path) {
            return queue;
        }
        let parent = path.rfind('.').map(|at| self.queue(&path[..at]));
        let above = parent.map_or(&[][..], |parent| &self.queues.row(parent).path);
        let own = self.queues.rows().len();
        let entry = AuditedQueue {
            used: ResourceVector::NONE,
            is_leaf: false,
            path: [&[own], above].concat().into(),
        };
        self.queues.add(path.into(), entry)
    }
}
