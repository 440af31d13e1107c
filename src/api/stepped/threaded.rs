//! A threaded engine behind the scheduler trait.

use crate::api::container_error::ContainerError;
use crate::api::scheduler::Scheduler;
use crate::commit::{
    AppError, AskError, CommitOutcome, Event, HeartbeatReply, NodeError, Recovered, SubmitError,
    Submitted,
};
use crate::id::{ApplicationId, ContainerId, NodeName};
use crate::queue::{
    AppSpec, Ask, AskCall, AskReply, GangAsk, NodeReport, NodeSpec, RunningContainer,
};
use crate::runtime::Threaded;

/// A threaded engine behind the scheduler trait: a round is one more look of the proposers where that counts
/// something, and the caller waits until every proposer has found nothing more to do.
impl Scheduler for Threaded {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        Self::add_node(self, node)
    }

    fn register_node(
        &mut self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        Self::register_node(self, node, running)
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        Self::remove_node(self, node.clone())
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        Self::submit(self, app)
    }

    fn recover_app(
        &mut self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        Self::recover_app(self, app, attempt, master)
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        Self::ask(self, app, call)
    }

    fn ask_gang(&mut self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        Self::ask_gang(self, app, gang)
    }

    fn ask_opportunistic(&mut self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        Self::ask_opportunistic(self, app, asks)
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        Self::heartbeat(self, node.clone(), report)
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        let live = Self::container_finished(self, container);
        live.then_some(()).ok_or(ContainerError(container))
    }

    fn container_exited(
        &mut self,
        container: ContainerId,
        status: i32,
    ) -> Result<(), ContainerError> {
        let live = Self::container_exited(self, container, status);
        live.then_some(()).ok_or(ContainerError(container))
    }

    fn end_attempt(&mut self, app: ApplicationId) -> Result<(), AppError> {
        Self::end_attempt(self, app)
    }

    fn start_attempt(&mut self, app: ApplicationId) -> Result<u32, AppError> {
        Self::start_attempt(self, app)
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        Self::finish_app(self, app)
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        into.extend(
            self.take_events()
                .into_iter()
                .filter(Event::changes_something),
        );
    }

    fn schedule(&mut self) -> usize {
        let placed = |engine: &Self| {
            let outcomes = engine.outcomes();
            outcomes.get(CommitOutcome::Committed) + outcomes.get(CommitOutcome::CommittedElsewhere)
        };
        let before = placed(self);
        self.quiesce();
        self.look_again();
        usize::try_from(placed(self) - before).unwrap_or(usize::MAX)
    }

    fn looks_may_bring(&mut self) -> bool {
        self.may_look_again()
    }

    fn pass_rounds(&mut self, most: u64) -> u64 {
        if self.may_look_again() { 0 } else { most }
    }

    fn advance(&mut self, to_ms: u64) {
        self.sort_nodes(to_ms);
    }
}
