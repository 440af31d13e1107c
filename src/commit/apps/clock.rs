//! Time in the ledger: its clock, which only moves forward, and the ends of lifetimes.
//!
//! Tests: `tests/commit/lifetimes.rs`.

use std::collections::BTreeSet;

use crate::id::AppSlot;

/// The time that the ledger was set to, and what is due by time. Times are in ms.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct LedgerClock {
    now_ms: u64,
    /// When lifetimes end, and whose: slot and generation.
    deadlines: BTreeSet<(u64, AppSlot, u32)>,
    /// Attempts started so far.
    starts: u64,
}

impl LedgerClock {
    /// The present time.
    #[inline]
    pub(in crate::commit) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Sets the time, which never goes back.
    pub(in crate::commit) fn set(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
    }

    /// Moves the time forward.
    pub(in crate::commit) fn advance(&mut self, ms: u64) {
        self.now_ms = self.now_ms.saturating_add(ms);
    }

    /// Position of the next attempt in the order of starts, which is used up by that.
    pub(in crate::commit) fn next_start(&mut self) -> u64 {
        self.starts += 1;
        self.starts
    }

    /// Ends a lifetime in some ms from now.
    pub(in crate::commit) fn end_in(&mut self, ms: u64, app: AppSlot, generation: u32) {
        let deadline = self.now_ms.saturating_add(ms);
        self.deadlines.insert((deadline, app, generation));
    }

    /// Forgets the lifetime of an application.
    pub(in crate::commit) fn forget(&mut self, app: AppSlot, generation: u32) {
        let kept = |&(_, other, known): &(u64, AppSlot, u32)| (other, known) != (app, generation);
        self.deadlines.retain(kept);
    }

    /// When the next lifetime ends.
    pub(in crate::commit) fn next_deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline, _, _)| deadline)
    }

    /// Takes the next application whose lifetime is over.
    pub(in crate::commit) fn take_due(&mut self) -> Option<(AppSlot, u32)> {
        let due = self.next_deadline().is_some_and(|at| at <= self.now_ms);
        let (_, app, generation) = due.then(|| self.deadlines.pop_first())??;
        Some((app, generation))
    }
}
