//! The run: what comes next, what the scheduler did about it, and what follows from that.

use hdrhistogram::Histogram;

use super::agenda::{Agenda, Due};
use super::beats::Beats;
use super::record::{DecisionHash, Sample, Series, Use, Waits, Watch, take_wait, waits};
use super::running::Running;
use super::settings::{DriverSettings, RunCounts, RunReport};
use crate::api::{
    AppSpec, ApplicationId, ContainerId, Event, NodeError, NodeName, NodeReport, NodeSpec,
    ReleaseReason, ResourceVector, Scheduler,
};
use crate::id::Map;
use crate::simulator::audit::Ledger;
use crate::simulator::error::TraceError;
use crate::simulator::workload::{Job, NodeLine, Workload};
use std::collections::BTreeMap;

/// Refusals of the scheduler that are kept as text.
const MESSAGES: usize = 20;

/// Drives a scheduler through a workload.
#[derive(Debug)]
pub struct Driver<S> {
    scheduler: S,
    settings: DriverSettings,
    now_ms: u64,
    agenda: Agenda,
    /// Entries of the agenda other than heartbeats, rounds and samples.
    to_come: u64,
    beats: Beats,
    beating: bool,
    rounding: bool,
    changed_ms: u64,
    apps: Map<ApplicationId, Running>,
    next_app: u32,
    /// Containers that run or wait to be taken over, with their group and index within it.
    live: Map<ContainerId, (usize, u32)>,
    /// Containers asked for and not placed, by leaf queue.
    waiting: BTreeMap<String, u64>,
    n_waiting: u64,
    counts: RunCounts,
    ledger: Ledger,
    hash: DecisionHash,
    first: Histogram<u64>,
    turnaround: Histogram<u64>,
    usage: Use,
    series: Series,
    gaps: (u64, u64, u32),
    messages: Vec<String>,
    last_submission_ms: u64,
}

impl<S: Scheduler> Driver<S> {
    /// A driver of a scheduler that knows no nodes yet.
    #[must_use]
    pub fn new(scheduler: S, settings: DriverSettings) -> Self {
        Self {
            beats: Beats::new(settings.heartbeat_ms.max(1)),
            scheduler,
            settings,
            now_ms: 0,
            agenda: Agenda::default(),
            to_come: 0,
            beating: false,
            rounding: false,
            changed_ms: 0,
            apps: Map::default(),
            next_app: 1,
            live: Map::default(),
            waiting: BTreeMap::new(),
            n_waiting: 0,
            counts: RunCounts::default(),
            ledger: Ledger::default(),
            hash: DecisionHash::default(),
            first: waits(),
            turnaround: waits(),
            usage: Use::default(),
            series: Series::default(),
            gaps: (0, 0, 0),
            messages: Vec::new(),
            last_submission_ms: 0,
        }
    }

    /// Registers the nodes of a trace, with port 0.
    ///
    /// # Errors
    ///
    /// When a host cannot be a node's name or the scheduler refuses the node.
    pub fn add_nodes(&mut self, nodes: &[NodeLine]) -> Result<(), NodeError> {
        for line in nodes {
            let name = NodeName::new(&line.host, 0).map_err(NodeError::Name)?;
            self.add_node(NodeSpec {
                name,
                rack: line.rack.clone(),
                total: line.size,
                partition: line.partition.clone(),
                attributes: line.attributes.clone(),
            })?;
        }
        Ok(())
    }

    fn add_node(&mut self, node: NodeSpec) -> Result<(), NodeError> {
        self.scheduler.add_node(node.clone())?;
        self.ledger.node_added(&node);
        self.beats
            .change(self.now_ms, |nodes| nodes.push(node.name));
        Ok(())
    }

    /// Has a node register during the run.
    pub fn node_arrives(&mut self, at_ms: u64, node: NodeSpec) {
        self.plan(at_ms, Due::Arrive(Box::new(node)));
    }

    /// Has a node go away during the run.
    pub fn node_leaves(&mut self, at_ms: u64, node: NodeName) {
        self.plan(at_ms, Due::Leave(node));
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
        watch: &mut dyn Watch,
    ) -> Result<RunReport, TraceError> {
        let mut next = workload.next().transpose()?;
        if let Some(job) = &next {
            self.plan(job.at_ms, Due::Submit);
        }
        self.agenda.add(self.now_ms, Due::Sample);
        while let Some((at_ms, due)) = self.agenda.next() {
            if self.settings.until_ms.is_some_and(|until| at_ms > until) {
                break;
            }
            self.move_to(at_ms);
            if !matches!(due, Due::Beat | Due::Round | Due::Sample) {
                self.to_come -= 1;
                self.changed_ms = self.now_ms;
            }
            match due {
                Due::Submit => {
                    if let Some(job) = next.take() {
                        self.submit(job);
                    }
                    next = workload.next().transpose()?;
                    if let Some(job) = &next {
                        self.plan(job.at_ms.max(self.now_ms), Due::Submit);
                    }
                }
                Due::Sample => self.sample(watch),
                due => self.act(due),
            }
            self.take_events(watch);
            self.wake();
            let beats = self.beating || self.rounding;
            if self.to_come == 0 && (self.n_waiting == 0 || !beats) {
                break;
            }
        }
        self.sample(watch);
        self.ledger.check();
        let mut report = self.report();
        report.mapping = workload.report();
        Ok(report)
    }

    fn plan(&mut self, at_ms: u64, due: Due) {
        self.to_come += 1;
        self.agenda.add(at_ms, due);
    }

    fn move_to(&mut self, at_ms: u64) {
        if at_ms > self.now_ms {
            let (used, total) = self.ledger.cluster();
            self.usage.add(at_ms - self.now_ms, &used, &total);
            self.now_ms = at_ms;
            self.scheduler.advance(at_ms);
        }
    }

    fn act(&mut self, due: Due) {
        match due {
            Due::Beat => self.beat(),
            Due::Round => {
                self.rounding = false;
                self.counts.rounds += 1;
                self.scheduler.schedule();
            }
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
    fn noted<E: std::fmt::Display>(&mut self, refusal: Option<E>) -> bool {
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
            id,
            user: job.user.clone(),
            queue: job.queue.clone(),
            priority: job.priority,
            master: job.master,
            master_partition: job.partition.clone(),
            partition: job.partition.clone(),
            tags: job.tags.clone(),
        };
        self.last_submission_ms = self.now_ms;
        let submitted = match self.scheduler.submit(spec) {
            Ok(submitted) => submitted,
            Err(refusal) => {
                self.counts.refused += 1;
                if self.messages.len() < MESSAGES {
                    self.messages.push(format!("{}: {refusal}", job.name));
                }
                return;
            }
        };
        self.counts.submitted += 1;
        let containers: u64 = job.tasks.iter().map(|group| u64::from(group.count)).sum();
        let has_master = job.master.is_some();
        self.counts.offered += containers + u64::from(has_master);
        self.ledger.submitted(id, &job.user, has_master);
        if has_master {
            self.more_waiting(&submitted.queue, 1);
        }
        self.apps.insert(
            id,
            Running::new(job, self.now_ms, submitted.queue.to_string()),
        );
    }

    fn more_waiting(&mut self, queue: &str, n: u64) {
        self.n_waiting += n;
        match self.waiting.get_mut(queue) {
            Some(waiting) => *waiting += n,
            None => {
                self.waiting.insert(queue.to_owned(), n);
            }
        }
    }

    fn fewer_waiting(&mut self, queue: &str, n: u64) {
        self.n_waiting = self.n_waiting.saturating_sub(n);
        if let Some(waiting) = self.waiting.get_mut(queue) {
            *waiting = waiting.saturating_sub(n);
        }
    }

    fn beat(&mut self) {
        self.beating = false;
        if let Some(node) = self.beats.take() {
            self.counts.heartbeats += 1;
            let result = self.scheduler.heartbeat(&node, NodeReport::AsExpected);
            self.noted(result.err());
        }
    }

    fn leave(&mut self, node: &NodeName) {
        let result = self.scheduler.remove_node(node);
        if !self.noted(result.err()) {
            self.ledger.node_removed(node);
            self.beats
                .change(self.now_ms, |nodes| nodes.retain(|known| known != node));
        }
    }

    /// Puts heartbeats and rounds on the agenda while something waits and something happens.
    fn wake(&mut self) {
        let still = self.now_ms - self.changed_ms;
        let quiet = self.settings.quiet_ms.is_some_and(|quiet| still >= quiet);
        let over = self.to_come == 0 && still >= self.settings.patience_ms;
        if self.n_waiting == 0 || quiet || over {
            return;
        }
        if !self.beating {
            self.beats.resume(self.now_ms);
            if let Some(at_ms) = self.beats.at() {
                self.beating = true;
                self.agenda.add(at_ms, Due::Beat);
            }
        }
        if let Some(period) = self.settings.round_ms
            && !self.rounding
        {
            let period = period.max(1);
            self.rounding = true;
            self.agenda
                .add((self.now_ms / period + 1) * period, Due::Round);
        }
    }

    fn plan_call(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if !app.started || app.call_due {
            return;
        }
        app.call_due = true;
        let at_ms = app
            .called_ms
            .map_or(self.now_ms, |called| called + self.settings.call_ms)
            .max(self.now_ms);
        self.plan(at_ms, Due::Call(id));
    }

    fn call(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        app.call_due = false;
        app.called_ms = Some(self.now_ms);
        let call = app.call();
        self.ledger.asked(id, &call);
        match self.scheduler.ask(id, call) {
            Ok(reply) => {
                self.ledger.replied(id, &reply);
                for granted in reply.allocated {
                    self.start(granted.container);
                }
            }
            Err(refusal) => {
                self.noted(Some(refusal));
            }
        }
    }

    /// A container was taken over and runs from now on.
    fn start(&mut self, container: ContainerId) {
        let Some((group, index)) = self.live.get(&container).copied() else {
            return;
        };
        let Some(app) = self.apps.get(&container.app) else {
            return;
        };
        if let Some(ms) = app.job.tasks[group].run.of(index) {
            self.plan(self.now_ms.saturating_add(ms), Due::End(container));
        }
    }

    fn end(&mut self, container: ContainerId) {
        let Some((group, _)) = self.live.remove(&container) else {
            return;
        };
        let result = self.scheduler.container_finished(container);
        self.noted(result.err());
        self.counts.completed += 1;
        let id = container.app;
        if let Some(app) = self.apps.get_mut(&id) {
            app.complete(group);
            self.go_on(id);
        }
    }

    /// Begins the next stage, or ends the application when there is none.
    fn go_on(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if app.is_done() {
            self.finish(id);
            return;
        }
        let begins = app.begin_stage();
        if begins.is_empty() {
            return;
        }
        for (group, delay_ms) in begins {
            if delay_ms == 0 {
                self.want(id, group);
            } else {
                self.plan(self.now_ms.saturating_add(delay_ms), Due::Want(id, group));
            }
        }
        self.plan_call(id);
    }

    fn want(&mut self, id: ApplicationId, group: usize) {
        if let Some(app) = self.apps.get_mut(&id) {
            let n = app.want(group);
            let queue = app.queue.clone();
            self.more_waiting(&queue, n);
        }
    }

    fn finish(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.remove(&id) else {
            return;
        };
        let master_waits = app.job.master.is_some() && app.master.is_none() && !app.started;
        self.fewer_waiting(&app.queue, app.waiting() + u64::from(master_waits));
        if app.is_done() {
            self.counts.finished += 1;
            take_wait(&mut self.turnaround, self.now_ms - app.submitted_ms);
        } else {
            self.counts.failed += 1;
            self.live.retain(|container, _| container.app != id);
        }
        let result = self.scheduler.finish_app(id);
        self.noted(result.err());
        self.ledger.app_ended(id);
    }

    /// Takes everything that the scheduler did, in order.
    fn take_events(&mut self, watch: &mut dyn Watch) {
        let mut events = Vec::new();
        self.scheduler.events(&mut events);
        if !events.is_empty() {
            self.changed_ms = self.now_ms;
        }
        for event in events {
            self.hash.add(self.now_ms, &event);
            watch.decision(self.now_ms, &event);
            self.ledger.event(&event);
            match event {
                Event::Allocated {
                    container,
                    request_id,
                    ..
                } => self.allocated(container, request_id),
                Event::Reserved { .. } => self.counts.reserved += 1,
                Event::Released { container, reason } => self.released(container, reason),
                Event::MasterStarted { app, container } => {
                    if let Some(running) = self.apps.get_mut(&app) {
                        running.started = true;
                        running.master = container.or(running.master);
                        self.go_on(app);
                    }
                }
            }
        }
    }

    fn allocated(&mut self, container: ContainerId, request_id: i64) {
        self.counts.placed += 1;
        let Some(app) = self.apps.get_mut(&container.app) else {
            self.counts.strays += 1;
            return;
        };
        let queue = app.queue.clone();
        if request_id == -1 && app.job.master.is_some() && app.master.is_none() {
            app.master = Some(container);
            self.counts.masters += 1;
            self.fewer_waiting(&queue, 1);
            return;
        }
        let group = usize::try_from(request_id).unwrap_or(usize::MAX);
        let Some(index) = app.place(group) else {
            self.counts.strays += 1;
            return;
        };
        if !std::mem::replace(&mut app.served, true) {
            take_wait(&mut self.first, self.now_ms - app.submitted_ms);
        }
        self.live.insert(container, (group, index));
        self.fewer_waiting(&queue, 1);
        self.plan_call(container.app);
    }

    fn released(&mut self, container: ContainerId, reason: ReleaseReason) {
        let lost = reason == ReleaseReason::Killed;
        let Some(app) = self.apps.get_mut(&container.app) else {
            return;
        };
        if let Some((group, _)) = self.live.remove(&container) {
            app.lose(group);
            self.counts.lost += u64::from(lost);
            let queue = app.queue.clone();
            self.more_waiting(&queue, 1);
            self.plan_call(container.app);
        } else if app.master == Some(container) {
            self.counts.lost += u64::from(lost);
            self.plan(self.now_ms, Due::Finish(container.app));
        }
    }

    fn sample(&mut self, watch: &mut dyn Watch) {
        let gap_permille = self.gap();
        let (sum, n, most) = self.gaps;
        self.gaps = (sum + u64::from(gap_permille), n + 1, most.max(gap_permille));
        let sample = Sample {
            at_ms: self.now_ms,
            used: self.ledger.leaves(),
            total: self.ledger.cluster().1,
            waiting: self.n_waiting,
            gap_permille,
        };
        watch.sample(&sample);
        self.series.push(sample);
        let next = self.now_ms.saturating_add(self.settings.sample_ms.max(1));
        self.agenda.add(next, Due::Sample);
    }

    /// How far the worst queue with unmet demand is below its guarantee.
    fn gap(&self) -> u32 {
        let total = self.ledger.cluster().1;
        let gap = |(queue, guarantee): &(String, u32)| {
            let below = |path: &str| {
                path.strip_prefix(queue.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let wants = self.waiting.iter().any(|(path, n)| *n > 0 && below(path));
            let used = self.ledger.used_by(queue);
            let share = (0..self.settings.types)
                .filter(|&index| total[index] > 0)
                .map(|index| i128::from(used[index]) * 1000 / i128::from(total[index]))
                .max();
            let share = u32::try_from(share.unwrap_or(0)).unwrap_or(0);
            if wants {
                guarantee.saturating_sub(share)
            } else {
                0
            }
        };
        self.settings.guarantees.iter().map(gap).max().unwrap_or(0)
    }

    fn report(&self) -> RunReport {
        let mut counts = self.counts.clone();
        counts.unfinished = counts.submitted - counts.finished - counts.failed;
        counts.unserved = counts.submitted.saturating_sub(self.first.len());
        counts.waiting = self.n_waiting;
        let (sum, n, most) = self.gaps;
        let mean = u32::try_from(sum / n.max(1)).unwrap_or(u32::MAX);
        let mut messages = self.ledger.findings().to_vec();
        messages.extend(self.messages.iter().cloned());
        RunReport {
            ended_ms: self.now_ms,
            last_submission_ms: self.last_submission_ms,
            decisions: self.hash.value(),
            counts,
            first_container: Waits::of(&self.first),
            turnaround: Waits::of(&self.turnaround),
            used_permille: self.usage.permille(self.settings.types),
            gap_permille: (mean, most),
            series: self.series.samples.clone(),
            violations: self.ledger.violations().clone(),
            messages,
            mapping: crate::simulator::MappingReport::default(),
        }
    }
}
