//! What became of each job, reported to a [`RunWatch`](super::RunWatch) when the job leaves the run.

use super::running::RunningJob;
use crate::api::ApplicationId;
use crate::simulator::workload::Job;

/// What became of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLine {
    /// Its name in the trace.
    pub name: String,
    /// Its number in the run, from 1 in the order of submission.
    pub app: ApplicationId,
    /// Submitting user.
    pub user: String,
    /// Leaf queue it was placed in; of a refused job the queue that it names.
    pub queue: String,
    /// Virtual ms of its submission.
    pub submitted_ms: u64,
    /// Virtual ms of its first container besides the master's; nothing when it got none.
    pub first_container_ms: Option<u64>,
    /// Virtual ms of its end; nothing when it had none before the end of the run.
    pub ended_ms: Option<u64>,
    /// Containers that it brings, its master included.
    pub asked: u64,
    /// Containers that it got, its master and those that replace lost ones included.
    pub placed: u64,
    /// How it ended.
    pub outcome: JobOutcome,
    /// Why the scheduler refused it or its last call; empty when it did not.
    pub why: String,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// All its containers ran to their end.
    Finished,
    /// Its master was lost, or the scheduler refused what it asked for.
    Failed,
    /// The scheduler refused its submission.
    Refused,
    /// It was not done when the run ended.
    Unfinished,
}

impl JobOutcome {
    /// The name, as in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Unfinished => "unfinished",
        }
    }
}

impl JobLine {
    /// From submission to the first container besides the master's, in virtual ms.
    #[must_use]
    pub fn waited_ms(&self) -> Option<u64> {
        let first = self.first_container_ms?;
        Some(first.saturating_sub(self.submitted_ms))
    }

    /// The line of a job whose submission the scheduler refused.
    pub(super) fn refused(app: ApplicationId, job: Job, at_ms: u64, why: String) -> Self {
        Self {
            asked: job.containers(),
            name: job.name,
            app,
            user: job.user,
            queue: job.queue,
            submitted_ms: at_ms,
            first_container_ms: None,
            ended_ms: Some(at_ms),
            placed: 0,
            outcome: JobOutcome::Refused,
            why,
        }
    }

    /// The line of a job.
    pub(super) fn of(
        app: ApplicationId,
        running: &RunningJob,
        ended_ms: Option<u64>,
        outcome: JobOutcome,
    ) -> Self {
        Self {
            name: running.job.name.clone(),
            app,
            user: running.job.user.clone(),
            queue: running.queue.to_string(),
            submitted_ms: running.submitted_ms,
            first_container_ms: running.first_container_ms,
            ended_ms,
            asked: running.job.containers(),
            placed: running.containers,
            outcome,
            why: running.refusal.clone(),
        }
    }
}
