//! Capacities of the queues between the threads of an engine, and why they are what they are.

use std::num::NonZeroUsize;

use super::start::Mode;

/// Batches that a sole proposer may have waiting: what it decides while the committer publishes.
const RING: usize = 64;

/// The same where others take what these batches count on.
const RING_OF_MANY: usize = 8;

/// Commands that may wait; callers wait beyond that.
const INBOX: usize = 4096;

/// Batches of events that may wait; then no proposal is taken until somebody reads them.
const EVENTS: usize = 4096;

/// Empty buffers of events that wait to be used again.
const SPENT: usize = 64;

/// The capacity of each queue, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct QueueCapacities {
    /// Batches of one proposer.
    pub(in crate::runtime) ring: usize,
    pub(in crate::runtime) inbox: usize,
    pub(in crate::runtime) events: usize,
    pub(in crate::runtime) spent: usize,
}

impl QueueCapacities {
    /// What an engine of this mode has, unless each queue was given the same capacity.
    pub(in crate::runtime) fn of(mode: Mode, capacity: Option<NonZeroUsize>) -> Self {
        let or = |usual| capacity.map_or(usual, NonZeroUsize::get);
        Self {
            ring: or(if mode.threads() > 1 {
                RING_OF_MANY
            } else {
                RING
            }),
            inbox: or(INBOX),
            events: or(EVENTS),
            spent: or(SPENT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_capacity_holds_for_every_queue() {
        let mode = Mode::Global { threads: 3 };
        let capacities = QueueCapacities::of(mode, NonZeroUsize::new(2));
        let all = [
            capacities.ring,
            capacities.inbox,
            capacities.events,
            capacities.spent,
        ];
        assert_eq!(all, [2; 4]);
    }

    #[test]
    fn a_sole_proposer_may_have_more_waiting() {
        let capacities = |threads| QueueCapacities::of(Mode::Global { threads }, None);
        assert!(capacities(1).ring > capacities(2).ring);
        assert_eq!(capacities(1).inbox, capacities(2).inbox);
    }
}
