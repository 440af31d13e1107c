//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a job, -1 unknown.
//!
//! A job becomes an unmanaged application that asks for one container of one vcore per processor,
//! all at once. The wait time and the outcome of the recorded scheduler are not replayed. Rules may
//! use `user`, `group`, `queue`, `partition` and `id`.

use super::context::{
    Context, ImportOptions, ImportStep, Imported, MAX_CONTAINERS, Reader, amount, seconds, whole,
};
use super::lines::Lines;
use super::source::Source;
use crate::api::ResourceVector;
use crate::simulator::workload::{
    Job, MappingReport, Run, TaskGroup, TraceError, TraceErrorKind, Workload,
};

/// Memory of a container when the log knows none, in MiB.
pub(super) const GUESSED_MIB: u64 = 2048;

struct Log {
    lines: Lines,
    context: Context,
    /// The current line, kept for its space.
    text: String,
}

/// The jobs as a workload.
pub fn swf(source: Source, options: &ImportOptions) -> impl Workload + use<> {
    Imported::new(Log {
        lines: Lines::new(source),
        context: Context::new("swf", options),
        text: String::new(),
    })
}

impl Reader for Log {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn report(&self) -> &MappingReport {
        &self.context.report
    }

    fn step(&mut self) -> Result<ImportStep, TraceError> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(ImportStep::End);
        };
        let text = line.trim();
        if text.is_empty() || text.starts_with(';') {
            return Ok(ImportStep::Dropped);
        }
        self.context.report.rows += 1;
        let mut copy = std::mem::take(&mut self.text);
        copy.clear();
        copy.push_str(text);
        let fields: Vec<&str> = copy.split_whitespace().collect();
        let step = self.job(&fields);
        self.text = copy;
        step.map_err(|message| self.lines.error(TraceErrorKind::BadRow, message))
    }
}

/// Field `number` (from 1) as a whole number; -1 is unknown.
fn known(fields: &[&str], number: usize, what: &str) -> Result<Option<u64>, String> {
    match fields[number - 1] {
        "-1" => Ok(None),
        text => whole(text, what),
    }
}

impl Log {
    fn job(&mut self, fields: &[&str]) -> Result<ImportStep, String> {
        if fields.len() < 18 {
            return Err(format!("{} fields, the format has 18", fields.len()));
        }
        let at_ms = seconds(fields[1], "the submit time")?.ok_or("the submit time is blank")?;
        if fields[3] == "-1" {
            self.context.report.drop_row("run time unknown");
            return Ok(ImportStep::Dropped);
        }
        let run_ms = seconds(fields[3], "the run time")?.ok_or("the run time is blank")?;
        let requested = known(fields, 8, "the requested processors")?.filter(|n| *n > 0);
        let allocated = known(fields, 5, "the allocated processors")?.filter(|n| *n > 0);
        let Some(processors) = requested.or(allocated) else {
            self.context.report.drop_row("processors unknown");
            return Ok(ImportStep::Dropped);
        };
        if processors > MAX_CONTAINERS {
            return Err(format!("the job has more than {MAX_CONTAINERS} processors"));
        }
        let mib = self.memory(fields, processors)?;
        let size = ResourceVector::of(&[amount(mib, "the memory")?, 1]);
        let count = u32::try_from(processors).map_err(|_| "too many processors")?;
        let (queue, user) = self.owner(fields);
        Ok(ImportStep::job(Job {
            at_ms,
            user,
            queue,
            name: fields[0].to_owned(),
            priority: None,
            master: None,
            partition: None,
            tags: Vec::new(),
            tasks: vec![TaskGroup::new(size, count, Run::Same(run_ms))],
            line: self.lines.line,
        }))
    }

    /// Memory per processor in MiB.
    fn memory(&mut self, fields: &[&str], processors: u64) -> Result<u64, String> {
        let requested = known(fields, 10, "the requested memory")?.filter(|n| *n > 0);
        if fields.len() > 18
            && let Some(bytes) = requested
        {
            self.context
                .report
                .guess("requested memory read as bytes of the whole job (line with extra fields)");
            return Ok((bytes / processors).div_ceil(1 << 20));
        }
        let used = known(fields, 7, "the used memory")?.filter(|n| *n > 0);
        if requested.is_none() && used.is_some() {
            self.context.report.guess("memory as used, none requested");
        }
        Ok(requested.or(used).map_or_else(
            || {
                self.context.report.guess("memory of 2 GiB per processor");
                GUESSED_MIB
            },
            |kib| kib.div_ceil(1024),
        ))
    }

    fn owner(&mut self, fields: &[&str]) -> (String, String) {
        let of = |number: usize| Some(fields[number - 1]).filter(|text| *text != "-1");
        let (user, group, queue, partition) = (of(12), of(13), of(15), of(16));
        let named = [
            ("user", user.unwrap_or("")),
            ("group", group.unwrap_or("")),
            ("queue", queue.unwrap_or("")),
            ("partition", partition.unwrap_or("")),
            ("id", fields[0]),
        ];
        let own_queue = queue
            .map(|n| format!("root.q{n}"))
            .or_else(|| partition.map(|n| format!("root.p{n}")))
            .or_else(|| group.map(|n| format!("root.g{n}")));
        let own_user = user.map(|n| format!("u{n}"));
        if own_queue.is_some() && self.context.options.map.apply(&named).0.is_none() {
            self.context
                .report
                .guess("queue root.q<queue>, root.p<partition> or root.g<group>");
        }
        self.context
            .place(&named, own_queue.as_deref(), own_user.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(text: &str) -> (Vec<Result<Job, String>>, MappingReport) {
        let mut all = swf(Source::text("t", text), &ImportOptions::default());
        let jobs = all.by_ref().map(|j| j.map_err(|e| e.to_string())).collect();
        (jobs, all.report())
    }

    #[test]
    fn a_job_asks_for_a_container_per_processor() {
        let text = "; Version: 2.2\n\n 3 12 7 205 4 552.21 2048 -1 14400 -1 1 9 1 -1 2 3 -1 -1\n";
        let (jobs, report) = jobs(text);
        let job = jobs[0].as_ref().unwrap();
        assert_eq!((job.at_ms, job.name.as_str(), job.line), (12_000, "3", 3));
        assert_eq!((job.queue.as_str(), job.user.as_str()), ("root.q2", "u9"));
        assert_eq!(job.tasks[0].size, ResourceVector::of(&[2, 1]));
        assert_eq!(
            (job.tasks[0].count, job.tasks[0].run.clone()),
            (4, Run::Same(205_000))
        );
        assert_eq!(report.guessed["memory as used, none requested"], 1);
    }

    #[test]
    fn unknown_run_times_and_processors_are_dropped_and_memory_is_guessed() {
        let row = |run: &str, procs: &str| {
            format!("1 0 0 {run} {procs} -1 -1 {procs} 9 -1 1 1 1 -1 -1 -1 -1 -1\n")
        };
        let text = format!("{}{}{}", row("-1", "1"), row("5", "-1"), row("0", "1"));
        let (jobs, report) = jobs(&text);
        assert_eq!((jobs.len(), report.n_dropped()), (1, 2));
        let job = jobs[0].as_ref().unwrap();
        assert_eq!(job.queue, "root.g1");
        assert_eq!(job.tasks[0].size, ResourceVector::of(&[2048, 1]));
    }

    #[test]
    fn corrupt_numbers_are_errors() {
        for bad in [
            "1 0 0 -1360000000 1 -1 -1 1 9 -1 1 1 1 -1 1 1 -1 -1",
            "1 -5 0 10 1 -1 -1 1 9 -1 1 1 1 -1 1 1 -1 -1",
            "1 0 0 NaN 1 -1 -1 1 9 -1 1 1 1 -1 1 1 -1 -1",
            "1 0 0 1 x -1 -1 -1 9 -1 1 1 1 -1 1 1 -1 -1",
            "1 0 0 1 1",
        ] {
            let (jobs, _) = jobs(bad);
            assert!(jobs[0].as_ref().unwrap_err().starts_with("t:1: "), "{bad}");
        }
    }

    #[test]
    fn lines_with_extra_fields_hold_bytes_of_the_whole_job() {
        let text = "0 100 0 5 2 1 1024 2 9 4294967296 1 62 1 1 -1 1 1 1 {1,1} q_1d 1:ppn=2";
        let (jobs, _) = jobs(text);
        assert_eq!(
            jobs[0].as_ref().unwrap().tasks[0].size,
            ResourceVector::of(&[2048, 1])
        );
    }
}
