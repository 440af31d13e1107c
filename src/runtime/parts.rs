//! The parts of an engine and who holds which end of each queue, before any thread runs.
//!
//! The engine with threads and the pipeline without them are built of the same parts:
//!
//! ```text
//!  callers --commands--> inbox --> Committer --snapshots--> Proposer, sorter, callers
//!                                     ^  |
//!            Proposer --batches--> ring  +----events------> EventReader
//!            sorter   --index----> Proposer, inline scheduling
//! ```
//!
//! Tests: `tests/runtime/threads.rs`.

use std::sync::Arc as StdArc;

use super::Sequential;
use super::committer::caller_runs::CallerRuns;
use super::committer::delivery::Delivery;
use super::committer::idle::Idle;
use super::committer::inline_scheduling::InlineScheduling;
use super::committer::proposer_rings::ProposerRings;
use super::committer::publication::Publication;
use super::committer::{Committer, CommitterEnds, Measures};
use super::handles::command::Command;
use super::handles::commands::Commands;
use super::handles::event_reader::EventReader;
use super::handles::queue_capacities::QueueCapacities;
use super::handles::start::{Mode, Running};
use super::nodes::index::NodeIndex;
use super::panics::PanicLog;
use super::proposer::measuring::Measuring;
use super::proposer::outlet::Outlet;
use super::proposer::stopwatch::Latencies;
use super::proposer::{Proposer, ProposerEnds};
use super::testing::fault_injection::FaultSource;
use crate::commit::{CommitOutcome, Fetch, LedgerOwner};
use crate::id::Version;
use crate::metrics::{Collector, CounterReader, counters};
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicBool, InboxReceiver, InboxSender, Parker, Published, Publisher, Shutdown, Waker,
    inbox, parking, published, shutdown,
};
use crate::time::Clock;

/// An engine in parts: the committer by clock `C`, proposers by clock `P`.
pub(super) struct EngineParts<C, P> {
    pub(super) committer: Committer<C>,
    pub(super) caller_runs: StdArc<CallerRuns<C>>,
    pub(super) proposers: Vec<Proposer<P>>,
    pub(super) commands: Commands,
    /// Events, and where their readers sleep.
    pub(super) events: (EventReader, Parker),
    pub(super) snapshots: Published<Snapshot>,
    /// What the sorter needs: where it publishes, and where it sleeps.
    pub(super) index: Publisher<NodeIndex>,
    pub(super) sorter: Parker,
    pub(super) shutdown: Shutdown,
    pub(super) outcomes: CounterReader<CommitOutcome>,
    pub(super) collector: Collector,
    pub(super) panics: PanicLog,
}

/// What all proposers share, while they are built.
struct Wiring {
    mode: Mode,
    running: Running,
    capacities: QueueCapacities,
    /// Wakes the committer.
    waker: Waker,
    snapshots: Published<Snapshot>,
    order: Published<NodeIndex>,
    shutdown: Shutdown,
    panics: PanicLog,
}

impl Wiring {
    /// Builds the proposer at a position, which sleeps by `parker`, and adds it to the committer's `rings`.
    fn proposer<P>(
        &self,
        position: usize,
        (waker, parker): (Waker, Parker),
        rings: &mut ProposerRings,
        collector: &mut Collector,
        clock: P,
    ) -> Proposer<P> {
        let Running {
            latencies, faults, ..
        } = self.running;
        let (ring, status) = rings.add(self.capacities.ring, waker, &self.waker);
        let faults = faults.map(|faults| FaultSource::new(faults, position));
        let ends = ProposerEnds {
            snapshots: self.snapshots.reader(),
            index: self.order.reader(),
            outlet: Outlet::new(ring, faults),
            parker,
            shutdown: self.shutdown.clone(),
            status,
            panics: self.panics.clone(),
        };
        let measuring = Measuring::new(clock, latencies.recorder(collector), latencies);
        let share = (position, self.mode.threads());
        Proposer::new(self.mode, share, ends, measuring)
    }
}

/// Has an engine follow a mode that is named, unless the host runs the passes itself.
fn enter(engine: &mut Sequential, mode: Mode, running: Running) {
    let heartbeats_schedule = mode == Mode::Heartbeat;
    if !running.host_passes {
        engine.name_mode(heartbeats_schedule);
    }
    engine.ledger_mut().track(!heartbeats_schedule);
}

/// The two ends of the inbox of commands.
type CommandInbox = (InboxSender<Command>, InboxReceiver<Command>);

/// The inbox of commands, and the way to that of fetches, from which an engine takes them. Pauses are noted where all
/// latencies are measured.
fn inboxes(
    engine: &mut Sequential,
    wiring: &Wiring,
    clock: &(impl Clock + Clone + 'static),
) -> (CommandInbox, InboxSender<Box<Fetch>>) {
    let (sender, receiver) = inbox(wiring.capacities.inbox);
    let fetches = engine.fetches();
    fetches.attach(receiver);
    if wiring.running.latencies == Latencies::All {
        let clock = clock.clone();
        fetches.time_pauses(Box::new(move || clock.now_ns()));
    }
    (inbox(wiring.capacities.inbox), sender)
}

impl<C: Clock + Clone + 'static, P: Clock> EngineParts<C, P> {
    /// Builds the parts of an engine over the state that a sequential engine has come to. Proposers read the
    /// time from clocks that `proposer_clock` makes. With `inline`, the committer places asks by itself
    /// while every proposer is idle.
    pub(super) fn new(
        mut engine: Sequential,
        mode: Mode,
        running: Running,
        inline: bool,
        clock: &C,
        proposer_clock: impl Fn() -> P,
    ) -> Self {
        enter(&mut engine, mode, running);
        let wanted = Arc::new(AtomicBool::new(false));
        let (publication, snapshots) = Publication::new(engine.ledger_mut(), Arc::clone(&wanted));
        let (index, order) = published(Version(0), StdArc::new(NodeIndex::default()));
        let (waker, parker) = parking();
        let (sorter_waker, sorter) = parking();
        let parks: Vec<_> = (0..mode.threads()).map(|_| parking()).collect();
        let mut wakers: Vec<Waker> = parks.iter().map(|(waker, _)| waker.clone()).collect();
        wakers.extend([waker.clone(), sorter_waker]);
        let (shutdown, owner) = shutdown(wakers);
        let wiring = Wiring {
            mode,
            running,
            capacities: QueueCapacities::of(mode, running.capacity),
            waker: waker.clone(),
            snapshots,
            order,
            shutdown,
            panics: PanicLog::new(),
        };
        let (mut collector, mut rings) = (Collector::new(), ProposerRings::new());
        let proposers = parks.into_iter().enumerate().map(|(i, park)| {
            wiring.proposer(i, park, &mut rings, &mut collector, proposer_clock())
        });
        let proposers = proposers.collect();
        let ((commands, receiver), fetches) = inboxes(&mut engine, &wiring, clock);
        let (delivery, events) = Delivery::new(wiring.capacities, running.events_limit, parking());
        let (writer, outcomes) = counters();
        let ends = CommitterEnds {
            inbox: receiver,
            proposers: rings,
            publication,
            delivery,
            idle: Idle::new(parker.clone(), running.awake),
            measures: Measures::new(writer, running.latencies, &mut collector),
            shutdown: owner,
        };
        let inline =
            inline.then(|| InlineScheduling::new(wiring.order.reader(), running.latencies));
        let heartbeats_schedule = mode == Mode::Heartbeat;
        let committer = Committer::new(engine, heartbeats_schedule, clock.clone(), inline, ends);
        let caller_runs = StdArc::new(CallerRuns::new(waker, parker, wanted, &wiring.panics));
        Self {
            committer,
            commands: Commands::new(commands, fetches, caller_runs.clone()),
            caller_runs,
            proposers,
            events,
            snapshots: wiring.snapshots,
            index,
            sorter,
            shutdown: wiring.shutdown,
            outcomes,
            collector,
            panics: wiring.panics,
        }
    }
}
