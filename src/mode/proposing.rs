//! A proposer thread: reads snapshots, decides on its working copy, sends what it decided.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::time::Duration;

use crate::cluster::NodeState;
use crate::commit::{apply_to_copy, observe_on_copy};
use crate::id::{NodeSlot, PartitionId, Version};
use crate::metrics::{Phase, Recorder};
use crate::proposer::{
    Assignment, Candidates, Observation, Outcome, ProposalKind, propose, propose_reserved,
};
use crate::queue::Exclusivity;
use crate::snapshot::{Snapshot, State};
use crate::sync::{
    Arc, AtomicU64, Ordering, Parked, Parker, PublishedReader, RingSender, Shutdown, TrySendError,
    Waker,
};
use crate::time::Clock;

use super::engine::Mode;
use super::index::NodeIndex;

/// Decisions that are handed to the committer together.
const BATCH: usize = 64;

/// How long a proposer with fruitless counters waits before it looks again.
const PATIENCE: Duration = Duration::from_millis(5);

/// Decisions of one proposer, made on one snapshot.
#[derive(Debug)]
pub(super) struct Batch {
    /// The snapshot that the decisions were made on.
    pub(super) version: Version,
    /// The decisions, in order.
    pub(super) assignments: Vec<Assignment>,
}

/// What a proposer thread owns.
pub(super) struct Proposer<C> {
    pub(super) mode: Mode,
    /// Position among the proposers, and their number.
    pub(super) share: (usize, usize),
    pub(super) snapshots: PublishedReader<Snapshot>,
    pub(super) index: PublishedReader<NodeIndex>,
    pub(super) ring: RingSender<Batch>,
    pub(super) parker: Parker,
    pub(super) shutdown: Shutdown,
    /// The version at which this proposer last found nothing to do.
    pub(super) idle_at: Arc<AtomicU64>,
    /// Woken when this proposer comes to rest, for those who wait for quiescence.
    pub(super) committer: Waker,
    /// Rounds that panicked, of all proposers.
    pub(super) panics: Arc<AtomicU64>,
    pub(super) recorder: Recorder,
    pub(super) clock: C,
    /// Where batches wait instead of the ring, when rounds are run step by step.
    pub(super) held: Option<Vec<Batch>>,
}

/// What a round over all candidates came to.
#[derive(Default)]
pub(super) struct Round {
    pub(super) proposed: bool,
    /// Counters moved, so that a further round may find something without any other change.
    pub(super) counted: bool,
    /// The copy cannot follow what was proposed: a newer snapshot is needed.
    pub(super) stuck: bool,
}

/// A proposer's copy of a snapshot, which its own proposals change, and where its next walk starts.
pub(super) struct Working {
    pub(super) seen: StdArc<Snapshot>,
    pub(super) copy: State,
    start: usize,
}

impl Working {
    pub(super) fn of(seen: &StdArc<Snapshot>, start: usize) -> Self {
        let mut copy = State::new(StdArc::clone(&seen.settings));
        copy.refresh(&Snapshot::empty(StdArc::clone(&seen.settings)), seen);
        let seen = StdArc::clone(seen);
        Self { seen, copy, start }
    }

    /// Takes over the newest snapshot.
    pub(super) fn catch_up(&mut self, newest: &StdArc<Snapshot>) {
        if newest.version != self.seen.version {
            self.copy.refresh(&self.seen, newest);
            self.seen = StdArc::clone(newest);
        }
    }
}

impl<C: Clock> Proposer<C> {
    /// Runs until shutdown. A round that panics is counted and the proposer starts afresh: its
    /// copy and what it had not sent yet are dropped, the ledger never saw them.
    pub(super) fn run(mut self) {
        while catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            // Relaxed: a count that nothing else depends on.
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn work(&mut self) {
        let mut working = self.begin();
        while !self.shutdown.is_requested() {
            working.catch_up(self.snapshots.refresh());
            let round = self.turn(&mut working);
            self.recorder.hand_over();
            if !round.proposed {
                self.rest(working.seen.version, round.counted);
            } else if round.stuck {
                self.await_newer(working.seen.version);
            }
        }
    }

    /// A copy of the newest snapshot.
    pub(super) fn begin(&mut self) -> Working {
        Working::of(self.snapshots.refresh(), self.share.0)
    }

    /// One round over all candidates.
    pub(super) fn turn(&mut self, working: &mut Working) -> Round {
        let (version, start) = (working.seen.version, working.start);
        working.start = start.wrapping_add(1);
        self.round(&mut working.copy, version, start)
    }

    /// Sleeps until there is a newer snapshot, or for a moment when waiting itself may help.
    fn rest(&mut self, version: Version, counted: bool) {
        // Release: pairs with the Acquire in the committer's test of quiescence.
        self.idle_at.store(version.0, Ordering::Release);
        self.committer.wake();
        let (snapshots, shutdown) = (&self.snapshots, &self.shutdown);
        let ready = || snapshots.version() > version || shutdown.is_requested();
        if counted {
            let _: Parked = self.parker.park_for(PATIENCE, ready);
        } else {
            self.parker.park_until(ready);
        }
    }

    fn await_newer(&mut self, version: Version) {
        let (snapshots, shutdown) = (&self.snapshots, &self.shutdown);
        let ready = || snapshots.version() > version || shutdown.is_requested();
        let _: Parked = self.parker.park_for(PATIENCE, ready);
    }

    fn round(&mut self, copy: &mut State, version: Version, start: usize) -> Round {
        match self.mode {
            Mode::Heartbeat => Round::default(),
            Mode::Asynchronous { .. } => self.walk_nodes(copy, version, start),
            Mode::Global { .. } => self.walk_partitions(copy, version),
        }
    }

    /// One attempt on each running node of this proposer's share; a proposer whose share brings
    /// nothing looks at the others'.
    fn walk_nodes(&mut self, copy: &mut State, version: Version, start: usize) -> Round {
        let (own, of) = self.share;
        let nodes: Vec<_> = (0..copy.nodes.len()).map(NodeSlot::at).collect();
        let mine: Vec<_> = nodes
            .iter()
            .copied()
            .filter(|node| node.index() % of == own)
            .collect();
        let mut round = self.walk(copy, version, &mine, start);
        if !round.proposed && of > 1 && !round.stuck {
            round = self.walk(copy, version, &nodes, start);
        }
        round
    }

    fn walk(
        &mut self,
        copy: &mut State,
        version: Version,
        nodes: &[NodeSlot],
        start: usize,
    ) -> Round {
        let mut round = Round::default();
        let mut batch = Vec::with_capacity(BATCH);
        for i in 0..nodes.len() {
            let node = nodes[(start + i) % nodes.len()];
            let row = &copy.nodes[node];
            if row.state != NodeState::Running {
                continue;
            }
            if row.reserved.is_some() {
                let assignment = self.timed(|| propose_reserved(copy, node));
                // The copy does not follow reservations; others go on without it.
                note(&mut round, copy, assignment, &mut batch, false);
            } else if has_room(copy, node) {
                self.attempt(copy, &Candidates::node(node), &mut round, &mut batch);
            }
            if batch.len() >= BATCH {
                self.send(version, &mut batch);
            }
            if round.stuck {
                break;
            }
        }
        self.send(version, &mut batch);
        round
    }

    /// Attempts on every partition until one brings nothing.
    fn walk_partitions(&mut self, copy: &mut State, version: Version) -> Round {
        let mut round = Round::default();
        let mut batch = Vec::with_capacity(BATCH);
        let index = StdArc::clone(self.index.refresh());
        for partition in copy.partition_ids() {
            self.look_at_reserved(copy, partition, &mut round, &mut batch);
            let Some(candidates) = self.candidates(copy, &index, partition) else {
                continue;
            };
            loop {
                let before = batch.len();
                let placed = self.attempt(copy, &candidates, &mut round, &mut batch);
                if !placed || round.stuck || batch.len() == before {
                    break;
                }
                if batch.len() >= BATCH {
                    break;
                }
            }
            if batch.len() >= BATCH || round.stuck {
                break;
            }
        }
        self.send(version, &mut batch);
        round
    }

    /// Reservations first: they are fulfilled, kept or given up. Each is one proposer's.
    fn look_at_reserved(
        &mut self,
        copy: &mut State,
        partition: PartitionId,
        round: &mut Round,
        batch: &mut Vec<Assignment>,
    ) {
        let (own, of) = self.share;
        let nodes = copy.partitions[partition].nodes.iter().copied();
        let reserved: Vec<_> = nodes
            .filter(|node| node.index() % of == own)
            .filter(|&node| copy.nodes[node].reserved.is_some())
            .collect();
        for node in reserved {
            let assignment = self.timed(|| propose_reserved(copy, node));
            note(round, copy, assignment, batch, false);
        }
    }

    /// Running nodes of a partition with room, this proposer's share first, in the sorted order.
    fn candidates(
        &self,
        copy: &State,
        index: &NodeIndex,
        partition: PartitionId,
    ) -> Option<Candidates> {
        let usable = |&node: &NodeSlot| {
            let row = &copy.nodes[node];
            row.state == NodeState::Running && row.partition == partition
        };
        let (own, of) = self.share;
        let share = |&node: &NodeSlot| node.index() % of == own;
        let sorted = index.nodes(copy, partition);
        let room = |&node: &NodeSlot| copy.nodes[node].reserved.is_none() && has_room(copy, node);
        let mine = sorted.iter().copied().filter(usable).filter(share);
        let nodes: Vec<_> = if mine.clone().any(|node| room(&node)) {
            mine.filter(room).collect()
        } else {
            sorted.iter().copied().filter(usable).collect()
        };
        (!nodes.is_empty()).then(|| Candidates::in_order(nodes))
    }

    /// The two passes of an attempt; whether something was proposed.
    fn attempt(
        &mut self,
        copy: &mut State,
        candidates: &Candidates,
        round: &mut Round,
        batch: &mut Vec<Assignment>,
    ) -> bool {
        let assignment = self.timed(|| propose(copy, candidates, Exclusivity::Respect));
        if note(round, copy, assignment, batch, true) {
            return true;
        }
        let partition = copy.nodes[candidates.first()].partition;
        if partition == PartitionId::DEFAULT || copy.partitions[partition].exclusive {
            return false;
        }
        let assignment = self.timed(|| propose(copy, candidates, Exclusivity::Ignore));
        note(round, copy, assignment, batch, true)
    }

    fn timed(&mut self, decide: impl FnOnce() -> Assignment) -> Assignment {
        if !self.recorder.is_active() {
            return decide();
        }
        let before = self.clock.now_ns();
        let assignment = decide();
        if matches!(assignment.outcome, Outcome::Proposed(_)) {
            self.recorder
                .record(Phase::Propose, self.clock.now_ns() - before);
        }
        assignment
    }

    /// Hands a batch over; waits while the committer is behind.
    fn send(&mut self, version: Version, batch: &mut Vec<Assignment>) {
        if batch.is_empty() {
            return;
        }
        let assignments = std::mem::replace(batch, Vec::with_capacity(BATCH));
        let mut value = Batch {
            version,
            assignments,
        };
        if let Some(held) = &mut self.held {
            held.push(value);
            return;
        }
        loop {
            match self.ring.try_send(value) {
                Ok(()) => return,
                Err(TrySendError::Closed(_)) => return,
                Err(TrySendError::Full(back)) => {
                    value = back;
                    crate::sync::yield_now();
                }
            }
        }
    }
}

/// Adds an assignment to a batch and lets the copy follow it; whether something was proposed.
fn note(
    round: &mut Round,
    copy: &mut State,
    mut assignment: Assignment,
    batch: &mut Vec<Assignment>,
    follow: bool,
) -> bool {
    observe_on_copy(copy, &assignment.observations);
    match &assignment.outcome {
        Outcome::Proposed(proposal) => {
            let kept = proposal.kind == ProposalKind::Reserve && proposal.reserved.is_some();
            if follow && !apply_to_copy(copy, proposal) {
                round.stuck = true;
            }
            // A reservation that is merely kept is no progress.
            round.proposed |= !kept;
            round.counted |= kept;
            batch.push(assignment);
            !kept
        }
        Outcome::GiveUp(_) => {
            round.proposed = true;
            batch.push(assignment);
            false
        }
        Outcome::Skipped(_) => {
            let counters = |seen: &Observation| matches!(seen, Observation::Counters { .. });
            assignment.observations.retain(counters);
            if !assignment.observations.is_empty() {
                round.counted = true;
                batch.push(assignment);
            }
            false
        }
    }
}

/// Whether the smallest allocation fits in what is free or may be killed on a node.
fn has_room(state: &State, node: NodeSlot) -> bool {
    let node = &state.nodes[node];
    let room = node.free + node.killable_total();
    state.calculator.containers(&room, &state.minimum) > 0
}
