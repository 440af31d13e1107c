//! Inline scheduling: the committer places what calls ask for while all proposers are idle.
//!
//! A call would otherwise wait until a proposer wakes, copies what changed and hands its decision back, which takes
//! ten times as long as the decision. It is valid because the committer owns the live state: a pass over it needs no
//! validation against others.
//!
//! 1. A turn with calls of applications or reports of nodes, and nothing else, begins it.
//! 2. The committer runs the passes of a proposer over the live state and commits what each finds.
//! 3. It ends when nothing is found, or at a limit of passes or time, so that commands are not kept waiting.
//! 4. Reservations, asks that wait and thousands of containers are left to the proposers.
//! 5. After two turns of slow passes in a row the committer skips some calls, more of them each time.
//!
//! Tests: `tests/runtime/callers.rs` of whole engines; the limits are tested here.

use std::sync::Arc;

use crate::commit::{CommitOutcome, Unsettled};
use crate::id::{NodeSlot, PartitionId};
use crate::proposer::{Candidates, Observation, Outcome, ProposalKind, propose};
use crate::queue::Exclusivity;
use crate::runtime::Sequential;
use crate::runtime::nodes::index::NodeIndex;
use crate::runtime::nodes::node_candidates::{NodeCandidates, PLACES};
use crate::runtime::proposer::stopwatch::Latencies;
use crate::runtime::proposer::working_copy::matters;
use crate::snapshot::State;
use crate::sync::PublishedReader;
use crate::time::Clock;

/// Passes after which commands get their turn again.
const MOST: u32 = 512;

/// The same by time, in ns: commands wait for as long.
const MOST_NS: u64 = 250_000;

/// Passes between two looks at the clock.
const LOOK: u32 = 8;

/// One pass in so many is timed.
const SAMPLE: u32 = 32;

/// Smallest allocations that may be outstanding when a turn ends by its length and the next one
/// goes on; of more than that the proposers take their part. They take tens of ms to come where
/// there are many nodes, would find the work done, and find no rest while calls keep coming: then
/// three busy threads share what may be two cores.
const BACKLOG: i64 = 8192;

/// Passes that take longer than this, in ns, are left to the proposers for a while.
const LONG_NS: u64 = 50_000;

/// Calls that are left to the proposers at most before the next attempt.
const LONGEST_ABSENCE: u32 = 1024;

/// What the committer needs to decide by itself.
#[derive(Debug)]
pub(in crate::runtime) struct InlineScheduling {
    candidates: NodeCandidates,
    index: PublishedReader<NodeIndex>,
    /// What the present pass observes; empty between passes.
    seen: Vec<Observation>,
    /// Nodes that were written before the last look at them.
    written: Vec<u32>,
    /// Which passes are measured, and how many there were.
    latencies: Latencies,
    passes: u32,
    /// Calls to leave to the proposers, and how many it will be the next time.
    absence: u32,
    next_absence: u32,
    /// Decisions that proposed something, and how many of them were refused.
    served: (u64, u64),
}

/// What a turn of the committer's own decisions came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Served {
    /// Nothing is left that a proposer could do.
    All,
    /// More is to be done, by the next turn.
    Some,
    /// The rest is for the proposers.
    NotAll,
}

impl InlineScheduling {
    pub(in crate::runtime) fn new(index: PublishedReader<NodeIndex>, latencies: Latencies) -> Self {
        Self {
            candidates: NodeCandidates::new((0, 1), PLACES),
            index,
            seen: Vec::new(),
            written: Vec::new(),
            latencies,
            passes: 0,
            absence: 0,
            next_absence: 0,
            served: (0, 0),
        }
    }

    /// Decisions so far that proposed something, and how many of them were refused.
    pub(in crate::runtime) fn served(&self) -> (u64, u64) {
        self.served
    }

    /// Whether calls are served here now, or rather left to the proposers.
    pub(in crate::runtime) fn is_willing(&mut self) -> bool {
        let willing = self.absence == 0;
        self.absence = self.absence.saturating_sub(1);
        willing
    }

    /// Notes how long a turn of so many passes took, in ns: when passes are long in two turns in a
    /// row, so that it is not the thread that was kept waiting, the committer backs off, longer
    /// each time.
    fn judge(&mut self, passes: u32, took_ns: u64) {
        if took_ns / u64::from(passes.max(1)) <= LONG_NS {
            self.next_absence = 0;
            return;
        }
        self.absence = self.next_absence;
        self.next_absence = (2 * self.next_absence).clamp(1, LONGEST_ABSENCE);
    }

    /// Follows the nodes that were written since it last did; needed before every publication.
    pub(in crate::runtime) fn follow(&mut self, engine: &mut Unsettled<Sequential>) {
        let state = engine.settled_ledger().state_to_publish();
        state.nodes.take_recent(&mut self.written);
        for &node in &self.written {
            let node = NodeSlot(node);
            self.candidates.see(state, node);
        }
    }

    /// Decides and commits until nothing is found, or the rest is left to the proposers. `on_outcome`
    /// is called with what became of each decision, and how long its pass took in ns if it was measured.
    pub(in crate::runtime) fn serve(
        &mut self,
        engine: &mut Unsettled<Sequential>,
        clock: &impl Clock,
        on_outcome: impl FnMut(CommitOutcome, Option<u64>),
    ) -> Served {
        self.follow(engine);
        let index = Arc::clone(self.index.refresh());
        self.candidates.lay_out(engine.charged().state(), &index);
        // What comes before is no pass: it says nothing of how long passes are.
        let began_ns = clock.now_ns();
        let mut passes = 0;
        let served = self.take_turn(engine, &mut passes, clock, began_ns, on_outcome);
        self.judge(passes, clock.now_ns().saturating_sub(began_ns));
        served
    }

    fn take_turn(
        &mut self,
        engine: &mut Unsettled<Sequential>,
        passes: &mut u32,
        clock: &impl Clock,
        began_ns: u64,
        mut on_outcome: impl FnMut(CommitOutcome, Option<u64>),
    ) -> Served {
        if self.candidates.is_reserved_anywhere() {
            return Served::NotAll;
        }
        let mut look_at = LOOK;
        for partition in engine.charged().state().partition_ids() {
            while self.candidates.of(partition).is_some() {
                match self.attempt(engine, partition, passes, clock, &mut on_outcome) {
                    PassResult::Container if may_go_on(*passes, &mut look_at, clock, began_ns) => {}
                    PassResult::Nothing => break,
                    PassResult::Container if outstanding(engine) <= BACKLOG => return Served::Some,
                    PassResult::Container | PassResult::Other => return Served::NotAll,
                }
            }
        }
        Served::All
    }

    /// The two passes of an attempt among all nodes of a partition.
    fn attempt(
        &mut self,
        engine: &mut Unsettled<Sequential>,
        partition: PartitionId,
        passes: &mut u32,
        clock: &impl Clock,
        on_outcome: &mut impl FnMut(CommitOutcome, Option<u64>),
    ) -> PassResult {
        let found = self.pass(
            engine,
            partition,
            Exclusivity::Respect,
            passes,
            clock,
            on_outcome,
        );
        let row = &engine.charged().state().partitions[partition];
        if found != PassResult::Nothing || partition == PartitionId::DEFAULT || row.exclusive {
            return found;
        }
        self.pass(
            engine,
            partition,
            Exclusivity::Ignore,
            passes,
            clock,
            on_outcome,
        )
    }

    fn pass(
        &mut self,
        engine: &mut Unsettled<Sequential>,
        partition: PartitionId,
        exclusivity: Exclusivity,
        passes: &mut u32,
        clock: &impl Clock,
        on_outcome: &mut impl FnMut(CommitOutcome, Option<u64>),
    ) -> PassResult {
        let state = engine.charged().state();
        let Some((outcome, took)) = self.decide(state, partition, exclusivity, clock) else {
            return PassResult::Nothing;
        };
        *passes += 1;
        let found = result_of(state, &outcome, &mut self.seen);
        let committed = engine.commit_now(&outcome, &self.seen);
        engine.drain_follow_ups();
        self.seen.clear();
        self.count(committed);
        on_outcome(committed, took);
        if let Outcome::Proposed(proposal) = &outcome {
            self.candidates
                .look_at(engine.charged().state(), proposal.node);
        }
        match committed {
            CommitOutcome::Rejected(_) => PassResult::Other,
            CommitOutcome::Committed
            | CommitOutcome::CommittedElsewhere
            | CommitOutcome::Nothing => found,
        }
    }

    /// Decides among the nodes of a partition, if it has any; and how long that took, if it is measured.
    fn decide(
        &mut self,
        state: &State,
        partition: PartitionId,
        exclusivity: Exclusivity,
        clock: &impl Clock,
    ) -> Option<(Outcome, Option<u64>)> {
        let nodes = self.candidates.of(partition)?;
        self.passes = self.passes.wrapping_add(1);
        let before = is_timed(self.latencies, self.passes).then(|| clock.now_ns());
        let candidates = Candidates::indexed(nodes, partition);
        let outcome = propose(state, &candidates, exclusivity, &mut self.seen);
        let took = before.map(|before| clock.now_ns().saturating_sub(before));
        Some((outcome, took))
    }

    fn count(&mut self, outcome: CommitOutcome) {
        let (decisions, refused) = &mut self.served;
        *decisions += u64::from(outcome != CommitOutcome::Nothing);
        *refused += u64::from(matches!(outcome, CommitOutcome::Rejected(_)));
    }
}

/// Whether the next pass is measured, by how many there were.
fn is_timed(latencies: Latencies, passes: u32) -> bool {
    match latencies {
        Latencies::Off => false,
        Latencies::Sampled => passes.is_multiple_of(SAMPLE),
        Latencies::All => true,
    }
}

/// What a pass found; of its observations those are kept that the ledger needs.
fn result_of(state: &State, outcome: &Outcome, seen: &mut Vec<Observation>) -> PassResult {
    match outcome {
        Outcome::Proposed(proposal) if proposal.kind == ProposalKind::Allocate => {
            PassResult::Container
        }
        Outcome::Proposed(_) | Outcome::GiveUp(_) => PassResult::Other,
        Outcome::Skipped(_) => {
            // Counters that matter make a further pass worth while, after some time.
            let counts = |seen: &Observation| matches!(seen, Observation::Counters { .. });
            seen.retain(|seen| matters(state, seen));
            if seen.iter().any(counts) {
                PassResult::Other
            } else {
                PassResult::Nothing
            }
        }
    }
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassResult {
    /// A container, placed.
    Container,
    /// Something that the proposers go on with.
    Other,
    /// Nothing.
    Nothing,
}

/// Whether a turn may have more passes. `look_at`: after how many the clock is asked again.
fn may_go_on(passes: u32, look_at: &mut u32, clock: &impl Clock, began_ns: u64) -> bool {
    if passes < *look_at {
        return passes < MOST;
    }
    *look_at = passes + LOOK;
    passes < MOST && clock.now_ns().saturating_sub(began_ns) < MOST_NS
}

/// What all applications ask for, by memory and in smallest allocations.
fn outstanding(engine: &mut Unsettled<Sequential>) -> i64 {
    let state = engine.charged().state();
    let parts = state.queues[State::ROOT].parts.iter();
    let memory = parts.map(|part| part.pending.memory());
    memory.fold(0, i64::saturating_add) / state.minimum.memory().max(1)
}
