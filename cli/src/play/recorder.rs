//! What a run writes while it goes: each decision and each job, so that nothing of them stays in memory.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result};
use capsched::api::Event;
use capsched::simulator::{JobLine, JsonLog, RunWatch};

use super::files::synced;
#[cfg(feature = "parquet")]
use super::parquet_jobs::JobsParquet;

/// Columns of `jobs.csv`.
const COLUMNS: [&str; 12] = [
    "job",
    "application",
    "queue",
    "user",
    "submitted_ms",
    "first_container_ms",
    "ended_ms",
    "waited_ms",
    "containers_asked",
    "containers_placed",
    "outcome",
    "why",
];

/// The logs of decisions and of jobs.
pub(crate) struct Recorder {
    decisions: JsonLog<BufWriter<File>>,
    jobs: csv::Writer<BufWriter<File>>,
    failed: Option<csv::Error>,
    #[cfg(feature = "parquet")]
    table: JobsParquet,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Logs into files that hold what made them.
    pub(super) fn new(
        decisions: BufWriter<File>,
        jobs: BufWriter<File>,
        types: usize,
        #[cfg(feature = "parquet")] table: JobsParquet,
    ) -> Result<Self> {
        let mut jobs = csv::Writer::from_writer(jobs);
        jobs.write_record(COLUMNS).context("jobs.csv")?;
        Ok(Self {
            decisions: JsonLog::new(decisions, types),
            jobs,
            failed: None,
            #[cfg(feature = "parquet")]
            table,
        })
    }

    /// Writes both logs to the disk.
    pub(crate) fn finish(self) -> Result<()> {
        let decisions = self.decisions.finish().context("decisions.jsonl")?;
        synced(decisions).context("decisions.jsonl")?;
        if let Some(error) = self.failed {
            return Err(error).context("jobs.csv");
        }
        #[cfg(feature = "parquet")]
        self.table.finish()?;
        let jobs = self.jobs.into_inner();
        let jobs = jobs.map_err(csv::IntoInnerError::into_error);
        synced(jobs.context("jobs.csv")?).context("jobs.csv")
    }
}

impl RunWatch for Recorder {
    fn decision(&mut self, at_ms: u64, event: &Event) {
        self.decisions.decision(at_ms, event);
    }

    fn job(&mut self, job: &JobLine) {
        #[cfg(feature = "parquet")]
        self.table.add(job);
        let time = |ms: Option<u64>| ms.map_or_else(String::new, |ms| ms.to_string());
        let line = [
            job.name.clone(),
            job.app.to_string(),
            job.queue.clone(),
            job.user.clone(),
            job.submitted_ms.to_string(),
            time(job.first_container_ms),
            time(job.ended_ms),
            time(job.waited_ms()),
            job.asked.to_string(),
            job.placed.to_string(),
            job.outcome.name().to_owned(),
            job.why.clone(),
        ];
        if self.failed.is_none() {
            self.failed = self.jobs.write_record(&line).err();
        }
    }
}
