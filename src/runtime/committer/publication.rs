//! Publication: when the committer makes a snapshot, and which rows are copied ahead of it.
//!
//! 1. A publication copies the rows that were written since the last one, some 0.3 us each, and replaces
//!    the shared pointer.
//! 2. With several proposers it is due after a few hundred decisions, because each takes room that the others
//!    count on. A sole proposer follows its own decisions, so that thousands may wait.
//! 3. While the committer places asks by itself, nobody needs the snapshot. It is due after many rows; these
//!    are then copied in pieces ahead of it, so that no call waits for all of them.
//! 4. Where many rows were written, a snapshot is made ready in parts: bounds of user limits, then rows. Others are
//!    served in between. Those that write every queue have it begin again, and after some of them the next ones wait.
//! 5. Whoever asks for a snapshot raises a flag. The owner of the committer publishes before it releases it.
//! 6. A snapshot holds news if anything happened besides reservations that were looked at again. Only
//!    then, or when decisions of proposers landed, are the proposers woken.
//!
//! Tests: `tests/runtime/caller_runs.rs`.

use std::sync::Arc as StdArc;

use super::Committer;
use super::proposer_rings::ProposerRings;
use crate::commit::{Ledger, Unsettled};
use crate::metrics::Phase;
use crate::runtime::Sequential;
use crate::snapshot::Snapshot;
use crate::sync::{Arc, AtomicBool, Ordering, Published, Publisher, published};
use crate::time::Clock;

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

/// Rows that are copied in one piece with a snapshot that is due, and as many in a turn before. They take as long as
/// another part of a call.
const ROWS_OF_PART: usize = 128;

/// The same for several proposers: about as many as their decisions before it write.
const ROWS_TO_OTHERS: usize = 1024;

/// Parts in which such a snapshot is made ready. What calls change all the time is made with it.
const MOST_PARTS: usize = 256;

/// How often it begins again since all queues were written meanwhile. Then what would write them waits for it.
const MOST_BEGUN_AGAIN: u32 = 8;

/// Most rows that a turn copies again since they were written after they were copied.
const ROWS_AGAIN: usize = 256;

/// How often as many rows are copied ahead of one snapshot as were to be copied at first: what turns write again and
/// again, as those that compute all queues anew, is copied at last.
const COPIES: usize = 4;

/// Turns after such a snapshot until rows are copied ahead again.
const REST: u64 = 8192;

/// Decisions after which it is published where several proposers take room that the others count on.
const PUBLISH_TO_OTHERS: u64 = 512;

/// What the last snapshot shows, and what happened since.
pub(in crate::runtime) struct Publication {
    publisher: Publisher<Snapshot>,
    snapshot: StdArc<Snapshot>,
    /// Whether somebody waits for a snapshot of all that was answered.
    wanted: Arc<AtomicBool>,
    /// While rows are copied ahead.
    copying: Option<CopyingAhead>,
    /// Whether a snapshot is due that is made ready in parts, and how many there were.
    due: bool,
    parts: usize,
    begun_again: u32,
    /// Turns in which no rows are copied ahead: the last ones copied the same rows again and again.
    rest: u64,
    /// Decisions, and turns with changes from outside, that no snapshot shows yet.
    unpublished: u64,
    /// Whether something happened since the last publication besides looks at reservations.
    news: bool,
    /// Whether proposers, having nothing else to do, counted looks that may bring something in number.
    counted: bool,
    /// Counts what changed the state other than accepted proposals.
    outside: u64,
    /// Counts what changed the state: commands and accepted proposals.
    changes: u64,
}

/// Rows that are copied ahead of a snapshot.
#[derive(Clone, Copy)]
struct CopyingAhead {
    /// How many the last turn left.
    left: usize,
    /// How many more are copied before the rest is copied at once.
    most: usize,
}

/// What became of the decisions of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::runtime) struct BatchCounts {
    pub(in crate::runtime) committed: u64,
    pub(in crate::runtime) elsewhere: u64,
    pub(in crate::runtime) refused: u64,
    /// Reservations that were kept, which are among the committed.
    pub(in crate::runtime) kept: u64,
    /// Decisions that proposed nothing.
    pub(in crate::runtime) skipped: u64,
}

impl Publication {
    /// Publishes a first snapshot of a ledger that so many proposers will work on; with the readers' end.
    pub(in crate::runtime) fn new(
        ledger: &mut Ledger,
        wanted: Arc<AtomicBool>,
    ) -> (Self, Published<Snapshot>) {
        let settings = StdArc::clone(&ledger.state().settings);
        let first = Snapshot::empty(settings).next(ledger.state_to_publish());
        let snapshot = StdArc::new(first);
        let (publisher, snapshots) = published(snapshot.version, StdArc::clone(&snapshot));
        let publication = Self {
            publisher,
            snapshot,
            wanted,
            copying: None,
            due: false,
            parts: 0,
            begun_again: 0,
            rest: 0,
            unpublished: 0,
            news: false,
            counted: false,
            outside: 0,
            changes: 0,
        };
        (publication, snapshots)
    }

    /// The last snapshot.
    pub(in crate::runtime) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same, for others.
    pub(in crate::runtime) fn shared(&self) -> StdArc<Snapshot> {
        StdArc::clone(&self.snapshot)
    }

    /// Changes from outside so far.
    pub(in crate::runtime) fn outside(&self) -> u64 {
        self.outside
    }

    /// Notes a change from outside.
    pub(in crate::runtime) fn note_change(&mut self) {
        self.outside += 1;
        self.changes += 1;
        self.news = true;
    }

    /// Whether a snapshot is due that is made ready in parts.
    pub(in crate::runtime) fn is_preparing(&self) -> bool {
        self.due
    }

    /// Whether all queues may be written now, as far as a snapshot is concerned that is being made ready.
    pub(super) fn may_begin_again(&self) -> bool {
        !self.due || self.begun_again < MOST_BEGUN_AGAIN
    }

    /// Notes that all queues are about to be written: a snapshot that is being made ready begins again.
    pub(super) fn begin_again(&mut self) {
        if self.due {
            self.begun_again += 1;
            (self.copying, self.parts) = (None, 0);
        }
    }

    /// Makes a part of a snapshot that is due ready; whether the rest is few, or is made with it in any case.
    fn prepare_part(&mut self, engine: &mut Unsettled<Sequential>, proposers: usize) -> bool {
        let most = if proposers > 1 {
            ROWS_TO_OTHERS
        } else {
            ROWS_OF_PART
        };
        let few = |engine: &Unsettled<Sequential>| engine.rows_to_copy() <= most;
        self.parts += 1;
        let is_ready = self.parts == MOST_PARTS
            || (engine.renew_bounds_on(&mut { ROWS_OF_PART })
                && (few(engine) || self.copy_rows(engine, ROWS_OF_PART) || few(engine)));
        self.due = !is_ready;
        is_ready
    }

    /// Notes that a decision was more than a look at a reservation.
    pub(in crate::runtime) fn note_news(&mut self, news: bool) {
        self.news |= news;
    }

    /// Notes what became of a batch of so many decisions.
    pub(in crate::runtime) fn note_batch(&mut self, decisions: u64, counts: BatchCounts) {
        // Its proposer foresees neither. Only refusals count for its backoff: elsewhere is progress, too.
        self.outside += counts.refused + counts.elsewhere;
        // A reservation that is kept changes nothing: whoever is refused beside it would try for ever.
        self.changes += counts.committed - counts.kept + counts.elsewhere;
        self.counted |= counts.kept + counts.skipped > 0;
        self.unpublished += decisions;
    }

    /// Whether the last looks of proposers counted something that may bring more in number.
    pub(in crate::runtime) fn is_counting(&self) -> bool {
        self.counted
    }

    /// Has every proposer look once more, if looks alone may bring something; whether they do.
    pub(in crate::runtime) fn look_again(&mut self) -> bool {
        let again = std::mem::take(&mut self.counted);
        self.outside += u64::from(again);
        self.news |= again;
        again
    }

    /// Notes so many containers that the committer placed by itself in a turn. If nothing is `left` for the
    /// proposers, what came before is no news for them either.
    pub(in crate::runtime) fn note_inline(&mut self, placed: u64, left: bool) {
        self.changes += placed;
        self.unpublished += placed + 1;
        self.news &= left;
    }

    /// Notes a turn that leaves changes from outside to the proposers.
    pub(in crate::runtime) fn note_left(&mut self, news: bool) {
        self.news |= news;
        self.unpublished += 1;
    }

    /// Whether something happened that is news for proposers and that no snapshot shows.
    pub(in crate::runtime) fn has_news(&self) -> bool {
        self.news
    }

    /// Whether anything happened that no snapshot shows.
    pub(in crate::runtime) fn is_behind(&self) -> bool {
        self.unpublished > 0
    }

    /// Whether somebody waits for a snapshot that shows more than the last one.
    pub(in crate::runtime) fn is_wanted(&self) -> bool {
        // Relaxed: as in `CallerRuns::publish`.
        self.unpublished > 0 && self.wanted.load(Ordering::Relaxed)
    }

    /// Drops a wish that the last snapshot fulfils.
    pub(in crate::runtime) fn withdraw_wish(&self) {
        // Relaxed: a wish that comes later is seen with the call that follows it. What was answered before
        // is in the snapshot.
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// Whether decisions have waited long enough for their publication while there are more.
    pub(in crate::runtime) fn is_due(
        &mut self,
        engine: &mut Unsettled<Sequential>,
        proposers: &ProposerRings,
    ) -> bool {
        if proposers.len() > 1 {
            return self.unpublished >= PUBLISH_TO_OTHERS;
        }
        let rows = engine.rows_written();
        if !proposers.has_landed_since(&self.snapshot) {
            if self.rest > 0 {
                self.rest -= 1;
                return false;
            }
            // Without proposers these are turns, and only who asks waits.
            let waits = if proposers.is_empty() {
                self.unpublished >= PUBLISH && self.is_wanted()
            } else {
                self.unpublished >= PUBLISH_AT_LAST
            };
            return (waits || rows >= ROWS_AT_ONCE) && self.copy_ahead(engine);
        }
        self.unpublished >= PUBLISH
            && self.unpublished >= PUBLISH_AT_LAST.min(PER_ROW * rows as u64)
    }

    /// Copies some rows ahead of the next snapshot; whether few are left, or more copies are of no use. While it goes
    /// on, each turn leaves fewer than the one before, unless it wrote more than [`ROWS_AGAIN`] of them.
    pub(in crate::runtime) fn copy_ahead(&mut self, engine: &mut Unsettled<Sequential>) -> bool {
        self.copy_rows(engine, ROWS_AHEAD)
    }

    /// The same for so many rows, besides those that were written again. Bounds are renewed before: they stand in rows.
    fn copy_rows(&mut self, engine: &mut Unsettled<Sequential>, rows: usize) -> bool {
        let is_renewed = engine.renew_bounds_on(&mut { ROWS_OF_PART });
        let before = engine.rows_to_copy();
        let CopyingAhead { left, most } = self.copying.unwrap_or(CopyingAhead {
            left: before,
            most: COPIES.saturating_mul(before.max(ROWS_AT_ONCE)),
        });
        if !is_renewed {
            // They are renewed again where calls go on changing what they depend on.
            return !self.go_on_copying(before, most.saturating_sub(ROWS_OF_PART));
        }
        let again = before.saturating_sub(left).min(ROWS_AGAIN);
        let copied = before.min(rows + again);
        engine.copy_ahead(copied);
        let (left, most) = (engine.rows_to_copy(), most.saturating_sub(copied));
        if left <= ROWS_AHEAD {
            self.copying = None;
            return true;
        }
        !self.go_on_copying(left, most)
    }

    /// Notes how many rows are left, and how many more are copied or renewed at most; whether any are.
    fn go_on_copying(&mut self, left: usize, most: usize) -> bool {
        self.copying = (most > 0).then_some(CopyingAhead { left, most });
        if most == 0 {
            self.rest = REST;
        }
        most > 0
    }

    /// Publishes the state of a ledger. `served` are the decisions that the committer made by itself, and
    /// those of them that were refused.
    fn publish(&mut self, ledger: &mut Ledger, proposers: &ProposerRings, served: (u64, u64)) {
        let mut next = self.snapshot.next(ledger.state_to_publish());
        proposers.show(&mut next);
        (next.served, next.served_refused) = served;
        next.outside = self.outside;
        next.changes = self.changes;
        self.copying = None;
        (self.due, self.parts, self.begun_again) = (false, 0, 0);
        self.unpublished = 0;
        if std::mem::take(&mut self.news) {
            // Proposers look again, and count what they then do.
            self.counted = false;
        } else {
            next.news = self.snapshot.news;
        }
        let next = StdArc::new(next);
        self.snapshot = StdArc::clone(&next);
        drop(self.publisher.publish(next.version, next));
    }
}

impl<C: Clock> Committer<C> {
    /// Shows everything that happened, and wakes the proposers where that is any news.
    pub(in crate::runtime) fn publish(&mut self) {
        self.publication.withdraw_wish();
        self.deliver();
        let timed = self.measures.recorder.is_active();
        let before = if timed { self.clock.now_ns() } else { 0 };
        if let Some(inline) = &mut self.inline {
            inline.follow(&mut self.engine);
        }
        let landed = self.has_landed();
        let served = self
            .inline
            .as_ref()
            .map_or((0, 0), |inline| inline.served());
        let ledger = self.engine.settled_ledger();
        self.publication.publish(ledger, &self.proposers, served);
        if timed {
            let took = self.clock.now_ns().saturating_sub(before);
            self.measures.recorder.record(Phase::Publish, took);
        }
        let shown = self.publication.snapshot();
        // Otherwise nobody waits for it.
        if landed || shown.news == shown.version {
            self.proposers.wake();
        }
    }

    /// The same in parts where many rows were written: one part now, and the next ones with the next turns.
    pub(super) fn publish_in_parts(&mut self) {
        let proposers = self.proposers.len();
        let was_preparing = self.publication.is_preparing();
        if self.publication.prepare_part(&mut self.engine, proposers) {
            self.publish();
            if was_preparing {
                // Calls that have it make one after the other leave no pause.
                self.measures.recorder.hand_over();
            }
        }
    }

    /// Whether decisions of proposers were taken that no snapshot shows yet.
    pub(super) fn has_landed(&self) -> bool {
        self.proposers.has_landed_since(self.publication.snapshot())
    }
}
