//! The queue of a node moves on: started containers end where guaranteed ones need their room, waiting ones start, and
//! too many of the others end.
//!
//! Tests: `tests/commit/opportunistic/node_queues.rs`.
// As ContainerScheduler.

use crate::commit::containers::slot::ContainerSlot;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NodeSlot};
use crate::queue::EndCause;

impl Ledger {
    /// Has the queue of a node move on: guaranteed containers get their room, and waiting ones start.
    ///
    /// Cost: one look where the node has no opportunistic container; otherwise those that started, and those that start
    /// or end.
    #[inline]
    pub(in crate::commit) fn settle_node_queue(&mut self, node: NodeSlot) {
        let queue = self.node_rooms().queue(node);
        if queue.is_some_and(|queue| !queue.is_empty()) {
            for slot in self.node_rooms().in_the_way(node) {
                self.end_container(slot, EndCause::NodeQueue);
            }
            self.node_queues().start_waiting_on(node);
        }
    }

    /// Ends containers that wait beyond the limit of lengths on a node that reports, the latest.
    pub(in crate::commit) fn shorten_node_queue(&mut self, node: NodeSlot) {
        for slot in self.node_rooms().too_many(node) {
            self.end_container(slot, EndCause::NodeQueue);
        }
    }

    /// A container that was handed out is launched at the next report of its node, unless it waits there; whether it
    /// is. What is guaranteed gets its room then.
    #[inline]
    pub(in crate::commit) fn follow_hand_out(&mut self, slot: ContainerSlot) -> bool {
        if self.opportunistic.is_off() {
            return true;
        }
        let container = self.container(slot);
        let (node, to_stop) = (container.node, container.to_stop);
        let waits = self.opportunistic.is_queued(node, slot);
        if waits {
            self.containers.set_due(slot, false, to_stop);
        } else {
            self.settle_node_queue(node);
        }
        !waits
    }

    /// A container that was demoted has given back what it was charged with.
    pub(in crate::commit) fn follow_demotion(&mut self, app: AppSlot, number: u32) {
        if self.opportunistic.is_off() {
            return;
        }
        let Some(slot) = self.containers.live(app, number) else {
            return;
        };
        let node = self.container(slot).node;
        let known = self.node_rooms().queue(node);
        if known.is_some_and(|queue| !queue.has(slot)) {
            self.node_queues().note_opportunistic(slot);
            self.settle_node_queue(node);
        }
    }

    /// A container is guaranteed from now on; one that waited starts.
    pub(in crate::commit) fn follow_promotion(&mut self, slot: ContainerSlot) {
        let node = self.container(slot).node;
        self.node_queues().leave_for_promotion(slot, node);
        self.settle_node_queue(node);
    }
}
