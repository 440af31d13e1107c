//! The jobs of a recorded run, by name and number, from its `jobs.csv`.

use std::path::Path;

use anyhow::{Context, Result};
use capsched::api::ApplicationId;
use capsched::simulator::journal::{Call, SubmitCall};
use serde::Deserialize;

use crate::output::Problem;

/// Names that a message suggests.
const SUGGESTED: usize = 3;

/// What `jobs.csv` says of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) app: ApplicationId,
    pub(crate) queue: String,
    pub(crate) user: String,
    pub(crate) submitted_ms: u64,
    pub(crate) first_container_ms: Option<u64>,
    pub(crate) ended_ms: Option<u64>,
    pub(crate) asked: u64,
    pub(crate) placed: u64,
    pub(crate) outcome: String,
}

/// A line of the file.
#[derive(Deserialize)]
struct Row {
    job: String,
    application: String,
    queue: String,
    user: String,
    submitted_ms: u64,
    first_container_ms: Option<u64>,
    ended_ms: Option<u64>,
    containers_asked: u64,
    containers_placed: u64,
    outcome: String,
}

/// All jobs of a run.
#[derive(Debug)]
pub(crate) struct Jobs(Vec<Job>);

impl Job {
    /// An application that a call submits, of which nothing more is known.
    fn submitted(spec: &SubmitCall, at_ms: u64) -> Self {
        Self {
            name: String::new(),
            app: ApplicationId::new(spec.app),
            queue: spec.queue.clone(),
            user: spec.user.clone(),
            submitted_ms: at_ms,
            first_container_ms: None,
            ended_ms: None,
            asked: 0,
            placed: 0,
            outcome: "unfinished".to_owned(),
        }
    }
}

impl Jobs {
    /// Reads the file of a run.
    pub(crate) fn read(run: &Path) -> Result<Self> {
        let path = run.join("jobs.csv");
        let shown = path.display();
        let reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_path(&path);
        let mut reader = reader.with_context(|| shown.to_string())?;
        let head = reader
            .headers()
            .map(|head| head.iter().any(|name| name == "outcome"));
        if !head.is_ok_and(|whole| whole) {
            let problem = format!(
                "{shown}: no list of jobs, or a part of one: its head lacks the column outcome"
            );
            return Err(anyhow::Error::new(Problem(problem)));
        }
        let mut jobs = Vec::new();
        for row in reader.deserialize() {
            let row: Row =
                row.map_err(|error| anyhow::Error::new(Problem(format!("{shown}: {error}"))))?;
            let problem = || Problem(format!("{shown}: {} is no application", row.application));
            let sequence = sequence_of(&row.application).ok_or_else(problem)?;
            jobs.push(Job {
                name: row.job,
                app: ApplicationId::new(sequence),
                queue: row.queue,
                user: row.user,
                submitted_ms: row.submitted_ms,
                first_container_ms: row.first_container_ms,
                ended_ms: row.ended_ms,
                asked: row.containers_asked,
                placed: row.containers_placed,
                outcome: row.outcome,
            });
        }
        jobs.sort_by_key(|job| job.app);
        Ok(Self(jobs))
    }

    /// The applications that calls submit, which have no names of jobs.
    pub(crate) fn of_calls(calls: &[Call]) -> Self {
        let (mut now_ms, mut jobs) = (0, Vec::<Job>::new());
        for call in calls {
            match call {
                Call::Advance { to_ms } => now_ms = *to_ms,
                Call::Submit(spec) => jobs.push(Job::submitted(spec, now_ms)),
                Call::RecoverApp(call) => jobs.push(Job::submitted(&call.submission, now_ms)),
                Call::FinishApp { app } => {
                    let ended = jobs.iter_mut().rev().find(|job| job.app.sequence == *app);
                    if let Some(job) = ended {
                        job.ended_ms = Some(now_ms);
                        "finished".clone_into(&mut job.outcome);
                    }
                }
                _ => {}
            }
        }
        jobs.sort_by_key(|job| job.app);
        Self(jobs)
    }

    /// The applications of a server.
    pub(super) fn of_server(mut jobs: Vec<Job>) -> Self {
        jobs.sort_by_key(|job| job.app);
        Self(jobs)
    }

    /// A job by its number.
    pub(crate) fn of(&self, app: ApplicationId) -> Option<&Job> {
        let at = self.0.binary_search_by_key(&app, |job| job.app).ok()?;
        self.0.get(at)
    }

    /// A job by its name, its application, or its number.
    pub(crate) fn find(&self, text: &str) -> Result<&Job> {
        let mut named = self.0.iter().filter(|job| job.name == text);
        if let Some(job) = named.next() {
            if named.next().is_none() {
                return Ok(job);
            }
            let problem = format!(
                "several jobs have the name {}; name the application, such as {}",
                text.escape_debug(),
                job.app
            );
            return Err(anyhow::Error::new(Problem(problem)));
        }
        let numbered = sequence_of(text).and_then(|sequence| self.of(ApplicationId::new(sequence)));
        numbered.ok_or_else(|| {
            let (shown, near) = (text.escape_debug(), self.near(text));
            anyhow::Error::new(Problem(format!("the run has no application {shown}{near}")))
        })
    }

    /// Names that contain what was asked for, or the range of numbers.
    fn near(&self, text: &str) -> String {
        let alike = |job: &&Job| !text.is_empty() && job.name.contains(text);
        let names: Vec<&str> = self
            .0
            .iter()
            .filter(alike)
            .map(|job| job.name.as_str())
            .collect();
        match (names.as_slice(), self.0.first(), self.0.last()) {
            ([], Some(first), Some(last)) => format!("; it has {} to {}", first.app, last.app),
            ([], ..) => "; it has none".to_owned(),
            (names, ..) => {
                let first = names[..names.len().min(SUGGESTED)].join(", ");
                format!("; did you mean {}?", first.escape_debug())
            }
        }
    }
}

/// The number at the end of `application_1_0017`, `app_1700_0017` or `17`.
fn sequence_of(text: &str) -> Option<u32> {
    let mut parts = text.rsplit('_');
    let number = parts.next()?;
    let kind = text.split('_').next()?;
    let named = number.len() == text.len() || matches!(kind, "application" | "app");
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (named && digits).then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applications_are_named_in_three_ways() {
        for text in ["17", "application_1_0017", "app_1700_0017"] {
            assert_eq!(sequence_of(text), Some(17), "{text}");
        }
        for text in ["", "job_17", "application_", "-3", "99999999999"] {
            assert_eq!(sequence_of(text), None, "{text}");
        }
    }
}
