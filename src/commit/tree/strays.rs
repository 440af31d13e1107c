//! Queues that a refresh listed below a managed parent: known by their names, without a place in the tree.
//!
//! Tests: `tests/parity/config/refresh/managed-parent-lists-new-queue.json`, which `cli/tests/parity.rs` plays.
// As CapacitySchedulerQueueManager.updateQueues with ManagedParentQueue.reinitialize.

use std::sync::Arc;

use super::refresh_error::RefreshError;
use super::{Tree, build};
use crate::id::{Map, QueueSlot};
use crate::queue::{Queue, QueueSettings};
use crate::snapshot::State;

impl Tree<'_> {
    /// Names a queue that is listed below a managed parent, and those below it, without a place in the tree.
    pub(in crate::commit) fn add_stray(
        &mut self,
        parent: QueueSlot,
        settings: &Arc<QueueSettings>,
        below: &Map<&str, Vec<&Arc<QueueSettings>>>,
    ) -> Result<(), RefreshError> {
        let slot = build::new_queue(self, Arc::clone(settings), Some(parent))?;
        let row = &mut self.state.queues[slot];
        (row.removed, row.stray, row.place) = (true, true, Queue::NOWHERE);
        self.state.queues[parent]
            .children
            .retain(|&child| child != slot);
        for child in below.get(&*settings.path).into_iter().flatten() {
            self.add_stray(slot, child, below)?;
        }
        Ok(())
    }

    /// Forgets queues without a place in the tree that a refresh does not list.
    pub(in crate::commit) fn drop_strays(&mut self, listed: &[QueueSettings]) {
        for slot in strays(self.state) {
            let path = self.state.queues[slot].settings.path.clone();
            if listed.iter().all(|queue| queue.path != path) {
                self.state.queues[slot].stray = false;
                self.registry.remove_queue(&path, slot);
            }
        }
    }
}

/// The queues that a refresh listed below a managed parent.
pub(in crate::commit) fn strays(state: &State) -> Vec<QueueSlot> {
    let slots = (0..state.queues.len()).map(QueueSlot::at);
    slots.filter(|&slot| state.queues[slot].stray).collect()
}
