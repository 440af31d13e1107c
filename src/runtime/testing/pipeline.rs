//! The committer and its proposers without threads: each step is a call, in the caller's order.
//!
//! The simulator decides who takes the next step, how old a proposer's snapshot is and how long a
//! batch waits. What a step does is the code that the threads run, over the same queues.

use std::collections::VecDeque;
use std::sync::Arc as StdArc;
use std::time::Duration;

use super::accounts::{Accounts, Known, Step};
use super::clock_fault::FailingClock;
use super::fault_injection::garble;
use crate::commit::{CommitOutcome, Event, Freed, PartitionSpec, RefreshError};
use crate::id::Version;
use crate::metrics::{CounterReader, Recorder, counters};
use crate::proposer::Outcome;
use crate::queue::TreeSettings;
use crate::runtime::Sequential;
use crate::runtime::committer::fate::Fate;
use crate::runtime::committer::idle::Sleep;
use crate::runtime::committer::turn::Committer;
use crate::runtime::handles::start::Mode;
use crate::runtime::nodes::index::{NodeIndex, NodeSorter};
use crate::runtime::proposer::batch::{Batch, Batches};
use crate::runtime::proposer::proposer_backoff::ProposerBackoff;
use crate::runtime::proposer::round::Refused;
use crate::runtime::proposer::stopwatch::Latencies;
use crate::runtime::proposer::worker::Proposer;
use crate::runtime::proposer::working_copy::View;
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicBool, AtomicU64, Mutex, ProposerStatus, Published, Publisher, Received,
    TrySendError, inbox, parking, published, ring, shutdown,
};
use crate::time::{Clock, ManualClock};

/// A committer with its proposers, run step by step.
pub struct Pipeline {
    committer: Committer<ManualClock>,
    pub(in crate::runtime) seats: Vec<Seat>,
    snapshots: Published<Snapshot>,
    index: Publisher<NodeIndex>,
    sorter: NodeSorter,
    fates: CounterReader<Fate>,
    clock: ManualClock,
    /// Decisions that proposers made.
    proposed: u64,
    /// Whether the live state differs from the last snapshot.
    changed: bool,
    /// Whether calls wait that the last commits brought about.
    unsettled: bool,
    /// What happened before the last publication and was not handed over yet.
    told: Vec<Event>,
}

/// A proposer with its working copy and its batches on their way.
pub(in crate::runtime) struct Seat {
    pub(in crate::runtime) proposer: Proposer<FailingClock>,
    view: View,
    /// What is known of the batches that are held back, and of those in the ring, oldest first.
    held: VecDeque<Known>,
    sent: VecDeque<Known>,
    /// Whether the copy is the snapshot, without proposals of its own.
    clean: bool,
}

/// What a proposer's turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnOutcome {
    /// Whether it proposed anything that is progress.
    pub proposed: bool,
    /// Whether counters moved, so that a further turn may find something without any change.
    pub counted: bool,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("version", &self.committer.snapshot.version)
            .field("proposers", &self.seats.len())
            .finish_non_exhaustive()
    }
}

impl Pipeline {
    /// A pipeline over a tree of queues whose rings take `capacity` batches each.
    ///
    /// # Errors
    ///
    /// When the settings do not make a tree.
    ///
    /// # Panics
    ///
    /// When the capacity is zero.
    #[expect(
        clippy::too_many_lines,
        reason = "one list of parts and who holds which end of each"
    )]
    pub fn new(
        settings: TreeSettings,
        partitions: &[PartitionSpec],
        mode: Mode,
        capacity: usize,
        clock: ManualClock,
    ) -> Result<Self, RefreshError> {
        let mut engine = Sequential::new(settings, partitions)?;
        engine.ledger_mut().track(mode != Mode::Heartbeat);
        let settings = StdArc::clone(&engine.ledger().state().settings);
        let snapshot =
            StdArc::new(Snapshot::empty(settings).next(engine.ledger_mut().state_to_publish()));
        let (publisher, snapshots) = published(snapshot.version, StdArc::clone(&snapshot));
        let (waker, parker) = parking();
        let (_, inbox) = inbox(1);
        let (events, _) = ring(1);
        let (stop, owner) = shutdown(Vec::new());
        let (index, sorted) = published(Version(0), StdArc::new(NodeIndex::default()));
        let (fate_writer, fates) = counters();
        let mut committer = Committer {
            engine,
            heartbeats_schedule: mode == Mode::Heartbeat,
            rings: Vec::new(),
            served: (0, 0),
            goes_on: false,
            spot: None,
            taken: vec![0; mode.threads()],
            refused: vec![0; mode.threads()],
            skipped: 0,
            outside: 0,
            news: false,
            awake: Duration::ZERO,
            sleep: Sleep::ForCall,
            roused: false,
            changes: 0,
            unpublished: 0,
            wanted: Arc::new(AtomicBool::new(false)),
            copying: None,
            inbox,
            publisher,
            snapshot,
            proposers: Vec::new(),
            standings: Vec::new(),
            parker: parker.clone(),
            shutdown: owner,
            events,
            spent: ring(1).1,
            rest: Arc::new(Mutex::new(None)),
            untold: Vec::new(),
            fates: fate_writer,
            recorder: Recorder::idle(),
            clock: clock.clone(),
            quiet: Vec::new(),
            freed: Freed::default(),
        };
        let mut seats = Vec::new();
        for i in 0..mode.threads() {
            let (sender, receiver) = ring(capacity);
            committer.rings.push(receiver);
            let mut proposer = Proposer {
                mode,
                share: (i, mode.threads()),
                snapshots: snapshots.reader(),
                index: sorted.reader(),
                ring: sender,
                parker: parker.clone(),
                shutdown: stop.clone(),
                standing: ProposerStatus::new(waker.clone()),
                panics: Arc::new(AtomicU64::new(0)),
                recorder: Recorder::idle(),
                latencies: Latencies::Off,
                clock: FailingClock::new(clock.clone()),
                batches: Batches::new(),
                progress: 0,
                seen: Vec::new(),
                decisions: 0,
                rounds: 0,
                handed_ns: 0,
                start: i,
                refused: Refused::default(),
                restraint: ProposerBackoff::default(),
                counted: false,
                held: Some(Vec::new()),
                raving: None,
            };
            let view = proposer.begin();
            seats.push(Seat {
                proposer,
                view,
                held: VecDeque::new(),
                sent: VecDeque::new(),
                clean: true,
            });
        }
        Ok(Self {
            committer,
            seats,
            snapshots,
            index,
            sorter: NodeSorter::default(),
            fates,
            clock,
            proposed: 0,
            changed: false,
            unsettled: false,
            told: Vec::new(),
        })
    }

    /// The live state and its names, to be read. What decisions used since the last publication may not
    /// stand at the queues above leaves yet: [`Ledger::use_of`](crate::commit::Ledger::use_of).
    #[must_use]
    pub fn engine(&self) -> &Sequential {
        &self.committer.engine
    }

    /// Number of proposers.
    #[must_use]
    pub fn proposers(&self) -> usize {
        self.seats.len()
    }

    /// The snapshot published last.
    #[must_use]
    pub fn snapshot(&self) -> StdArc<Snapshot> {
        self.snapshots.load()
    }

    /// The oldest version that a working copy or a batch on its way was made from.
    #[must_use]
    pub fn oldest_version(&self) -> u64 {
        let seen = self.seats.iter().map(|seat| seat.view.version().0);
        let known = self
            .seats
            .iter()
            .flat_map(|seat| seat.held.iter().chain(&seat.sent));
        seen.chain(known.map(|known| known.version.0))
            .min()
            .unwrap_or(self.committer.snapshot.version.0)
    }

    /// Carries out a change of an outsider between two batches.
    pub fn call<T>(&mut self, change: impl FnOnce(&mut Sequential) -> T) -> T {
        self.settle();
        self.committer.outside += 1;
        self.committer.changes += 1;
        self.changed = true;
        self.committer.change(change)
    }

    /// Hands over what happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut told = std::mem::take(&mut self.told);
        told.append(&mut self.committer.engine.take_events());
        told
    }

    /// Moves the clock; lifetimes end.
    pub fn advance(&mut self, by: std::time::Duration) {
        self.settle();
        self.clock.advance(by);
        let now_ms = self.clock.now_ms();
        let due = |deadline: u64| deadline <= now_ms;
        let engine = &mut self.committer.engine;
        if engine.ledger().next_deadline().is_some_and(due) {
            engine.ledger_mut().catch_up();
            engine.advance_to(now_ms);
            self.committer.freed = Freed::behind(self.committer.snapshot.version);
            self.committer.outside += 1;
            self.committer.changes += 1;
            self.changed = true;
        }
    }

    /// Whether the committer would publish now.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Publishes the live state; its version.
    pub fn publish(&mut self) -> u64 {
        self.settle();
        self.told = self.take_events();
        self.committer.publish();
        self.changed = false;
        self.committer.snapshot.version.0
    }

    /// Sorts the nodes of the latest snapshot, as the sorter's thread does.
    pub fn sort_nodes(&mut self) {
        let snapshot = self.snapshots.load();
        let version = snapshot.version;
        if version > self.index.version() {
            let index = StdArc::new(self.sorter.sort(snapshot, &mut |_| {}));
            drop(self.index.publish(version, index));
        }
    }

    /// A proposer takes over the newest snapshot, if it is `wanted` or else due, as between two
    /// rounds of a thread; whether its working copy is of that now.
    pub fn catch_up(&mut self, proposer: usize, wanted: bool) -> bool {
        let seat = &mut self.seats[proposer];
        let before = seat.view.version();
        seat.proposer.catch_up(&mut seat.view, wanted);
        let in_flight = seat.proposer.batches.in_flight().count();
        seat.clean = (seat.clean || seat.view.version() != before) && in_flight == 0;
        seat.view.version() == self.committer.snapshot.version
    }

    /// One turn of a proposer, on the working copy that it has. Its batches are held until they are
    /// handed over.
    pub fn turn(&mut self, proposer: usize) -> TurnOutcome {
        let seat = &mut self.seats[proposer];
        let round = seat.proposer.look(&mut seat.view);
        self.note_turn(proposer);
        self.seats[proposer].clean &= !round.proposed && !round.counted;
        TurnOutcome {
            proposed: round.proposed,
            counted: round.counted,
        }
    }

    /// Takes note of the batches that a turn has closed.
    pub(in crate::runtime) fn note_turn(&mut self, proposer: usize) {
        let seat = &mut self.seats[proposer];
        for at in seat.held.len()..seat.batches().len() {
            let known = Known::of(&seat.batches()[at], &seat.view);
            self.proposed += known.decisions;
            seat.held.push_back(Known {
                clean: std::mem::take(&mut seat.clean),
                ..known
            });
        }
    }

    /// Hands a proposer's batches over, as many as its ring takes; their number.
    pub fn hand_over(&mut self, proposer: usize) -> usize {
        let seat = &mut self.seats[proposer];
        let mut waiting = std::mem::take(seat.proposer.held.get_or_insert_default()).into_iter();
        let mut accepted = 0;
        let mut refused = None;
        for batch in waiting.by_ref() {
            match seat.proposer.ring.try_send(batch) {
                Ok(()) => accepted += 1,
                Err(TrySendError::Full(batch) | TrySendError::Closed(batch)) => {
                    refused = Some(batch);
                    break;
                }
            }
        }
        let left = refused.into_iter().chain(waiting).collect();
        seat.proposer.held = Some(left);
        seat.sent.extend(seat.held.drain(..accepted));
        accepted
    }

    /// A proposer starts afresh with a new view, as one does that died. What it had closed is still
    /// sent.
    pub fn restart(&mut self, proposer: usize) {
        let seat = &mut self.seats[proposer];
        seat.proposer.forget_round();
        seat.view = seat.proposer.begin();
        seat.clean = seat.proposer.batches.in_flight().count() == 0;
    }

    /// A proposer goes mad: its proposals that are not handed over yet become nonsense. Draws
    /// come from `below`, which gives a number below its argument.
    pub fn garble(&mut self, proposer: usize, below: &mut dyn FnMut(usize) -> usize) {
        let seat = &mut self.seats[proposer];
        let batches = seat.proposer.held.iter_mut().flatten();
        for (batch, known) in batches.zip(&mut seat.held) {
            *batch = StdArc::new(batch.with(|outcome| {
                let mut outcome = outcome.clone();
                if let Outcome::Proposed(proposal) = &mut outcome {
                    garble(proposal, &seat.view.state, below);
                }
                outcome
            }));
            *known = Known::of(batch, &seat.view);
        }
    }

    /// Commits the oldest batch of a proposer, decision by decision; nothing when there is none.
    pub fn commit(&mut self, proposer: usize) -> Option<Vec<Step>> {
        self.commit_shown(proposer, |_| {})
    }

    /// The same as [`Pipeline::commit`]; the engine is shown before the first decision, and after each.
    pub fn commit_shown(
        &mut self,
        proposer: usize,
        mut show: impl FnMut(&Sequential),
    ) -> Option<Vec<Step>> {
        let Received::Item(batch) = self.committer.rings[proposer].try_recv() else {
            return None;
        };
        let known = self.seats[proposer]
            .sent
            .pop_front()
            .expect("each batch in the ring was noted when it was sent");
        let present = batch.version == self.committer.snapshot.version && !self.changed;
        let mut must_hold = known.clean && present;
        let mut intents = known.intents.into_iter();
        let mut steps = Vec::with_capacity(batch.len());
        show(&self.committer.engine);
        self.committer.commit(proposer, &batch, |engine, outcome| {
            show(engine);
            let fate = match outcome {
                CommitOutcome::Committed => Some(Fate::Committed),
                CommitOutcome::CommittedElsewhere => Some(Fate::CommittedElsewhere),
                CommitOutcome::Rejected(conflict) => Some(conflict.into()),
                CommitOutcome::Nothing => None,
            };
            steps.push(Step {
                intent: intents.next().flatten(),
                fate,
                events: engine.take_events(),
                must_hold: must_hold && fate.is_some(),
            });
            must_hold &= fate.is_none();
        });
        self.changed = true;
        self.unsettled = true;
        Some(steps)
    }

    /// Carries out what the commits since the last call brought about, as the committer does after
    /// it took a batch of every proposer. Every other change begins with it.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.unsettled) {
            self.committer.engine.ledger_mut().settle();
        }
    }

    /// Where all decisions are at this moment.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        let held = self.seats.iter().flat_map(|seat| &seat.held);
        let sent = self.seats.iter().flat_map(|seat| &seat.sent);
        Accounts {
            proposed: self.proposed,
            held: held.map(|known| known.decisions).sum(),
            queued: sent.map(|known| known.decisions).sum(),
            fates: self.fates.read(),
        }
    }
}

impl Seat {
    fn batches(&self) -> &[StdArc<Batch>] {
        self.proposer.held.as_deref().unwrap_or_default()
    }
}
