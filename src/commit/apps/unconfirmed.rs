//! Increases that applications fetched and that no node has confirmed.
//!
//! 1. An increase that is handed over is noted with the size that the node had confirmed before.
//! 2. A report of the node confirms the increase, whole or in part.
//! 3. When the time is over, the container goes back to the confirmed size.
//!
//! Nothing is noted where allocations never expire. Tests: `tests/commit/updates.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{ContainerId, NodeSlot};
use crate::resource::ResourceVector;

/// Containers that wait for the confirmation of their size. Times are in ms.
#[derive(Clone, Debug, Default)]
pub(super) struct UnconfirmedIncreases {
    /// By node: when each container expires, and the size that the node has confirmed.
    waiting: BTreeMap<NodeSlot, BTreeMap<ContainerId, (u64, ResourceVector)>>,
    deadlines: BTreeSet<(u64, NodeSlot, ContainerId)>,
}

impl UnconfirmedIncreases {
    /// Notes an increase from a size. Of a container that waits already, the time starts anew and the confirmed size
    /// stays.
    pub(super) fn add(
        &mut self,
        (node, container): (NodeSlot, ContainerId),
        deadline: u64,
        held: ResourceVector,
    ) {
        let of_node = self.waiting.entry(node).or_default();
        let row = of_node.entry(container).or_insert((deadline, held));
        self.deadlines.remove(&(row.0, node, container));
        row.0 = deadline;
        self.deadlines.insert((deadline, node, container));
    }

    /// When the next one expires.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline, ..)| deadline)
    }

    /// Takes the next one of which the time is over, with the size to go back to.
    pub(super) fn take_expired(&mut self, now_ms: u64) -> Option<(ContainerId, ResourceVector)> {
        let &(deadline, node, container) = self.deadlines.first()?;
        if deadline > now_ms {
            return None;
        }
        let confirmed = self.confirm(node, container)?;
        Some((container, confirmed))
    }

    /// A node confirmed the size of a container; the size that it had confirmed before.
    pub(super) fn confirm(
        &mut self,
        node: NodeSlot,
        container: ContainerId,
    ) -> Option<ResourceVector> {
        let of_node = self.waiting.get_mut(&node)?;
        let (deadline, confirmed) = of_node.remove(&container)?;
        if of_node.is_empty() {
            self.waiting.remove(&node);
        }
        self.deadlines.remove(&(deadline, node, container));
        Some(confirmed)
    }

    /// A node confirmed a part of an increase.
    pub(super) fn confirm_part(
        &mut self,
        node: NodeSlot,
        container: ContainerId,
        size: &ResourceVector,
    ) {
        let of_node = self.waiting.get_mut(&node);
        if let Some((_, confirmed)) = of_node.and_then(|of_node| of_node.get_mut(&container)) {
            *confirmed = confirmed.component_max(size);
        }
    }

    /// A node confirmed the sizes of all its containers.
    ///
    /// Cost: one look-up where none waits.
    pub(super) fn confirm_all(&mut self, node: NodeSlot) {
        for (container, (deadline, _)) in self.waiting.remove(&node).unwrap_or_default() {
            self.deadlines.remove(&(deadline, node, container));
        }
    }
}
