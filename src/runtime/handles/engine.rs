//! The engine with threads: one committer, any number of proposers, a node sorter, and calls to them.
//!
//! Tests: `tests/runtime/threads.rs`.

use std::sync::{Arc as StdArc, PoisonError};
use std::time::Duration;

use super::command::{AskBatch, Command, ShowCall};
use super::commands::Commands;
use super::cores::{CoreSlot, Cores};
use super::engine_clock::EngineClock;
use super::event_reader::EventQueue;
use super::looks::CallError;
use super::monitor::MonitorHandle;
use super::reply::Reply;
use super::start::{Mode, NodeSorting, Running, StartError};
use crate::cluster::{AttributeMapping, Attributes};
use crate::commit::{
    AppError, AskError, CommitOutcome, HeartbeatReply, Ledger, NodeError, PartitionSpec,
    SubmitError, Submitted,
};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::metrics::{Collector, CounterReader, Counts, HistogramSet};
use crate::queue::{
    AppSpec, AskCall, AskReply, MultiNodeSettings, NodeReport, NodeSpec, TreeSettings,
};
use crate::resource::ResourceVector;
use crate::runtime::Sequential;
use crate::runtime::long_changes::MoveApp;
use crate::runtime::node_changes::node_removal;
use crate::runtime::nodes::index::NodeIndex;
use crate::runtime::nodes::sorter::{CallerSorter, SorterThread};
use crate::runtime::panics::{PanicLog, WorkerPanics};
use crate::runtime::parts::EngineParts;
use crate::runtime::proposer::Proposer;
use crate::snapshot::Snapshot;
use crate::sync::{JoinHandle, Mutex, Parker, Published, Publisher, Shutdown, ThreadBuilder};
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
    pub(in crate::runtime) events: StdArc<EventQueue>,
    outcomes: CounterReader<CommitOutcome>,
    latencies: Mutex<Collector>,
    /// Where callers sort the nodes.
    sorter: Option<Mutex<CallerSorter>>,
    pub(in crate::runtime) panics: PanicLog,
    pub(in crate::runtime) shutdown: Shutdown,
    pub(in crate::runtime) monitor: Option<MonitorHandle>,
    pub(in crate::runtime) threads: Vec<JoinHandle<()>>,
}

/// The time between two sorts. A policy that sorts before each use needs no others, and they are made seldom.
fn sorting_interval(settings: &MultiNodeSettings) -> Duration {
    let policy = settings.policies.first();
    let every_ms = policy.map(|policy| policy.interval_ms);
    let every_ms = every_ms.filter(|&every_ms| every_ms > 0);
    every_ms.map_or(SORT_EVERY, Duration::from_millis)
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
    pub fn take_over<C: Clock + Clone + 'static>(
        engine: Sequential,
        mode: Mode,
        clock: C,
        running: impl Into<Running>,
    ) -> Result<Self, StartError> {
        Self::start_over(engine, mode, EngineClock::of(clock), running.into())
    }

    /// The same for any clock: it is compiled here and not by the caller.
    fn start_over(
        engine: Sequential,
        mode: Mode,
        clock: EngineClock,
        running: Running,
    ) -> Result<Self, StartError> {
        let mut cores = Cores::of(running.placement);
        let committer_core = cores.slot();
        let every = sorting_interval(&engine.ledger().state().settings.multi_node);
        let looks_at_all = matches!(mode, Mode::Global { .. });
        let own_clock = || clock.clone();
        let parts = EngineParts::new(engine, mode, running, looks_at_all, &clock, own_clock);
        // Dropped after the committer, whose end it waits for, when a thread cannot be started.
        let committer = Box::new(parts.committer);
        let mut started = Self {
            awake: running.awake,
            commands: parts.commands,
            snapshots: parts.snapshots,
            events: StdArc::new(EventQueue::new(parts.events, running.awake)),
            outcomes: parts.outcomes,
            latencies: Mutex::new(parts.collector),
            sorter: None,
            panics: parts.panics,
            shutdown: parts.shutdown,
            monitor: None,
            threads: Vec::new(),
        };
        started.start_proposers(parts.proposers, &mut cores)?;
        if looks_at_all {
            let how = (running, committer_core);
            started.start_sorter(parts.index, parts.sorter, every, how, clock)?;
        }
        let caller_runs = parts.caller_runs;
        started.spawn("capsched-commit", move || {
            committer_core.take();
            committer.run(&caller_runs);
        })?;
        Ok(started)
    }

    fn start_proposers(
        &mut self,
        proposers: Vec<Proposer<EngineClock>>,
        cores: &mut Cores,
    ) -> Result<(), StartError> {
        for (i, proposer) in proposers.into_iter().enumerate() {
            let core = cores.slot();
            self.spawn(&format!("capsched-propose-{i}"), move || {
                core.take();
                proposer.run();
            })?;
        }
        Ok(())
    }

    /// Starts the thread that sorts the nodes again and again, unless callers do.
    fn start_sorter(
        &mut self,
        publisher: Publisher<NodeIndex>,
        parker: Parker,
        every: Duration,
        (running, committer_core): (Running, CoreSlot),
        clock: EngineClock,
    ) -> Result<(), StartError> {
        if running.sorting == NodeSorting::Caller {
            self.sorter = Some(Mutex::new(CallerSorter::new(publisher, every)));
            return Ok(());
        }
        // While the committer runs on threads of callers, its core is free.
        let core = running.awake.is_zero().then_some(committer_core);
        let sorter = SorterThread {
            commands: self.commands.clone(),
            snapshots: self.snapshots.clone(),
            publisher,
            shutdown: self.shutdown.clone(),
            parker,
            every,
            panics: self.panics.clone(),
            clock,
        };
        self.spawn("capsched-sort", move || {
            if let Some(core) = core {
                core.take();
            }
            sorter.run();
        })
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
    ) -> Result<T, CallError> {
        self.commands.call(self.awake, command)
    }

    /// Registers a node.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    pub fn add_node(&self, node: NodeSpec) -> Result<(), NodeError> {
        self.change_nodes(move |engine| engine.add_node(&node))?
    }

    /// Removes a lost node; its containers are killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn remove_node(&self, node: NodeName) -> Result<(), NodeError> {
        self.change_in_phases(node_removal(node))?
    }

    /// Changes the total of a node; nothing is killed.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the total is out of range.
    pub fn resize_node(&self, node: NodeName, total: ResourceVector) -> Result<(), NodeError> {
        self.change_nodes(move |engine| engine.resize_node(&node, total))?
    }

    /// Moves a node to another partition.
    ///
    /// # Errors
    ///
    /// When the node is not registered or the cluster does not know the label.
    pub fn relabel_node(&self, node: NodeName, label: String) -> Result<(), NodeError> {
        self.change_nodes(move |engine| engine.relabel_node(&node, &label))?
    }

    /// Changes the attributes of a node, each as `prefix/name` and value. What runs there stays.
    ///
    /// ```
    /// use capsched::api::*;
    ///
    /// let engine = Engine::builder(example::settings()).start()?;
    /// let node: NodeName = "n0:8041".parse()?;
    /// engine.add_node(NodeSpec::new(node.clone(), ResourceVector::of(&[8192, 8])))?;
    /// let java = ("rm.yarn.io/java".to_owned(), "17".to_owned());
    /// engine.map_attributes(node, AttributeMapping::Add, vec![java])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the node is not registered or an attribute is malformed; nothing changed then.
    pub fn map_attributes(
        &self,
        node: NodeName,
        mapping: AttributeMapping,
        attributes: Attributes,
    ) -> Result<(), NodeError> {
        // They are dropped by the thread of the caller.
        let (result, _attributes) = self.change(move |engine| {
            let result = engine.map_attributes(&node, &mapping, &attributes);
            (result, attributes)
        })?;
        result
    }

    /// A node takes no new containers from now on.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn decommission_node(&self, node: NodeName) -> Result<(), NodeError> {
        self.change(move |engine| engine.decommission_node(&node))?
    }

    /// Submits an application. The caller is trusted: neither access lists nor placement rules are looked at.
    ///
    /// # Errors
    ///
    /// As [`SubmitError`].
    pub fn submit(&self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.call(|reply| Command::Submit(Box::new(app), reply))
            .unwrap_or_else(|refused| Err(refused.into()))
    }

    /// One call of an application. One that asks for nothing only fetches: long changes pause for it, and it may be answered
    /// before calls that came earlier and are not answered yet.
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
    /// The answers stand in the order of the calls, each as that of [`Threaded::ask`]. Several calls that only fetch are
    /// one command all the same, which waits for visits of all queues.
    pub fn ask_all(&self, calls: Vec<(ApplicationId, AskCall)>) -> Vec<Result<AskReply, AskError>> {
        if let [(app, call)] = calls.as_slice()
            && call.only_fetches()
        {
            return vec![self.commands.fetch(self.awake, *app)];
        }
        let number = calls.len();
        let batch = AskBatch::new(calls);
        let asked = self.call(|reply| Command::Ask(batch, reply));
        asked.map_or_else(
            |refused| vec![Err(refused.into()); number],
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
            .unwrap_or_else(|refused| Err(refused.into()))
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
            .unwrap_or_else(|refused| Err(refused.into()))
    }

    /// Changes an application's priority; returns the effective one.
    ///
    /// # Errors
    ///
    /// When no live application has the number.
    pub fn change_priority(&self, app: ApplicationId, priority: i32) -> Result<i32, AppError> {
        self.call(|reply| Command::ChangePriority(app, priority, reply))
            .unwrap_or_else(|refused| Err(refused.into()))
    }

    /// Moves an application to another leaf.
    ///
    /// # Errors
    ///
    /// When there is no such application, or the target refuses it.
    pub fn move_app(&self, app: ApplicationId, queue: String) -> Result<(), AppError> {
        let mut moving = MoveApp::of(app, queue);
        self.change_in_parts(move |engine, budget| moving.go_on(engine, budget))
            .unwrap_or_else(|refused| Err(refused.into()))
    }

    /// Waits until every proposer has looked at the present state and found nothing to do.
    pub fn quiesce(&self) {
        // Once the engine has shut down, or from inside a look, there is nothing to wait for.
        let _: Result<(), CallError> = self.call(Command::Quiesce);
    }

    /// Has every proposer look once more at an unchanged state, as after the pause of
    /// `schedule-asynchronously.scheduling-interval-ms`, and waits as [`Self::quiesce`]. Whether they did: nothing
    /// happens where their last look counted nothing, since the next one would come to the same.
    pub fn look_again(&self) -> bool {
        let again = self.shows(ShowCall::LookAgain);
        if again {
            self.quiesce();
        }
        again
    }

    /// Whether [`Self::look_again`] would have the proposers look.
    pub fn may_look_again(&self) -> bool {
        self.shows(ShowCall::MayLookAgain)
    }

    /// Puts the nodes in the order of their policy, where callers do (`NodeSorting::Caller`) and its interval is over at
    /// `now_ms`. Nothing happens where nothing changed since, and for any other engine.
    ///
    /// Cost: a snapshot, and a sort of all nodes.
    pub fn sort_nodes(&self, now_ms: u64) {
        let Some(sorter) = &self.sorter else {
            return;
        };
        let mut sorter = sorter.lock().unwrap_or_else(PoisonError::into_inner);
        if sorter.is_due(now_ms) {
            sorter.sort(self.snapshot(), now_ms);
        }
    }

    fn shows(&self, call: ShowCall) -> bool {
        self.call(|reply| Command::Show(call, reply))
            .unwrap_or(false)
    }

    /// Looks at the live ledger through the committer, between two commands, in one piece: all others wait until the
    /// closure returns. It may run on the thread of any caller, and had better wait for nothing that one of them holds.
    /// Every call of the engine from inside is refused. A panic of the closure goes on in this thread, and the engine
    /// runs on. [`StateView::of`](crate::api::StateView::of) takes 7 ms for 100,000 containers; [`Self::state`] has parts.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use capsched::api::*;
    ///
    /// let engine = Arc::new(Engine::builder(example::settings()).start()?);
    /// let inside = Arc::clone(&engine);
    /// let nested = engine.inspect(move |_| inside.inspect(|ledger| ledger.now_ms()))?;
    /// assert_eq!(nested, Err(CallError::Reentrant));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Once the engine has shut down, and from inside such a closure.
    pub fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        self.commands.inspect(self.awake, look)
    }

    /// The latest snapshot. While the committer is idle it shows everything that was answered, and is
    /// made now if need be: that costs some 0.3 us for each row that was written. Otherwise it
    /// shows every change of an outsider soon after its answer, some milliseconds after one of all queues.
    /// It lags behind by as many decisions as the committer takes before it publishes: 512 beside several
    /// proposers, else 8,192, or up to 131,072 where they touch thousands of rows; none once there is
    /// nothing to do. Calls that the committer serves by itself are shown once they have touched 4,096 rows
    /// or come to 131,072 decisions. In global mode they are shown before a sort of the nodes that finds
    /// nothing newer than the last, and in heartbeat mode after 8,192 turns, if somebody asked. Where calls
    /// write the same rows again and again, it may take 8,192 turns more. After [`Self::quiesce`] it shows everything that was answered before.
    #[must_use]
    pub fn snapshot(&self) -> StdArc<Snapshot> {
        self.commands.show();
        self.snapshots.load()
    }

    /// What became of proposals so far.
    #[must_use]
    pub fn outcomes(&self) -> Counts<CommitOutcome> {
        self.outcomes.read()
    }

    /// Panics of proposers, of the node sorter and of the monitor so far; whoever panicked started
    /// afresh.
    #[must_use]
    pub fn worker_panics(&self) -> WorkerPanics {
        self.panics.workers()
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
