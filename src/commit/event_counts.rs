//! How many events of each kind there were since the engine was built.
//!
//! Tests: `tests/runtime/front_door.rs`.

use super::event::{Ending, Event, GangStep, OpportunisticStep};

/// Events so far, by kind. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct EventCounts {
    /// Containers placed.
    pub allocated: u64,
    /// Reservations made.
    pub reserved: u64,
    /// Reservations that ended without a container.
    pub unreserved: u64,
    /// Reservations that moved to another node.
    pub moved: u64,
    /// Containers that ended by themselves.
    pub finished: u64,
    /// Containers that their applications gave back.
    pub released: u64,
    /// Containers that the scheduler ended.
    pub killed: u64,
    /// Containers that changed.
    pub updated: u64,
    /// Proposals refused by the commit.
    pub rejected: u64,
    /// Applications that may ask since their master has its container, or since they are accepted.
    pub started: u64,
    /// Attempts that ended with the container of their master.
    pub masters_lost: u64,
    /// Attempts that ended while their applications stay.
    pub attempts_ended: u64,
    /// Applications that ended though nobody called for that.
    pub ended: u64,
    /// Gangs of which the minimum was placed.
    pub gangs_placed: u64,
    /// Times that nodes were held for a gang.
    pub gang_holds: u64,
    /// Gangs that were given up.
    pub gangs_expired: u64,
    /// Opportunistic containers that were placed where they had to wait.
    pub opportunistic_queued: u64,
    /// Opportunistic containers that started.
    pub opportunistic_started: u64,
}

impl EventCounts {
    pub(super) fn count(&mut self, event: &Event) {
        let count = match event {
            Event::Allocated { .. } => &mut self.allocated,
            // A reservation that is kept is none that is made.
            Event::Reserved { again: true, .. } => return,
            Event::Reserved { .. } => &mut self.reserved,
            Event::Unreserved { .. } => &mut self.unreserved,
            Event::ReservationMoved { .. } => &mut self.moved,
            Event::Ended { ending, .. } => match ending {
                Ending::Finished => &mut self.finished,
                Ending::Released => &mut self.released,
                Ending::Killed => &mut self.killed,
            },
            Event::Updated { .. } => &mut self.updated,
            Event::Rejected { .. } => &mut self.rejected,
            // Made on the way to the readers, where each of those that it stands for was counted.
            Event::Lost { .. } => return,
            Event::MasterStarted { .. } => &mut self.started,
            Event::MasterLost { .. } => &mut self.masters_lost,
            Event::AttemptEnded { .. } => &mut self.attempts_ended,
            Event::AppEnded { .. } => &mut self.ended,
            Event::Gang(gang) => match gang.step {
                GangStep::Placed { .. } => &mut self.gangs_placed,
                GangStep::Holds { .. } => &mut self.gang_holds,
                GangStep::Expired { .. } => &mut self.gangs_expired,
            },
            Event::Opportunistic(of) => match of.step {
                OpportunisticStep::Queued => &mut self.opportunistic_queued,
                OpportunisticStep::Started => &mut self.opportunistic_started,
            },
        };
        *count += 1;
    }
}
