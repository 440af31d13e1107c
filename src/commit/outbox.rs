//! The outbox: events for the outside, and follow-up events for the ledger itself.
//!
//! Tests: `tests/commit/property.rs`.

use std::collections::VecDeque;

use super::event::Event;
use super::event_counts::EventCounts;
use crate::commit::containers::slot::ContainerSlot;
use crate::id::{AppSlot, ContainerId, NodeSlot, PartitionId};
use crate::queue::EndCause;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// One call that waits.
#[derive(Clone, Debug)]
pub(super) enum FollowUpEvent {
    /// A new attempt asks for its master's container, on a partition.
    AskForMaster(AppSlot, Option<PartitionId>),
    /// The label manager sends a node's partition once more; without a node only the cluster is
    /// looked at again.
    Labels(Option<(NodeSlot, u32, PartitionId)>),
    /// An application got a container; a waiting master takes it over.
    Allocated(AppSlot),
    /// A container's node is to stop it.
    Stop(ContainerSlot),
    /// An auxiliary container ends.
    Release(ContainerSlot),
    /// A container ended, for a cause.
    Finished(ContainerSlot, EndCause),
    /// A node's total is to become this.
    NodeTotal(NodeSlot, u32, ResourceVector),
    /// A container on a node without room for it is to end.
    Kill(ContainerSlot),
    /// An application ended; its slot may be used again.
    Forget(AppSlot),
}

/// What happened, in order, until somebody takes it.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    events: Vec<Event>,
    /// Events that the ledger itself has looked at.
    seen: usize,
    follow_ups: VecDeque<FollowUpEvent>,
    /// Follow-ups at the front that are left to the next part of a call.
    of_next_part: usize,
    /// Whether the present call goes on in parts.
    in_parts: bool,
    counts: EventCounts,
}

impl Outbox {
    /// Adds an event for the outside.
    pub(super) fn push(&mut self, event: Event) {
        self.counts.count(&event);
        self.events.push(event);
    }

    /// How many events there were so far.
    pub(super) fn counts(&self) -> &EventCounts {
        &self.counts
    }

    /// Adds the event of an allocation, made where it stays: pushed, it would be put together elsewhere and read
    /// back at once.
    #[inline(always)]
    pub(super) fn push_allocated(&mut self, event: impl FnOnce() -> Event) {
        self.counts.allocated += 1;
        if self.events.capacity() == 0 {
            // As large as one that grows would begin, for less than growing costs.
            self.events = Vec::with_capacity(4);
        }
        self.events.extend(std::iter::once_with(event));
    }

    /// Adds the events of containers that were allocated together.
    pub(super) fn extend_allocated(&mut self, events: impl ExactSizeIterator<Item = Event>) {
        self.counts.allocated += events.len() as u64;
        self.events.extend(events);
    }

    /// Adds such events that are written already: all of them are of containers that were allocated.
    pub(super) fn append_allocated(&mut self, mut events: Vec<Event>) {
        self.counts.allocated += events.len() as u64;
        if self.events.is_empty() {
            self.events = events;
        } else {
            self.events.append(&mut events);
        }
    }

    /// Takes the events since the last call and leaves an empty buffer for the next ones.
    pub(super) fn exchange(&mut self, mut buffer: Vec<Event>) -> Vec<Event> {
        buffer.clear();
        self.seen = 0;
        std::mem::replace(&mut self.events, buffer)
    }

    /// So many events that came last.
    pub(super) fn last_events(&self, count: usize) -> &[Event] {
        &self.events[self.events.len().saturating_sub(count)..]
    }

    /// Containers placed since there were so many events.
    pub(super) fn allocated_since(&self, count: usize) -> impl Iterator<Item = ContainerId> {
        let since = self.events.iter().skip(count);
        since.filter_map(|event| match event {
            Event::Allocated { container, .. } => Some(*container),
            _ => None,
        })
    }

    /// Events that the ledger itself has not looked at.
    pub(super) fn new_events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().skip(self.seen)
    }

    /// The ledger has looked at all events.
    pub(super) fn note_seen(&mut self) {
        self.seen = self.events.len();
    }

    /// Events since they were last taken.
    pub(super) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Adds a call that the ledger carries out after the present one.
    pub(super) fn follow_up(&mut self, call: FollowUpEvent) {
        self.follow_ups.push_back(call);
    }

    /// The label manager sends the scheduler a node's present label.
    pub(super) fn send_labels(&mut self, state: &State, slot: NodeSlot) {
        let row = &state.nodes[slot];
        let label = (slot, row.incarnation, row.partition);
        self.follow_up(FollowUpEvent::Labels(Some(label)));
    }

    /// Takes the next of these calls.
    pub(super) fn next_follow_up(&mut self) -> Option<FollowUpEvent> {
        self.of_next_part = self.of_next_part.saturating_sub(1);
        self.follow_ups.pop_front()
    }

    /// Whether the present call goes on in parts, or not any more.
    pub(super) fn set_in_parts(&mut self, in_parts: bool) {
        self.in_parts = in_parts;
    }

    /// Whether the rest is left to the next part of the present call, where there is one and the rest is of this kind.
    pub(super) fn leaves_rest(&mut self, kind: impl Fn(&FollowUpEvent) -> bool) -> bool {
        let leaves = self.in_parts && self.follow_ups.iter().all(kind);
        if leaves {
            self.of_next_part = self.follow_ups.len();
        }
        leaves
    }

    /// Whether any waits besides those that are left to the next part of a call.
    pub(super) fn has_new_follow_ups(&self) -> bool {
        self.follow_ups.len() > self.of_next_part
    }

    /// Whether no call waits.
    pub(super) fn is_drained(&self) -> bool {
        self.follow_ups.is_empty()
    }
}
