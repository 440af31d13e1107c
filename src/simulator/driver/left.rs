//! Work that is refused or left: which containers, of which jobs, for which reasons.

use super::jobs::JobLine;
use super::refusal::Refusal;
use super::run::Driver;
use super::running::RunningJob;
use crate::api::{ApplicationId, AskError, Finding, Scheduler, SubmitError};
use crate::api::{refused_call, refused_submission};
use crate::simulator::workload::Job;

/// A job that is not done at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftJob {
    /// Its number.
    pub app: ApplicationId,
    /// Its name in the trace.
    pub name: String,
    /// Its leaf queue.
    pub queue: String,
    /// Containers asked for and not placed, the master's included.
    pub waiting: u64,
    /// Containers not asked for yet.
    pub not_asked: u64,
}

impl<S: Scheduler + ?Sized> Driver<S> {
    /// Jobs that wait for containers or have not asked for all of theirs, in the order of their
    /// submission.
    #[must_use]
    pub fn left(&self) -> Vec<LeftJob> {
        let of_app = |(id, app): (&ApplicationId, &RunningJob)| LeftJob {
            app: *id,
            name: app.job.name.clone(),
            queue: app.queue.to_string(),
            waiting: app.waiting() + u64::from(app.waits_for_master()),
            not_asked: app.not_asked(),
        };
        let open = |job: &LeftJob| job.waiting + job.not_asked > 0;
        let mut left: Vec<LeftJob> = self.apps.iter().map(of_app).filter(open).collect();
        left.sort_by_key(|job| job.app);
        left
    }
}

impl Driver<dyn Scheduler + '_> {
    /// A submission was refused.
    pub(super) fn refused_job(&mut self, id: ApplicationId, job: Job, error: &SubmitError) {
        let containers = job.containers();
        self.counts.refused += 1;
        self.counts.refused_containers += containers;
        let finding = refused_submission(error, &self.settings.type_names);
        self.refused(finding, &job.name, containers);
        let line = JobLine::refused(id, job, self.now_ms, error.to_string());
        self.gone.push(line);
    }

    /// A call was refused as a whole: what it asks for is refused, and the job ends, as the masters
    /// of `MapReduce` and Spark do.
    pub(super) fn refused_call(&mut self, id: ApplicationId, error: &AskError) {
        self.counts.refused_calls += 1;
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        let containers = app.refuse_called();
        app.refusal = error.to_string();
        let (name, leaf) = (app.job.name.clone(), app.leaf);
        self.queues.fewer_waiting(leaf, containers);
        self.counts.refused_containers += containers;
        let finding = refused_call(error, &self.settings.type_names);
        self.refused(finding, &name, containers);
        self.plan(self.now_ms, super::agenda::Due::Finish(id));
    }

    /// Counts a refusal under its reason and setting.
    fn refused(&mut self, finding: Finding, job: &str, containers: u64) {
        let same = |known: &&mut Refusal| {
            (known.finding.reason, &known.finding.property) == (finding.reason, &finding.property)
        };
        if let Some(known) = self.refusals.iter_mut().find(same) {
            known.jobs += 1;
            known.containers += containers;
            return;
        }
        self.refusals.push(Refusal {
            finding,
            jobs: 1,
            containers,
            example: job.to_owned(),
        });
    }
}
