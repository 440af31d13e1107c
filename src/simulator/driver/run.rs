//! The run: what comes next in virtual time, submissions, heartbeats and rounds.

use super::agenda::{Agenda, Due, Turn};
use super::beats::Beats;
use super::jobs::JobLine;
use super::pace::Pace;
use super::queues::LeafQueues;
use super::record::{DecisionHash, LocalityCounts, RunWatch, Series, Use};
use super::refusal::Refusal;
use super::run_figures::RunFigures;
use super::running::RunningJob;
use super::settings::{DriverSettings, RunCounts, RunReport};
use crate::api::{
    AppSpec, ApplicationId, Event, NodeError, NodeName, NodeReport, NodeSpec, ResourceVector,
    Scheduler,
};
use crate::id::Map;
use crate::simulator::audit::AuditBooks;
use crate::simulator::statistics::Tally;
use crate::simulator::workload::{Job, NodeLine, TaskGroup, TraceError, Workload};

/// Refusals of the scheduler that are kept as text.
const MESSAGES: usize = 20;

/// Drives a scheduler through a workload.
///
/// The run itself is compiled once, for any scheduler: a virtual call costs little beside what it decides.
#[derive(Debug)]
pub struct Driver<S: ?Sized> {
    pub(super) settings: DriverSettings,
    pub(super) now_ms: u64,
    pub(super) agenda: Agenda,
    /// Entries of the agenda other than heartbeats, rounds and samples.
    pub(super) to_come: u64,
    pub(super) beats: Beats,
    pub(super) beating: bool,
    pub(super) rounding: bool,
    pub(super) changed_ms: u64,
    /// Whether the present entry of the agenda changed anything.
    pub(super) changed: bool,
    /// When every node has reported what ended on it otherwise than by itself: only then is its space free.
    pub(super) reported_ms: u64,
    pub(super) apps: Map<ApplicationId, RunningJob>,
    pub(super) next_app: u32,
    pub(super) queues: LeafQueues,
    /// What the scheduler did in the present step; empty between steps.
    pub(super) events: Vec<Event>,
    pub(super) counts: RunCounts,
    pub(super) ledger: AuditBooks,
    pub(super) hash: DecisionHash,
    pub(super) first: Tally,
    pub(super) turnaround: Tally,
    pub(super) usage: Use,
    pub(super) placing: Placing,
    pub(super) series: Series,
    pub(super) gaps: (u64, u64, u32),
    /// RunFigures up to the last container that was placed or ended.
    pub(super) figures: RunFigures,
    pub(super) refusals: Vec<Refusal>,
    pub(super) messages: Vec<String>,
    pub(super) last_submission_ms: u64,
    /// Jobs that ended and were not shown to the watch.
    pub(super) gone: Vec<JobLine>,
    /// When the scheduler is free, if its work costs time.
    pub(super) pace: Option<Pace>,
    /// When the present event is seen, in virtual us.
    pub(super) seen_us: u64,
    /// From a call that asks to a placement, in virtual us.
    pub(super) delays: Tally,
    /// Whether heartbeats were left out since the last one, because nothing waited.
    paused: bool,
    /// Last, so that its type can be left open.
    pub(super) scheduler: S,
}

/// Where containers go.
#[derive(Debug, Default)]
pub(super) struct Placing {
    /// Use of the nodes that run any container.
    pub(super) packing: Use,
    /// The rack of each node.
    racks: Map<NodeName, String>,
    pub(super) locality: LocalityCounts,
}

impl Placing {
    /// Counts a container of a group on a node.
    pub(super) fn count(&mut self, group: &TaskGroup, node: &NodeName) {
        let rack = self.racks.get(node).map_or("", String::as_str);
        self.locality.count(group, node.host(), rack);
    }
}

/// The auditor of a run. Where work costs no time, it knows how often nodes are looked at. What a killed container held
/// is free with the next heartbeat of its node.
fn auditor(settings: &DriverSettings) -> AuditBooks {
    let mut ledger = AuditBooks::new(settings.types, settings.memory_only);
    if !settings.judges {
        return ledger.keeping_sums();
    }
    if settings.costs.is_none() {
        let round_ms = settings.round_ms.unwrap_or(0);
        ledger.looks_every(round_ms.saturating_add(settings.heartbeat_ms));
    }
    ledger
}

impl<S: Scheduler> Driver<S> {
    /// A driver of a scheduler that knows no nodes yet.
    #[must_use]
    pub fn new(scheduler: S, settings: DriverSettings) -> Self {
        let costs = settings.costs.clone();
        let pace = costs.map(|costs| Pace::new(costs, settings.rounds_look_at_all));
        Self {
            beats: Beats::new(settings.heartbeat_ms.max(1)),
            ledger: auditor(&settings),
            settings,
            now_ms: 0,
            agenda: Agenda::default(),
            to_come: 0,
            beating: false,
            rounding: false,
            changed_ms: 0,
            changed: false,
            reported_ms: 0,
            apps: Map::default(),
            next_app: 1,
            queues: LeafQueues::default(),
            events: Vec::new(),
            counts: RunCounts::default(),
            hash: DecisionHash::default(),
            first: Tally::default(),
            turnaround: Tally::default(),
            usage: Use::default(),
            placing: Placing::default(),
            series: Series::default(),
            gaps: (0, 0, 0),
            figures: RunFigures::default(),
            refusals: Vec::new(),
            messages: Vec::new(),
            last_submission_ms: 0,
            gone: Vec::new(),
            pace,
            seen_us: 0,
            delays: Tally::default(),
            paused: true,
            scheduler,
        }
    }

    /// Registers the nodes of a trace, with port 0.
    ///
    /// # Errors
    ///
    /// When a host cannot be a node's name or the scheduler refuses the node.
    pub fn add_nodes(&mut self, nodes: &[NodeLine]) -> Result<(), NodeError> {
        self.any().register(nodes)
    }

    /// Has a node register during the run.
    pub fn node_arrives(&mut self, at_ms: u64, node: NodeSpec) {
        self.any().plan(at_ms, Due::Arrive(Box::new(node)));
    }

    /// Has a node go away during the run.
    pub fn node_leaves(&mut self, at_ms: u64, node: NodeName) {
        self.any().plan(at_ms, Due::Leave(node));
    }

    /// Sets the most a queue may use, for the auditor.
    pub fn limit(&mut self, queue: &str, most: ResourceVector) {
        self.ledger.limit(queue, most);
    }

    /// The scheduler, for a look at its state.
    pub const fn scheduler(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// Runs the workload to its end.
    ///
    /// # Errors
    ///
    /// When the workload gives one; the scheduler stays as it was then.
    pub fn run(
        &mut self,
        workload: &mut dyn Workload,
        watch: &mut dyn RunWatch,
    ) -> Result<RunReport, TraceError> {
        self.any().play(workload, watch)
    }

    fn any(&mut self) -> &mut Driver<dyn Scheduler + '_> {
        self
    }
}

impl Driver<dyn Scheduler + '_> {
    fn register(&mut self, nodes: &[NodeLine]) -> Result<(), NodeError> {
        let mut specs = Vec::with_capacity(nodes.len());
        for line in nodes {
            let name = NodeName::new(&line.host, 0).map_err(NodeError::Name)?;
            specs.push(NodeSpec {
                name,
                rack: line.rack.clone(),
                total: line.size,
                partition: line.partition.clone(),
                attributes: line.attributes.clone(),
            });
        }
        self.scheduler.add_nodes(specs.clone())?;
        for node in specs {
            self.node_added(node);
        }
        Ok(())
    }

    pub(super) fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.scheduler.add_node(node.clone())?;
        self.node_added(node);
        Ok(())
    }

    /// A node was registered.
    fn node_added(&mut self, node: NodeSpec) {
        self.ledger.node_added(&node);
        self.placing.racks.insert(node.name.clone(), node.rack);
        self.beats
            .change(self.now_ms, |nodes| nodes.push(node.name));
        self.fit_pace();
    }

    /// Costs depend on the number of nodes.
    fn fit_pace(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.resize(self.beats.len());
        }
    }

    fn play(
        &mut self,
        workload: &mut dyn Workload,
        watch: &mut dyn RunWatch,
    ) -> Result<RunReport, TraceError> {
        let mut next = self.next_job(workload)?;
        self.agenda.add(self.now_ms, Due::Sample);
        while let Some((at_ms, due)) = self.agenda.next() {
            if self.settings.until_ms.is_some_and(|until| at_ms > until) {
                break;
            }
            self.move_to(at_ms);
            self.changed = !matches!(due, Due::Beat | Due::Round | Due::Sample);
            if self.changed {
                (self.to_come, self.changed_ms) = (self.to_come - 1, self.now_ms);
            }
            let turn = Turn::of(&due);
            match due {
                Due::Submit => {
                    if let Some(job) = next.take() {
                        self.submit(job);
                    }
                    next = self.next_job(workload)?;
                }
                Due::Sample => self.sample(watch),
                due => self.act(due),
            }
            self.take_events(watch);
            self.plan_after(turn);
            if self.to_come == 0 && (self.queues.waiting() == 0 || !self.looks()) {
                break;
            }
        }
        self.sample(watch);
        self.ledger.end();
        let mut report = self.report();
        report.mapping = workload.report();
        self.show_unfinished(watch);
        Ok(report)
    }

    /// Whether a heartbeat or a round is on the agenda.
    const fn looks(&self) -> bool {
        self.beating || self.rounding
    }

    /// The next job of the workload, with its submission on the agenda.
    fn next_job(&mut self, workload: &mut dyn Workload) -> Result<Option<Job>, TraceError> {
        let next = workload.next().transpose()?;
        if let Some(job) = &next {
            self.plan(job.at_ms.max(self.now_ms), Due::Submit);
        }
        Ok(next)
    }

    pub(super) fn plan(&mut self, at_ms: u64, due: Due) {
        self.to_come += 1;
        self.agenda.add(at_ms, due);
    }

    pub(super) fn move_to(&mut self, at_ms: u64) {
        if at_ms > self.now_ms {
            let (used, total) = self.ledger.cluster();
            let (ms, busy) = (at_ms - self.now_ms, self.ledger.busy());
            self.usage.add(ms, &used, &total);
            self.placing.packing.add(ms, &used, &busy);
            self.now_ms = at_ms;
            self.ledger.advance(at_ms);
            self.scheduler.advance(at_ms);
        }
    }

    fn act(&mut self, due: Due) {
        match due {
            Due::Beat => self.beat(),
            Due::Round => self.round(),
            Due::Call(app) => self.call(app),
            Due::Want(app, group) => {
                self.want(app, group);
                self.plan_call(app);
            }
            Due::End(container) => self.end(container),
            Due::Arrive(node) => {
                let result = self.add_node(*node);
                self.noted(result.err());
            }
            Due::Leave(node) => self.leave(&node),
            Due::Finish(app) => self.finish(app),
            Due::Submit | Due::Sample => {}
        }
    }

    /// Keeps a refusal.
    pub(super) fn noted<E: std::fmt::Display>(&mut self, refusal: Option<E>) -> bool {
        let Some(refusal) = refusal else {
            return false;
        };
        self.counts.refused_calls += 1;
        if self.messages.len() < MESSAGES {
            self.messages.push(refusal.to_string());
        }
        true
    }

    fn submit(&mut self, job: Job) {
        let id = ApplicationId::new(self.next_app);
        self.next_app = self
            .next_app
            .checked_add(1)
            .expect("a run has fewer than 2^32 jobs");
        let spec = AppSpec {
            priority: job.priority,
            master: job.master,
            master_partition: job.partition.clone(),
            partition: job.partition.clone(),
            tags: job.tags.clone(),
            ..AppSpec::new(id, &job.queue, &job.user)
        };
        self.last_submission_ms = self.now_ms;
        self.counts.placed_by_last_submission = self.counts.placed;
        self.counts.offered += job.containers();
        let submitted = match self.scheduler.submit(spec) {
            Ok(submitted) => submitted,
            Err(refusal) => return self.refused_job(id, job, &refusal),
        };
        self.counts.submitted += 1;
        let has_master = job.master.is_some();
        self.ledger.submitted(id, &job.user, has_master);
        let leaf = self.queues.number(&submitted.queue);
        if has_master {
            self.queues.more_waiting(leaf, 1);
        }
        let running = RunningJob::new(job, self.now_ms, (leaf, submitted.queue));
        self.apps.insert(id, running);
    }

    fn beat(&mut self) {
        if let Some(pace) = &mut self.pace {
            let free_ms = pace.free_ms(self.now_ms);
            if free_ms > self.now_ms {
                self.agenda.add(free_ms, Due::Beat);
                return;
            }
            pace.begin_heartbeat(self.now_ms, self.beats.at().unwrap_or(self.now_ms));
        }
        self.beating = false;
        if let Some(node) = self.beats.take() {
            self.counts.heartbeats += 1;
            let result = self.scheduler.heartbeat(&node, NodeReport::AsExpected);
            self.noted(result.err());
        }
    }

    /// One round, or a part of one when the scheduler's work costs time.
    fn round(&mut self) {
        let Some(pace) = &mut self.pace else {
            self.rounding = false;
            self.counts.rounds += 1;
            self.scheduler.schedule();
            return;
        };
        let free_ms = pace.free_ms(self.now_ms);
        if free_ms > self.now_ms {
            self.agenda.add(free_ms, Due::Round);
            return;
        }
        self.rounding = false;
        let steps = pace.steps();
        let part = self.scheduler.schedule_part(steps);
        pace.begin_part(self.now_ms, part);
        self.counts.rounds += u64::from(part.ended);
    }

    fn leave(&mut self, node: &NodeName) {
        let result = self.scheduler.remove_node(node);
        if !self.noted(result.err()) {
            self.ledger.node_removed(node);
            self.beats
                .change(self.now_ms, |nodes| nodes.retain(|known| known != node));
            self.fit_pace();
        }
    }

    /// Whether anything waits: a container, or a reservation that may be one too many.
    pub(super) fn awaits_looks(&self) -> bool {
        self.queues.waiting() > 0 || self.ledger.has_reservations()
    }

    /// Puts heartbeats and rounds on the agenda while something waits and something happens.
    pub(super) fn wake(&mut self) {
        if !self.awaits_looks() || self.now_ms >= self.quiet_from() {
            self.paused = true;
            return;
        }
        if !self.beating {
            self.next_beat();
        }
        if let Some(period) = self.settings.round_ms
            && !self.rounding
        {
            self.rounding = true;
            let at_ms = match &self.pace {
                Some(pace) => pace.next_round_ms(self.now_ms, period),
                None => (self.now_ms / period.max(1) + 1) * period.max(1),
            };
            self.agenda.add(at_ms, Due::Round);
        }
        self.paused = false;
    }

    /// Puts the next heartbeat on the agenda. Behind a scheduler that is late none is lost, but for
    /// those of nodes that have sent another one meanwhile.
    fn next_beat(&mut self) {
        if self.pace.is_some() && !self.paused {
            self.beats.catch_up(self.now_ms);
        } else {
            self.beats.resume(self.now_ms);
        }
        if let Some(at_ms) = self.beats.at() {
            self.beating = true;
            self.agenda.add(at_ms.max(self.now_ms), Due::Beat);
        }
    }
}
