//! Containers that change and reservations that move, as the audit follows them.

use super::{AuditBooks, AuditedContainer};
use crate::api::{ContainerId, NodeName, ResourceVector};

impl AuditBooks {
    /// A container exchanges resources with the auxiliary container of its change, which a decrease brings along.
    pub(super) fn updated(
        &mut self,
        container: ContainerId,
        charged: ResourceVector,
        auxiliary: ContainerId,
    ) {
        let Some(held) = self.containers.get_mut(&container) else {
            return self.violated("K3", format!("{container} changes and is not live"));
        };
        let rest = std::mem::replace(&mut held.size, charged) - charged;
        let brought = AuditedContainer {
            size: ResourceVector::NONE,
            ..held.clone()
        };
        if !self.containers.contains_key(&auxiliary) {
            self.nodes.row_mut(brought.node).containers += 1;
            self.containers.insert(auxiliary, brought);
            self.numbered(auxiliary, None);
        }
        if let Some(held) = self.containers.get_mut(&auxiliary) {
            held.size += rest;
        }
    }

    /// A reservation moves to another node.
    pub(super) fn moved(
        &mut self,
        container: ContainerId,
        (from, to): (&NodeName, &NodeName),
        size: ResourceVector,
    ) {
        let held = self.unreserve(container);
        if held.is_none() || held != self.nodes.find(from) {
            let text = format!("{container} moves from {from}, where it holds nothing");
            self.violated("R1", text);
        }
        self.reserve(container, to, size);
    }
}
