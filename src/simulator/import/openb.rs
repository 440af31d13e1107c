//! Alibaba's GPU cluster of 2023 ("openb"): pods as CSV, one application with one container each.
//!
//! The trace has no users and queues: without a rule the queue is `root.<qos>` and the user one of
//! 32, by the shape of the request. Rules may use `qos`, `name`, `pod_phase`, `gpu_spec` and
//! `num_gpu`. A pod is an unmanaged application: it has no master of its own. That a fraction of a
//! GPU must lie within one device is not modelled.

use super::context::{
    Context, ImportOptions, ImportStep, Imported, Reader, amount, seconds, whole,
};
use super::lines::Records;
use super::source::Source;
use crate::api::ResourceVector;
use crate::simulator::statistics::mix;
use crate::simulator::workload::{Job, MappingReport, Run, TaskGroup, TraceError, Workload};

const REQUIRED: [&str; 5] = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
const OPTIONAL: [&str; 6] = [
    "gpu_spec",
    "qos",
    "pod_phase",
    "creation_time",
    "deletion_time",
    "scheduled_time",
];

/// Users that the shapes of requests are spread over.
const USERS: u64 = 32;

struct Pods {
    records: Records,
    required: [usize; 5],
    optional: [Option<usize>; 6],
    context: Context,
}

/// The pod list as a workload; both layouts, with times and without.
///
/// # Errors
///
/// When the header cannot be read or lacks a column.
pub fn openb(source: Source, options: &ImportOptions) -> Result<impl Workload + use<>, TraceError> {
    let (records, required, optional) = Records::new(source, REQUIRED, OPTIONAL)?;
    let mut context = Context::new("openb", options);
    records.note_unused(&mut context.report);
    // The phase is an outcome of the other scheduler; rules alone may read it.
    if optional[2].is_some() && !options.map.uses("pod_phase") {
        context.report.ignore("column pod_phase");
    }
    Ok(Imported::new(Pods {
        records,
        required,
        optional,
        context,
    }))
}

impl Reader for Pods {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        if !self.records.advance()? {
            return Ok(ImportStep::End);
        }
        self.context.report.rows += 1;
        self.pod().map_err(|message| self.records.error(message))
    }
}

impl Pods {
    fn optional(&self, position: usize) -> &str {
        self.optional[position].map_or("", |index| self.records.field(index))
    }

    fn pod(&mut self) -> Result<ImportStep, String> {
        let field = |position: usize| self.records.field(self.required[position]);
        let mut sizes = [0; 4];
        for (position, value) in sizes.iter_mut().enumerate() {
            match whole(field(position + 1), REQUIRED[position + 1])? {
                Some(found) => *value = found,
                None => {
                    self.context.report.drop_row("blank size");
                    return Ok(ImportStep::Dropped);
                }
            }
        }
        let (name, [gpu_spec, qos, phase, ..]) = (
            field(0).to_owned(),
            [0, 1, 2].map(|position| self.optional(position).to_owned()),
        );
        let (at_ms, run) = self.times()?;
        if !gpu_spec.is_empty() {
            self.context
                .report
                .ignore("gpu_spec (the GPU models allowed)");
        }
        let gpus = sizes[2].to_string();
        let by_shape = format!("user-{:02}", shape(sizes) % USERS);
        let fields = [
            ("name", name.as_str()),
            ("qos", &qos),
            ("pod_phase", &phase),
            ("gpu_spec", &gpu_spec),
            ("num_gpu", &gpus),
        ];
        let by_qos = format!("root.{qos}");
        let (rule_queue, rule_user) = self.context.options.map.apply(&fields);
        if rule_queue.is_none() && !qos.is_empty() {
            self.context.report.guess("queue root.<qos>");
        }
        if rule_user.is_none() {
            self.context
                .report
                .guess("user by the shape of the request");
        }
        let own_queue = (!qos.is_empty()).then_some(by_qos.as_str());
        let (queue, user) = self.context.place(&fields, own_queue, Some(&by_shape));
        let size = self.size(sizes)?;
        Ok(ImportStep::job(Job {
            at_ms,
            user,
            queue,
            name,
            priority: priority_of(&qos),
            master: None,
            partition: None,
            tags: Vec::new(),
            tasks: vec![TaskGroup::new(size, 1, run)],
            line: self.records.line(),
        }))
    }

    /// Submission, and the run from scheduling to deletion. The wait before it is an outcome of
    /// another scheduler and is not replayed.
    fn times(&mut self) -> Result<(u64, Run), String> {
        let created = seconds(self.optional(3), "creation_time")?;
        let deleted = seconds(self.optional(4), "deletion_time")?;
        let scheduled = seconds(self.optional(5), "scheduled_time")?;
        let Some(created) = created else {
            self.context
                .report
                .guess("submission at 0 ms, no times in the trace");
            return Ok((0, Run::Forever));
        };
        let Some(deleted) = deleted else {
            self.context.report.guess("never ends, no deletion_time");
            return Ok((created, Run::Forever));
        };
        if deleted < created {
            return Err("deletion_time is before the start, and before creation_time".to_owned());
        }
        let started = scheduled.unwrap_or_else(|| {
            self.context
                .report
                .guess("run time since creation, never scheduled");
            created
        });
        let ran = deleted
            .checked_sub(started)
            .ok_or("deletion_time is before the start")?;
        Ok((created, Run::Same(ran)))
    }

    fn size(&mut self, [cpu, memory, gpus, milli]: [u64; 4]) -> Result<ResourceVector, String> {
        if !cpu.is_multiple_of(1000) {
            self.context
                .report
                .clamp("cpu_milli rounded up to whole vcores");
        }
        if memory == 0 {
            self.context.report.clamp("memory of 0 raised to 1 MiB");
        }
        let mut size = ResourceVector::of(&[
            amount(memory.max(1), "memory_mib")?,
            amount(cpu.div_ceil(1000).max(1), "cpu_milli")?,
        ]);
        let shared = gpus == 1 && milli < 1000;
        let types = &self.context.options.types;
        if let Some(index) = types.index_of("gpu-milli") {
            let all = if shared {
                milli
            } else {
                gpus.saturating_mul(1000)
            };
            size.set(index, amount(all, "num_gpu")?);
        } else if let Some(index) = types.index_of("yarn.io/gpu") {
            size.set(index, amount(gpus, "num_gpu")?);
            if shared {
                self.context
                    .report
                    .clamp("shared GPU rounded up to a whole one");
            }
        } else if gpus > 0 {
            self.context.report.lose("num_gpu (no type of the cluster)");
        }
        Ok(size)
    }
}

fn shape(sizes: [u64; 4]) -> u64 {
    sizes.iter().fold(0, |hash, &value| mix(hash ^ mix(value)))
}

fn priority_of(qos: &str) -> Option<i32> {
    match qos {
        "Guaranteed" => Some(30),
        "LS" => Some(20),
        "Burstable" => Some(10),
        "BE" => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::workload::MapRules;
    use crate::simulator::workload::ResourceTypes;

    const HEADER: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,\
                          creation_time,deletion_time,scheduled_time\n";

    fn options(extra: &[&str]) -> ImportOptions {
        ImportOptions {
            types: ResourceTypes::with_extra(extra).unwrap(),
            map: MapRules::parse("qos=BE:root.batch@joe").unwrap(),
            ..ImportOptions::default()
        }
    }

    fn rows(text: &str, options: &ImportOptions) -> (Vec<Result<Job, String>>, MappingReport) {
        let mut pods = openb(Source::text("t", &format!("{HEADER}{text}")), options).unwrap();
        let jobs = pods
            .by_ref()
            .map(|j| j.map_err(|e| e.to_string()))
            .collect();
        (jobs, pods.report())
    }

    #[test]
    fn a_pod_is_an_unmanaged_application_with_one_container() {
        let text =
            "a,11908,0,1,460,T4|G2,LS,Running,10,40,20\nb,2000,8,2,1000,,BE,Pending,11,20,\n";
        let (jobs, report) = rows(text, &options(&["gpu-milli"]));
        let a = jobs[0].as_ref().unwrap();
        assert_eq!((a.at_ms, a.queue.as_str(), a.line), (10_000, "root.LS", 2));
        assert_eq!(a.tasks[0].size, ResourceVector::of(&[1, 12, 460]));
        assert_eq!(a.tasks[0].run, Run::Same(20_000));
        assert!(a.user.starts_with("user-"));
        let b = jobs[1].as_ref().unwrap();
        assert_eq!((b.queue.as_str(), b.user.as_str()), ("root.batch", "joe"));
        assert_eq!(b.tasks[0].size, ResourceVector::of(&[8, 2, 2000]));
        assert_eq!(
            (b.tasks[0].run.clone(), b.priority),
            (Run::Same(9_000), Some(0))
        );
        assert_eq!((report.rows, report.used), (2, 2));
        assert_eq!(report.clamped["memory of 0 raised to 1 MiB"], 1);
        assert_eq!(report.guessed["queue root.<qos>"], 1);
        assert_eq!(report.ignored["gpu_spec (the GPU models allowed)"], 1);
    }

    #[test]
    fn gpus_are_whole_or_ignored_by_the_types_of_the_cluster() {
        let text = "a,1000,8,1,460,,LS,Running,10,40,20\n";
        let (jobs, report) = rows(text, &options(&["yarn.io/gpu"]));
        let size = jobs[0].as_ref().unwrap().tasks[0].size;
        assert_eq!(size, ResourceVector::of(&[8, 1, 1]));
        assert_eq!(report.clamped.len(), 1);
        let (jobs, report) = rows(text, &options(&[]));
        assert_eq!(
            jobs[0].as_ref().unwrap().tasks[0].size,
            ResourceVector::of(&[8, 1])
        );
        assert_eq!(report.lost.len(), 1);
    }

    #[test]
    fn bad_rows_are_errors_and_blank_sizes_are_dropped() {
        for (row, message) in [
            ("a,-1,8,0,0,,LS,Running,1,2,1", "cpu_milli is negative"),
            (
                "a,NaN,8,0,0,,LS,Running,1,2,1",
                "cpu_milli is not a whole number",
            ),
            ("a,1,8,0,0,,LS,Running,-5,2,1", "creation_time is negative"),
            (
                "a,1,8,0,0,,LS,Running,18446744073709551615,2,1",
                "beyond every calendar",
            ),
            ("a,1,8,0,0,,LS,Running,1,2,3", "before the start"),
            ("a,1,8,0,0,,LS,Running,9,5,1", "before creation_time"),
            (
                "a,1,1e400,0,0,,LS,Running,1,2,1",
                "memory_mib is not a whole number",
            ),
            (
                "a,1,9007199254740992,0,0,,LS,Running,1,2,1",
                "above 9007199254740991",
            ),
            ("a,1,8,0", "has 4 fields where the header has 11"),
        ] {
            let (jobs, _) = rows(
                &format!("{row}\nok,1,1,0,0,,LS,Running,1,1,1\n"),
                &options(&[]),
            );
            let error = jobs[0].as_ref().unwrap_err();
            assert!(
                error.starts_with("t:2: ") && error.contains(message),
                "{error}"
            );
            assert!(jobs[1].is_ok(), "an instant is fine and the rest goes on");
        }
        let (jobs, report) = rows("a,,8,0,0,,LS,Running,1,2,1\n", &options(&[]));
        assert!(jobs.is_empty());
        assert_eq!(report.dropped["blank size"], 1);
    }

    #[test]
    fn a_list_without_times_is_a_fill_test() {
        let text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,8,0,0\n";
        let mut pods = openb(Source::text("t", text), &ImportOptions::default()).unwrap();
        let job = pods.next().unwrap().unwrap();
        assert_eq!((job.at_ms, job.tasks[0].run.clone()), (0, Run::Forever));
        assert_eq!(job.queue, "root.default");
        assert_eq!(pods.report().guessed["default queue"], 1);
    }

    #[test]
    fn a_header_alone_gives_no_job_and_a_warning() {
        let (jobs, report) = rows("", &options(&[]));
        assert!(jobs.is_empty());
        assert_eq!(report.warnings, ["the trace holds no job"]);
    }
}
