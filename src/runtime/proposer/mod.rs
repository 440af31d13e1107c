//! Proposers: threads that decide on working copies of the state and send proposals to the committer.
//!
//! # A round
//!
//! 1. Take over the newest snapshot if it is due ([`working_copy`]): if something happened that the copy
//!    could not foresee, or after many decisions.
//! 2. Decide ([`round`]): on each node of the own share, or on reservations and then among all nodes of each
//!    partition. Every decision is applied to the working copy, so that the next one follows it.
//! 3. Send the decisions in batches ([`batch`], [`outlet`]). While the ring is full, the proposer waits.
//! 4. If the round proposed nothing and nothing is in flight, become idle until a snapshot holds news.
//!
//! # Backoff
//!
//! * A further proposer whose proposals are refused too often sits out some publications
//!   ([`proposer_backoff`]).
//! * A proposer whose rounds on one state were all refused does not repeat them before the state changes.
//!
//! A round that panics is counted; the proposer drops its copy and what it had not sent, and begins anew.
//!
//! Tests: `tests/runtime/threads.rs`.

pub(super) mod batch;
pub(super) mod measuring;
pub(super) mod outlet;
mod proposer_backoff;
pub(super) mod round;
pub(super) mod stopwatch;
mod worker;
pub(super) mod working_copy;

use std::sync::Arc as StdArc;

use crate::proposer::Observation;
use crate::runtime::handles::start::Mode;
use crate::runtime::nodes::index::NodeIndex;
use crate::runtime::panics::PanicLog;
use crate::snapshot::Snapshot;
use crate::sync::{Arc, Parker, ProposerStatus, PublishedReader, Shutdown};

use batch::{Batch, Batches};
use measuring::Measuring;
use outlet::Outlet;
use proposer_backoff::ProposerBackoff;
use round::RoundHistory;

pub(in crate::runtime) use worker::wait;

/// What a proposer thread owns.
pub(in crate::runtime) struct Proposer<C> {
    mode: Mode,
    /// Position among the proposers, and their number.
    share: (usize, usize),
    snapshots: PublishedReader<Snapshot>,
    index: PublishedReader<NodeIndex>,
    outlet: Outlet,
    parker: Parker,
    shutdown: Shutdown,
    /// What the committer sees of it.
    status: Arc<ProposerStatus>,
    /// Rounds that panicked, of all proposers.
    panics: PanicLog,
    measuring: Measuring<C>,
    batches: Batches,
    /// What the present pass observes; empty between passes.
    seen: Vec<Observation>,
    history: RoundHistory,
    backoff: ProposerBackoff,
}

/// A proposer's ends of what it shares with the committer and the sorter.
pub(in crate::runtime) struct ProposerEnds {
    pub(in crate::runtime) snapshots: PublishedReader<Snapshot>,
    pub(in crate::runtime) index: PublishedReader<NodeIndex>,
    pub(in crate::runtime) outlet: Outlet,
    pub(in crate::runtime) parker: Parker,
    pub(in crate::runtime) shutdown: Shutdown,
    pub(in crate::runtime) status: Arc<ProposerStatus>,
    pub(in crate::runtime) panics: PanicLog,
}

impl<C> Proposer<C> {
    /// The proposer of a share: its position among the proposers, and their number.
    pub(in crate::runtime) fn new(
        mode: Mode,
        share: (usize, usize),
        ends: ProposerEnds,
        measuring: Measuring<C>,
    ) -> Self {
        Self {
            mode,
            share,
            snapshots: ends.snapshots,
            index: ends.index,
            outlet: ends.outlet,
            parker: ends.parker,
            shutdown: ends.shutdown,
            status: ends.status,
            panics: ends.panics,
            measuring,
            batches: Batches::new(),
            seen: Vec::new(),
            history: RoundHistory::new(share.0),
            backoff: ProposerBackoff::default(),
        }
    }

    /// Whether something was sent that no snapshot it has seen shows.
    pub(in crate::runtime) fn is_ahead(&self) -> bool {
        self.batches.in_flight().next().is_some()
    }

    /// Decisions of the batch that is not closed yet.
    pub(in crate::runtime) fn undecided(&self) -> usize {
        self.batches.open.len()
    }

    /// What is held back instead of being sent, when rounds are run step by step.
    pub(in crate::runtime) fn held(&self) -> &[StdArc<Batch>] {
        self.outlet.held()
    }

    pub(in crate::runtime) fn outlet_mut(&mut self) -> &mut Outlet {
        &mut self.outlet
    }

    pub(in crate::runtime) fn measuring_mut(&mut self) -> &mut Measuring<C> {
        &mut self.measuring
    }
}
