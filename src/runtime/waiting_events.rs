//! How many events wait for a reader, and how many were dropped since too many did.
//!
//! Deliveries are counted by the committer alone, and what is taken by whoever has the lock of readers. So each count has
//! one writer at a time, and costs a load and a store for a batch.
//!
//! Tests: `tests/runtime/deliveries.rs`.

use crate::sync::{Arc, AtomicU64, Ordering};

/// Both counts, shared by the committer, the readers and who asks.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct WaitingEvents(Arc<EventTally>);

#[derive(Debug)]
struct EventTally {
    delivered: AtomicU64,
    taken: AtomicU64,
    /// Dropped, and not yet counted by an event.
    lost: AtomicU64,
}

impl WaitingEvents {
    pub(in crate::runtime) fn new() -> Self {
        Self(Arc::new(EventTally {
            delivered: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }))
    }

    /// So many events are on their way to the readers. Only the committer may call it.
    pub(in crate::runtime) fn note_delivered(&self, count: usize) {
        add(&self.0.delivered, count);
    }

    /// So many events were taken. Only who has the lock of readers may call it.
    pub(in crate::runtime) fn note_taken(&self, count: usize) {
        add(&self.0.taken, count);
    }

    /// So many events were dropped. Only the committer may call it.
    pub(in crate::runtime) fn note_lost(&self, count: usize) {
        // Relaxed: a figure. A reader that misses it leaves it to the next event that counts.
        self.0.lost.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Takes the number of dropped events, which its caller counts by an event.
    pub(in crate::runtime) fn take_lost(&self) -> u64 {
        // Relaxed: as above.
        self.0.lost.swap(0, Ordering::Relaxed)
    }

    /// Events that wait, as of some moment during the call.
    pub(in crate::runtime) fn count(&self) -> u64 {
        // Relaxed: a figure, by which nothing else is handed over. What is taken is read first, and may be ahead.
        let taken = self.0.taken.load(Ordering::Relaxed);
        let delivered = self.0.delivered.load(Ordering::Relaxed);
        delivered.saturating_sub(taken)
    }
}

/// Adds to a count with one writer.
fn add(to: &AtomicU64, count: usize) {
    // Relaxed: nobody else writes it, and readers want a figure alone.
    let before = to.load(Ordering::Relaxed);
    to.store(before.saturating_add(count as u64), Ordering::Relaxed);
}
