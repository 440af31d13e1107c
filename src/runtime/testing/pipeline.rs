//! The committer and its proposers without threads: each step is a call, in the caller's order.
//!
//! The simulator decides who takes the next step, how old a proposer's snapshot is and how long a
//! batch waits. What a step does is the code that the threads run, over the same queues.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc as StdArc;

use super::accounts::{Accounts, CommittedDecision, Known};
use super::failing_clock::FailingClock;
use super::fault_injection::distort;
use crate::commit::{CommitOutcome, Event, PartitionSpec, RefreshError, Unsettled};
use crate::id::Version;
use crate::metrics::CounterReader;
use crate::proposer::Outcome;
use crate::queue::TreeSettings;
use crate::runtime::Sequential;
use crate::runtime::committer::Committer;
use crate::runtime::handles::start::{Mode, Running};
use crate::runtime::nodes::index::{NodeIndex, NodeSorter};
use crate::runtime::parts::EngineParts;
use crate::runtime::proposer::Proposer;
use crate::runtime::proposer::stopwatch::Latencies;
use crate::runtime::proposer::working_copy::WorkingCopy;
use crate::snapshot::Snapshot;
use crate::sync::{Published, Publisher};
use crate::time::ManualClock;

/// A committer with its proposers, run step by step.
pub struct Pipeline {
    committer: Committer<ManualClock>,
    pub(in crate::runtime) seats: Vec<Seat>,
    snapshots: Published<Snapshot>,
    index: Publisher<NodeIndex>,
    sorter: NodeSorter,
    outcomes: CounterReader<CommitOutcome>,
    clock: ManualClock,
    /// Decisions that proposers made.
    proposed: u64,
    /// Whether the live state differs from the last snapshot.
    changed: bool,
    /// Whether calls wait that the last commits brought about.
    has_follow_ups: bool,
    /// What happened before the last publication and was not handed over yet.
    collected: Vec<Event>,
}

/// A proposer with its working copy and its batches on their way.
pub(in crate::runtime) struct Seat {
    pub(in crate::runtime) proposer: Proposer<FailingClock>,
    copy: WorkingCopy,
    /// What is known of the batches that are held back, and of those in the ring, oldest first.
    held: VecDeque<Known>,
    sent: VecDeque<Known>,
    /// Whether the copy is the snapshot, without proposals of its own.
    clean: bool,
}

/// What a proposer's turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// Whether it proposed anything that is progress.
    pub proposed: bool,
    /// Whether counters moved, so that a further turn may find something without any change.
    pub counted: bool,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("version", &self.version())
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
        let engine = Sequential::new(settings, partitions)?;
        let running = Running {
            latencies: Latencies::Off,
            capacity: Some(NonZeroUsize::new(capacity).expect("queues hold at least one item")),
            ..Running::default()
        };
        let own_clock = || FailingClock::new(clock.clone());
        let parts = EngineParts::new(engine, mode, running, false, &clock, own_clock);
        Ok(Self {
            committer: parts.committer,
            seats: parts.proposers.into_iter().map(Seat::new).collect(),
            snapshots: parts.snapshots,
            index: parts.index,
            sorter: NodeSorter::default(),
            outcomes: parts.outcomes,
            clock,
            proposed: 0,
            changed: false,
            has_follow_ups: false,
            collected: Vec::new(),
        })
    }

    /// The live state and its names, to be read. What decisions used since the last publication may not
    /// stand at the queues above leaves yet: [`Unsettled::view`].
    #[must_use]
    pub fn engine(&self) -> &Unsettled<Sequential> {
        self.committer.engine()
    }

    fn version(&self) -> Version {
        self.committer.version()
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
        let seen = self.seats.iter().map(|seat| seat.copy.version().0);
        let known = self
            .seats
            .iter()
            .flat_map(|seat| seat.held.iter().chain(&seat.sent));
        seen.chain(known.map(|known| known.version.0))
            .min()
            .unwrap_or(self.version().0)
    }

    /// Carries out a change of an outsider between two batches.
    pub fn call<T>(&mut self, change: impl FnOnce(&mut Sequential) -> T) -> T {
        self.drain_follow_ups();
        self.changed = true;
        self.committer.change_from_outside(change)
    }

    /// Hands over what happened since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.collected);
        events.append(&mut self.committer.engine_mut().exchange_events(Vec::new()));
        events
    }

    /// Moves the clock; lifetimes end.
    pub fn advance(&mut self, by: std::time::Duration) {
        self.drain_follow_ups();
        self.clock.advance(by);
        self.changed |= self.committer.expire();
    }

    /// Whether the committer would publish now.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Publishes the live state; its version.
    pub fn publish(&mut self) -> u64 {
        self.drain_follow_ups();
        self.collected = self.take_events();
        self.committer.publish();
        self.changed = false;
        self.version().0
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
        let before = seat.copy.version();
        seat.proposer.catch_up(&mut seat.copy, wanted);
        let renewed = seat.clean || seat.copy.version() != before;
        seat.clean = renewed && !seat.proposer.is_ahead();
        self.seats[proposer].copy.version() == self.version()
    }

    /// One turn of a proposer, on the working copy that it has. Its batches are held until they are
    /// handed over.
    pub fn turn(&mut self, proposer: usize) -> TurnOutcome {
        let seat = &mut self.seats[proposer];
        let round = seat.proposer.look(&mut seat.copy);
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
        for batch in &seat.proposer.held()[seat.held.len()..] {
            let known = Known::of(batch, &seat.copy);
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
        let accepted = seat.proposer.outlet_mut().send_held();
        seat.sent.extend(seat.held.drain(..accepted));
        accepted
    }

    /// A proposer starts afresh with a new view, as one does that died. What it had closed is still
    /// sent.
    pub fn restart(&mut self, proposer: usize) {
        let seat = &mut self.seats[proposer];
        seat.proposer.forget_round();
        seat.copy = seat.proposer.begin();
        seat.clean = !seat.proposer.is_ahead();
    }

    /// Distorts the proposals of a proposer that are not handed over yet. Draws
    /// come from `below`, which gives a number below its argument.
    pub fn distort(&mut self, proposer: usize, below: &mut dyn FnMut(usize) -> usize) {
        let seat = &mut self.seats[proposer];
        let batches = seat.proposer.outlet_mut().held_mut();
        for (batch, known) in batches.iter_mut().zip(&mut seat.held) {
            *batch = StdArc::new(batch.with(|outcome| {
                let mut outcome = outcome.clone();
                if let Outcome::Proposed(proposal) = &mut outcome {
                    distort(proposal, &seat.copy.state, below);
                }
                outcome
            }));
            *known = Known::of(batch, &seat.copy);
        }
    }

    /// Commits the oldest batch of a proposer, decision by decision; nothing when there is none.
    pub fn commit(&mut self, proposer: usize) -> Option<Vec<CommittedDecision>> {
        self.commit_shown(proposer, |_| {})
    }

    /// The same as [`Pipeline::commit`]; the engine is shown before the first decision, and after each.
    pub fn commit_shown(
        &mut self,
        proposer: usize,
        mut show: impl FnMut(&Unsettled<Sequential>),
    ) -> Option<Vec<CommittedDecision>> {
        let batch = self.committer.take_batch(proposer)?;
        let known = self.seats[proposer]
            .sent
            .pop_front()
            .expect("each batch in the ring was noted when it was sent");
        let present = batch.version == self.version() && !self.changed;
        let mut must_hold = known.clean && present;
        let mut intents = known.intents.into_iter();
        let mut decisions = Vec::with_capacity(batch.len());
        show(self.committer.engine());
        self.committer.commit(proposer, &batch, |engine, outcome| {
            show(engine);
            let nothing = outcome == CommitOutcome::Nothing;
            decisions.push(CommittedDecision {
                intent: intents.next().flatten(),
                outcome,
                events: engine.exchange_events(Vec::new()),
                must_hold: must_hold && !nothing,
            });
            must_hold &= nothing;
        });
        self.changed = true;
        self.has_follow_ups = true;
        Some(decisions)
    }

    /// Carries out what the commits since the last call brought about, as the committer does after
    /// it took a batch of every proposer. Every other change begins with it.
    pub fn drain_follow_ups(&mut self) {
        if std::mem::take(&mut self.has_follow_ups) {
            self.committer.engine_mut().drain_follow_ups();
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
            outcomes: self.outcomes.read(),
        }
    }
}

impl Seat {
    /// Of a proposer that has done nothing yet; its batches are held back.
    fn new(mut proposer: Proposer<FailingClock>) -> Self {
        proposer.outlet_mut().hold();
        let copy = proposer.begin();
        Self {
            proposer,
            copy,
            held: VecDeque::new(),
            sent: VecDeque::new(),
            clean: true,
        }
    }
}
