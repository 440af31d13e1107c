//! How often the queue of each node changed.
//!
//! The counts stand side by side, so that a copy of figures finds what changed without a look at each queue.
//!
//! Tests: `tests/runtime/whole_state.rs`.

use crate::id::NodeSlot;

/// Counts by the slot of the node, which count around. Whoever has a slot next goes on with its count.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueChanges(Vec<u32>);

impl QueueChanges {
    /// The queue of a node came, went or changed.
    pub(super) fn note(&mut self, node: NodeSlot) {
        let at = node.index();
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = self.0[at].wrapping_add(1);
    }

    /// All of them.
    pub(super) fn all(&self) -> &[u32] {
        &self.0
    }
}
