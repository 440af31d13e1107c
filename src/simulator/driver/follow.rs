//! What follows from a decision: calls of applications, runs of containers, stages, ends.

use super::agenda::Due;
use super::jobs::{JobLine, JobOutcome};
use super::record::RunWatch;
use super::run::Driver;
use super::running::RunningJob;
use crate::api::{
    AppError, ApplicationId, ContainerId, Ending, Event, GangAsk, GangEvent, GangStep, NodeName,
    Scheduler,
};

impl Driver<dyn Scheduler + '_> {
    pub(super) fn plan_call(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if !app.started || app.call_due {
            return;
        }
        app.call_due = true;
        // What is decided in the middle of some work is not known before.
        let now_ms = self.now_ms.max(self.seen_us.div_ceil(1000));
        let at_ms = app
            .called_ms
            .map_or(now_ms, |called| called + self.settings.call_ms)
            .max(now_ms);
        self.plan(at_ms, Due::Call(id));
    }

    pub(super) fn call(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        app.call_due = false;
        app.called_ms = Some(self.now_ms);
        let gangs = app.gangs(self.now_ms);
        if !gangs.is_empty() {
            // What they bring is followed before it is taken over.
            app.call_due = true;
            self.plan(self.now_ms, Due::Call(id));
            self.ask_gangs(id, gangs);
            return;
        }
        let call = app.call(self.now_ms);
        self.ledger.asked(id, &call);
        match self.scheduler.ask(id, call) {
            Ok(reply) => {
                self.ledger.replied(id, &reply);
                for granted in reply.allocated {
                    self.start(granted.container);
                }
            }
            Err(refusal) => self.refused_call(id, &refusal),
        }
    }

    /// Asks for gangs. One that is refused ends its application, as a refused call does.
    fn ask_gangs(&mut self, id: ApplicationId, gangs: Vec<GangAsk>) {
        for gang in gangs {
            let request_id = gang.request_id;
            self.ledger.gang_asked(id, &gang, self.now_ms);
            let Err(refusal) = self.scheduler.ask_gang(id, gang) else {
                continue;
            };
            self.ledger.gang_refused(id);
            if let Some(app) = self.apps.get_mut(&id) {
                app.give_up_gang(request_id, false);
            }
            return self.refused_call(id, &refusal);
        }
    }

    /// A gang was given up: its application asks for it again with its next call.
    fn gang_stepped(&mut self, gang: &GangEvent) {
        if !matches!(gang.step, GangStep::Expired { .. }) {
            return;
        }
        if let Some(app) = self.apps.get_mut(&gang.app) {
            app.give_up_gang(gang.request_id, true);
            self.plan_call(gang.app);
        }
    }

    /// A container was taken over and runs from now on.
    fn start(&mut self, container: ContainerId) {
        let Some(app) = self.apps.get(&container.app) else {
            return;
        };
        let Some(&(group, index)) = app.live.get(&container.number) else {
            return;
        };
        if let Some(ms) = app.job.tasks[group].run.of(index) {
            self.plan(self.now_ms.saturating_add(ms), Due::End(container));
        }
    }

    pub(super) fn end(&mut self, container: ContainerId) {
        let id = container.app;
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        let Some((group, _)) = app.live.remove(&container.number) else {
            return;
        };
        app.complete(group);
        let result = self.scheduler.container_finished(container);
        self.noted(result.err());
        self.counts.completed += 1;
        self.go_on(id);
    }

    /// Begins the next stage, or ends the application when there is none.
    pub(super) fn go_on(&mut self, id: ApplicationId) {
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

    pub(super) fn want(&mut self, id: ApplicationId, group: usize) {
        if let Some(app) = self.apps.get_mut(&id) {
            let (n, leaf) = (app.want(group), app.leaf);
            self.queues.more_waiting(leaf, n);
        }
    }

    pub(super) fn finish(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.remove(&id) else {
            return;
        };
        let waiting = app.waiting() + u64::from(app.waits_for_master());
        self.queues.fewer_waiting(app.leaf, waiting);
        let outcome = if app.is_done() {
            self.counts.finished += 1;
            self.turnaround.record(self.now_ms - app.submitted_ms, 1);
            JobOutcome::Finished
        } else {
            self.counts.failed += 1;
            self.counts.not_asked += waiting + app.not_asked();
            JobOutcome::Failed
        };
        let line = JobLine::of(id, &app, Some(self.now_ms), outcome);
        self.gone.push(line);
        // The master of a job that is done ends by itself, as its tasks do. Whatever else the job holds is killed.
        let master = app.master.filter(|_| app.is_done());
        if let Some(master) = master {
            let result = self.scheduler.container_finished(master);
            self.noted(result.err());
        }
        match self.scheduler.finish_app(id) {
            // The application ended with its master.
            Err(AppError::Unknown(_)) if master.is_some() => {}
            result => _ = self.noted(result.err()),
        }
        self.ledger.app_ended(id);
    }

    /// Takes everything that the scheduler did, in order.
    pub(super) fn take_events(&mut self, watch: &mut dyn RunWatch) {
        let mut events = std::mem::take(&mut self.events);
        self.scheduler.events(&mut events);
        if !events.is_empty() {
            self.changed = true;
            self.changed_ms = self.now_ms;
        }
        let decided = events.iter().filter(|event| is_decision(event)).count();
        let decided = u64::try_from(decided).expect("a number of events fits in a u64");
        let span = self.pace.as_mut().and_then(|pace| pace.end(decided));
        let (mut moved, mut decisions) = (false, 0);
        for event in &events {
            moved |= moves_a_container(event);
            decisions += u64::from(is_decision(event));
            self.seen_us = match &span {
                Some(span) => span.seen_us(decisions),
                None => self.now_ms.saturating_mul(1000),
            };
            self.hash.add(self.now_ms, event);
            watch.decision(self.now_ms, event);
            self.ledger.event(event);
            self.follow(event);
        }
        events.clear();
        self.events = events;
        if moved {
            self.figures_so_far();
        }
        for job in self.gone.drain(..) {
            watch.job(&job);
        }
        self.ledger.gangs_at(self.now_ms);
        self.ledger.check_when_due();
    }

    /// What one event brings about.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Allocated {
                container,
                node,
                key,
                ..
            } => self.allocated(*container, node, key.request_id),
            Event::Reserved { .. } => self.counts.reserved += 1,
            // Who drives the applications has none that end by themselves but by what it drives.
            // None of them changes containers or asks for opportunistic ones either.
            Event::ReservationMoved { .. }
            | Event::MasterLost { .. }
            | Event::AttemptEnded { .. }
            | Event::AppEnded { .. }
            | Event::Updated { .. }
            | Event::Rejected { .. }
            | Event::Lost { .. }
            | Event::Opportunistic(_) => {}
            Event::Gang(gang) => self.gang_stepped(gang),
            Event::Ended {
                container, ending, ..
            } => self.released(*container, Some(*ending)),
            Event::Unreserved { container, .. } => self.released(*container, None),
            Event::MasterStarted { app, container } => {
                if let Some(running) = self.apps.get_mut(app) {
                    running.started = true;
                    running.master = container.or(running.master);
                    self.go_on(*app);
                }
            }
        }
    }

    /// Shows the jobs that are not done, in the order of their submission.
    pub(super) fn show_unfinished(&self, watch: &mut dyn RunWatch) {
        let mut left: Vec<(&ApplicationId, &RunningJob)> = self.apps.iter().collect();
        left.sort_unstable_by_key(|(id, _)| **id);
        for (id, app) in left {
            watch.job(&JobLine::of(*id, app, None, JobOutcome::Unfinished));
        }
    }

    fn allocated(&mut self, container: ContainerId, node: &NodeName, request_id: i64) {
        self.counts.allocations += 1;
        let Some(app) = self.apps.get_mut(&container.app) else {
            self.counts.strays += 1;
            return;
        };
        app.containers += 1;
        let leaf = app.leaf;
        if request_id == -1 && app.job.master.is_some() && app.master.is_none() {
            app.master = Some(container);
            self.counts.placed += 1;
            self.counts.masters += 1;
            self.queues.fewer_waiting(leaf, 1);
            return;
        }
        let group = usize::try_from(request_id).unwrap_or(usize::MAX);
        let Some((index, asked_ms)) = app.place(group) else {
            self.counts.strays += 1;
            return;
        };
        app.live.insert(container.number, (group, index));
        self.placing.count(&app.job.tasks[group], node);
        self.counts.placed += 1;
        let asked_us = asked_ms.unwrap_or(self.now_ms).saturating_mul(1000);
        self.delays.record(self.seen_us.saturating_sub(asked_us), 1);
        if app.first_container_ms.is_none() {
            let seen_ms = self.now_ms.max(self.seen_us / 1000);
            app.first_container_ms = Some(seen_ms);
            let waited = seen_ms - app.submitted_ms;
            self.first.record(waited, 1);
            self.queues.first_after(leaf, waited);
        }
        self.queues.fewer_waiting(leaf, 1);
        self.plan_call(container.app);
    }

    fn released(&mut self, container: ContainerId, ending: Option<Ending>) {
        if !matches!(ending, Some(Ending::Finished) | None) {
            // Its node frees the space with its next heartbeat.
            self.reported_ms = self.now_ms.saturating_add(self.settings.heartbeat_ms);
        }
        let lost = ending == Some(Ending::Killed);
        let Some(app) = self.apps.get_mut(&container.app) else {
            return;
        };
        if let Some((group, _)) = app.live.remove(&container.number) {
            app.lose(group);
            self.counts.lost += u64::from(lost);
            self.counts.placed -= 1;
            let leaf = app.leaf;
            self.queues.more_waiting(leaf, 1);
            self.plan_call(container.app);
        } else if app.master == Some(container) {
            app.master = None;
            self.counts.lost += u64::from(lost);
            self.plan(self.now_ms, Due::Finish(container.app));
        }
    }
}

/// Whether an event is what one proposal came to.
const fn is_decision(event: &Event) -> bool {
    matches!(
        event,
        Event::Allocated { .. } | Event::Reserved { .. } | Event::ReservationMoved { .. }
    )
}

/// Whether a container was placed or ended, so that the figures of a run cover the event.
const fn moves_a_container(event: &Event) -> bool {
    match event {
        Event::Allocated { .. } | Event::Ended { .. } => true,
        Event::Reserved { .. }
        | Event::Unreserved { .. }
        | Event::Rejected { .. }
        | Event::ReservationMoved { .. }
        | Event::Updated { .. }
        | Event::MasterStarted { .. }
        | Event::MasterLost { .. }
        | Event::AttemptEnded { .. }
        | Event::AppEnded { .. }
        | Event::Gang(_)
        | Event::Lost { .. }
        | Event::Opportunistic(_) => false,
    }
}
