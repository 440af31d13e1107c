//! Opportunistic containers: placed outside of queue limits, queued on nodes, ended where guaranteed ones need their
//! room (off unless the settings enable them).
//!
//! # What
//!
//! An application asks for them with [`Ledger::ask_opportunistic`](super::Ledger::ask_opportunistic). No queue,
//! user or limit is charged with them, and a node's free resources do not count them. So decisions about guaranteed
//! containers are the same as without them.
//!
//! # Steps
//!
//! 1. Asks that are not served wait here, by application and key (`ask`, `waiting_asks`).
//! 2. At the ask, and at each later call of the application, containers are placed (`nodes`): on the hosts that
//!    the ask names, on its racks, then on the least loaded nodes of its partition (`load_order`).
//! 3. A container starts at once where its node has room beside everything that runs there. Otherwise it waits in
//!    the queue of the node (`node_queue`), as far as the queue has room.
//! 4. The queue of a node moves on when the node reports, when a container ends there, and when a guaranteed
//!    container of the node is handed out (`settle`):
//!    * started ones end, the latest first, until everything guaranteed has room;
//!    * waiting ones start, the earliest first, as long as there is room;
//!    * when the node reports, waiting ones beyond the limit of lengths end, the latest (`limit`).
//! 5. A demotion starts a container here, and a promotion takes it off its queue. The end of a container does, too.
//!
//! # Who starts them
//!
//! The ledger counts the queues, and the nodes follow. A start is shown by an event, and the next report of
//! the node as expected launches the container. A waiting container is not launched and does not expire.
//!
//! # Invariants
//!
//! * A container on the list of a node is live or takes space there; its size in the books of queues is nothing.
//! * The length in the load order is that of the queue, and the sums of the limit are those of all lengths.
//! * Without settings nothing is kept, and each call costs one look at an empty map.
//!
//! Tests: `tests/commit/opportunistic/mod.rs`.
// As OpportunisticContainerAllocatorAMService, CentralizedOpportunisticContainerAllocator, NodeQueueLoadMonitor and
// QueueLimitCalculator of the resource manager, and ContainerScheduler of the node manager.

mod ask;
pub(super) mod copied_figures;
mod limit;
mod load_order;
mod node_queue;
pub(super) mod nodes;
mod queue_changes;
pub(super) mod rooms;
mod settle;
mod waiting_asks;
mod waits;

use std::collections::BTreeMap;

use self::limit::QueueLengths;
use self::load_order::LoadOrder;
use self::node_queue::QueuedContainer;
pub use self::node_queue::{NodeQueue, NodeQueueFigures};
use self::queue_changes::QueueChanges;
use self::waiting_asks::WaitingAsks;
use crate::commit::containers::slot::ContainerSlot;
use crate::id::{AppSlot, NodeSlot};
use crate::queue::OpportunisticSettings;
use crate::snapshot::State;

/// What the ledger keeps of opportunistic containers.
#[derive(Clone, Debug, Default)]
pub(super) struct Opportunistic {
    /// Nothing while they are off.
    settings: Option<OpportunisticSettings>,
    /// Of every registered node, while they are on.
    queues: BTreeMap<NodeSlot, NodeQueue>,
    /// Of these queues.
    changes: QueueChanges,
    order: LoadOrder,
    lengths: QueueLengths,
    /// Of applications with asks that are not served.
    waiting: BTreeMap<AppSlot, WaitingAsks>,
}

impl Opportunistic {
    /// Nothing placed yet.
    pub(super) fn new(settings: Option<OpportunisticSettings>) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Whether there are none.
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.settings.is_none()
    }

    /// A node registers.
    pub(super) fn enter_node(&mut self, state: &State, node: NodeSlot) {
        if self.is_off() {
            return;
        }
        self.queues.insert(node, NodeQueue::default());
        self.changes.note(node);
        self.lengths.enter();
        self.order.enter(node, &state.nodes[node]);
    }

    /// A node goes; its containers ended before.
    pub(super) fn leave_node(&mut self, node: NodeSlot) {
        if self.queues.remove(&node).is_some() {
            self.changes.note(node);
            self.lengths.leave(self.order.leave(node));
        }
    }

    /// A node came to another partition.
    pub(super) fn regroup_node(&mut self, state: &State, node: NodeSlot) {
        if self.queues.contains_key(&node) {
            self.order.regroup(node, &state.nodes[node]);
        }
    }

    /// Forgets what an application asks for.
    pub(super) fn forget_app(&mut self, app: AppSlot) {
        self.waiting.remove(&app);
    }

    /// Whether a container waits on a node.
    #[inline]
    pub(super) fn is_queued(&self, node: NodeSlot, slot: ContainerSlot) -> bool {
        let queue = self.queues.get(&node);
        queue.is_some_and(|queue| queue.is_queued(slot))
    }

    /// Adds a container to the queue of a node.
    fn enqueue(&mut self, node: NodeSlot, container: QueuedContainer) {
        let queue = self.queues.entry(node).or_default();
        queue.enqueue(container);
        self.follow_length(node);
    }

    /// Adds a container that runs to those of a node.
    fn add_started(&mut self, node: NodeSlot, container: QueuedContainer) {
        let queue = self.queues.entry(node).or_default();
        queue.start(container);
        self.changes.note(node);
    }

    /// Takes a container off its node; whether it waited there, or nothing where the node does not have it.
    pub(super) fn take_off(&mut self, node: NodeSlot, slot: ContainerSlot) -> Option<bool> {
        let waited = self.queues.get_mut(&node)?.take_off(slot)?;
        self.follow_length(node);
        Some(waited)
    }

    /// Takes the container that waits longest off the queue of a node.
    fn take_next(&mut self, node: NodeSlot) -> Option<QueuedContainer> {
        let next = self.queues.get_mut(&node)?.take_next();
        self.follow_length(node);
        next
    }

    /// What follows where a container came to the queue of a node or left it.
    fn follow_length(&mut self, node: NodeSlot) {
        self.changes.note(node);
        let Some(queue) = self.queues.get(&node) else {
            return;
        };
        let length = queue.length();
        let before = self.order.set_length(node, length);
        self.lengths.change(before, length);
    }
}
