//! The committer: the only writer of the ledger. It takes commands and proposals, commits, publishes.
//!
//! # A turn
//!
//! 1. Deliver the events that the last turn left ([`delivery`]). While the queue of events is full, no
//!    proposal is taken. Free some memory of [large rows](crate::snapshot::FrozenRow) that nobody reads.
//! 2. End the applications whose lifetime is over.
//! 3. Commit one batch of every proposer ([`commits`], [`proposer_rings`]).
//! 4. Answer fetches, then carry out commands, up to a limit, each in the order of its inbox. What is left of one with
//!    many items, and what waits, goes on in later turns.
//! 5. If every proposer is idle, place what those commands ask for ([`inline_scheduling`]).
//! 6. Publish a snapshot if it is due ([`publication`], [`publish_backoff`]).
//!
//! When nothing is left to do, the thread releases the committer and sleeps ([`idle`]); a caller then
//! runs the turns on its own thread ([`caller_runs`]). Shutdown drains every queue, in this order:
//! rings and inboxes are closed, accepted commands and batches are carried out, a last snapshot is published.
//!
//! # Invariants
//!
//! * One thread owns the [`Committer`] at a time; ownership moves through `sync::Handoff`.
//! * Every accepted command is answered once. Every batch of a proposer is taken once and in order.
//! * A snapshot shows everything that was answered before it was published.
//!
//! Each part of the committer is a type with private fields in its own file; this file connects them.
//!
//! Tests: `tests/runtime/callers.rs`.

pub(super) mod caller_runs;
mod commits;
pub(super) mod delivery;
mod event_backlog;
pub(super) mod idle;
pub(super) mod inline_scheduling;
pub(super) mod proposer_rings;
pub(super) mod publication;
mod publish_backoff;
mod turn;

use std::collections::VecDeque;
use std::sync::Arc as StdArc;

use crate::commit::{CommitOutcome, Conflict, Freed, Unsettled};
use crate::id::Version;
use crate::metrics::{Collector, CounterWriter, Recorder};
use crate::runtime::Sequential;
use crate::runtime::handles::command::Command;
use crate::runtime::proposer::batch::Batch;
use crate::runtime::proposer::stopwatch::Latencies;
use crate::sync::{InboxReceiver, Mutant, ShutdownOwner, injected};
use crate::time::Clock;

use delivery::Delivery;
use idle::Idle;
use inline_scheduling::InlineScheduling;
use proposer_rings::ProposerRings;
use publication::Publication;

/// Everything that the committer owns, on whichever thread it runs.
pub(in crate::runtime) struct Committer<C> {
    engine: Unsettled<Sequential>,
    /// Whether a node's heartbeat schedules the node.
    heartbeats_schedule: bool,
    inbox: InboxReceiver<Command>,
    /// What is left of commands with many items, in the order in which they came.
    unfinished: VecDeque<Command>,
    proposers: ProposerRings,
    publication: Publication,
    delivery: Delivery,
    idle: Idle,
    /// Places asks without proposers, in the mode that looks at all nodes.
    inline: Option<InlineScheduling>,
    measures: Measures,
    /// Since when slots are what they are; observations made before are not applied.
    freed: Freed,
    shutdown: ShutdownOwner,
    clock: C,
}

/// The committer's ends of the queues, and what it keeps about them.
pub(in crate::runtime) struct CommitterEnds {
    pub(in crate::runtime) inbox: InboxReceiver<Command>,
    pub(in crate::runtime) proposers: ProposerRings,
    pub(in crate::runtime) publication: Publication,
    pub(in crate::runtime) delivery: Delivery,
    pub(in crate::runtime) idle: Idle,
    pub(in crate::runtime) measures: Measures,
    pub(in crate::runtime) shutdown: ShutdownOwner,
}

/// What the committer counts and measures.
pub(in crate::runtime) struct Measures {
    outcomes: CounterWriter<CommitOutcome>,
    recorder: Recorder,
    /// When the present part began, by the clock in ns; nothing where parts are not measured.
    part_began: Option<u64>,
}

impl Measures {
    pub(in crate::runtime) fn new(
        outcomes: CounterWriter<CommitOutcome>,
        latencies: Latencies,
        collector: &mut Collector,
    ) -> Self {
        Self {
            outcomes,
            recorder: latencies.recorder(collector),
            part_began: (latencies == Latencies::All).then_some(0),
        }
    }

    /// Counts a proposal that did not hold.
    fn count_refusal(&mut self, conflict: Conflict) {
        let outcome = CommitOutcome::Rejected(conflict);
        if !injected(Mutant::RefusalNotCounted) {
            self.outcomes.count(outcome);
        }
        if injected(Mutant::RefusalCountedTwice) {
            self.outcomes.count(outcome);
        }
    }
}

impl<C: Clock> Committer<C> {
    /// A committer that owns a ledger; with `inline`, it places asks while every proposer is idle.
    pub(in crate::runtime) fn new(
        engine: Sequential,
        heartbeats_schedule: bool,
        clock: C,
        inline: Option<InlineScheduling>,
        ends: CommitterEnds,
    ) -> Self {
        Self {
            engine: Unsettled::new(engine),
            heartbeats_schedule,
            inbox: ends.inbox,
            unfinished: VecDeque::new(),
            proposers: ends.proposers,
            publication: ends.publication,
            delivery: ends.delivery,
            idle: ends.idle,
            inline,
            measures: ends.measures,
            freed: Freed::default(),
            shutdown: ends.shutdown,
            clock,
        }
    }

    /// The ledger and its names, as they are now.
    pub(in crate::runtime) fn engine(&self) -> &Unsettled<Sequential> {
        &self.engine
    }

    /// The ledger, to be changed where no command does it. See [`Committer::change`].
    pub(in crate::runtime) fn engine_mut(&mut self) -> &mut Unsettled<Sequential> {
        &mut self.engine
    }

    /// The version of the last snapshot.
    pub(in crate::runtime) fn version(&self) -> Version {
        self.publication.snapshot().version
    }

    /// The oldest batch of a proposer, if there is one.
    pub(in crate::runtime) fn take_batch(&mut self, proposer: usize) -> Option<StdArc<Batch>> {
        self.proposers.take(proposer)
    }

    /// Carries out one change from outside, and counts it.
    pub(in crate::runtime) fn change_from_outside<T>(
        &mut self,
        change: impl FnOnce(&mut Sequential) -> T,
    ) -> T {
        self.publication.note_change();
        self.change(change)
    }

    /// Carries out a command or a look of an outsider. It may free slots, so that observations made on older
    /// snapshots are ignored from now on.
    fn change<T>(&mut self, change: impl FnOnce(&mut Sequential) -> T) -> T {
        self.engine.settled_ledger().set_time(self.clock.now_ms());
        let result = change(self.engine.settled());
        self.freed = Freed::behind(self.publication.snapshot().version);
        result
    }

    /// Ends applications whose lifetime is over; whether there were any.
    pub(in crate::runtime) fn expire(&mut self) -> bool {
        let due = |deadline: u64| deadline <= self.clock.now_ms();
        if !self.engine.next_deadline().is_some_and(due) {
            return false;
        }
        self.engine.settled().advance_to(self.clock.now_ms());
        self.freed = Freed::behind(self.publication.snapshot().version);
        self.publication.note_change();
        true
    }
}
