//! A proposer thread: reads snapshots, decides on its working copy, sends what it decided.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::time::Duration;

use crate::cluster::NodeState;
use crate::id::{NodeSlot, PartitionId, Version};
use crate::metrics::{Phase, Recorder};
use crate::proposer::{
    Candidates, Observation, Outcome, Watch, has_room, propose_reserved, propose_watched,
};
use crate::queue::Exclusivity;
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicU64, Ordering, Parked, Parker, PublishedReader, RingSender, SPINS, Shutdown,
    TrySendError, Waker, spin_loop,
};
use crate::time::Clock;

use super::batch::{BATCH, Batch, Batches};
use super::index::NodeIndex;
use super::restraint::Restraint;
use super::standing::Standing;
use super::start::Mode;
use super::stopwatch::{Latencies, Stopwatch};
use super::view::{Noted, View};

/// How long a proposer with fruitless counters waits before it looks again.
const PATIENCE: Duration = Duration::from_millis(5);

/// Own decisions after which a view is refreshed though nothing else happened: it follows them but
/// for what only the ledger does.
const DRIFT: u64 = 65_536;

/// The same where some user asks for nothing more, or others decide, too. A sole busy proposer gets
/// it with the next snapshot, which may be that of some thousand decisions more.
const DRIFT_OF_MORE: u64 = 2048;

/// The same for decisions of other proposers, which take room that the view counts on.
const DRIFT_OF_OTHERS: u64 = 128;

/// One decision in so many is timed.
const SAMPLE: u32 = 128;

/// Rounds after which the clock is asked whether latencies are to be handed over.
const ROUNDS: u32 = 256;

/// How long a busy proposer keeps its latencies, in ns: adding them takes as long as a thousand decisions.
const HAND_OVER_NS: u64 = 100_000_000;

/// What a proposer thread owns.
pub(super) struct Proposer<C> {
    pub(super) mode: Mode,
    /// Position among the proposers, and their number.
    pub(super) share: (usize, usize),
    pub(super) snapshots: PublishedReader<Snapshot>,
    pub(super) index: PublishedReader<NodeIndex>,
    pub(super) ring: RingSender<StdArc<Batch>>,
    pub(super) parker: Parker,
    pub(super) shutdown: Shutdown,
    /// Where this proposer stands, for the committer.
    pub(super) standing: Arc<Standing>,
    /// Woken when this proposer comes to rest, for those who wait for quiescence.
    pub(super) committer: Waker,
    /// Rounds that panicked, of all proposers.
    pub(super) panics: Arc<AtomicU64>,
    pub(super) recorder: Recorder,
    /// What of the decisions is measured.
    pub(super) latencies: Latencies,
    pub(super) clock: C,
    pub(super) batches: Batches,
    /// How much was sent when something was last proposed.
    pub(super) progress: u64,
    /// What the present pass observes; empty between passes.
    pub(super) seen: Vec<Observation>,
    /// Decisions and rounds so far, for sampling.
    pub(super) decisions: u32,
    pub(super) rounds: u32,
    /// When latencies were handed over between two rounds, in ns.
    pub(super) handed_ns: u64,
    /// Where the next round begins, among nodes, partitions and reservations.
    pub(super) start: usize,
    /// Changes of the state that the last rounds saw, and how many of these rounds proposed.
    pub(super) refused: (u64, usize),
    /// Whether it had better leave the work to others.
    pub(super) restraint: Restraint,
    /// Whether counters moved in the last round.
    pub(super) counted: bool,
    /// Where batches wait instead of the ring, when rounds are run step by step.
    pub(super) held: Option<Vec<StdArc<Batch>>>,
}

/// What a round over all candidates came to.
#[derive(Default)]
pub(super) struct Round {
    pub(super) proposed: bool,
    /// Counters moved, so that a further round may find something without any other change.
    pub(super) counted: bool,
    /// The view cannot follow what was proposed: a newer snapshot is needed.
    stuck: bool,
    /// Nodes that it had passed by then; these come last in the next round.
    passed: usize,
}

impl Round {
    fn count(&mut self, noted: Noted) {
        self.proposed |= matches!(noted, Noted::Followed | Noted::Ahead);
        self.counted |= noted == Noted::Waiting;
    }
}

impl<C: Clock> Proposer<C> {
    /// Runs until shutdown. A round that panics is counted and the proposer starts afresh: its
    /// view and what it had not sent yet are dropped, the ledger never saw them.
    pub(super) fn run(mut self) {
        while catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            // Relaxed: a count that nothing else depends on.
            self.panics.fetch_add(1, Ordering::Relaxed);
            self.standing.set_waiting(false);
            self.batches.reopen();
            self.seen.clear();
            self.progress = self.batches.sent();
        }
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
            if self.recorder.is_active() && self.rounds.is_multiple_of(ROUNDS) {
                self.hand_over();
            }
            if self.share.0 > 0 {
                self.hold_back(&mut view);
            }
            if !round.proposed {
                self.rest(&mut view, looked, round.counted);
            } else if round.stuck {
                self.await_landing(&mut view);
            }
        }
        self.recorder.hand_over();
    }

    /// Hands latencies over when it is time.
    fn hand_over(&mut self) {
        let now_ns = self.clock.now_ns();
        if now_ns.saturating_sub(self.handed_ns) >= HAND_OVER_NS {
            self.handed_ns = now_ns;
            self.recorder.hand_over();
        }
    }

    /// A view of the newest snapshot.
    pub(super) fn begin(&mut self) -> View {
        let newest = StdArc::clone(self.snapshots.refresh());
        self.batches.landed(taken(&newest, self.share.0));
        View::new(newest, self.share, &self.batches)
    }

    /// Takes over the newest snapshot when it is due: when something happened that the view could
    /// not foresee, after a while in any case, and whenever `wanted`.
    pub(super) fn catch_up(&mut self, view: &mut View, wanted: bool) {
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
        self.committer.wake();
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
        self.committer.wake();
        let (snapshots, shutdown) = (&mut self.snapshots, &self.shutdown);
        self.parker
            .park_until(|| age(snapshots.refresh()) >= until || shutdown.is_requested());
        self.standing.come_back();
        self.catch_up(view, true);
    }

    /// A round, unless rounds on this very state brought proposals that were all refused: they
    /// would be made again at every version, and each refusal makes a version.
    pub(super) fn look(&mut self, view: &mut View) -> Round {
        let changes = self.snapshots.refresh().changes;
        let landed = self.batches.in_flight().next().is_none();
        if self.refused.0 != changes {
            self.refused = (changes, 0);
        } else if landed && self.refused.1 > view.state.nodes.len() {
            let counted = std::mem::take(&mut self.counted);
            if counted {
                self.refused.1 -= 1;
            }
            return Round {
                counted,
                ..Round::default()
            };
        }
        let round = match self.mode {
            Mode::Heartbeat => Round::default(),
            Mode::Asynchronous { .. } => self.walk_nodes(view),
            Mode::Global { .. } => self.walk_partitions(view),
        };
        self.start = self.start.wrapping_add(round.passed.max(1));
        self.counted = round.counted;
        self.refused.1 += usize::from(round.proposed);
        round
    }

    /// One attempt on each running node of this proposer's share; a proposer whose share brings
    /// nothing looks at the others'.
    fn walk_nodes(&mut self, view: &mut View) -> Round {
        let (own, of) = self.share;
        let mut round = self.walk(view, |node| node.index() % of == own);
        if !round.proposed && of > 1 && !round.stuck {
            round = self.walk(view, |_| true);
        }
        round
    }

    fn walk(&mut self, view: &mut View, is_mine: impl Fn(NodeSlot) -> bool) -> Round {
        let mut round = Round::default();
        let count = view.state.nodes.len();
        for i in 0..count {
            let node = NodeSlot::at(self.start.wrapping_add(i) % count);
            let row = &view.state.nodes[node];
            if row.state != NodeState::Running || !is_mine(node) {
                continue;
            }
            if row.reserved.is_some() {
                // The view does not follow reservations; others go on without it.
                self.fulfil(view, node, &mut round);
            } else if has_room(&view.state, node) {
                let partition = row.partition;
                let noted = self.attempt(view, partition, Some(node));
                round.count(noted);
                round.stuck |= noted == Noted::Ahead;
            }
            if self.batches.open.len() >= BATCH {
                self.send(view.version());
                self.catch_up(view, false);
            }
            if round.stuck {
                round.passed = i + 1;
                break;
            }
        }
        self.send(view.version());
        round
    }

    /// Looks at some reservations, then makes a batch of attempts on the partitions, each until it brings
    /// nothing. Reservations take turns, and so do partitions in being first: none waits until all
    /// others are done. Where no attempt brings anything, all reservations are looked at.
    fn walk_partitions(&mut self, view: &mut View) -> Round {
        let mut round = Round::default();
        view.lay_out(self.index.refresh());
        let reserved = view.reserved();
        let turns = reserved.len().div_ceil(BATCH).max(1);
        let (before, now) = reserved.split_at(self.start % turns * BATCH);
        let (now, behind) = now.split_at(now.len().min(BATCH));
        self.fulfil_all(view, now, &mut round);
        self.attempt_on_partitions(view, &mut round);
        if !round.proposed {
            self.fulfil_all(view, behind, &mut round);
            self.fulfil_all(view, before, &mut round);
        }
        self.send(view.version());
        round
    }

    fn attempt_on_partitions(&mut self, view: &mut View, round: &mut Round) {
        let (start, count) = (self.start, view.state.partitions.len());
        for i in 0..count {
            let partition = PartitionId::at(start.wrapping_add(i) % count);
            while view.lane(partition).is_some() {
                round.proposed |= self.extend(view, partition);
                if self.batches.open.len() >= BATCH {
                    break;
                }
                let noted = self.attempt(view, partition, None);
                round.count(noted);
                round.stuck |= noted == Noted::Ahead;
                if noted != Noted::Followed {
                    break;
                }
            }
            if self.batches.open.len() >= BATCH || round.stuck {
                break;
            }
        }
    }

    /// Looks at reservations, and hands over what fills a batch.
    fn fulfil_all(&mut self, view: &mut View, nodes: &[NodeSlot], round: &mut Round) {
        for &node in nodes {
            self.fulfil(view, node, round);
            if self.batches.open.len() >= BATCH {
                self.send(view.version());
            }
        }
    }

    /// A reservation is fulfilled, kept or given up.
    fn fulfil(&mut self, view: &mut View, node: NodeSlot, round: &mut Round) {
        let outcome = self.timed(|seen, _| propose_reserved(&view.state, node, seen));
        // A node that is leaving serves no reservation; one that nobody wants any more is given up.
        let leaves = view.state.nodes[node].state != NodeState::Running;
        if leaves && !matches!(outcome, Outcome::GiveUp(_)) {
            self.seen.clear();
            return;
        }
        let noted = view.note(outcome, &mut self.seen, &mut self.batches.open);
        self.seen.clear();
        round.count(noted);
    }

    /// The two passes of an attempt, on one node or among all of a partition.
    fn attempt(
        &mut self,
        view: &mut View,
        partition: PartitionId,
        node: Option<NodeSlot>,
    ) -> Noted {
        let noted = self.pass(view, partition, node, Exclusivity::Respect);
        let lends =
            partition != PartitionId::DEFAULT && !view.state.partitions[partition].exclusive;
        if matches!(noted, Noted::Followed | Noted::Ahead) || !lends {
            return noted;
        }
        match self.pass(view, partition, node, Exclusivity::Ignore) {
            Noted::Nothing => noted,
            found => found,
        }
    }

    fn pass(
        &mut self,
        view: &mut View,
        partition: PartitionId,
        node: Option<NodeSlot>,
        exclusivity: Exclusivity,
    ) -> Noted {
        let candidates = match (node, view.lane(partition)) {
            (Some(node), _) => Candidates::node(node),
            (None, Some(lane)) => Candidates::indexed(lane, partition),
            (None, None) => return Noted::Nothing,
        };
        let state = &view.state;
        let outcome =
            self.timed(|seen, watch| propose_watched(state, &candidates, exclusivity, seen, watch));
        let noted = view.note(outcome, &mut self.seen, &mut self.batches.open);
        self.seen.clear();
        noted
    }

    /// Decides what the next passes over a partition surely place, until the batch is full or it takes a
    /// whole pass to tell; whether anything. Decisions are measured as those of whole passes are.
    fn extend(&mut self, view: &mut View, partition: PartitionId) -> bool {
        let before = self.batches.open.len();
        if !self.recorder.is_active() {
            return view.extend(&mut self.batches.open, partition, BATCH, None) > 0;
        }
        while self.extend_unmeasured(view, partition) {
            // Counted before, as everywhere: should it panic, the next one is not measured again.
            self.decisions = self.decisions.wrapping_add(1);
            let mut watch = Stopwatch::start(&self.clock);
            if view.extend(&mut self.batches.open, partition, 1, Some(&mut watch)) == 0 {
                // It takes a whole pass, which is measured instead.
                self.decisions = self.decisions.wrapping_sub(1);
                break;
            }
            watch.record(&mut self.recorder);
        }
        self.batches.open.len() > before
    }

    /// The same up to the next decision of which the steps are measured; whether it came so far.
    fn extend_unmeasured(&mut self, view: &mut View, partition: PartitionId) -> bool {
        let most = SAMPLE - 1 - self.decisions % SAMPLE;
        let all = self.latencies == Latencies::All;
        let before = if all { self.clock.now_ns() } else { 0 };
        let placed = view.extend(&mut self.batches.open, partition, most as usize, None);
        let placed = u32::try_from(placed).expect("no more than asked for");
        if all && placed > 0 {
            // Each took its part.
            let took = self.clock.now_ns().saturating_sub(before) / u64::from(placed);
            (0..placed).for_each(|_| self.recorder.record(Phase::Propose, took));
        }
        self.decisions = self.decisions.wrapping_add(placed);
        placed == most
    }

    /// Decides, and records where the time went for some of the decisions.
    fn timed(
        &mut self,
        decide: impl FnOnce(&mut Vec<Observation>, Option<&mut dyn Watch>) -> Outcome,
    ) -> Outcome {
        self.decisions = self.decisions.wrapping_add(1);
        if !self.recorder.is_active() {
            return decide(&mut self.seen, None);
        }
        if !self.decisions.is_multiple_of(SAMPLE) {
            if self.latencies != Latencies::All {
                return decide(&mut self.seen, None);
            }
            let before = self.clock.now_ns();
            let outcome = decide(&mut self.seen, None);
            if matches!(outcome, Outcome::Proposed(_)) {
                let took = self.clock.now_ns().saturating_sub(before);
                self.recorder.record(Phase::Propose, took);
            }
            return outcome;
        }
        let mut watch = Stopwatch::start(&self.clock);
        let outcome = decide(&mut self.seen, Some(&mut watch));
        if matches!(outcome, Outcome::Proposed(_)) {
            watch.record(&mut self.recorder);
        }
        outcome
    }

    /// Hands the open batch over; waits while the committer is behind.
    fn send(&mut self, version: Version) {
        let measured = self.recorder.is_active();
        self.batches.open.sent_ns = measured.then(|| self.clock.now_ns());
        let Some(mut batch) = self.batches.close(version) else {
            return;
        };
        if let Some(held) = &mut self.held {
            held.push(batch);
            return;
        }
        for tries in 0_u32.. {
            match self.ring.try_send(batch) {
                Ok(()) | Err(TrySendError::Closed(_)) => return,
                Err(TrySendError::Full(back)) => batch = back,
            }
            if tries % SPINS == SPINS - 1 {
                crate::sync::yield_now();
            } else {
                spin_loop();
            }
        }
    }
}

/// Waits until something is ready, or until patience ends: awake at first, then asleep.
pub(super) fn wait(parker: &Parker, patience: Option<Duration>, mut ready: impl FnMut() -> bool) {
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
fn taken(snapshot: &Snapshot, proposer: usize) -> u64 {
    snapshot.taken.get(proposer).copied().unwrap_or(0)
}

/// Decisions of all other proposers that a snapshot has seen.
fn others(snapshot: &Snapshot, own: usize) -> u64 {
    snapshot.taken.iter().sum::<u64>() - taken(snapshot, own)
}

/// Whether a view should follow to `newest` at once.
fn is_due(view: &View, newest: &Snapshot, (own, of): (usize, usize)) -> bool {
    let seen = view.seen();
    let drift = if of > 1 || view.has_quiet_user() {
        DRIFT_OF_MORE
    } else {
        DRIFT
    };
    newest.outside != seen.outside
        || taken(newest, own) - taken(seen, own) >= drift
        || others(newest, own) - others(seen, own) >= DRIFT_OF_OTHERS
}
