//! The opportunistic containers of one node: those that run, and those that wait for room.
//!
//! Tests: `tests/commit/opportunistic/node_queues.rs`.

use std::collections::VecDeque;

use crate::commit::containers::slot::ContainerSlot;
use crate::resource::ResourceVector;

/// A container and what it takes of its node once it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedContainer {
    pub(super) slot: ContainerSlot,
    pub(super) size: ResourceVector,
}

/// The opportunistic containers of a node.
#[derive(Clone, Debug, Default)]
pub struct NodeQueue {
    /// In the order in which they came.
    queued: VecDeque<QueuedContainer>,
    /// In the order in which they started. Those that ended stay until their space is free.
    started: Vec<QueuedContainer>,
    /// Sum of the sizes of those.
    used: ResourceVector,
    /// Those of either kind whose promotion was asked for.
    promoting: Vec<QueuedContainer>,
}

/// Figures of the queue of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeQueueFigures {
    /// Containers that wait.
    pub queued: u32,
    /// Containers that started and still take space.
    pub started: usize,
    /// What those take of the node beside guaranteed containers.
    pub used: ResourceVector,
}

impl NodeQueue {
    /// Its figures; all are 0 where it has no container.
    #[must_use]
    pub fn figures(&self) -> NodeQueueFigures {
        NodeQueueFigures {
            queued: self.length(),
            started: self.started(),
            used: self.used,
        }
    }

    /// Containers that wait.
    #[must_use]
    pub fn length(&self) -> u32 {
        // A queue is far shorter than what the settings allow at most.
        u32::try_from(self.queued.len()).unwrap_or(u32::MAX)
    }

    /// Containers that started and still take space.
    #[must_use]
    pub fn started(&self) -> usize {
        self.started.len()
    }

    /// What those take of the node beside guaranteed containers.
    #[must_use]
    pub const fn used(&self) -> ResourceVector {
        self.used
    }

    /// Whether there is none of either kind.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty() && self.started.is_empty()
    }

    /// Whether a container waits or runs here.
    pub(super) fn has(&self, slot: ContainerSlot) -> bool {
        self.started.iter().any(|container| container.slot == slot) || self.is_queued(slot)
    }

    pub(super) fn is_queued(&self, slot: ContainerSlot) -> bool {
        self.queued.iter().any(|container| container.slot == slot)
    }

    /// Those that wait, in the order in which they came.
    pub(super) fn queued(&self) -> impl Iterator<Item = &QueuedContainer> {
        self.queued.iter()
    }

    pub(super) fn enqueue(&mut self, container: QueuedContainer) {
        self.queued.push_back(container);
    }

    pub(super) fn start(&mut self, container: QueuedContainer) {
        self.used += container.size;
        self.started.push(container);
    }

    /// The container that waits longest.
    pub(super) fn next(&self) -> Option<QueuedContainer> {
        self.queued.front().copied()
    }

    pub(super) fn take_next(&mut self) -> Option<QueuedContainer> {
        self.queued.pop_front()
    }

    /// The containers that wait behind so many others.
    pub(super) fn behind(&self, most: u32) -> Vec<ContainerSlot> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let behind = self.queued.iter().skip(most);
        behind.map(|container| container.slot).collect()
    }

    /// Those that started, the latest first.
    pub(super) fn latest_first(&self) -> impl Iterator<Item = QueuedContainer> {
        self.started.iter().rev().copied()
    }

    /// The promotion of a container is asked for.
    pub(super) fn note_promoting(&mut self, slot: ContainerSlot) {
        let mut all = self.started.iter().chain(&self.queued);
        let here = all.find(|container| container.slot == slot).copied();
        let known = self.promoting.iter().any(|c| c.slot == slot);
        self.promoting.extend(here.filter(|_| !known));
    }

    /// Those that started and whose promotion was asked for.
    pub(super) fn promoting(&self) -> impl Iterator<Item = QueuedContainer> {
        let promoting = self.promoting.iter().copied();
        promoting.filter(|container| !self.is_queued(container.slot))
    }

    /// Takes a container off; whether it waited, or nothing where it is not here.
    pub(super) fn take_off(&mut self, slot: ContainerSlot) -> Option<bool> {
        self.promoting.retain(|container| container.slot != slot);
        if let Some(at) = self.started.iter().position(|c| c.slot == slot) {
            self.used -= self.started.remove(at).size;
            return Some(false);
        }
        let at = self.queued.iter().position(|c| c.slot == slot)?;
        self.queued.remove(at);
        Some(true)
    }
}
