//! What follows from a decision: calls of applications, runs of containers, stages, ends.

use super::agenda::Due;
use super::jobs::{JobLine, JobOutcome};
use super::record::Watch;
use super::run::Driver;
use crate::api::{ApplicationId, ContainerId, Event, ReleaseReason, Scheduler};

impl<S: Scheduler> Driver<S> {
    pub(super) fn plan_call(&mut self, id: ApplicationId) {
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

    pub(super) fn call(&mut self, id: ApplicationId) {
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

    pub(super) fn end(&mut self, container: ContainerId) {
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
            let n = app.want(group);
            let queue = app.queue.clone();
            self.more_waiting(&queue, n);
        }
    }

    pub(super) fn finish(&mut self, id: ApplicationId) {
        let Some(app) = self.apps.remove(&id) else {
            return;
        };
        let master_waits = app.job.master.is_some() && app.master.is_none() && !app.started;
        self.fewer_waiting(&app.queue, app.waiting() + u64::from(master_waits));
        let outcome = if app.is_done() {
            self.counts.finished += 1;
            self.turnaround.record(self.now_ms - app.submitted_ms, 1);
            JobOutcome::Finished
        } else {
            self.counts.failed += 1;
            self.live.retain(|container, _| container.app != id);
            JobOutcome::Failed
        };
        let line = JobLine::of(id, app, Some(self.now_ms), outcome);
        self.gone.push(line);
        let result = self.scheduler.finish_app(id);
        self.noted(result.err());
        self.ledger.app_ended(id);
    }

    /// Takes everything that the scheduler did, in order.
    pub(super) fn take_events(&mut self, watch: &mut dyn Watch) {
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
                Event::ReservationMoved { .. } => {}
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
        for job in self.gone.drain(..) {
            watch.job(&job);
        }
        self.ledger.check_when_due();
    }

    /// Shows the jobs that are not done, in the order of their submission.
    pub(super) fn show_unfinished(&mut self, watch: &mut dyn Watch) {
        let mut left: Vec<ApplicationId> = self.apps.keys().copied().collect();
        left.sort_unstable();
        for id in left {
            if let Some(app) = self.apps.remove(&id) {
                watch.job(&JobLine::of(id, app, None, JobOutcome::Unfinished));
            }
        }
    }

    fn allocated(&mut self, container: ContainerId, request_id: i64) {
        self.counts.placed += 1;
        let Some(app) = self.apps.get_mut(&container.app) else {
            self.counts.strays += 1;
            return;
        };
        app.containers += 1;
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
        if app.first_container_ms.is_none() {
            app.first_container_ms = Some(self.now_ms);
            self.first.record(self.now_ms - app.submitted_ms, 1);
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
}
