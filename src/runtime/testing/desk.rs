//! A committer without threads that takes commands turn by turn: what comes between the parts of a long command
//! is up to the caller.
//!
//! Tests: `tests/runtime/turns.rs`.

use std::time::Duration;

use crate::commit::{
    AppError, AskError, Fetch, HeartbeatReply, Ledger, MovedApps, NodeError, PartitionSpec,
    PreemptionRound, PreparedRefresh, Recovered, RefreshError, SubmitError, Submitted, Verdicts,
};
use crate::id::{ApplicationId, NodeName, Version};
use crate::queue::{AppSpec, Ask, AskCall, AskReply, GangAsk, NodeReport, NodeSpec, TreeSettings};
use crate::resource::ResourceVector;
use crate::runtime::Sequential;
use crate::runtime::app_attempts::EndAttempt;
use crate::runtime::committer::Committer;
use crate::runtime::handles::command::{AskBatch, Command};
use crate::runtime::handles::heartbeat_batch::HeartbeatBatch;
use crate::runtime::handles::reply::{Reply, answer, reply};
use crate::runtime::handles::start::{Mode, Running};
use crate::runtime::label_refresh::LabelRefresh;
use crate::runtime::ledger_change::{LedgerChange, Writes};
use crate::runtime::long_changes::{
    AskGang, AskOpportunistic, KillAll, MoveAll, MoveApp, RecoverApp, RemoveLabel, RoundUnderWay,
};
use crate::runtime::node_changes::{NodeChange, node_removal};
use crate::runtime::parts::EngineParts;
use crate::runtime::proposer::Proposer;
use crate::sync::{Arc, InboxSender, Mutex};
use crate::time::ManualClock;

/// A committer that nobody else runs, and the way to it.
pub struct Desk {
    committer: Committer<ManualClock>,
    inbox: InboxSender<Command>,
    fetches: InboxSender<Box<Fetch>>,
    /// They come once the next part of a change has begun.
    late: Arc<Mutex<Late>>,
    clock: ManualClock,
    /// They never run.
    _proposers: Vec<Proposer<ManualClock>>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

/// Fetches that come while a part of a change is under way.
#[derive(Default)]
struct Late {
    /// Each with the pauses of the part before it.
    fetches: Vec<(usize, Box<Fetch>)>,
    /// Pauses of the present part so far.
    pauses: usize,
}

impl Late {
    /// Sends those that come after so many pauses.
    fn at(late: &Mutex<Self>, inbox: &InboxSender<Box<Fetch>>, pauses: impl Fn(usize) -> usize) {
        let mut late = late.lock().expect("no part panicked");
        late.pauses = pauses(late.pauses);
        let now = late.pauses;
        for (_, fetch) in late.fetches.extract_if(.., |&mut (at, _)| at <= now) {
            // There is room for far more than anybody sends here.
            drop(inbox.try_send(fetch));
        }
    }
}

/// A fetch of an application, and its answer.
fn fetch(app: ApplicationId) -> (Box<Fetch>, DeskAnswer<Result<AskReply, AskError>>) {
    let (reply, answered) = reply();
    let fetch = Fetch::of(app, |came_to| answer(reply, came_to));
    (
        fetch,
        DeskAnswer(Box::new(move || answered.try_recv().ok())),
    )
}

/// What a prepared refresh came to, nothing where it was stale, and the refresh with what it replaced.
pub(crate) type Installed = (Option<Result<(), RefreshError>>, Box<PreparedRefresh>);

/// The answer to a command, once there is one.
pub struct DeskAnswer<T>(Box<dyn FnMut() -> Option<T>>);

impl<T> std::fmt::Debug for DeskAnswer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeskAnswer")
    }
}

impl<T> DeskAnswer<T> {
    /// Takes the answer.
    pub fn take(&mut self) -> Option<T> {
        (self.0)()
    }
}

impl Desk {
    /// A committer in heartbeat mode over the state that a sequential engine has come to.
    #[must_use]
    pub fn of(engine: Sequential) -> Self {
        Self::in_mode(engine, Mode::Heartbeat)
    }

    /// The same in asynchronous mode, with a proposer for which snapshots are published and which never runs.
    #[must_use]
    pub fn publishing(engine: Sequential) -> Self {
        Self::in_mode(engine, Mode::Asynchronous { threads: 1 })
    }

    fn in_mode(engine: Sequential, mode: Mode) -> Self {
        let clock = ManualClock::at(0);
        let (running, own) = (Running::default(), || clock.clone());
        let parts = EngineParts::new(engine, mode, running, false, &clock, own);
        let (inbox, fetches) = parts.commands.into_inboxes();
        let (mut committer, late) = (parts.committer, Arc::<Mutex<Late>>::default());
        let (counted, sender) = (Arc::clone(&late), fetches.clone());
        committer
            .engine_mut()
            .fetches()
            .time_pauses(Box::new(move || {
                Late::at(&counted, &sender, |pauses| pauses.saturating_add(1));
                0
            }));
        Self {
            committer,
            inbox,
            fetches,
            late,
            clock,
            _proposers: parts.proposers,
        }
    }

    /// The version of the last snapshot.
    #[must_use]
    pub fn version(&self) -> Version {
        self.committer.version()
    }

    /// The live state and its names, to be read.
    ///
    /// # Panics
    ///
    /// Where charges wait: no proposer runs beside a desk, so that none do between its turns.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        let settled = self.committer.engine().if_settled();
        settled.expect("nothing waits between turns").ledger()
    }

    /// Lets some time pass.
    pub fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// A turn of the committer.
    pub fn turn(&mut self) {
        self.committer.turn();
    }

    /// A visit of a caller, as of one who waits for an answer or not; whether the committer's own thread has to go on.
    pub fn visit(&mut self, is_awaited: bool) -> bool {
        self.committer.visit(&|| is_awaited)
    }

    fn send<T: 'static>(&self, command: impl FnOnce(Reply<T>) -> Command) -> DeskAnswer<T> {
        let (reply, answer) = reply();
        // There is room for far more commands than anybody sends here.
        drop(self.inbox.try_send(command(reply)));
        DeskAnswer(Box::new(move || answer.try_recv().ok()))
    }

    /// Sends a fetch of an application.
    #[must_use]
    pub fn fetch(&self, app: ApplicationId) -> DeskAnswer<Result<AskReply, AskError>> {
        let (fetch, answer) = fetch(app);
        // As above.
        drop(self.fetches.try_send(fetch));
        answer
    }

    /// The same while the next part of a change is under way: it comes after so many of its pauses, or with its end.
    ///
    /// # Panics
    ///
    /// Where a test panicked in a part of a change.
    #[must_use]
    pub fn fetch_in_part(
        &self,
        app: ApplicationId,
        pauses: usize,
    ) -> DeskAnswer<Result<AskReply, AskError>> {
        let (fetch, answer) = fetch(app);
        let mut late = self.late.lock().expect("no part panicked");
        late.fetches.push((pauses, fetch));
        answer
    }

    /// A part of a change in which those fetches come.
    fn with_fetches<T>(
        &self,
        mut part: impl FnMut(&mut Sequential, &mut usize) -> T + Send + 'static,
    ) -> impl FnMut(&mut Sequential, &mut usize) -> T + Send + 'static {
        let (late, inbox) = (Arc::clone(&self.late), self.fetches.clone());
        move |engine, budget| {
            Late::at(&late, &inbox, |_| 0);
            let came_to = part(engine, budget);
            Late::at(&late, &inbox, |_| usize::MAX);
            came_to
        }
    }

    /// Sends calls of applications.
    #[must_use]
    pub fn ask(
        &self,
        calls: Vec<(ApplicationId, AskCall)>,
    ) -> DeskAnswer<Vec<Result<AskReply, AskError>>> {
        let mut batch = self.send(|reply| Command::Ask(AskBatch::new(calls), reply));
        DeskAnswer(Box::new(move || {
            batch.take().map(|batch| batch.into_answers())
        }))
    }

    /// Sends reports of nodes.
    #[must_use]
    pub fn heartbeat_all(
        &self,
        reports: Vec<(NodeName, NodeReport)>,
    ) -> DeskAnswer<Vec<Result<HeartbeatReply, NodeError>>> {
        self.send(|reply| Command::HeartbeatAll(HeartbeatBatch::new(reports), reply))
    }

    /// Sends the end of an application.
    #[must_use]
    pub fn finish_app(&self, app: ApplicationId) -> DeskAnswer<Result<(), AppError>> {
        self.send(|reply| Command::FinishApp(app, reply))
    }

    /// Sends the end of an attempt.
    #[must_use]
    pub fn end_attempt(&self, app: ApplicationId) -> DeskAnswer<Result<(), AppError>> {
        let mut ending = EndAttempt::of(app);
        self.send_in_parts(move |engine, budget| ending.go_on(engine, budget))
    }

    /// Sends a report of a node.
    #[must_use]
    pub fn heartbeat(
        &self,
        node: NodeName,
        report: NodeReport,
    ) -> DeskAnswer<Result<HeartbeatReply, NodeError>> {
        self.send(|reply| Command::Heartbeat(node, report, reply))
    }

    /// Sends what a node is that comes back.
    #[must_use]
    pub fn reconnect_node(&self, node: NodeSpec) -> DeskAnswer<Result<(), NodeError>> {
        let mut coming =
            NodeChange::of(move |engine: &mut Sequential| engine.reconnect_node(&node));
        self.send_queues(move |engine, budget| coming.go_on(engine, budget))
    }

    /// Sends another total of a node.
    #[must_use]
    pub fn resize_node(
        &self,
        node: NodeName,
        total: ResourceVector,
    ) -> DeskAnswer<Result<(), NodeError>> {
        let mut resizing =
            NodeChange::of(move |engine: &mut Sequential| engine.resize_node(&node, total));
        self.send_queues(move |engine, budget| resizing.go_on(engine, budget))
    }

    /// Sends the registration of a node.
    #[must_use]
    pub fn add_node(&self, node: NodeSpec) -> DeskAnswer<Result<(), NodeError>> {
        let mut adding = NodeChange::of(move |engine: &mut Sequential| engine.add_node(&node));
        self.send_queues(move |engine, budget| adding.go_on(engine, budget))
    }

    /// Sends the removal of a node.
    #[must_use]
    pub fn remove_node(&self, node: NodeName) -> DeskAnswer<Result<(), NodeError>> {
        self.send_in_phases(node_removal(node))
    }

    /// Sends another configuration.
    #[must_use]
    pub fn reconfigure(&self, settings: TreeSettings) -> DeskAnswer<Result<(), RefreshError>> {
        self.send(|reply| Command::Reconfigure(Box::new(settings), reply))
    }

    /// Sends a prepared refresh; it comes to nothing where it is stale. It comes back with what it replaced.
    #[must_use]
    pub fn install(&self, prepared: Box<PreparedRefresh>) -> DeskAnswer<Installed> {
        let mut prepared = Some(prepared);
        self.send_queues(move |engine, _| {
            let mut prepared = prepared.take()?;
            Some((engine.install(&mut prepared), prepared))
        })
    }

    /// Sends another configuration with the labels of the cluster.
    #[must_use]
    pub fn reconfigure_with_labels(
        &self,
        settings: TreeSettings,
        labels: Vec<PartitionSpec>,
    ) -> DeskAnswer<Result<(), RefreshError>> {
        let mut refresh = LabelRefresh::of(Box::new(settings), labels);
        self.send_in_phases(move |engine, budget| {
            refresh.go_on(engine, budget).ok_or(Writes::Named)
        })
    }

    /// Sends a prepared refresh with the labels of the cluster.
    #[must_use]
    pub fn install_with_labels(
        &self,
        prepared: Box<PreparedRefresh>,
        labels: Vec<PartitionSpec>,
    ) -> DeskAnswer<Result<(), RefreshError>> {
        let mut refresh = LabelRefresh::prepared(prepared, labels);
        self.send_in_phases(move |engine, budget| {
            refresh.go_on(engine, budget).ok_or(Writes::Named)
        })
    }

    /// Sends the verdicts of a round of preemption.
    #[must_use]
    pub fn preempt(&self, verdicts: Verdicts) -> DeskAnswer<PreemptionRound> {
        self.send(|reply| Command::Preempt(RoundUnderWay::of(verdicts), reply))
    }

    /// Sends the end of all applications of a leaf.
    #[must_use]
    pub fn kill_all_apps(&self, queue: &str) -> DeskAnswer<Result<Vec<ApplicationId>, AppError>> {
        let mut killing = KillAll::of(queue);
        self.send_in_parts(move |engine, budget| killing.go_on(engine, budget))
    }

    /// Sends the move of an application.
    #[must_use]
    pub fn move_app(&self, app: ApplicationId, queue: &str) -> DeskAnswer<Result<(), AppError>> {
        let mut moving = MoveApp::of(app, queue.to_owned());
        self.send_in_parts(move |engine, budget| moving.go_on(engine, budget))
    }

    /// Sends the move of all applications of a leaf.
    #[must_use]
    pub fn move_all_apps(&self, from: &str, to: &str) -> DeskAnswer<Result<MovedApps, AppError>> {
        let mut moving = MoveAll::of(from, to);
        self.send_in_parts(move |engine, budget| moving.go_on(engine, budget))
    }

    /// Sends an ask for a gang.
    #[must_use]
    pub fn ask_gang(&self, app: ApplicationId, gang: GangAsk) -> DeskAnswer<Result<(), AskError>> {
        let mut asking = AskGang::of(app, gang);
        self.send_in_parts(move |engine, budget| asking.go_on(engine, budget))
    }

    /// Sends asks for opportunistic containers.
    #[must_use]
    pub fn ask_opportunistic(
        &self,
        app: ApplicationId,
        asks: Vec<Ask>,
    ) -> DeskAnswer<Result<(), AskError>> {
        let mut asking = AskOpportunistic::of(app, asks);
        self.send_in_parts(move |engine, budget| asking.go_on(engine, budget))
    }

    /// Sends the recovery of an application without a master of its own.
    #[must_use]
    pub fn recover_app(
        &self,
        app: AppSpec,
        attempt: u32,
    ) -> DeskAnswer<Result<Recovered, SubmitError>> {
        let mut recovering = RecoverApp::of(app, attempt, None);
        self.send_in_parts(move |engine, budget| recovering.go_on(engine, budget))
    }

    /// Sends the removal of a label.
    #[must_use]
    pub fn remove_label(&self, label: &str) -> DeskAnswer<Result<(), NodeError>> {
        let mut removing = RemoveLabel::of(label);
        self.send_in_parts(move |engine, budget| removing.go_on(engine, budget))
    }

    fn send_in_parts<T: Send + 'static>(
        &self,
        part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> DeskAnswer<T> {
        let part = self.with_fetches(part);
        self.send(|reply| Command::Change(LedgerChange::in_parts(Writes::Named, reply, part)))
    }

    /// The same for a change of which each part says what the next one writes.
    fn send_in_phases<T: Send + 'static>(
        &self,
        part: impl FnMut(&mut Sequential, &mut usize) -> Result<T, Writes> + Send + 'static,
    ) -> DeskAnswer<T> {
        let part = self.with_fetches(part);
        self.send(|reply| Command::Change(LedgerChange::in_phases(Writes::AllQueues, reply, part)))
    }

    /// The same for a change of which parts write every queue.
    fn send_queues<T: Send + 'static>(
        &self,
        part: impl FnMut(&mut Sequential, &mut usize) -> Option<T> + Send + 'static,
    ) -> DeskAnswer<T> {
        let part = self.with_fetches(part);
        self.send(|reply| Command::Change(LedgerChange::in_parts(Writes::AllQueues, reply, part)))
    }

    /// Sends a submission.
    #[must_use]
    pub fn submit(&self, app: AppSpec) -> DeskAnswer<Result<Submitted, SubmitError>> {
        self.send(|reply| Command::Submit(Box::new(app), reply))
    }
}
