//! The outlet of a proposer: its ring to the committer, and what tests put in its way.

use std::sync::Arc as StdArc;

use super::batch::Batch;
use crate::runtime::testing::fault_injection::FaultSource;
use crate::snapshot::State;
use crate::sync::{Parker, RingSender, SPINS, TrySendError, spin_loop};

/// Times that a proposer gives its core away before it sleeps until its ring has room.
const TURNS: u32 = 16;

/// Where closed batches go.
pub(in crate::runtime) struct Outlet {
    ring: RingSender<StdArc<Batch>>,
    /// Where batches wait instead of the ring, when rounds are run step by step.
    held: Option<Vec<StdArc<Batch>>>,
    /// What is sent instead of the proposals, in tests.
    faults: Option<FaultSource>,
}

impl Outlet {
    /// Into a ring; what passes is replaced by `faults`, if there are any.
    pub(in crate::runtime) fn new(
        ring: RingSender<StdArc<Batch>>,
        faults: Option<FaultSource>,
    ) -> Self {
        Self {
            ring,
            held: None,
            faults,
        }
    }

    /// Holds batches back from now on, until [`Outlet::send_held`].
    pub(in crate::runtime) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// What is held back, oldest first.
    pub(in crate::runtime) fn held(&self) -> &[StdArc<Batch>] {
        self.held.as_deref().unwrap_or_default()
    }

    /// The same, to be replaced.
    pub(in crate::runtime) fn held_mut(&mut self) -> &mut [StdArc<Batch>] {
        self.held.as_deref_mut().unwrap_or_default()
    }

    /// Sends what is held back, as far as the ring has room; the number of batches.
    pub(in crate::runtime) fn send_held(&mut self) -> usize {
        let Some(held) = &mut self.held else { return 0 };
        let mut waiting = std::mem::take(held).into_iter();
        let mut accepted = 0;
        for batch in waiting.by_ref() {
            match self.ring.try_send(batch) {
                Ok(()) => accepted += 1,
                Err(TrySendError::Full(batch) | TrySendError::Closed(batch)) => {
                    held.push(batch);
                    break;
                }
            }
        }
        held.extend(waiting);
        accepted
    }

    /// Sends a batch that was decided on a copy; waits by `parker` while the ring is full.
    pub(super) fn send(&mut self, mut batch: StdArc<Batch>, copy: &State, parker: &Parker) {
        if let Some(faults) = &mut self.faults {
            batch = StdArc::new(faults.instead_of(&batch, copy));
        }
        if let Some(held) = &mut self.held {
            held.push(batch);
            return;
        }
        while let Err(TrySendError::Full(back)) = self.ring.try_send(batch) {
            batch = back;
            await_room(&self.ring, parker);
        }
    }
}

/// Waits until a ring takes a batch or is closed. While the committer is at work that is soon, and it
/// may need this core; while events wait for their reader it may be never.
fn await_room<T>(ring: &RingSender<T>, parker: &Parker) {
    for _ in 0..TURNS {
        for _ in 0..SPINS {
            if ring.has_room() {
                return;
            }
            spin_loop();
        }
        crate::sync::yield_now();
    }
    parker.park_until(|| ring.has_room());
}

#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
mod tests {
    use super::*;
    use crate::sync::{Received, ring};

    #[test]
    fn held_batches_are_sent_in_order_as_far_as_there_is_room() {
        let (sender, mut receiver) = ring(2);
        let mut outlet = Outlet::new(sender, None);
        assert_eq!((outlet.send_held(), outlet.held().len()), (0, 0));
        outlet.hold();
        let batches: Vec<_> = (0..4).map(|_| StdArc::<Batch>::default()).collect();
        outlet.held.clone_from(&Some(batches.clone()));
        assert_eq!((outlet.send_held(), outlet.held().len()), (2, 2));
        assert_eq!(outlet.send_held(), 0, "it is full");
        let mut received = Vec::new();
        for _ in 0..2 {
            while let Received::Item(batch) = receiver.try_recv() {
                received.push(batch);
            }
            outlet.send_held();
        }
        let same = |(one, other): (&StdArc<Batch>, &StdArc<Batch>)| StdArc::ptr_eq(one, other);
        while let Received::Item(batch) = receiver.try_recv() {
            received.push(batch);
        }
        assert_eq!(received.len(), 4);
        assert!(received.iter().zip(&batches).all(same));
    }
}
