//! A scheduler that measures its engine: every event of a call is there when the call returns.

use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, CommitOutcome,
    ContainerError, ContainerId, Event, GangAsk, HeartbeatReply, ModeKind, NodeError, NodeName,
    NodeReport, NodeSpec, Recovered, Rescheduler, RoundPart, RunningContainer, Scheduler, Stepped,
    SubmitError, Submitted, Threaded, Waiting, waiting,
};
use capsched::metrics::{HistogramSet, Interval, Phase};
use capsched::time::{Clock, SystemClock};

use super::course::Course;
use super::tried::copy_of;

/// The engine of a row.
#[derive(Debug)]
pub(super) enum Engine {
    /// Deterministic, on the thread of the caller.
    Stepped(Box<Stepped>),
    /// With threads of its own.
    Threaded(Box<Threaded>),
}

/// An engine with its latencies.
#[derive(Debug)]
pub(super) struct Measured {
    engine: Engine,
    clock: SystemClock,
    /// Whether the caller's own calls place containers, so that they are measured here.
    placing_calls: bool,
    latencies: HistogramSet<Phase>,
    /// The course of latencies; that of an engine with threads is kept.
    course: Option<Course>,
    busy_ns: u64,
    events: Vec<Event>,
    uncollected: bool,
}

impl Measured {
    /// An engine; `placing_calls`: whether heartbeats or rounds decide on the caller's time.
    pub(super) fn new(engine: Engine, placing_calls: bool, clock: SystemClock) -> Self {
        let threads = matches!(engine, Engine::Threaded(_));
        Self {
            course: threads.then(|| Course::new(clock.now_ns())),
            engine,
            clock,
            placing_calls,
            latencies: HistogramSet::new(),
            busy_ns: 0,
            events: Vec::new(),
            uncollected: false,
        }
    }

    /// Wall time within the engine's calls, in ns.
    pub(super) const fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// The policy of preemption of an engine that runs step by step.
    pub(super) fn policy(&self) -> Option<&Rescheduler> {
        match &self.engine {
            Engine::Stepped(engine) => Some(engine.preemption()),
            Engine::Threaded(_) => None,
        }
    }

    /// What the applications wait for, and why.
    pub(super) fn waiting(&self) -> Vec<(ApplicationId, Vec<Waiting>)> {
        match &self.engine {
            Engine::Stepped(engine) => engine.waiting(),
            Engine::Threaded(engine) => engine.inspect(waiting).unwrap_or_default(),
        }
    }

    /// A copy that runs step by step, for trials; nothing of an engine that answers no more.
    pub(super) fn copy(&self, mode: ModeKind) -> Option<Stepped> {
        match &self.engine {
            Engine::Stepped(engine) => Some(engine.trial()),
            Engine::Threaded(engine) => copy_of(engine, mode),
        }
    }

    /// Latencies by phase.
    pub(super) fn latencies(&self) -> HistogramSet<Phase> {
        let mut all = self.latencies.clone();
        if let Engine::Threaded(engine) = &self.engine {
            all.merge(&engine.latencies());
        }
        all
    }

    /// Latencies by phase in intervals of wall time; empty for an engine without threads.
    pub(super) fn intervals(&mut self) -> Vec<Interval<Phase>> {
        let Some(course) = self.course.take() else {
            return Vec::new();
        };
        course.finish(self.clock.now_ns(), self.latencies())
    }

    /// Ends an interval that is long enough.
    fn follow_course(&mut self) {
        let Some(course) = &self.course else {
            return;
        };
        let now_ns = self.clock.now_ns();
        if !course.is_due(now_ns) {
            return;
        }
        let all = self.latencies();
        if let Some(course) = &mut self.course {
            course.end(now_ns, all);
        }
    }

    /// Proposals that were refused, by reason; nothing that never happened.
    pub(super) fn conflicts(&self) -> Vec<(&'static str, u64)> {
        use capsched::metrics::Closed;
        let engine = match &self.engine {
            Engine::Threaded(engine) => engine,
            Engine::Stepped(engine) => {
                return engine
                    .conflicts()
                    .iter()
                    .map(|(&name, &n)| (name, n))
                    .collect();
            }
        };
        let refused = |(outcome, n): &(CommitOutcome, u64)| outcome.is_refused() && *n > 0;
        let named = |(outcome, n): (CommitOutcome, u64)| (outcome.name(), n);
        engine
            .outcomes()
            .iter()
            .filter(refused)
            .map(named)
            .collect()
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Scheduler) -> T) -> (T, u64) {
        let before = self.clock.now_ns();
        let result = match &mut self.engine {
            Engine::Stepped(engine) => call(engine.as_mut()),
            Engine::Threaded(engine) => call(engine.as_mut()),
        };
        let took = self.clock.now_ns() - before;
        self.busy_ns += took;
        self.uncollected = true;
        (result, took)
    }

    /// Takes the events of all calls so far. A threaded engine answers before it delivers, so it is
    /// waited for: otherwise virtual time could run ahead of what the engine is about to do.
    fn collect_events(&mut self) {
        if !self.uncollected {
            return;
        }
        self.uncollected = false;
        match &mut self.engine {
            // The call itself made them.
            Engine::Stepped(engine) => engine.events(&mut self.events),
            Engine::Threaded(engine) => {
                let before = self.clock.now_ns();
                engine.quiesce();
                Scheduler::events(engine.as_mut(), &mut self.events);
                self.busy_ns += self.clock.now_ns() - before;
            }
        }
    }

    /// Records a call that may have placed containers: its time, shared among them.
    fn record(&mut self, took: u64) {
        if !self.placing_calls {
            return;
        }
        let known = self.events.len();
        self.collect_events();
        let placed = |event: &&Event| matches!(event, Event::Allocated { .. });
        let placed = self.events[known..].iter().filter(placed).count();
        if let Ok(n @ 1..) = u64::try_from(placed) {
            self.latencies.record_n(Phase::Propose, took / n, n);
        }
    }
}

impl Scheduler for Measured {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.call(|engine| engine.add_node(node)).0
    }

    fn add_nodes(&mut self, nodes: Vec<NodeSpec>) -> Result<(), NodeError> {
        self.call(|engine| engine.add_nodes(nodes)).0
    }

    fn register_node(
        &mut self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        self.call(|engine| engine.register_node(node, running)).0
    }

    fn recover_app(
        &mut self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        self.call(|engine| engine.recover_app(app, attempt, master))
            .0
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.call(|engine| engine.remove_node(node)).0
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.call(|engine| engine.submit(app)).0
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        self.call(|engine| engine.ask(app, call)).0
    }

    fn ask_gang(&mut self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        self.call(|engine| engine.ask_gang(app, gang)).0
    }

    fn ask_opportunistic(&mut self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        self.call(|engine| engine.ask_opportunistic(app, asks)).0
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        self.collect_events();
        let (reply, took) = self.call(|engine| engine.heartbeat(node, report));
        self.record(took);
        reply
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        self.call(|engine| engine.container_finished(container)).0
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.call(|engine| engine.finish_app(app)).0
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        self.collect_events();
        into.append(&mut self.events);
    }

    fn schedule(&mut self) -> usize {
        self.collect_events();
        let (placed, took) = self.call(|engine| engine.schedule());
        self.record(took);
        placed
    }

    fn schedule_part(&mut self, steps: u64) -> RoundPart {
        self.collect_events();
        let (part, took) = self.call(|engine| engine.schedule_part(steps));
        self.record(took);
        part
    }

    fn advance(&mut self, to_ms: u64) {
        self.follow_course();
        match &mut self.engine {
            Engine::Stepped(engine) => engine.advance(to_ms),
            Engine::Threaded(engine) => engine.advance(to_ms),
        }
    }

    fn next_alarm_ms(&self) -> u64 {
        match &self.engine {
            Engine::Stepped(engine) => engine.next_alarm_ms(),
            Engine::Threaded(engine) => engine.next_alarm_ms(),
        }
    }

    fn pass_heartbeats(&mut self, first: &NodeName, most: u64) -> u64 {
        self.collect_events();
        self.call(|engine| engine.pass_heartbeats(first, most)).0
    }

    fn looks_may_bring(&mut self) -> bool {
        self.collect_events();
        match &mut self.engine {
            Engine::Stepped(engine) => engine.looks_may_bring(),
            Engine::Threaded(engine) => engine.looks_may_bring(),
        }
    }

    fn pass_rounds(&mut self, most: u64) -> u64 {
        self.collect_events();
        self.call(|engine| engine.pass_rounds(most)).0
    }
}
