//! Nodes as opportunistic containers find them: what stands on their queues, and what they have room for.
//!
//! Tests: `tests/commit/opportunistic/placement.rs`.

use super::Opportunistic;
use super::node_queue::{NodeQueue, QueuedContainer};
use super::waiting_asks::{WaitingAsk, WaitingAsks};
use crate::commit::containers::container::ContainerState;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::id::{AppSlot, NodeSlot};
use crate::queue::App;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// What a node does with a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeFit {
    /// The application excludes it.
    Excluded,
    /// It takes no containers, or none of the partition.
    Closed,
    /// It is smaller than the container.
    TooSmall,
    /// It has neither room nor a place in its queue.
    Full,
    /// It has it wait.
    Queues,
    /// It starts it at once.
    Starts,
}

/// Queues of nodes and what runs beside them, to be read.
#[derive(Clone, Copy, Debug)]
pub struct NodeRooms<'a> {
    pub(super) opportunistic: &'a Opportunistic,
    pub(super) containers: &'a Containers,
    pub(super) state: &'a State,
}

impl<'a> NodeRooms<'a> {
    /// Of the parts of a ledger.
    #[inline]
    pub(in crate::commit) fn new(
        opportunistic: &'a Opportunistic,
        containers: &'a Containers,
        state: &'a State,
    ) -> Self {
        Self {
            opportunistic,
            containers,
            state,
        }
    }

    /// The opportunistic containers of a registered node; nothing while the settings do not enable them.
    #[inline]
    #[must_use]
    pub fn queue(self, node: NodeSlot) -> Option<&'a NodeQueue> {
        self.opportunistic.queues.get(&node)
    }

    /// Longest queue of a node that is not shortened now; nothing while the settings do not enable any.
    #[must_use]
    pub fn longest_queue(self) -> Option<u32> {
        let settings = self.opportunistic.settings.as_ref()?;
        Some(self.opportunistic.lengths.limit(settings))
    }

    /// What an application still wants, of its present attempt.
    pub(super) fn waiting_asks(self, app: AppSlot) -> Option<&'a WaitingAsks> {
        let waiting = self.opportunistic.waiting.get(&app)?;
        waiting
            .is_of(self.state.apps[app].generation)
            .then_some(waiting)
    }

    /// Containers that all applications which did not end still want, of their present attempts.
    pub(super) fn waiting_in_all(self) -> u64 {
        let apps = self.opportunistic.waiting.keys();
        let apps = apps.filter(|&&app| !self.state.apps[app].stage.is_over());
        let waiting = apps.filter_map(|&app| self.waiting_asks(app));
        waiting.map(WaitingAsks::containers).sum()
    }

    /// What a node does with a container of an ask.
    // As ClusterNode.compareAndIncrementAllocation.
    pub(super) fn fit_on(self, app: &App, ask: &WaitingAsk, node: NodeSlot) -> NodeFit {
        let row = &self.state.nodes[node];
        let (Some(settings), Some(queue)) = (self.opportunistic.settings, self.queue(node)) else {
            return NodeFit::Closed;
        };
        let excluded = app.blacklist.contains(row.host) || app.blacklist.contains(row.rack);
        let open = row.takes_containers() && row.partition == ask.partition;
        if excluded {
            NodeFit::Excluded
        } else if !open {
            NodeFit::Closed
        } else if !self.fits_beside(&ask.size, &row.total.get()) {
            NodeFit::TooSmall
        } else if queue.length() == 0 && self.has_room_beside(&ask.size, node) {
            NodeFit::Starts
        } else if queue.length() < settings.queue_capacity {
            NodeFit::Queues
        } else {
            NodeFit::Full
        }
    }

    /// Whether a container fits in a room of a node.
    fn fits_beside(self, size: &ResourceVector, room: &ResourceVector) -> bool {
        self.state.calculator.fits_in(size, room) && self.state.has_cores(size, room)
    }

    /// Room of a node beside its guaranteed containers and those that started.
    fn room_beside(self, node: NodeSlot) -> ResourceVector {
        let free = self.state.nodes[node].free.get();
        let Some(queue) = self.queue(node) else {
            return free;
        };
        // What is promoted is charged to the node already.
        let promoted = queue.promoting().filter(|c| self.is_promoted(c.slot));
        promoted.fold(free - queue.used(), |room, container| room + container.size)
    }

    /// Whether a container has room beside everything that runs on a node.
    fn has_room_beside(self, size: &ResourceVector, node: NodeSlot) -> bool {
        let room = self.room_beside(node);
        self.fits_beside(size, &room)
    }

    /// Whether the promotion of a container was granted: its node is charged with it already.
    fn is_promoted(self, slot: ContainerSlot) -> bool {
        let container = self.containers.get(slot);
        let (app, number) = (container.app, container.id.number);
        container.state != ContainerState::Done && self.containers.has_update(app, number)
    }

    /// Containers that started and are to end, the latest first, until guaranteed ones have room.
    // As ContainerScheduler.pickOpportunisticContainersToKill.
    pub(super) fn in_the_way(self, node: NodeSlot) -> Vec<ContainerSlot> {
        let mut chosen = Vec::new();
        let Some(queue) = self.queue(node) else {
            return chosen;
        };
        let enough = |room: &ResourceVector| self.fits_beside(&ResourceVector::NONE, room);
        let mut room = self.room_beside(node);
        if enough(&room) {
            return chosen;
        }
        let ended = |slot| self.containers.get(slot).state == ContainerState::Done;
        let ending = queue.latest_first().filter(|c| ended(c.slot));
        room = ending.fold(room, |room, container| room + container.size);
        let others = queue.latest_first().filter(|c| !ended(c.slot));
        for container in others.filter(|c| !self.is_promoted(c.slot)) {
            if enough(&room) {
                break;
            }
            room += container.size;
            chosen.push(container.slot);
        }
        chosen
    }

    /// Containers that wait beyond the limit of lengths on a node, the latest.
    // As ContainerScheduler.shedQueuedOpportunisticContainers, with the limit of the answer to a heartbeat.
    pub(super) fn too_many(self, node: NodeSlot) -> Vec<ContainerSlot> {
        let queue_and_limit = self.queue(node).zip(self.longest_queue());
        queue_and_limit.map_or_else(Vec::new, |(queue, limit)| queue.behind(limit))
    }

    /// The container that waits longest on a node, if it has room beside everything that runs there.
    pub(super) fn next_to_start(self, node: NodeSlot) -> Option<QueuedContainer> {
        let next = self.queue(node)?.next()?;
        self.has_room_beside(&next.size, node).then_some(next)
    }
}
