//! A proposer thread: reads snapshots, decides on its working copy, sends what it decided.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::time::Duration;

use crate::id::Version;
use crate::metrics::Recorder;
use crate::proposer::Observation;
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicU64, Ordering, Parked, Parker, ProposerStatus, PublishedReader, RingSender, SPINS,
    Shutdown, TrySendError, spin_loop,
};
use crate::time::Clock;

use super::batch::{Batch, Batches};
use super::proposer_backoff::ProposerBackoff;
use super::round::Refused;
use super::stopwatch::Latencies;
use super::working_copy::View;
use crate::runtime::handles::start::Mode;
use crate::runtime::nodes::index::NodeIndex;
use crate::runtime::testing::fault_injection::FaultSource;

/// How long a proposer with fruitless counters waits before it looks again.
const PATIENCE: Duration = Duration::from_millis(5);

/// Times that a proposer gives its core away before it sleeps until its ring has room.
const TURNS: u32 = 16;

/// Own decisions after which the view of a sole proposer is refreshed though nothing else happened, with
/// the first publication after them. It follows them by itself; but while it reads an old snapshot, none of
/// the rows of that one can be freed.
const DRIFT: u64 = 262_144;

/// The same where others decide, too.
const DRIFT_OF_MORE: u64 = 2048;

/// The same for decisions of other proposers, which take room that the view counts on.
const DRIFT_OF_OTHERS: u64 = 128;

/// What a proposer thread owns.
pub(in crate::runtime) struct Proposer<C> {
    pub(in crate::runtime) mode: Mode,
    /// Position among the proposers, and their number.
    pub(in crate::runtime) share: (usize, usize),
    pub(in crate::runtime) snapshots: PublishedReader<Snapshot>,
    pub(in crate::runtime) index: PublishedReader<NodeIndex>,
    pub(in crate::runtime) ring: RingSender<StdArc<Batch>>,
    pub(in crate::runtime) parker: Parker,
    pub(in crate::runtime) shutdown: Shutdown,
    /// Where this proposer stands, for the committer.
    pub(in crate::runtime) standing: Arc<ProposerStatus>,
    /// Rounds that panicked, of all proposers.
    pub(in crate::runtime) panics: Arc<AtomicU64>,
    pub(in crate::runtime) recorder: Recorder,
    /// What of the decisions is measured.
    pub(in crate::runtime) latencies: Latencies,
    pub(in crate::runtime) clock: C,
    pub(in crate::runtime) batches: Batches,
    /// How much was sent when something was last proposed.
    pub(in crate::runtime) progress: u64,
    /// What the present pass observes; empty between passes.
    pub(in crate::runtime) seen: Vec<Observation>,
    /// Decisions and rounds so far, for sampling.
    pub(in crate::runtime) decisions: u32,
    pub(in crate::runtime) rounds: u32,
    /// When latencies were handed over between two rounds, in ns.
    pub(in crate::runtime) handed_ns: u64,
    /// Where the next round begins, among nodes, partitions and reservations.
    pub(in crate::runtime) start: usize,
    /// The last rounds, as long as nothing came of them.
    pub(in crate::runtime) refused: Refused,
    /// Whether it had better leave the work to others.
    pub(in crate::runtime) restraint: ProposerBackoff,
    /// Whether counters moved in the last round.
    pub(in crate::runtime) counted: bool,
    /// Where batches wait instead of the ring, when rounds are run step by step.
    pub(in crate::runtime) held: Option<Vec<StdArc<Batch>>>,
    /// What it sends instead of its proposals, in tests.
    pub(in crate::runtime) raving: Option<FaultSource>,
}

impl<C: Clock> Proposer<C> {
    /// Runs until shutdown. A round that panics is counted and the proposer starts afresh: its
    /// view and what it had not sent yet are dropped, the ledger never saw them.
    pub(in crate::runtime) fn run(mut self) {
        while catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            // Relaxed: a count that nothing else depends on.
            self.panics.fetch_add(1, Ordering::Relaxed);
            self.standing.set_waiting(false);
            self.forget_round();
        }
    }

    /// Drops what a round that panicked had not sent yet.
    pub(in crate::runtime) fn forget_round(&mut self) {
        self.batches.reopen();
        self.seen.clear();
        self.progress = self.batches.sent();
    }

    fn work(&mut self) {
        let mut view = self.begin();
        while !self.shutdown.is_requested() {
            self.catch_up(&mut view, false);
            let looked = view.version();
            let round = self.look(&mut view);
            if round.proposed {
                self.progress = self.batches.sent();
            }
            self.rounds = self.rounds.wrapping_add(1);
            self.hand_over_in_time();
            if self.share.0 > 0 {
                self.hold_back(&mut view);
            }
            if !round.proposed {
                self.rest(&mut view, looked, round.counted);
            } else if round.stuck || round.gave_up {
                self.await_landing(&mut view);
            }
        }
        self.recorder.hand_over();
    }

    /// A view of the newest snapshot.
    pub(in crate::runtime) fn begin(&mut self) -> View {
        let newest = StdArc::clone(self.snapshots.refresh());
        self.batches.landed(taken(&newest, self.share.0));
        View::new(newest, self.share, &self.batches)
    }

    /// Takes over the newest snapshot when it is due: when something happened that the view could
    /// not foresee, after a while in any case, and whenever `wanted`.
    pub(in crate::runtime) fn catch_up(&mut self, view: &mut View, wanted: bool) {
        let newest = self.snapshots.refresh();
        if newest.version == view.version() {
            return;
        }
        // A view never goes back behind this one, whether it follows now or later.
        self.batches.landed(taken(newest, self.share.0));
        if wanted || is_due(view, newest, self.share) {
            view.refresh(StdArc::clone(newest), &self.batches);
        }
    }

    /// Waits until the ledger has seen all that was sent.
    fn await_landing(&mut self, view: &mut View) {
        while !self.shutdown.is_requested() {
            self.catch_up(view, true);
            if taken(view.seen(), self.share.0) >= self.batches.sent() {
                break;
            }
            self.standing.set_waiting(true);
            let (snapshots, shutdown) = (&self.snapshots, &self.shutdown);
            let ready = || snapshots.version() > view.version() || shutdown.is_requested();
            wait(&self.parker, Some(PATIENCE), ready);
        }
        self.standing.set_waiting(false);
    }

    /// Comes to rest, unless something happened since the version `looked` at. That reservations
    /// were looked at again is nothing: it would keep the proposers awake in turn, for ever.
    fn rest(&mut self, view: &mut View, looked: Version, counted: bool) {
        let unseen = taken(view.seen(), self.share.0) < self.progress;
        self.await_landing(view);
        if unseen || view.seen().news > looked || self.shutdown.is_requested() {
            return;
        }
        self.recorder.hand_over();
        let version = view.version();
        self.standing.rest(version);
        let (snapshots, shutdown) = (&mut self.snapshots, &self.shutdown);
        let ready = || snapshots.refresh().news > version || shutdown.is_requested();
        wait(&self.parker, counted.then_some(PATIENCE), ready);
        self.catch_up(view, true);
    }

    /// Stays away for a while when too many of its proposals were refused.
    fn hold_back(&mut self, view: &mut View) {
        let (seen, own) = (view.seen(), self.share.0);
        let refused = seen.refused.get(own).copied().unwrap_or(0);
        let absence = self.restraint.judge(taken(seen, own), refused);
        if absence == 0 {
            return;
        }
        // What the committer decides by itself is seldom published.
        let age = |snapshot: &Snapshot| snapshot.version.0 + snapshot.served;
        let until = age(seen) + absence;
        self.standing.leave();
        let (snapshots, shutdown) = (&mut self.snapshots, &self.shutdown);
        self.parker
            .park_until(|| age(snapshots.refresh()) >= until || shutdown.is_requested());
        self.standing.come_back();
        self.catch_up(view, true);
    }

    /// Hands the open batch over; waits while the committer is behind, asleep if that lasts.
    pub(in crate::runtime) fn send(&mut self, view: &View) {
        let measured = self.recorder.is_active() && self.batches.is_sampled();
        self.batches.open.sent_ns = measured.then(|| self.clock.now_ns());
        let Some(mut batch) = self.batches.close(view.version()) else {
            return;
        };
        if let Some(raving) = &mut self.raving {
            batch = StdArc::new(raving.instead_of(&batch, &view.state));
        }
        if let Some(held) = &mut self.held {
            held.push(batch);
            return;
        }
        while let Err(TrySendError::Full(back)) = self.ring.try_send(batch) {
            batch = back;
            await_room(&self.ring, &self.parker);
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

/// Whether a view should follow to `newest` at once.
fn is_due(view: &View, newest: &Snapshot, (own, of): (usize, usize)) -> bool {
    let seen = view.seen();
    let drift = if of > 1 { DRIFT_OF_MORE } else { DRIFT };
    newest.outside != seen.outside
        || taken(newest, own) - taken(seen, own) >= drift
        || others(newest, own) - others(seen, own) >= DRIFT_OF_OTHERS
}
