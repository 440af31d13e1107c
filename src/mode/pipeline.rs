//! The committer and its proposers without threads: each step is a call, in the caller's order.
//!
//! The simulator decides who takes the next step, how old a proposer's snapshot is and how long a
//! batch waits. What a step does is the code that the threads run, over the same queues.

use std::collections::VecDeque;
use std::sync::Arc as StdArc;

use super::Sequential;
use super::committer::{Committer, Fate, Taken};
use super::engine::Mode;
use super::garble::garble;
use super::index::NodeIndex;
use super::proposing::{Batch, Proposer, Working};
use crate::commit::{Event, PartitionSpec, RefreshError};
use crate::id::{ApplicationId, NodeName, Version};
use crate::metrics::{CounterReader, Counts, Recorder, counters};
use crate::proposer::{Outcome, Proposal};
use crate::queue::TreeSettings;
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicU64, Published, Publisher, Received, TrySendError, inbox, parking, published, ring,
    shutdown,
};
use crate::time::{Clock, ManualClock};

/// A committer with its proposers, run step by step.
pub struct Pipeline {
    committer: Committer<ManualClock>,
    seats: Vec<Seat>,
    snapshots: Published<Snapshot>,
    index: Publisher<NodeIndex>,
    fates: CounterReader<Fate>,
    clock: ManualClock,
    /// Decisions that proposers made.
    proposed: u64,
    /// Decisions that were lost on their way, with the proposer that held them.
    dropped: u64,
    /// Whether the live state differs from the last snapshot in what decisions depend on.
    changed: bool,
    /// Whether it differs in anything.
    written: bool,
    /// Whether calls wait that the last commits brought about.
    unsettled: bool,
    /// What happened before the last publication and was not handed over yet.
    told: Vec<Event>,
}

/// A proposer with its working copy and its batches on their way.
struct Seat {
    proposer: Proposer<ManualClock>,
    working: Working,
    /// What is known of the batches that are held back, and of those in the ring, oldest first.
    held: VecDeque<Known>,
    sent: VecDeque<Known>,
    /// Whether the copy is the snapshot, without proposals of its own.
    clean: bool,
}

/// What is known of a batch on its way.
#[derive(Debug)]
struct Known {
    version: Version,
    decisions: u64,
    /// What each assignment of the batch is about, if it proposes anything.
    intents: Vec<Option<Intent>>,
    /// Whether its first decision was made on the snapshot alone.
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

/// What a proposal was about, in names, as its proposer's snapshot had them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The snapshot.
    pub version: u64,
    /// The application.
    pub app: ApplicationId,
    /// The node.
    pub node: NodeName,
}

/// What became of one decision of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was proposed; nothing when a reservation was given up.
    pub intent: Option<Intent>,
    /// What became of it; nothing when there was nothing to decide.
    pub fate: Option<Fate>,
    /// What the commit told.
    pub events: Vec<Event>,
    /// Whether it was made on the live state as it was: then it must hold.
    pub must_hold: bool,
}

/// Where all decisions are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounts {
    /// Decisions that proposers made.
    pub proposed: u64,
    /// Lost with their proposer before they were accepted.
    pub dropped: u64,
    /// Held by a proposer, not accepted yet.
    pub held: u64,
    /// Accepted and not taken yet.
    pub queued: u64,
    /// Taken, by what became of them.
    pub fates: Counts<Fate>,
}

impl Accounts {
    /// Whether every decision is somewhere, once.
    #[must_use]
    pub fn balance(&self) -> bool {
        self.proposed == self.dropped + self.held + self.queued + self.fates.total()
    }
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
    pub fn new(
        settings: TreeSettings,
        partitions: &[PartitionSpec],
        mode: Mode,
        capacity: usize,
        clock: ManualClock,
    ) -> Result<Self, RefreshError> {
        let mut engine = Sequential::new(settings, partitions)?;
        engine.track();
        let settings = StdArc::clone(&engine.ledger().state().settings);
        let snapshot = StdArc::new(Snapshot::empty(settings).next(engine.state_to_publish()));
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
            inbox,
            publisher,
            snapshot,
            proposers: Vec::new(),
            idle_at: Vec::new(),
            parker: parker.clone(),
            shutdown: owner,
            events,
            untold: Vec::new(),
            fates: fate_writer,
            recorder: Recorder::idle(),
            clock: clock.clone(),
            quiet: Vec::new(),
            freed_at: Version(0),
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
                idle_at: Arc::new(AtomicU64::new(0)),
                committer: waker.clone(),
                panics: Arc::new(AtomicU64::new(0)),
                recorder: Recorder::idle(),
                clock: clock.clone(),
                held: Some(Vec::new()),
            };
            let working = proposer.begin();
            seats.push(Seat {
                proposer,
                working,
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
            fates,
            clock,
            proposed: 0,
            dropped: 0,
            changed: false,
            written: false,
            unsettled: false,
            told: Vec::new(),
        })
    }

    /// The live state and its names, to be read.
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
        let seen = self.seats.iter().map(|seat| seat.working.seen.version.0);
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
            self.changed = true;
            engine.advance_to(now_ms);
        }
    }

    /// Whether the committer would publish now: not after refusals alone.
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
        self.written = false;
        self.committer.snapshot.version.0
    }

    /// Sorts the nodes of the latest snapshot, as the sorter's thread does.
    pub fn sort_nodes(&mut self) {
        let snapshot = self.snapshots.load();
        if snapshot.version > self.index.version() {
            let index = StdArc::new(NodeIndex::of(&snapshot));
            drop(self.index.publish(snapshot.version, index));
        }
    }

    /// One turn of a proposer, on the newest snapshot or on the copy that it holds. Its batches
    /// are held until they are handed over.
    pub fn turn(&mut self, proposer: usize, newest: bool) -> TurnOutcome {
        let seat = &mut self.seats[proposer];
        if newest {
            let before = seat.working.seen.version;
            let snapshot = seat.proposer.snapshots.refresh();
            seat.working.catch_up(snapshot);
            seat.clean |= seat.working.seen.version != before;
        }
        let before = seat.batches().len();
        let round = seat.proposer.turn(&mut seat.working);
        let known: Vec<_> = seat.batches()[before..]
            .iter()
            .map(|batch| Known::of(batch, &seat.working))
            .collect();
        for (i, known) in known.into_iter().enumerate() {
            self.proposed += known.decisions;
            let clean = i == 0 && seat.clean;
            seat.held.push_back(Known { clean, ..known });
        }
        seat.clean &= !round.proposed && !round.counted;
        TurnOutcome {
            proposed: round.proposed,
            counted: round.counted,
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

    /// A proposer dies and starts afresh: its copy and what it had not handed over are lost.
    pub fn restart(&mut self, proposer: usize) {
        let seat = &mut self.seats[proposer];
        self.dropped += seat
            .held
            .drain(..)
            .map(|known| known.decisions)
            .sum::<u64>();
        seat.proposer.held = Some(Vec::new());
        seat.working = seat.proposer.begin();
        seat.clean = true;
    }

    /// A proposer goes mad: its proposals that are not handed over yet become nonsense. Draws
    /// come from `below`, which gives a number below its argument.
    pub fn garble(&mut self, proposer: usize, below: &mut dyn FnMut(usize) -> usize) {
        let seat = &mut self.seats[proposer];
        let batches = seat.proposer.held.iter_mut().flatten();
        for (batch, known) in batches.zip(&mut seat.held) {
            for assignment in &mut batch.assignments {
                if let Outcome::Proposed(proposal) = &mut assignment.outcome {
                    garble(proposal, &seat.working.copy, below);
                }
            }
            *known = Known::of(batch, &seat.working);
        }
    }

    /// Commits the oldest batch of a proposer, decision by decision; nothing when there is none.
    pub fn commit(&mut self, proposer: usize) -> Option<Vec<Step>> {
        let Received::Item(batch) = self.committer.rings[proposer].try_recv() else {
            return None;
        };
        let known = self.seats[proposer].sent.pop_front();
        let known = known.expect("each batch in the ring was noted when it was sent");
        let version = batch.version;
        let present = version == self.committer.snapshot.version && !self.changed && !self.written;
        let mut must_hold = known.clean && present;
        let mut steps = Vec::with_capacity(batch.assignments.len());
        for (assignment, intent) in batch.assignments.into_iter().zip(known.intents) {
            let decided = !matches!(assignment.outcome, Outcome::Skipped(_));
            let before = self.fates.read();
            let taken = self.committer.commit(Batch {
                version,
                assignments: vec![assignment],
            });
            // A refused proposal may have left observations behind, which count as no change.
            self.written = true;
            self.changed |= taken == Taken::Change;
            let told = self.fates.read().since(&before);
            let fate = told.iter().find(|(_, n)| *n > 0).map(|(fate, _)| fate);
            steps.push(Step {
                intent,
                fate,
                events: self.committer.engine.take_events(),
                must_hold: must_hold && decided,
            });
            must_hold &= !decided;
        }
        self.unsettled = true;
        Some(steps)
    }

    /// Carries out what the commits since the last call brought about, as the committer does after
    /// it took a batch of every proposer. Every other change begins with it.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.unsettled) {
            self.committer.engine.settle();
        }
    }

    /// Where all decisions are at this moment.
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        let held = self.seats.iter().flat_map(|seat| &seat.held);
        let sent = self.seats.iter().flat_map(|seat| &seat.sent);
        Accounts {
            proposed: self.proposed,
            dropped: self.dropped,
            held: held.map(|known| known.decisions).sum(),
            queued: sent.map(|known| known.decisions).sum(),
            fates: self.fates.read(),
        }
    }
}

impl Seat {
    fn batches(&self) -> &[Batch] {
        self.proposer.held.as_deref().unwrap_or_default()
    }
}

impl Known {
    fn of(batch: &Batch, working: &Working) -> Self {
        let decided = |outcome: &Outcome| !matches!(outcome, Outcome::Skipped(_));
        let outcomes = || {
            batch
                .assignments
                .iter()
                .map(|assignment| &assignment.outcome)
        };
        let intents = outcomes().map(|outcome| match outcome {
            Outcome::Proposed(proposal) => Intent::of(proposal, working),
            _ => None,
        });
        Self {
            version: batch.version,
            decisions: outcomes()
                .filter(|outcome| decided(outcome))
                .map(|_| 1)
                .sum(),
            intents: intents.collect(),
            clean: false,
        }
    }
}

impl Intent {
    /// Nothing for nonsense that names what the snapshot does not have.
    fn of(proposal: &Proposal, working: &Working) -> Option<Self> {
        let app = &working.copy.apps[proposal.app];
        let node = &working.copy.nodes[proposal.node];
        let same =
            (app.generation, node.incarnation) == (proposal.generation, proposal.incarnation);
        same.then(|| Self {
            version: working.seen.version.0,
            app: app.id,
            node: node.name.clone(),
        })
    }
}
