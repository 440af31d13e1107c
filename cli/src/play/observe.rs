//! A run that is repeated to be looked at: somebody sees the engine whenever virtual time moves on.

use std::sync::Arc;

use anyhow::{Result, bail};
use capsched::api::{
    AppError, AppSpec, ApplicationId, Ask, AskCall, AskError, AskReply, ContainerError,
    ContainerId, Event, Finding, GangAsk, HeartbeatReply, NodeError, NodeName, NodeReport,
    NodeSpec, Recovered, RoundPart, RunningContainer, Scheduler, SettingsEditor, Stepped,
    SubmitError, Submitted, TreeSettings, refused_call, refused_submission,
};
use capsched::simulator::journal::{Call, Journaled, StateSnapshot};
use capsched::simulator::{Driver, RunReport};

use super::cluster::Cluster;
use super::run::{Row, Scene};
use super::trace::explain;
use crate::output::Problem;

/// A call that an engine refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRefused<'a> {
    /// The call; nothing where it asked for a gang.
    pub(crate) call: Option<&'a AskCall>,
    /// The engine, which the call has not changed.
    pub(crate) engine: &'a Stepped,
}

/// Somebody who looks at an engine while a run goes on.
pub(crate) trait Onlooker {
    /// Everything of a moment has happened, and something changed in it.
    fn moment(&mut self, at_ms: u64, engine: &Stepped) {
        let _ = (at_ms, engine);
    }

    /// An application was submitted and accepted.
    fn submitted(&mut self, at_ms: u64, app: &AppSpec) {
        let _ = (at_ms, app);
    }

    /// Virtual time moves on, and the engine stays as it is until then.
    fn moves_on(&mut self, from_ms: u64, to_ms: u64, engine: &Stepped) {
        let _ = (from_ms, to_ms, engine);
    }

    /// The engine decided.
    fn decided(&mut self, at_ms: u64, decisions: &[Event]) {
        let _ = (at_ms, decisions);
    }

    /// A submission was refused.
    fn refused(&mut self, at_ms: u64, app: &AppSpec, (why, engine): (Finding, &Stepped)) {
        let _ = (at_ms, app, why, engine);
    }

    /// A call of an application was refused.
    fn refused_call(
        &mut self,
        at_ms: u64,
        app: ApplicationId,
        (why, of): (Finding, CallRefused<'_>),
    ) {
        let _ = (at_ms, app, why, of);
    }

    /// The run is over, or has come to the moment that is asked for.
    fn over(&mut self, at_ms: u64, engine: &Stepped) {
        let _ = (at_ms, engine);
    }

    /// An application ended.
    fn ended(&mut self, at_ms: u64, app: ApplicationId) {
        let _ = (at_ms, app);
    }
}

impl Onlooker for () {}

/// An engine with an onlooker.
pub(crate) struct Watched<'a> {
    engine: Stepped,
    onlooker: &'a mut dyn Onlooker,
    types: Vec<Arc<str>>,
    now_ms: u64,
    /// Whether something changed since the onlooker last saw the engine.
    changed: bool,
    events: Vec<Event>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(engine: Stepped, onlooker: &'a mut dyn Onlooker) -> Self {
        let state = engine.engine().ledger().state();
        Self {
            types: state.settings.resource_types.clone(),
            engine,
            onlooker,
            now_ms: 0,
            changed: false,
            events: Vec::new(),
        }
    }

    /// The engine.
    pub(crate) const fn engine(&self) -> &Stepped {
        &self.engine
    }

    /// Shows the engine to the onlooker for the last time.
    pub(crate) fn end(&mut self, at_ms: u64) {
        self.show();
        self.onlooker.over(at_ms, &self.engine);
    }

    /// Shows the engine to the onlooker if something changed.
    fn show(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.onlooker.moment(self.now_ms, &self.engine);
        }
    }

    /// Whether a call changed something: it made events.
    fn gather(&mut self) {
        let before = self.events.len();
        self.engine.events(&mut self.events);
        self.changed |= !self.events.is_empty();
        let decisions = &self.events[before..];
        if !decisions.is_empty() {
            self.onlooker.decided(self.now_ms, decisions);
        }
    }
}

impl Scheduler for Watched<'_> {
    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.changed = true;
        self.engine.add_node(node)
    }

    fn register_node(
        &mut self,
        node: NodeSpec,
        running: Vec<RunningContainer>,
    ) -> Result<Recovered, NodeError> {
        self.changed = true;
        self.engine.register_node(node, running)
    }

    fn recover_app(
        &mut self,
        app: AppSpec,
        attempt: u32,
        master: Option<u32>,
    ) -> Result<Recovered, SubmitError> {
        self.changed = true;
        self.engine.recover_app(app, attempt, master)
    }

    fn remove_node(&mut self, node: &NodeName) -> Result<(), NodeError> {
        self.changed = true;
        self.engine.remove_node(node)
    }

    fn submit(&mut self, app: AppSpec) -> Result<Submitted, SubmitError> {
        self.changed = true;
        let result = self.engine.submit(app.clone());
        if let Err(error) = &result {
            let why = refused_submission(error, &self.types);
            self.onlooker
                .refused(self.now_ms, &app, (why, &self.engine));
        } else {
            self.onlooker.submitted(self.now_ms, &app);
        }
        result
    }

    fn ask(&mut self, app: ApplicationId, call: AskCall) -> Result<AskReply, AskError> {
        let asks = !call.only_fetches();
        self.changed |= asks;
        let kept = asks.then(|| call.clone());
        let result = self.engine.ask(app, call);
        if let Err(error) = &result {
            let of = CallRefused {
                call: kept.as_ref(),
                engine: &self.engine,
            };
            let why = refused_call(error, &self.types);
            self.onlooker.refused_call(self.now_ms, app, (why, of));
        }
        self.gather();
        result
    }

    fn ask_gang(&mut self, app: ApplicationId, gang: GangAsk) -> Result<(), AskError> {
        self.changed = true;
        let result = self.engine.ask_gang(app, gang);
        if let Err(error) = &result {
            let of = CallRefused {
                call: None,
                engine: &self.engine,
            };
            let why = refused_call(error, &self.types);
            self.onlooker.refused_call(self.now_ms, app, (why, of));
        }
        self.gather();
        result
    }

    fn ask_opportunistic(&mut self, app: ApplicationId, asks: Vec<Ask>) -> Result<(), AskError> {
        self.changed = true;
        let result = self.engine.ask_opportunistic(app, asks);
        if let Err(error) = &result {
            let why = refused_call(error, &self.types);
            let of = CallRefused {
                call: None,
                engine: &self.engine,
            };
            self.onlooker.refused_call(self.now_ms, app, (why, of));
        }
        self.gather();
        result
    }

    fn heartbeat(
        &mut self,
        node: &NodeName,
        report: NodeReport,
    ) -> Result<HeartbeatReply, NodeError> {
        let reply = self.engine.heartbeat(node, report);
        self.gather();
        reply
    }

    fn container_finished(&mut self, container: ContainerId) -> Result<(), ContainerError> {
        self.changed = true;
        self.engine.container_finished(container)
    }

    fn finish_app(&mut self, app: ApplicationId) -> Result<(), AppError> {
        self.changed = true;
        self.onlooker.ended(self.now_ms, app);
        self.engine.finish_app(app)
    }

    fn events(&mut self, into: &mut Vec<Event>) {
        self.gather();
        into.append(&mut self.events);
    }

    fn schedule(&mut self) -> usize {
        let placed = self.engine.schedule();
        self.gather();
        placed
    }

    fn schedule_part(&mut self, steps: u64) -> RoundPart {
        let part = self.engine.schedule_part(steps);
        self.gather();
        part
    }

    fn advance(&mut self, to_ms: u64) {
        self.show();
        self.onlooker.moves_on(self.now_ms, to_ms, &self.engine);
        let rounds = self.engine.preemption().rounds();
        self.engine.advance(to_ms);
        self.changed |= self.engine.preemption().rounds() != rounds;
        self.now_ms = to_ms;
        self.gather();
    }

    fn next_alarm_ms(&self) -> u64 {
        self.engine.next_alarm_ms()
    }

    fn pass_heartbeats(&mut self, first: &NodeName, most: u64) -> u64 {
        self.engine.pass_heartbeats(first, most)
    }

    fn looks_may_bring(&mut self) -> bool {
        self.engine.looks_may_bring()
    }

    fn pass_rounds(&mut self, most: u64) -> u64 {
        self.engine.pass_rounds(most)
    }
}

/// The configuration of a run, edited for trials on its engine.
#[derive(Debug)]
pub(crate) struct Editor<'a> {
    /// The configuration.
    pub(crate) cluster: &'a Cluster,
    /// How the run reads it.
    pub(crate) row: Row,
}

impl SettingsEditor for Editor<'_> {
    fn edited(&self, changes: &[(String, String)]) -> Option<TreeSettings> {
        let loaded = self.cluster.edited(changes, self.row.reference, true);
        Some(self.row.fitted(loaded.ok()?.settings))
    }

    fn value(&self, property: &str) -> Option<String> {
        self.cluster
            .origin
            .properties()
            .raw(property)
            .map(str::to_owned)
    }
}

impl Row {
    /// Repeats a run up to a moment, or to its end. `end` sees the engine then.
    pub(crate) fn observe<T>(
        self,
        scene: &Scene<'_>,
        until_ms: Option<u64>,
        onlooker: &mut dyn Onlooker,
        end: impl FnOnce(u64, &Stepped) -> T,
    ) -> Result<(T, RunReport)> {
        let (mut driver, at_ms, report) =
            self.driven(scene, until_ms, |engine| Watched::new(engine, onlooker))?;
        let watched = driver.scheduler();
        watched.end(at_ms);
        Ok((end(at_ms, &watched.engine), report))
    }

    /// Repeats a run up to a moment, or to its end, with a journal; the calls, the state that they
    /// lead to, and the moment.
    pub(crate) fn journal(
        self,
        scene: &Scene<'_>,
        until_ms: Option<u64>,
    ) -> Result<(Vec<Call>, u64, u64)> {
        let (mut driver, at_ms, _) = self.driven(scene, until_ms, Journaled::new)?;
        let journaled = driver.scheduler();
        let calls = journaled.take_calls();
        Ok((
            calls,
            StateSnapshot::fingerprint(journaled.scheduler()),
            at_ms,
        ))
    }

    /// Repeats a run on an engine that `wrap` puts something around; the driver, the moment, and the
    /// account.
    fn driven<S: Scheduler>(
        self,
        scene: &Scene<'_>,
        until_ms: Option<u64>,
        wrap: impl FnOnce(Stepped) -> S,
    ) -> Result<(Driver<S>, u64, RunReport)> {
        if !self.sequential {
            bail!("runs of real threads do not repeat");
        }
        let engine = self.stepped(scene.cluster, scene.timing.every_beat)?;
        let mut settings = self.settings(scene);
        let ends = settings.until_ms.into_iter().chain(until_ms).min();
        settings.until_ms = ends;
        let mut driver = Driver::new(wrap(engine), settings);
        let added = driver.add_nodes(&scene.cluster.nodes);
        added
            .map_err(|error| anyhow::Error::new(Problem(format!("a node is refused: {error}"))))?;
        let mut workload = scene.trace.jobs()?;
        let report = driver.run(workload.as_mut(), &mut ()).map_err(explain)?;
        let at_ms = until_ms
            .unwrap_or(report.ended_ms)
            .min(ends.unwrap_or(u64::MAX));
        Ok((driver, at_ms, report))
    }
}
