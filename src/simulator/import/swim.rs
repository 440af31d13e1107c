//! The Facebook days of SWIM: tab separated jobs with their bytes, from which containers follow.
//!
//! The trace has no containers, users or queues. One map per 128 MiB of input and one reduce per
//! GiB of shuffle; a map runs 4 s and its bytes at 20 MB/s, a reduce 6 s and its bytes at 25 MB/s,
//! both times a log-normal factor (sigma 0.3) seeded by the line; the user is one of 60 by a Zipf
//! law, the queue `root.adhoc` below 1 GB of input, `root.etl` below 1 TB, else `root.bulk`. Rules
//! may use `id`, `size` (`adhoc`, `etl`, `bulk`) and `user`.

use super::context::{
    Context, ImportOptions, ImportStep, Imported, MAX_CONTAINERS, Reader, seconds, whole,
};
use super::lines::Lines;
use super::source::Source;
use crate::api::ResourceVector;
use crate::simulator::statistics::Random;
use crate::simulator::workload::{
    Job, MappingReport, Run, TaskGroup, TraceError, TraceErrorKind, Workload,
};

const SPLIT: u64 = 128 << 20;
const SHUFFLE_PER_REDUCE: u64 = 1 << 30;
const MAP: [i64; 2] = [1536, 1];
const REDUCE: [i64; 2] = [3072, 1];
const USERS: u64 = 60;

struct Day {
    lines: Lines,
    context: Context,
}

/// The jobs as a workload.
pub fn swim(source: Source, options: &ImportOptions) -> impl Workload + use<> {
    Imported::new(Day {
        lines: Lines::new(source),
        context: Context::new("swim", options),
    })
}

impl Reader for Day {
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
        if line.trim().is_empty() {
            return Ok(ImportStep::Dropped);
        }
        self.context.report.rows += 1;
        let row = Row::parse(line);
        row.and_then(|row| self.job(row))
            .map_err(|message| self.lines.error(TraceErrorKind::BadRow, message))
    }
}

struct Row {
    id: String,
    at_ms: u64,
    input: u64,
    shuffle: u64,
    output: u64,
}

impl Row {
    fn parse(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        if fields.len() < 6 {
            return Err(format!(
                "{} fields between tabs, at least 6 are needed",
                fields.len()
            ));
        }
        let bytes = |index: usize, what: &str| {
            whole(fields[index], what)?.ok_or_else(|| format!("{what} is blank"))
        };
        Ok(Self {
            id: fields[0].to_owned(),
            at_ms: seconds(fields[1], "the submit time")?.ok_or("the submit time is blank")?,
            input: bytes(3, "the map input")?,
            shuffle: bytes(4, "the shuffle")?,
            output: bytes(5, "the output")?,
        })
    }
}

impl Day {
    fn job(&mut self, row: Row) -> Result<ImportStep, String> {
        let maps = row.input.div_ceil(SPLIT).max(1);
        let reduces = row.shuffle.div_ceil(SHUFFLE_PER_REDUCE);
        if maps.saturating_add(reduces) > MAX_CONTAINERS {
            return Err(format!("the job has more than {MAX_CONTAINERS} containers"));
        }
        let seed = self.lines.line;
        let mut tasks = vec![group(MAP, maps, 4000 + row.input / maps / 20_000, seed)];
        if let Some(bytes) = row.shuffle.saturating_add(row.output).checked_div(reduces) {
            let mut reduce = group(REDUCE, reduces, 6000 + bytes / 25_000, !seed);
            reduce.priority = 10;
            reduce.stage = 1;
            tasks.push(reduce);
        }
        let class = match row.input {
            0..1_000_000_000 => "adhoc",
            1_000_000_000..1_000_000_000_000 => "etl",
            _ => "bulk",
        };
        let own_user = format!("user-{:02}", zipf(&mut Random::new(seed)));
        let own_queue = format!("root.{class}");
        let fields = [
            ("id", row.id.as_str()),
            ("size", class),
            ("user", own_user.as_str()),
        ];
        let (rule_queue, rule_user) = self.context.options.map.apply(&fields);
        if rule_queue.is_none() {
            self.context.report.guess("queue by the size of the input");
        }
        if rule_user.is_none() {
            self.context.report.guess("user by a Zipf law");
        }
        self.context
            .report
            .guess("containers and run times from the bytes");
        let (queue, user) = self
            .context
            .place(&fields, Some(&own_queue), Some(&own_user));
        Ok(ImportStep::job(Job {
            at_ms: row.at_ms,
            user,
            queue,
            name: row.id,
            priority: None,
            master: Some(ResourceVector::of(&MAP)),
            partition: None,
            tags: Vec::new(),
            tasks,
            line: self.lines.line,
        }))
    }
}

fn group(size: [i64; 2], count: u64, median_ms: u64, seed: u64) -> TaskGroup {
    let count = u32::try_from(count).expect("the containers of a job are counted before");
    let run = Run::Spread {
        median_ms,
        sigma_thousandths: 300,
        seed,
    };
    TaskGroup::new(ResourceVector::of(&size), count, run)
}

/// A user in `0..60`, user `k` in proportion to `1 / (k + 1)`.
fn zipf(random: &mut Random) -> u64 {
    const ONE: u64 = 1 << 32;
    let total: u64 = (1..=USERS).map(|k| ONE / k).sum();
    let mut left = random.below(total);
    for k in 1..=USERS {
        match left.checked_sub(ONE / k) {
            Some(rest) => left = rest,
            None => return k - 1,
        }
    }
    USERS - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(text: &str) -> (Vec<Result<Job, String>>, MappingReport) {
        let mut all = swim(Source::text("t", text), &ImportOptions::default());
        let jobs = all.by_ref().map(|j| j.map_err(|e| e.to_string())).collect();
        (jobs, all.report())
    }

    #[test]
    fn containers_follow_from_the_bytes() {
        let (jobs, report) = jobs("job0\t49\t49\t268435457\t1073741825\t7\njob1\t50\t1\t0\t0\t0\n");
        let job = jobs[0].as_ref().unwrap();
        assert_eq!((job.at_ms, job.queue.as_str()), (49_000, "root.adhoc"));
        assert_eq!(
            (job.tasks[0].count, job.tasks[1].count, job.tasks[1].stage),
            (3, 2, 1)
        );
        assert!(job.tasks[0].run.of(0).unwrap() > 1000);
        let small = jobs[1].as_ref().unwrap();
        assert_eq!((small.tasks.len(), small.tasks[0].count), (1, 1));
        assert_eq!(report.guessed["containers and run times from the bytes"], 2);
    }

    #[test]
    fn bad_rows_are_errors_with_their_line() {
        for bad in [
            "job0 49 49 1 2 3",
            "job0\t-1\t1\t1\t1\t1",
            "job0\tNaN\t1\t1\t1\t1",
            "job0\t1\t1\t\t1\t1",
            "job0\t1\t1\t18446744073709551616\t1\t1",
            "job0\t1\t1\t18446744073709551615\t1\t1",
        ] {
            let (jobs, _) = jobs(&format!("{bad}\njob1\t1\t1\t1\t1\t1\n"));
            assert!(jobs[0].as_ref().unwrap_err().starts_with("t:1: "), "{bad}");
            assert!(jobs[1].is_ok());
        }
    }

    #[test]
    fn users_follow_a_zipf_law() {
        let mut random = Random::new(1);
        let first = (0..1000).filter(|_| zipf(&mut random) == 0).count();
        assert!((150..280).contains(&first), "{first}");
    }
}
