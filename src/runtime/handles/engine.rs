//! The threaded engine: one committer, any number of proposers, a node sorter.

use std::sync::{Arc as StdArc, PoisonError};
use std::time::Duration;

use super::command::{Asking, Command, Commands, Look, Reply, answer};
use super::cores::Cores;
use super::event_reader::{EventReader, Rest};
use super::monitor::MonitorHandle;
use super::queue_capacities::Room;
use super::start::{Mode, Running, StartError};
use crate::commit::{
    AppError, AskError, Freed, HeartbeatReply, Ledger, NodeError, PartitionSpec, RefreshError,
    SubmitError, Submitted,
};
use crate::id::{ApplicationId, ContainerId, NodeName, Version};
use crate::metrics::{Collector, CounterReader, Counts, HistogramSet, counters};
use crate::queue::{AppSpec, AskCall, AskReply, NodeReport, NodeSpec, TreeSettings};
use crate::resource::ResourceVector;
use crate::runtime::Sequential;
use crate::runtime::committer::caller_runs::CallerRuns;
use crate::runtime::committer::fate::Fate;
use crate::runtime::committer::idle::Sleep;
use crate::runtime::committer::inline_scheduling::InlineScheduling;
use crate::runtime::committer::turn::Committer;
use crate::runtime::nodes::index::NodeIndex;
use crate::runtime::nodes::sorter::Sorting;
use crate::runtime::proposer::batch::Batches;
use crate::runtime::proposer::proposer_backoff::ProposerBackoff;
use crate::runtime::proposer::round::Refused;
use crate::runtime::proposer::worker::Proposer;
use crate::runtime::testing::fault_injection::FaultSource;
use crate::snapshot::Snapshot;
use crate::sync::{
    Arc, AtomicBool, AtomicU64, JoinHandle, Mutex, Ordering, ProposerStatus, Published, Shutdown,
    ThreadBuilder, Waker, inbox, parking, published, ring, shutdown,
};
use crate::time::Clock;

/// How often nodes are sorted when no interval is configured.
const SORT_EVERY: Duration = Duration::from_millis(100);

/// A running engine. Calls may come from any number of threads; each waits for its answer.
///
/// Dropping it ends its threads.
#[derive(Debug)]
pub struct Threaded {
    pub(in crate::runtime) commands: Commands,
    /// How long callers look out for answers and events before they sleep.
    pub(in crate::runtime) awake: Duration,
    pub(in crate::runtime) snapshots: Published<Snapshot>,
    pub(in crate::runtime) events: Mutex<EventReader>,
    fates: CounterReader<Fate>,
    latencies: Mutex<Collector>,
    pub(in crate::runtime) panics: Arc<AtomicU64>,
    pub(in crate::runtime) shutdown: Shutdown,
    pub(in crate::runtime) monitor: Option<MonitorHandle>,
    pub(in crate::runtime) threads: Vec<JoinHandle<()>>,
}

impl Threaded {
    /// Starts the threads of a mode over a tree of queues.
    ///
    /// # Errors
    ///
    /// As [`StartError`]; threads that were started are ended.
    pub fn start<C: Clock + Clone + 'static>(
        settings: TreeSettings,
        partitions: &[PartitionSpec],
        mode: Mode,
        clock: C,
    ) -> Result<Self, StartError> {
        let engine = Sequential::new(settings, partitions).map_err(StartError::Settings)?;
        Self::take_over(engine, mode, clock, Running::default())
    }

    /// Starts the threads of a mode over the state that a sequential engine has come to. Events
    /// that it has not handed over come first.
    ///
    /// # Errors
    ///
    /// As [`StartError`]; threads that were started are ended.
    #[expect(
        clippy::too_many_lines,
        reason = "one list of parts and who holds which end of each"
    )]
    pub fn take_over<C: Clock + Clone + 'static>(
        mut engine: Sequential,
        mode: Mode,
        clock: C,
        running: impl Into<Running>,
    ) -> Result<Self, StartError> {
        let Running {
            latencies,
            placement,
            awake,
            capacity,
            nonsense,
        } = running.into();
        let room = Room::of(mode, capacity);
        let mut cores = Cores::of(placement);
        let commits = cores.seat();
        engine.ledger_mut().track(mode != Mode::Heartbeat);
        let settings = StdArc::clone(&engine.ledger().state().settings);
        let sort_every = settings.multi_node.policies.first().map(|p| p.interval_ms);
        let first = Snapshot::empty(settings).next(engine.ledger_mut().state_to_publish());
        let snapshot = StdArc::new(first);
        let (publisher, snapshots) = published(snapshot.version, StdArc::clone(&snapshot));
        let (commit_waker, commit_parker) = parking();
        let (commands, inbox) = inbox(room.inbox);
        let (event_sender, told) = ring(room.events);
        let (spent_sender, spent) = ring(room.spent);
        let (reader_waker, parker) = parking();
        let rest: Rest = Arc::new(Mutex::new(None));
        let reader = EventReader {
            told,
            rest: Arc::clone(&rest),
            spent: spent_sender,
            parker,
        };
        let (sort_waker, sort_parker) = parking();
        let parks: Vec<_> = (0..mode.threads()).map(|_| parking()).collect();
        let proposers: Vec<Waker> = parks.iter().map(|(waker, _)| waker.clone()).collect();
        let mut wakers = proposers.clone();
        wakers.extend([commit_waker.clone(), sort_waker]);
        let (stop, owner) = shutdown(wakers);
        let (index_publisher, index) = published(Version(0), StdArc::new(NodeIndex::default()));
        let mut collector = Collector::new();
        let (fate_writer, fates) = counters();
        let wanted = Arc::new(AtomicBool::new(false));
        let lending = CallerRuns::new(
            commit_waker.clone(),
            commit_parker.clone(),
            Arc::clone(&wanted),
        );
        let lending = StdArc::new(lending);
        // Dropped after the committer, whose end it waits for, when a thread cannot be started.
        let mut started = Self {
            awake,
            commands: Commands::new(commands, lending.clone()),
            snapshots: snapshots.clone(),
            events: Mutex::new(reader),
            fates,
            latencies: Mutex::new(Collector::new()),
            panics: Arc::new(AtomicU64::new(0)),
            shutdown: stop.clone(),
            monitor: None,
            threads: Vec::new(),
        };
        let mut committer = Box::new(Committer {
            engine,
            heartbeats_schedule: mode == Mode::Heartbeat,
            rings: Vec::new(),
            served: (0, 0),
            goes_on: false,
            spot: matches!(mode, Mode::Global { .. })
                .then(|| InlineScheduling::new(index.reader(), latencies)),
            taken: vec![0; mode.threads()],
            refused: vec![0; mode.threads()],
            skipped: 0,
            outside: 0,
            changes: 0,
            unpublished: 0,
            wanted,
            copying: None,
            inbox,
            publisher,
            snapshot,
            proposers,
            standings: Vec::new(),
            parker: commit_parker,
            shutdown: owner,
            events: event_sender.waking(reader_waker),
            spent,
            rest,
            untold: Vec::new(),
            fates: fate_writer,
            recorder: latencies.recorder(&mut collector),
            clock: clock.clone(),
            quiet: Vec::new(),
            freed: Freed::default(),
            news: false,
            awake,
            sleep: Sleep::ForCall,
            roused: false,
        });
        for (i, (waker, parker)) in parks.into_iter().enumerate() {
            let (sender, receiver) = ring(room.ring);
            committer.rings.push(receiver.waking(waker));
            let standing = ProposerStatus::new(commit_waker.clone());
            committer.standings.push(Arc::clone(&standing));
            let proposer = Proposer {
                mode,
                share: (i, mode.threads()),
                snapshots: snapshots.reader(),
                index: index.reader(),
                ring: sender.waking(commit_waker.clone()),
                parker,
                shutdown: stop.clone(),
                standing,
                panics: Arc::clone(&started.panics),
                recorder: latencies.recorder(&mut collector),
                latencies,
                clock: clock.clone(),
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
                held: None,
                raving: nonsense.map(|nonsense| FaultSource::new(nonsense, i)),
            };
            let seat = cores.seat();
            started.spawn(&format!("capsched-propose-{i}"), move || {
                seat.take();
                proposer.run();
            })?;
        }
        if matches!(mode, Mode::Global { .. }) {
            let every = sort_every.map_or(SORT_EVERY, |ms| Duration::from_millis(ms.max(1)));
            let sorting = Sorting {
                commands: started.commands.clone(),
                snapshots,
                publisher: index_publisher,
                shutdown: stop,
                parker: sort_parker,
                every,
                panics: Arc::clone(&started.panics),
                clock,
            };
            started.spawn("capsched-sort", move || {
                // While the committer works on threads of callers, its core is free.
                if awake.is_zero() {
                    commits.take();
                }
                sorting.run();
            })?;
        }
        started.spawn("capsched-commit", move || {
            commits.take();
            committer.run(&lending);
        })?;
        started.latencies = Mutex::new(collector);
        Ok(started)
    }

    pub(in crate::runtime) fn spawn(
        &mut self,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), StartError> {
        let thread = ThreadBuilder::new().name(name.to_owned()).spawn(body);
        self.threads.push(thread.map_err(StartError::Thread)?);
        Ok(())
    }

    pub(in crate::runtime) fn call<T>(
        &self,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Option<T> {
        self.commands.call(self.awake, command)
    }

    /// Registers a node.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn add_node(&self, node: NodeSpec) -> Result<(), NodeError> {
        self.call(|reply| Command::AddNode(node, reply))
            .unwrap_or(Err(NodeError::Closed))
    }

    /// Removes a lost node; its containers are killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn remove_node(&self, node: NodeName) -> Result<(), NodeError> {
        self.call(|reply| Command::RemoveNode(node, reply))
            .unwrap_or(Err(NodeError::Closed))
    }

    /// Changes the total of a node; nothing is killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the total is out of range.
    pub fn resize_node(&self, node: NodeName, total: ResourceVector) -> Result<(), NodeError> {
        self.call(|reply| Command::ResizeNode(node, total, reply))
            .unwrap_or(Err(NodeError::Closed))
    }

    /// Moves a node to another partition.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the cluster does not know the label.
    pub fn relabel_node(&self, node: NodeName, label: String) -> Result<(), NodeError> {
        self.call(|reply| Command::RelabelNode(node, label, reply))
            .unwrap_or(Err(NodeError::Closed))
    }

    /// A node takes no new containers from now on.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn decommission_node(&self, node: NodeName) -> Result<(), NodeError> {
        self.call(|reply| Command::DecommissionNode(node, reply))
            .unwrap_or(Err(NodeError::Closed))
    }

    /// Submits an application.
    ///
    /// # Errors
    ///
    /// As [`SubmitError`].
    pub fn submit(&self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.call(|reply| Command::Submit(app, reply))
            .unwrap_or(Err(SubmitError::Closed))
    }

    /// One call of an application.
    ///
    /// # Errors
    ///
    /// As [`AskError`]; nothing of the call was carried out then.
    pub fn ask(&self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        let replies = self.ask_all(vec![(app, call)]);
        replies.into_iter().next().unwrap_or(Err(AskError::Closed))
    }

    /// Calls of several applications, carried out in their order. They are handed over together
    /// and answered together, which for many small calls is most of their cost.
    ///
    /// The answers stand in the order of the calls, each as that of [`Threaded::ask`].
    pub fn ask_all(&self, calls: Vec<(ApplicationId, AskCall)>) -> Vec<Result<AskReply, AskError>> {
        let number = calls.len();
        let asking = Asking::new(calls);
        let asked = self.call(|reply| Command::Ask(asking, reply));
        asked.map_or_else(
            || vec![Err(AskError::Closed); number],
            |asked| asked.into_answers(),
        )
    }

    /// A node reports; in heartbeat mode it is scheduled.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn heartbeat(
        &self,
        node: NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        self.call(|reply| Command::Heartbeat(node, report, reply))
            .unwrap_or(Err(NodeError::Closed))
    }

    /// A container ended by itself. Whether it was live.
    #[must_use]
    pub fn container_finished(&self, container: ContainerId) -> bool {
        self.call(|reply| Command::ContainerFinished(container, reply))
            .unwrap_or(false)
    }

    /// Ends an application with its containers and reservations.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn finish_app(&self, app: ApplicationId) -> Result<(), AppError> {
        self.call(|reply| Command::FinishApp(app, reply))
            .unwrap_or(Err(AppError::Closed))
    }

    /// Changes an application's priority; returns the effective one.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn change_priority(&self, app: ApplicationId, priority: i32) -> Result<i32, AppError> {
        self.call(|reply| Command::ChangePriority(app, priority, reply))
            .unwrap_or(Err(AppError::Closed))
    }

    /// Moves an application to another leaf.
    ///
    /// # Errors
    ///
    /// When there is no such application, or the target refuses it.
    pub fn move_app(&self, app: ApplicationId, queue: String) -> Result<(), AppError> {
        self.call(|reply| Command::MoveApp(app, queue, reply))
            .unwrap_or(Err(AppError::Closed))
    }

    /// Takes over a new configuration, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// As [`RefreshError`].
    pub fn reconfigure(&self, settings: TreeSettings) -> Result<(), RefreshError> {
        self.call(|reply| Command::Reconfigure(Box::new(settings), reply))
            .unwrap_or(Err(RefreshError::Closed))
    }

    /// Waits until every proposer has looked at the present state and found nothing to do.
    pub fn quiesce(&self) {
        self.call(Command::Quiesce);
    }

    /// Looks at the live ledger through the committer, between two commands; keep it short. It may
    /// run on the thread of any caller, and had better wait for nothing that one of them holds.
    /// Nothing once the engine has shut down.
    pub fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Option<T> {
        self.call(|reply: Reply<T>| {
            Command::Inspect(Look(Box::new(move |ledger| answer(&reply, look(ledger)))))
        })
    }

    /// The latest snapshot. While the committer rests it shows everything that was answered, and is
    /// made now if need be: that costs some 0.3 us for each row that was written. Otherwise it
    /// shows every change of an outsider soon after its answer, and lags behind by as many decisions as
    /// the committer takes before it publishes: 512 beside several proposers, else 8,192, or up to
    /// 131,072 where they touch thousands of rows; none once there is nothing to do. Calls that the
    /// committer serves by itself are shown once they have touched 4,096 rows or come to 131,072
    /// decisions, and in global mode before a sort of the nodes that finds nothing newer than the last; in
    /// heartbeat mode after 8,192 turns. After [`Self::quiesce`] it shows everything that was answered before.
    #[must_use]
    pub fn snapshot(&self) -> StdArc<Snapshot> {
        self.commands.show();
        self.snapshots.load()
    }

    /// What became of proposals so far.
    #[must_use]
    pub fn fates(&self) -> Counts<Fate> {
        self.fates.read()
    }

    /// Panics of proposers, of the node sorter and of the monitor so far; whoever panicked started
    /// afresh.
    #[must_use]
    pub fn worker_panics(&self) -> u64 {
        // Relaxed: a count that nothing else depends on.
        self.panics.load(Ordering::Relaxed)
    }

    /// Whether the engine still takes commands; not after a stop, nor after its committer died.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.shutdown.is_requested()
    }

    /// Latencies by phase so far, in ns; merged here, off the hot threads.
    #[must_use]
    pub fn latencies(&self) -> HistogramSet<crate::metrics::Phase> {
        let mut collector = self
            .latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        collector.collect().clone()
    }
}
