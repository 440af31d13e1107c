//! A gang that waits for its minimum.
//!
//! Tests: `tests/commit/gangs.rs`.

use crate::commit::event::{Event, GangEvent, GangStep};
use crate::id::{AppSlot, ApplicationId, PartitionId, SchedulerKey};
use crate::queue::{Closeness, GangWait};
use crate::resource::ResourceVector;

/// A gang that waits for its minimum.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingGang {
    /// Its application.
    pub app: ApplicationId,
    /// The key that its members will have.
    pub key: SchedulerKey,
    /// Size of one member after rounding.
    pub size: ResourceVector,
    /// Members that are placed together.
    pub minimum: u32,
    /// Members that are asked for afterwards.
    pub elastic: u32,
    /// How close together the minimum has to be.
    pub close: Closeness,
    /// Where it may be placed.
    pub partition: PartitionId,
    /// When it was asked for, in ms of the ledger's clock.
    pub asked_ms: u64,
    /// When it is given up.
    pub deadline_ms: u64,
    /// Why it waits.
    pub wait: GangWait,
    pub(super) slot: AppSlot,
    pub(super) generation: u32,
}

impl WaitingGang {
    /// Whether the members of another one of the same application go to the same places.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let members = |gang: &Self| (gang.size, gang.minimum, gang.partition);
        (self.slot, self.generation) == (other.slot, other.generation)
            && members(self) == members(other)
            && self.close == other.close
    }

    /// The event of something that happened to it.
    pub(super) fn event(&self, step: GangStep) -> Event {
        Event::Gang(GangEvent {
            app: self.app,
            priority: self.key.priority,
            request_id: self.key.request_id,
            members: self.minimum,
            step,
        })
    }
}
