//! Publications: when the committer makes a snapshot, and what is copied ahead of it.

use crate::metrics::Phase;
use crate::sync::Ordering;
use crate::time::Clock;

use super::turn::Committer;

/// Decisions after which a snapshot is published though nobody waits for it: one proposer follows
/// its own decisions without it.
const PUBLISH: u64 = 8192;

/// Decisions for each row that is copied then, and most that wait where there are many rows.
const PER_ROW: u64 = 4;
const PUBLISH_AT_LAST: u64 = 131_072;

/// Rows after which a snapshot is published while the committer decides by itself.
const ROWS_AT_ONCE: usize = 4096;

/// Rows that are copied ahead of it in a turn, some 0.3 us each, besides as many as were written
/// since the last one. A call may wait for a few turns.
const ROWS_AHEAD: usize = 32;

/// Decisions after which it is published where several proposers take room that the others count on.
const PUBLISH_TO_OTHERS: u64 = 512;

impl<C: Clock> Committer<C> {
    /// Whether decisions have waited long enough for their publication while there are more.
    pub(in crate::runtime) fn is_due(&mut self) -> bool {
        if self.rings.len() > 1 {
            return self.unpublished >= PUBLISH_TO_OTHERS;
        }
        let rows = self.engine.ledger().state().rows_written();
        if !self.has_landed() {
            // Without proposers these are turns.
            let most = if self.standings.is_empty() {
                PUBLISH
            } else {
                PUBLISH_AT_LAST
            };
            let waited = rows >= ROWS_AT_ONCE || self.unpublished >= most;
            return waited && self.copy_ahead();
        }
        self.unpublished >= PUBLISH
            && self.unpublished >= PUBLISH_AT_LAST.min(PER_ROW * rows as u64)
    }

    /// Whether decisions of proposers were taken that no snapshot shows yet.
    // Two empty lists are not compared: the C library loads nothing from nowhere then, which takes some
    // processors as long as a short call.
    pub(in crate::runtime) fn has_landed(&self) -> bool {
        !self.taken.is_empty() && self.taken != self.snapshot.taken
    }

    /// Copies some rows ahead of the next snapshot; whether few are left. It gets there however fast
    /// rows are written: while it goes on, each turn leaves fewer than the one before.
    pub(in crate::runtime) fn copy_ahead(&mut self) -> bool {
        let ledger = self.engine.ledger_mut();
        let before = ledger.state().rows_to_copy();
        let added = before.saturating_sub(self.copying.unwrap_or(before));
        ledger.copy_ahead(ROWS_AHEAD + added);
        let left = ledger.state().rows_to_copy();
        self.copying = (left > ROWS_AHEAD).then_some(left);
        self.copying.is_none()
    }

    /// Shows everything that happened, and wakes the proposers where that is any news.
    pub(in crate::runtime) fn publish(&mut self) {
        // Relaxed: a wish that comes later is seen with the call that follows it. What was answered before
        // is in this snapshot.
        self.wanted.store(false, Ordering::Relaxed);
        self.copying = None;
        self.tell();
        let timed = self.recorder.is_active();
        let before = if timed { self.clock.now_ns() } else { 0 };
        if let Some(spot) = &mut self.spot {
            spot.follow(&mut self.engine);
        }
        let ledger = self.engine.ledger_mut();
        ledger.catch_up();
        let mut next = self.snapshot.next(ledger.state_to_publish());
        next.taken.clone_from(&self.taken);
        (next.served, next.served_refused) = self.served;
        next.refused.clone_from(&self.refused);
        next.skipped = self.skipped;
        next.outside = self.outside;
        next.changes = self.changes;
        let landed = self.has_landed();
        self.unpublished = 0;
        if !std::mem::take(&mut self.news) {
            next.news = self.snapshot.news;
        }
        let next = std::sync::Arc::new(next);
        self.snapshot = std::sync::Arc::clone(&next);
        drop(self.publisher.publish(next.version, next));
        if timed {
            let took = self.clock.now_ns().saturating_sub(before);
            self.recorder.record(Phase::Publish, took);
        }
        // Otherwise nobody waits for it.
        if landed || self.snapshot.news == self.snapshot.version {
            for proposer in &self.proposers {
                proposer.wake();
            }
        }
    }
}
