//! The loop of a proposer's thread: following snapshots, becoming idle, backing off.
//!
//! Tests: `tests/runtime/following.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::time::Duration;

use super::Proposer;
use super::working_copy::WorkingCopy;
use crate::id::Version;
use crate::snapshot::Snapshot;
use crate::sync::{Parked, Parker, SPINS, spin_loop};
use crate::time::Clock;

/// How long a proposer with fruitless counters waits before it looks again.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long its thread rests after a panic.
const PAUSE: Duration = Duration::from_millis(1);

/// Own decisions after which the copy of a sole proposer is refreshed though nothing else happened, with
/// the first publication after them. It follows them by itself; but while it reads an old snapshot, none of
/// the rows of that one can be freed.
const DRIFT: u64 = 262_144;

/// The same where others decide, too.
const DRIFT_OF_MORE: u64 = 2048;

/// The same for decisions of other proposers, which take room that the copy counts on.
const DRIFT_OF_OTHERS: u64 = 128;

impl<C: Clock> Proposer<C> {
    /// Runs until shutdown. A round that panics is counted and the proposer starts afresh: its
    /// copy and what it had not sent yet are dropped, the ledger never saw them.
    pub(in crate::runtime) fn run(mut self) {
        while !self.shutdown.is_requested() {
            let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.work())) else {
                return;
            };
            self.panics.note_worker(&*payload);
            self.status.set_waiting(false);
            self.forget_round();
            // What panics at once again, such as a clock, is not to take the core of others.
            let shutdown = &self.shutdown;
            let _: Parked = self.parker.park_for(PAUSE, || shutdown.is_requested());
        }
    }

    /// Drops what a round that panicked had not sent yet.
    pub(in crate::runtime) fn forget_round(&mut self) {
        self.batches.reopen();
        self.seen.clear();
        self.history.progress = self.batches.sent();
    }

    fn work(&mut self) {
        let mut copy = self.begin();
        while !self.shutdown.is_requested() {
            self.catch_up(&mut copy, false);
            let looked = copy.version();
            let round = self.look(&mut copy);
            if round.proposed {
                self.history.progress = self.batches.sent();
            }
            self.measuring.end_round();
            if self.share.0 > 0 {
                self.back_off(&mut copy);
            }
            if !round.proposed {
                self.become_idle(&mut copy, looked, round.counted);
            } else if round.stuck {
                self.await_landing(&mut copy);
            }
        }
        self.measuring.hand_over();
    }

    /// A working copy of the newest snapshot.
    pub(in crate::runtime) fn begin(&mut self) -> WorkingCopy {
        let newest = StdArc::clone(self.snapshots.refresh());
        self.batches.landed(taken(&newest, self.share.0));
        WorkingCopy::new(newest, self.share, &self.batches)
    }

    /// Takes over the newest snapshot when it is due: when something happened that the copy could
    /// not foresee, after a while in any case, and whenever `wanted`.
    pub(in crate::runtime) fn catch_up(&mut self, copy: &mut WorkingCopy, wanted: bool) {
        let newest = self.snapshots.refresh();
        if newest.version == copy.version() {
            return;
        }
        // A copy never goes back behind this one, whether it follows now or later.
        self.batches.landed(taken(newest, self.share.0));
        if wanted || is_due(copy, newest, self.share) {
            copy.refresh(StdArc::clone(newest), &self.batches);
        }
    }

    /// Waits until the ledger has seen all that was sent.
    fn await_landing(&mut self, copy: &mut WorkingCopy) {
        while !self.shutdown.is_requested() {
            self.catch_up(copy, true);
            if taken(copy.seen(), self.share.0) >= self.batches.sent() {
                break;
            }
            self.status.set_waiting(true);
            let (snapshots, shutdown) = (&self.snapshots, &self.shutdown);
            let ready = || snapshots.version() > copy.version() || shutdown.is_requested();
            wait(&self.parker, Some(PATIENCE), ready);
        }
        self.status.set_waiting(false);
    }

    /// Becomes idle, unless something happened since the version `looked` at. That reservations
    /// were looked at again is nothing: it would keep the proposers awake in turn, for ever.
    fn become_idle(&mut self, copy: &mut WorkingCopy, looked: Version, counted: bool) {
        let unseen = taken(copy.seen(), self.share.0) < self.history.progress;
        self.await_landing(copy);
        if unseen || copy.seen().news > looked || self.shutdown.is_requested() {
            return;
        }
        self.measuring.hand_over();
        let version = copy.version();
        self.status.set_idle(version);
        let (snapshots, shutdown) = (&mut self.snapshots, &self.shutdown);
        let ready = || snapshots.refresh().news > version || shutdown.is_requested();
        wait(&self.parker, counted.then_some(PATIENCE), ready);
        self.catch_up(copy, true);
    }

    /// Sits out some publications when too many of its proposals were refused.
    fn back_off(&mut self, copy: &mut WorkingCopy) {
        let (seen, own) = (copy.seen(), self.share.0);
        let refused = seen.refused.get(own).copied().unwrap_or(0);
        let pause = self.backoff.judge(taken(seen, own), refused);
        if pause == 0 {
            return;
        }
        // What the committer decides by itself is seldom published.
        let age = |snapshot: &Snapshot| snapshot.version.0 + snapshot.served;
        let until = age(seen) + pause;
        self.status.back_off();
        let (snapshots, shutdown) = (&mut self.snapshots, &self.shutdown);
        self.parker
            .park_until(|| age(snapshots.refresh()) >= until || shutdown.is_requested());
        self.status.resume();
        self.catch_up(copy, true);
    }

    /// Hands the open batch over; waits while the committer is behind, asleep if that lasts.
    pub(in crate::runtime) fn send(&mut self, copy: &WorkingCopy) {
        let sampled = self.batches.is_sampled();
        self.batches.open.sent_ns = self.measuring.sent_ns(sampled);
        if let Some(batch) = self.batches.close(copy.version()) {
            self.outlet.send(batch, &copy.state, &self.parker);
        }
    }
}

/// Waits until something is ready, or until patience ends: awake at first, then asleep.
pub(in crate::runtime) fn wait(
    parker: &Parker,
    patience: Option<Duration>,
    mut ready: impl FnMut() -> bool,
) {
    for _ in 0..SPINS {
        if ready() {
            return;
        }
        spin_loop();
    }
    match patience {
        Some(patience) => {
            let _: Parked = parker.park_for(patience, ready);
        }
        None => parker.park_until(ready),
    }
}

/// Decisions of one proposer that a snapshot has seen.
pub(in crate::runtime) fn taken(snapshot: &Snapshot, proposer: usize) -> u64 {
    snapshot.taken.get(proposer).copied().unwrap_or(0)
}

/// Decisions of all other proposers that a snapshot has seen.
fn others(snapshot: &Snapshot, own: usize) -> u64 {
    snapshot.taken.iter().sum::<u64>() - taken(snapshot, own)
}

/// Whether a copy should follow to `newest` at once.
fn is_due(copy: &WorkingCopy, newest: &Snapshot, (own, of): (usize, usize)) -> bool {
    let seen = copy.seen();
    let drift = if of > 1 { DRIFT_OF_MORE } else { DRIFT };
    newest.outside != seen.outside
        || taken(newest, own) - taken(seen, own) >= drift
        || others(newest, own) - others(seen, own) >= DRIFT_OF_OTHERS
}
