//! How often something changed on a node that copies of it show: a
//! [`SeenContainer`](super::super::placed_copy::SeenContainer) or a
//! [`LiveContainer`](super::super::running_copy::LiveContainer).
//!
//! Tests: `tests/runtime/preemption_turns.rs`, `tests/runtime/whole_state.rs`.

use super::{Containers, OfNode};
use crate::commit::containers::slot::ContainerSlot;
use crate::id::NodeSlot;

impl OfNode {
    /// Lists a container whose space is taken.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: ContainerSlot) {
        self.placed.push(slot);
        self.note_change();
    }

    /// Its lists changed, or what one of its containers shows.
    #[inline(always)]
    pub(super) fn note_change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
    }
}

impl Containers {
    /// How many nodes have lists.
    pub(in crate::commit) fn nodes(&self) -> usize {
        self.by_node.len()
    }

    /// How often something changed on a node, for comparisons. Launches do not count.
    pub(in crate::commit) fn changes_on(&self, node: NodeSlot) -> u32 {
        self.by_node[node.index()].changes
    }

    /// How many containers were launched on a node, for comparisons.
    pub(in crate::commit) fn launches_on(&self, node: NodeSlot) -> u32 {
        self.by_node[node.index()].launches
    }

    /// A node reported that it launched a container.
    pub(in crate::commit) fn note_launched(&mut self, slot: ContainerSlot) {
        let node = self.records[slot.0 as usize].node;
        let launches = &mut self.by_node[node.index()].launches;
        *launches = launches.wrapping_add(1);
    }

    /// A container was written that stays on its node: it ended, it is charged otherwise, or a master runs in it.
    pub(in crate::commit) fn note_rewritten(&mut self, slot: ContainerSlot) {
        let node = self.records[slot.0 as usize].node;
        self.by_node[node.index()].note_change();
    }
}
