//! A scheduler that keeps a journal of its calls.

use super::call::Call;
use super::container_line::ContainerLine;
use super::gang_call::GangCall;
use super::opportunistic_call::OpportunisticCall;
use super::recovery_calls::{RecoverCall, RegisterCall};
use super::submit_call::SubmitCall;
use crate::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, ContainerError,
    ContainerId, Event, GangAsk, HeartbeatReply, NodeError, NodeName, NodeReport, NodeSpec,
    Recovered, RoundPart, RunningContainer, Scheduler, SubmitError, Submitted,
};

/// A scheduler with the journal of every call that may change what it decides.
#[derive(Debug)]
pub struct Journaled<S> {
    scheduler: S,
    calls: Vec<Call>,
}

impl<S> Journaled<S> {
    /// A scheduler with an empty journal.
    #[must_use]
    pub const fn new(scheduler: S) -> Self {
        Self {
            scheduler,
            calls: Vec::new(),
        }
    }

    /// The scheduler, to be read.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The calls so far, which the journal forgets.
    pub fn take_calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }
}

impl<S: Scheduler> Scheduler for Journaled<S> {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.calls.push(Call::of_node(&node));
        self.scheduler.add_node(node)
    }

    fn register_node(
        &mut self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        self.calls
            .push(Call::RegisterNode(Box::new(RegisterCall::of(
                &node, &running,
            ))));
        self.scheduler.register_node(node, running)
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.calls.push(Call::RemoveNode {
            node: node.to_string(),
        });
        self.scheduler.remove_node(node)
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.calls
            .push(Call::Submit(Box::new(SubmitCall::of(&app))));
        self.scheduler.submit(app)
    }

    fn recover_app(
        &mut self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        self.calls.push(Call::RecoverApp(Box::new(RecoverCall::of(
            &app, attempt, master,
        ))));
        self.scheduler.recover_app(app, attempt, master)
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        self.calls.push(Call::of_call(app, &call));
        self.scheduler.ask(app, call)
    }

    fn ask_gang(&mut self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        self.calls
            .push(Call::Gang(Box::new(GangCall::of(app, &gang))));
        self.scheduler.ask_gang(app, gang)
    }

    fn ask_opportunistic(&mut self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        self.calls
            .push(Call::Opportunistic(Box::new(OpportunisticCall::of(
                app, &asks,
            ))));
        self.scheduler.ask_opportunistic(app, asks)
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        self.calls.push(Call::of_beat(node, &report));
        self.scheduler.heartbeat(node, report)
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        let status = 0;
        let of = ContainerLine::of(container);
        self.calls.push(Call::Finished {
            container: of,
            status,
        });
        self.scheduler.container_finished(container)
    }

    fn container_exited(
        &mut self,
        container: ContainerId,
        status: i32,
    ) -> Result<(), ContainerError> {
        let of = ContainerLine::of(container);
        self.calls.push(Call::Finished {
            container: of,
            status,
        });
        self.scheduler.container_exited(container, status)
    }

    fn end_attempt(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.calls.push(Call::EndAttempt { app: app.sequence });
        self.scheduler.end_attempt(app)
    }

    fn start_attempt(&mut self, app: ApplicationId) -> Result<u32, AppError> {
        self.calls.push(Call::StartAttempt { app: app.sequence });
        self.scheduler.start_attempt(app)
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.calls.push(Call::FinishApp { app: app.sequence });
        self.scheduler.finish_app(app)
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        self.scheduler.events(into);
    }

    fn schedule(&mut self) -> usize {
        self.calls.push(Call::Schedule {});
        self.scheduler.schedule()
    }

    fn schedule_part(&mut self, steps: u64) -> RoundPart {
        self.calls.push(Call::SchedulePart { steps });
        self.scheduler.schedule_part(steps)
    }

    fn advance(&mut self, to_ms: u64) {
        // Between two moments in which nothing is called only the later counts.
        match self.calls.last_mut() {
            Some(Call::Advance { to_ms: last }) => *last = to_ms,
            _ => self.calls.push(Call::Advance { to_ms }),
        }
        self.scheduler.advance(to_ms);
    }

    fn next_alarm_ms(&self) -> u64 {
        self.scheduler.next_alarm_ms()
    }

    fn pass_heartbeats(&mut self, first: &NodeName, most: u64) -> u64 {
        self.calls.push(Call::PassBeats {
            first: first.to_string(),
            most,
        });
        self.scheduler.pass_heartbeats(first, most)
    }

    fn looks_may_bring(&mut self) -> bool {
        self.calls.push(Call::MayBring {});
        self.scheduler.looks_may_bring()
    }

    fn pass_rounds(&mut self, most: u64) -> u64 {
        self.calls.push(Call::PassRounds { most });
        self.scheduler.pass_rounds(most)
    }
}
