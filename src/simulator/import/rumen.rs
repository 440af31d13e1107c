//! Hadoop job history as Rumen writes it: one JSON object per MapReduce job.
//!
//! Of each task the last attempt counts. Sizes are not in the history: containers and masters get
//! the sizes of the options. Rules may use `queue`, `user`, `name` and `id`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::context::{
    Context, Groups, ImportOptions, ImportStep, Imported, Reader, split_host, time,
};
use super::objects::Objects;
use super::source::Source;
use crate::simulator::workload::{Job, MappingReport, Run, TaskGroup, TraceError, Workload};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoggedJob {
    #[serde(rename = "jobID")]
    job_id: Option<String>,
    job_name: Option<String>,
    user: Option<String>,
    queue: Option<String>,
    submit_time: Option<i64>,
    pub(super) map_tasks: Option<Vec<LoggedTask>>,
    pub(super) reduce_tasks: Option<Vec<LoggedTask>>,
    /// Keys that nothing here uses.
    #[serde(flatten)]
    unused: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct LoggedTask {
    pub(super) attempts: Option<Vec<LoggedAttempt>>,
    /// Keys that nothing here uses.
    #[serde(flatten)]
    unused: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoggedAttempt {
    pub(super) host_name: Option<String>,
    start_time: Option<i64>,
    finish_time: Option<i64>,
    /// Keys that nothing here uses.
    #[serde(flatten)]
    unused: BTreeMap<String, IgnoredAny>,
}

struct JobHistory {
    objects: Objects,
    context: Context,
}

/// The jobs as a workload.
pub fn rumen(source: Source, options: &ImportOptions) -> impl Workload + use<> {
    Imported::new(JobHistory {
        objects: Objects::new(source),
        context: Context::new("rumen", options),
    })
}

impl Reader for JobHistory {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        let Some(job) = self.objects.next_object::<LoggedJob>()? else {
            return Ok(ImportStep::End);
        };
        self.context.report.rows += 1;
        self.job(&job)
            .map_err(|message| self.objects.error(message))
    }
}

impl JobHistory {
    fn job(&mut self, job: &LoggedJob) -> Result<ImportStep, String> {
        let submitted = match job.submit_time {
            None | Some(-1) => {
                self.context.report.drop_row("submitTime unknown");
                return Ok(ImportStep::Dropped);
            }
            Some(ms) => time(u64::try_from(ms).ok(), "submitTime")?,
        };
        let name = job.job_id.clone().ok_or("jobID is missing")?;
        let mut groups = Groups::default();
        for (tasks, reduce) in [(&job.map_tasks, false), (&job.reduce_tasks, true)] {
            for task in tasks.iter().flatten() {
                if let Err(reason) = self.task(task, reduce, &mut groups)? {
                    self.context.report.drop_row(reason);
                    return Ok(ImportStep::Dropped);
                }
            }
        }
        let tasks = groups.finish();
        if tasks.is_empty() {
            self.context.report.drop_row("no tasks");
            return Ok(ImportStep::Dropped);
        }
        let (master, task) = (self.context.options.master, self.context.options.task);
        self.context.filled_in("master", &master);
        self.context.filled_in("containers", &task);
        for key in job.unused.keys() {
            self.context.report.ignore(&format!("key {key}"));
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (own_queue, own_user, own_name) =
            (text(&job.queue), text(&job.user), text(&job.job_name));
        let fields = [
            ("queue", own_queue.as_str()),
            ("user", &own_user),
            ("name", &own_name),
            ("id", &name),
        ];
        let (queue, user) = self
            .context
            .place(&fields, job.queue.as_deref(), job.user.as_deref());
        Ok(ImportStep::job(Job {
            at_ms: submitted,
            user,
            queue,
            name,
            priority: None,
            master: Some(self.context.options.master),
            partition: None,
            tags: Vec::new(),
            tasks,
            line: self.objects.start,
        }))
    }

    /// Adds a task, or says why its job has to be left out.
    fn task(
        &mut self,
        task: &LoggedTask,
        reduce: bool,
        groups: &mut Groups,
    ) -> Result<Result<(), &'static str>, String> {
        let of_attempts = task
            .attempts
            .iter()
            .flatten()
            .flat_map(|attempt| attempt.unused.keys());
        for key in task.unused.keys().chain(of_attempts) {
            self.context.report.ignore(&format!("key {key} of a task"));
        }
        let Some(last) = task.attempts.as_ref().and_then(|attempts| attempts.last()) else {
            return Ok(Err(
                "a task without attempts, as the load simulator refuses such a job",
            ));
        };
        let (Some(start), Some(finish)) = (known(last.start_time), known(last.finish_time)) else {
            return Ok(Err("a task whose start or finish is unknown"));
        };
        let ms = finish
            .checked_sub(start)
            .ok_or("finishTime is before startTime")?;
        let mut group = TaskGroup::new(self.context.options.task, 1, Run::Same(0));
        group.priority = if reduce { 10 } else { 20 };
        group.stage = u32::from(reduce);
        if let Some((host, rack)) = last.host_name.as_deref().and_then(split_host)
            && self.context.options.locality
        {
            group.hosts.push(host);
            group.racks.push(rack);
        }
        groups.push(group, time(Some(ms), "the run time")?)?;
        Ok(Ok(()))
    }
}

fn known(ms: Option<i64>) -> Option<u64> {
    ms.and_then(|ms| u64::try_from(ms).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(text: &str) -> (Vec<Result<Job, String>>, MappingReport) {
        let mut all = rumen(Source::text("t", text), &ImportOptions::default());
        let jobs = all.by_ref().map(|j| j.map_err(|e| e.to_string())).collect();
        (jobs, all.report())
    }

    #[test]
    fn the_last_attempt_of_each_task_counts() {
        let (jobs, report) = jobs(
            r#"{"jobID":"job_1","user":"u","queue":"q","submitTime":1000,"other":{"x":[1]},
              "mapTasks":[{"attempts":[{"startTime":1,"finishTime":9},
                {"hostName":"/r/h","startTime":5,"finishTime":25,"result":"SUCCESS"}]}],
              "reduceTasks":[{"attempts":[{"startTime":30,"finishTime":31}]}]}"#,
        );
        let job = jobs[0].as_ref().unwrap();
        assert_eq!((job.at_ms, job.queue.as_str()), (1000, "q"));
        assert_eq!(
            (job.tasks[0].run.clone(), job.tasks[0].stage),
            (Run::Same(20), 0)
        );
        assert_eq!(job.tasks[0].hosts, ["h"]);
        assert_eq!(
            (job.tasks[1].run.clone(), job.tasks[1].stage),
            (Run::Same(1), 1)
        );
        let filled = "containers: memory-mb 1024, vcores 1, not given";
        assert_eq!(report.guessed[filled], 1);
    }

    #[test]
    fn jobs_without_attempts_or_times_are_dropped_and_nulls_are_taken() {
        let (jobs, report) = jobs(
            r#"{"jobID":"a","submitTime":1,"mapTasks":[{"attempts":[]}],"reduceTasks":null}
               {"jobID":"b","submitTime":-1}
               {"jobID":"c","submitTime":1,"mapTasks":[{"attempts":[{"startTime":-1}]}]}
               {"jobID":"d","submitTime":1,"mapTasks":[]}"#,
        );
        assert!(jobs.is_empty());
        assert_eq!(
            (report.rows, report.dropped.len(), report.n_dropped()),
            (4, 4, 4)
        );
    }

    #[test]
    fn a_task_that_ends_before_it_starts_is_an_error() {
        let (jobs, _) = jobs(
            r#"{"jobID":"a","submitTime":1,
                "mapTasks":[{"attempts":[{"startTime":5,"finishTime":4}]}]}"#,
        );
        assert!(jobs[0].as_ref().unwrap_err().contains("before startTime"));
    }
}
