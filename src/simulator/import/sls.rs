//! Jobs of Hadoop's load simulator (SLS): JSON objects one after the other.
//!
//! Rules may use `queue`, `user`, `type` (of the application master), `label` and `id`.

use serde_json::{Map, Value};

use super::context::{
    Context, Groups, ImportOptions, ImportStep, Imported, MAX_CONTAINERS, Reader, json_at,
    json_text, split_host, time,
};
use super::objects::Objects;
use super::source::Source;
use crate::simulator::workload::{Job, MappingReport, Run, TaskGroup, TraceError, Workload};

/// Keys of a task that begin like those of its resources.
pub(super) const OTHER_KEYS: [&str; 9] = [
    "host",
    "start.ms",
    "end.ms",
    "duration.ms",
    "type",
    "priority",
    "execution.type",
    "allocation.id",
    "request.delay",
];

/// Keys of a job that are used, but for the sizes of its master.
const JOB_KEYS: [&str; 9] = [
    "yarn.sls.am.type",
    "am.type",
    "job.start.ms",
    "job.queue.name",
    "job.id",
    "job.user",
    "job.count",
    "job.label.expression",
    "job.tasks",
];

/// Keys of a task that are used, but for its sizes.
const TASK_KEYS: [&str; 2] = ["count", "duration.ms"];

struct SlsJobs {
    objects: Objects,
    context: Context,
    /// Copies of the last job that are still to be given, and the number of the next one.
    copies: Option<(Job, u64, u64)>,
}

/// The jobs as a workload. Objects that describe nodes are skipped; see [`nodes`](super::nodes).
pub fn sls(source: Source, options: &ImportOptions) -> impl Workload + use<> {
    Imported::new(SlsJobs {
        objects: Objects::new(source),
        context: Context::new("sls", options),
        copies: None,
    })
}

impl Reader for SlsJobs {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        if let Some(job) = self.copy() {
            return Ok(ImportStep::job(job));
        }
        let Some(object) = self.objects.next_object::<Map<String, Value>>()? else {
            return Ok(ImportStep::End);
        };
        if object.contains_key("num.nodes") || object.contains_key("nodes") {
            return Ok(ImportStep::Dropped);
        }
        self.context.report.rows += 1;
        self.context.unused(&object, &JOB_KEYS, "am.");
        self.job(&object)
            .map_err(|message| self.objects.error(message))
    }
}

impl SlsJobs {
    fn copy(&mut self) -> Option<Job> {
        let (job, number, left) = self.copies.as_mut()?;
        let mut copy = job.clone();
        copy.name = format!("{}.{number}", job.name);
        *number += 1;
        *left -= 1;
        if *left == 0 {
            self.copies = None;
        }
        Some(copy)
    }

    fn job(&mut self, object: &Map<String, Value>) -> Result<ImportStep, String> {
        let at_ms = json_at(object, "job.start.ms")?.ok_or("job.start.ms is missing")?;
        let at_ms = time(Some(at_ms), "job.start.ms")?;
        let kind = match json_text(object, "yarn.sls.am.type")? {
            Some(kind) => Some(kind),
            None => json_text(object, "am.type")?,
        };
        let kind = kind.unwrap_or_else(|| "mapreduce".to_owned());
        let tasks = match self.tasks(object, kind == "mapreduce")? {
            Ok(tasks) => tasks,
            Err(reason) => {
                self.context.report.drop_row(reason);
                return Ok(ImportStep::Dropped);
            }
        };
        let name = match json_text(object, "job.id")? {
            Some(name) => name,
            None => format!("job-{}", self.context.report.rows),
        };
        let label = json_text(object, "job.label.expression")?;
        let (own_queue, own_user) = (
            json_text(object, "job.queue.name")?,
            json_text(object, "job.user")?,
        );
        let fields = [
            ("queue", own_queue.as_deref().unwrap_or("")),
            ("user", own_user.as_deref().unwrap_or("")),
            ("type", kind.as_str()),
            ("label", label.as_deref().unwrap_or("")),
            ("id", name.as_str()),
        ];
        if own_queue.is_none() && self.context.options.map.apply(&fields).0.is_none() {
            return Err("job.queue.name is missing".to_owned());
        }
        let (queue, user) = self
            .context
            .place(&fields, own_queue.as_deref(), own_user.as_deref());
        let copies = json_at(object, "job.count")?.unwrap_or(1).max(1);
        if copies > MAX_CONTAINERS {
            return Err(format!("job.count is above {MAX_CONTAINERS}"));
        }
        let default_master = self.context.options.master;
        let master = self
            .context
            .sized(object, "am.", &["type"], default_master)?;
        let job = Job {
            at_ms,
            user,
            queue,
            name,
            priority: None,
            master: Some(master),
            partition: label.filter(|label| !label.is_empty()),
            tags: Vec::new(),
            tasks,
            line: self.objects.start,
        };
        if copies == 1 {
            return Ok(ImportStep::job(job));
        }
        self.copies = Some((job, 1, copies));
        Ok(self.copy().map_or(ImportStep::Dropped, ImportStep::job))
    }

    /// The groups of a job's tasks, or why the job is left out.
    fn tasks(
        &mut self,
        object: &Map<String, Value>,
        map_reduce: bool,
    ) -> Result<Result<Vec<TaskGroup>, &'static str>, String> {
        let tasks: &[Value] = match object.get("job.tasks") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(tasks)) => tasks,
            Some(_) => return Err("job.tasks is not a list".to_owned()),
        };
        if tasks.is_empty() {
            return Ok(Err("no tasks, as the load simulator fails such a job"));
        }
        let mut groups = Groups::default();
        for task in tasks {
            let Value::Object(task) = task else {
                return Err("an entry of job.tasks is not an object".to_owned());
            };
            if !self.task(task, map_reduce, &mut groups)? {
                return Ok(Err("a task without a run time above 0 ms"));
            }
        }
        Ok(Ok(groups.finish()))
    }

    /// Counts the keys of a task that are not used.
    fn unused_of_task(&mut self, task: &Map<String, Value>, map_reduce: bool) {
        self.context.unused(task, &TASK_KEYS, "container.");
        for key in ["container.execution.type", "container.allocation.id"] {
            if task.contains_key(key) {
                self.context.report.ignore(&format!("key {key}"));
            }
        }
        if map_reduce && task.contains_key("container.priority") {
            let what = "key container.priority: MapReduce has its own";
            self.context.report.ignore(what);
        }
    }

    /// Adds a task; false when it has no run time, which fails its job.
    fn task(
        &mut self,
        task: &Map<String, Value>,
        map_reduce: bool,
        groups: &mut Groups,
    ) -> Result<bool, String> {
        let Some(ms) = run_time(task)?.filter(|&ms| ms > 0) else {
            return Ok(false);
        };
        self.unused_of_task(task, map_reduce);
        let size = self.context.options.task;
        let size = self.context.sized(task, "container.", &OTHER_KEYS, size)?;
        let count = json_at(task, "count")?.unwrap_or(1).max(1);
        let count = u32::try_from(count).map_err(|_| "count is too large")?;
        let mut group = TaskGroup::new(size, count, Run::Same(0));
        let reduce = json_text(task, "container.type")?.as_deref() == Some("reduce");
        group.priority = priority(task)?;
        if map_reduce {
            // As MRAMSimulator: its own priorities, and no reduce before all maps are done.
            group.priority = if reduce { 10 } else { 20 };
            group.stage = u32::from(reduce);
        }
        group.delay_ms = delay(task)?;
        if let Some(host) = json_text(task, "container.host")? {
            let (host, rack) = split_host(&host)
                .ok_or_else(|| format!("container.host `{host}` is not /rack/host"))?;
            if self.context.options.locality {
                group.hosts.push(host);
                group.racks.push(rack);
            }
        }
        groups.push(group, time(Some(ms), "the run time")?)?;
        Ok(true)
    }
}

fn priority(task: &Map<String, Value>) -> Result<i32, String> {
    let priority = json_at(task, "container.priority")?.unwrap_or(20);
    i32::try_from(priority).map_err(|_| "container.priority is too large".to_owned())
}

/// The delay of a request; below 0 it counts as 0, as in `DAGAMSimulator`.
fn delay(task: &Map<String, Value>) -> Result<u64, String> {
    match task.get("container.request.delay") {
        Some(value) if value.as_i64().is_some_and(|delay| delay < 0) => Ok(0),
        _ => time(
            Some(json_at(task, "container.request.delay")?.unwrap_or(0)),
            "container.request.delay",
        ),
    }
}

/// How long a task runs, in milliseconds; nothing where its file does not say.
fn run_time(task: &Map<String, Value>) -> Result<Option<u64>, String> {
    for key in ["container.duration.ms", "duration.ms"] {
        if let Some(ms) = json_at(task, key)? {
            return Ok(Some(ms));
        }
    }
    let start: Option<u64> = json_at(task, "container.start.ms")?;
    let end = json_at(task, "container.end.ms")?;
    let Some((start, end)) = start.zip(end) else {
        return Ok(None);
    };
    let ms: Option<u64> = u64::checked_sub(end, start);
    Ok(Some(
        ms.ok_or("container.end.ms is before container.start.ms")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ResourceVector;

    fn jobs(text: &str) -> (Vec<Result<Job, String>>, MappingReport) {
        let mut all = sls(Source::text("t", text), &ImportOptions::default());
        let jobs = all.by_ref().map(|j| j.map_err(|e| e.to_string())).collect();
        (jobs, all.report())
    }

    const TASKS: &str = r#""job.tasks":[{"count":8,"duration.ms":20000,"container.type":"map"},
        {"count":"2","duration.ms":30000,"container.priority":5,"container.type":"reduce",
         "container.memory-mb":2048,"container.host":"/r/n1"}]}"#;

    #[test]
    fn a_job_has_a_master_and_reduces_wait_for_maps() {
        let (jobs, report) = jobs(&format!(
            r#"{{"num.nodes":3}}
            {{"am.type":"mapreduce","job.start.ms":5,"job.queue.name":"root.a","job.id":"j1",
              "am.vcores":2,{TASKS}"#
        ));
        let job = jobs[0].as_ref().unwrap();
        assert_eq!(
            (job.line, job.name.as_str(), job.user.as_str()),
            (2, "j1", "default")
        );
        assert_eq!(job.master, Some(ResourceVector::of(&[1024, 2])));
        let [map, reduce] = &job.tasks[..] else {
            panic!("two groups");
        };
        assert_eq!((map.count, map.priority, map.stage), (8, 20, 0));
        assert_eq!((reduce.count, reduce.priority, reduce.stage), (2, 10, 1));
        assert_eq!(reduce.size, ResourceVector::of(&[2048, 1]));
        assert_eq!(
            (reduce.hosts[0].as_str(), reduce.racks[0].as_str()),
            ("n1", "/r")
        );
        assert_eq!((report.rows, report.used), (1, 1));
        assert_eq!(report.guessed["default user"], 1);
    }

    #[test]
    fn other_masters_keep_the_priorities_and_delays_of_the_trace() {
        let (jobs, _) = jobs(
            r#"{"yarn.sls.am.type":"dag","job.start.ms":0,"job.queue.name":"a","job.count":2,
                "job.tasks":[{"container.start.ms":10,"container.end.ms":25,
                "container.request.delay":1000,"container.type":"reduce"}]}"#,
        );
        let names: Vec<&str> = jobs
            .iter()
            .map(|j| j.as_ref().unwrap().name.as_str())
            .collect();
        assert_eq!(names, ["job-1.1", "job-1.2"]);
        let group = &jobs[1].as_ref().unwrap().tasks[0];
        assert_eq!((group.priority, group.stage, group.delay_ms), (20, 0, 1000));
        assert_eq!(group.run, Run::Same(15));
    }

    #[test]
    fn resources_that_the_cluster_lacks_are_counted() {
        let (jobs, report) = jobs(
            r#"{"am.type":"mapreduce","am.memory":2048,"job.start.ms":0,"job.queue.name":"a",
                "job.tasks":[{"duration.ms":5,"container.host":"/r/n","container.type":"map",
                "container.memory":512,"container.yarn.io/gpu":1}]}"#,
        );
        let job = jobs[0].as_ref().unwrap();
        assert_eq!(job.tasks[0].size.memory(), 512);
        assert_eq!(report.lost.len(), 1);
        assert_eq!(
            report.lost["container.yarn.io/gpu (no type of the cluster)"],
            1
        );
        assert_eq!(report.guessed["container.vcores 1, not given"], 1);
        assert_eq!(report.guessed["am.vcores 1, not given"], 1);
    }

    #[test]
    fn jobs_that_the_load_simulator_fails_are_dropped_with_their_reason() {
        let (jobs, report) = jobs(
            r#"{"job.start.ms":0,"job.queue.name":"a","job.tasks":[]}
               {"job.start.ms":0,"job.queue.name":"a","job.tasks":[{"duration.ms":0}]}
               {"job.start.ms":0,"job.queue.name":"a","job.tasks":[{"duration.ms":1}]}"#,
        );
        assert_eq!((jobs.len(), report.rows, report.n_dropped()), (1, 3, 2));
    }

    #[test]
    fn bad_jobs_are_errors_with_their_line() {
        for (body, message) in [
            (
                r#""job.queue.name":"a","job.tasks":[{"duration.ms":1}]"#,
                "job.start.ms is missing",
            ),
            (r#""job.start.ms":-1"#, "job.start.ms is negative"),
            (r#""job.start.ms":"NaN""#, "not a whole number"),
            (r#""job.start.ms":1e400"#, "number out of range"),
            (
                r#""job.start.ms":18446744073709551615"#,
                "beyond every calendar",
            ),
            (
                r#""job.start.ms":0,"job.tasks":[{"duration.ms":1}]"#,
                "job.queue.name is missing",
            ),
            (r#""job.start.ms":0,"job.tasks":{"a":1}"#, "not a list"),
            (
                r#""job.start.ms":0,"job.queue.name":"a",
                   "job.tasks":[{"container.start.ms":9,"container.end.ms":1}]"#,
                "before container.start.ms",
            ),
            (
                r#""job.start.ms":0,"job.queue.name":"a",
                   "job.tasks":[{"duration.ms":9,"count":1000001}]"#,
                "more than 1000000 containers",
            ),
            (
                r#""job.start.ms":0,"job.queue.name":"a",
                   "job.tasks":[{"duration.ms":9,"container.host":"/x"}]"#,
                "not /rack/host",
            ),
        ] {
            let (jobs, _) = jobs(&format!("\n{{{body}}}"));
            let error = jobs[0].as_ref().unwrap_err();
            assert!(
                error.starts_with("t:2") && error.contains(message),
                "{error}"
            );
        }
    }
}
