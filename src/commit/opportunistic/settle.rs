//! The queue of a node moves on: started containers end where guaranteed ones need their room, waiting ones start, and
//! too many of the others end.
//!
//! Tests: `tests/commit/opportunistic/node_queues.rs`.
// As ContainerScheduler.

use super::node_queue::{NodeQueue, QueuedContainer};
use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::event::{Event, OpportunisticEvent, OpportunisticStep};
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, NodeSlot};
use crate::queue::EndCause;
use crate::resource::ResourceVector;

impl Ledger {
    /// The opportunistic containers of a registered node; nothing while the settings do not enable them.
    #[must_use]
    pub fn node_queue(&self, node: NodeSlot) -> Option<&NodeQueue> {
        self.opportunistic.queues.get(&node)
    }

    /// Longest queue of a node that is not shortened now; nothing while the settings do not enable any.
    #[must_use]
    pub fn node_queue_limit(&self) -> Option<u32> {
        let settings = self.opportunistic.settings.as_ref()?;
        Some(self.opportunistic.lengths.limit(settings))
    }

    /// Has the queue of a node move on: guaranteed containers get their room, and waiting ones start.
    ///
    /// Cost: one look where the node has no opportunistic container; otherwise those that started, and those that start
    /// or end.
    #[inline]
    pub(in crate::commit) fn settle_node_queue(&mut self, node: NodeSlot) {
        if self.node_queue(node).is_some_and(|queue| !queue.is_empty()) {
            self.make_room_on(node);
            self.start_waiting_on(node);
        }
    }

    /// Room of a node beside its guaranteed containers and those that started.
    fn room_beside(&self, node: NodeSlot) -> ResourceVector {
        let free = self.state.nodes[node].free.get();
        let Some(queue) = self.node_queue(node) else {
            return free;
        };
        // What is promoted is charged to the node already.
        let promoted = queue.promoting().filter(|c| self.is_promoted(c.slot));
        promoted.fold(free - queue.used(), |room, container| room + container.size)
    }

    /// Whether a container has room beside everything that runs on a node.
    pub(super) fn has_room_beside(&self, size: &ResourceVector, node: NodeSlot) -> bool {
        let room = self.room_beside(node);
        self.fits_beside(size, &room)
    }

    /// Whether the promotion of a container was granted: its node is charged with it already.
    fn is_promoted(&self, slot: ContainerSlot) -> bool {
        let container = self.container(slot);
        let (app, number) = (container.app, container.id.number);
        container.state != ContainerState::Done && self.containers.has_update(app, number)
    }

    /// Ends containers that started, the latest first, until guaranteed ones have room.
    // As ContainerScheduler.pickOpportunisticContainersToKill.
    fn make_room_on(&mut self, node: NodeSlot) {
        let mut room = self.room_beside(node);
        let Some(queue) = self.node_queue(node) else {
            return;
        };
        let enough = |room: &ResourceVector| self.fits_beside(&ResourceVector::NONE, room);
        if enough(&room) {
            return;
        }
        let ended = |slot| self.container(slot).state == ContainerState::Done;
        let ending = queue.latest_first().filter(|c| ended(c.slot));
        room = ending.fold(room, |room, container| room + container.size);
        let mut chosen = Vec::new();
        let others = queue.latest_first().filter(|c| !ended(c.slot));
        for container in others.filter(|c| !self.is_promoted(c.slot)) {
            if enough(&room) {
                break;
            }
            room += container.size;
            chosen.push(container.slot);
        }
        for slot in chosen {
            self.end_container(slot, EndCause::NodeQueue);
        }
    }

    /// Ends containers that wait beyond the limit of lengths on a node that reports, the latest.
    // As ContainerScheduler.shedQueuedOpportunisticContainers, with the limit of the answer to a heartbeat.
    pub(in crate::commit) fn shorten_node_queue(&mut self, node: NodeSlot) {
        let (Some(queue), Some(limit)) = (self.node_queue(node), self.node_queue_limit()) else {
            return;
        };
        for slot in queue.behind(limit) {
            self.end_container(slot, EndCause::NodeQueue);
        }
    }

    /// Starts containers that wait, the earliest first, as long as the next one has room.
    // As ContainerScheduler.startPendingContainers.
    fn start_waiting_on(&mut self, node: NodeSlot) {
        while let Some(next) = self.node_queue(node).and_then(NodeQueue::next) {
            if !self.has_room_beside(&next.size, node) {
                return;
            }
            self.opportunistic.take_next(node);
            self.start_on(node, next);
        }
    }

    /// Starts a container on a node, which launches it once its application has it.
    pub(super) fn start_on(&mut self, node: NodeSlot, container: QueuedContainer) {
        self.opportunistic.add_started(node, container);
        let slot = container.slot;
        self.push_opportunistic(slot, OpportunisticStep::Started);
        if self.container(slot).handed {
            self.launch_next(slot);
        }
    }

    /// The node of a container that its application has launches it next.
    fn launch_next(&mut self, slot: ContainerSlot) {
        let container = self.container(slot);
        let (id, to_stop) = (container.id, container.to_stop);
        self.containers.set_due(slot, true, to_stop);
        self.clock.note_handed_out(id);
    }

    pub(super) fn push_opportunistic(&mut self, slot: ContainerSlot, step: OpportunisticStep) {
        let container = self.container(slot);
        let event = OpportunisticEvent {
            container: container.id,
            node: self.state.nodes[container.node].name.clone(),
            size: self.containers.full_size(slot),
            priority: container.key.priority,
            request_id: container.key.request_id,
            step,
        };
        self.outbox.push(Event::Opportunistic(event));
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

    /// A container that runs on a node is opportunistic from now on.
    pub(in crate::commit) fn note_opportunistic(&mut self, slot: ContainerSlot) {
        let node = self.container(slot).node;
        let known = self.node_queue(node).is_some();
        let size = self.containers.changed(slot).opportunistic;
        if let Some(size) = size.filter(|_| known) {
            let container = QueuedContainer { slot, size };
            self.opportunistic.add_started(node, container);
        }
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
        let known = self.node_queue(node);
        if known.is_some_and(|queue| !queue.has(slot)) {
            self.note_opportunistic(slot);
            self.settle_node_queue(node);
        }
    }

    /// The promotion of a container is asked for.
    pub(in crate::commit) fn note_promoting(&mut self, slot: ContainerSlot) {
        let node = self.container(slot).node;
        if let Some(queue) = self.opportunistic.queues.get_mut(&node) {
            queue.note_promoting(slot);
        }
    }

    /// A container is guaranteed from now on; one that waited starts.
    pub(in crate::commit) fn follow_promotion(&mut self, slot: ContainerSlot) {
        let node = self.container(slot).node;
        if self.opportunistic.take_off(node, slot) == Some(true) {
            self.launch_next(slot);
        }
        self.settle_node_queue(node);
    }
}
