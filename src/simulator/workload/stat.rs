//! The page about a trace that one reads before running it: arrivals, sizes, run times, owners.

use std::collections::BTreeMap;
use std::fmt;

use super::error::TraceError;
use super::job::{Job, Workload};
use super::report::MappingReport;
use crate::simulator::statistics::Tally;

/// Queues and users that are counted by name; others are counted together.
const NAMES: usize = 1000;

/// Containers of one group whose run times are looked at.
const RUNS: u32 = 1000;

const HOUR: u64 = 3_600_000;

/// Smallest, middle and largest values of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Half of the values are at most this.
    pub p50: u64,
    /// 90 % are at most this.
    pub p90: u64,
    /// 99 % are at most this.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// What a trace holds.
#[derive(Clone, Debug, Default)]
pub struct TraceStat {
    /// Jobs.
    pub jobs: u64,
    /// Containers, masters included.
    pub containers: u64,
    /// Of these, containers that never end by themselves.
    pub endless: u64,
    /// From the first to the last submission, in ms.
    pub span_ms: u64,
    /// Most jobs within one hour, counted from the start.
    pub peak_per_hour: u64,
    /// Containers of a job.
    pub per_job: Spread,
    /// Memory of a container in MiB.
    pub memory_mib: Spread,
    /// Vcores of a container.
    pub vcores: Spread,
    /// Run times in ms; of each group of tasks up to 1,000 containers.
    pub run_ms: Spread,
    /// Jobs by queue; beyond 1,000 queues under `(others)`.
    pub queues: BTreeMap<String, u64>,
    /// Jobs by user; beyond 1,000 users under `(others)`.
    pub users: BTreeMap<String, u64>,
    /// What the importer made of the trace.
    pub mapping: MappingReport,
}

impl TraceStat {
    /// Reads a workload to its end.
    ///
    /// # Errors
    ///
    /// When the workload gives one.
    pub fn of(workload: &mut dyn Workload) -> Result<Self, TraceError> {
        let mut stat = Self::default();
        let [mut per_job, mut memory, mut vcores, mut runs] =
            std::array::from_fn(|_| Tally::default());
        let mut hour = (0, 0);
        while let Some(job) = workload.next().transpose()? {
            stat.count(&job, &mut hour);
            let n: u64 = job.tasks.iter().map(|group| u64::from(group.count)).sum();
            per_job.record(n, 1);
            for group in &job.tasks {
                let count = u64::from(group.count);
                memory.record(positive(group.size.memory()), count);
                vcores.record(positive(group.size.vcores()), count);
                if group.run.of(0).is_none() {
                    stat.endless += count;
                }
                for ms in (0..group.count.min(RUNS)).filter_map(|index| group.run.of(index)) {
                    runs.record(ms, 1);
                }
            }
        }
        stat.per_job = spread(&per_job);
        stat.memory_mib = spread(&memory);
        stat.vcores = spread(&vcores);
        stat.run_ms = spread(&runs);
        stat.mapping = workload.report();
        Ok(stat)
    }

    fn count(&mut self, job: &Job, hour: &mut (u64, u64)) {
        self.jobs += 1;
        self.containers += u64::from(job.master.is_some());
        self.containers += job
            .tasks
            .iter()
            .map(|group| u64::from(group.count))
            .sum::<u64>();
        self.span_ms = self.span_ms.max(job.at_ms);
        if job.at_ms / HOUR != hour.0 {
            *hour = (job.at_ms / HOUR, 0);
        }
        hour.1 += 1;
        self.peak_per_hour = self.peak_per_hour.max(hour.1);
        count_name(&mut self.queues, &job.queue);
        count_name(&mut self.users, &job.user);
    }
}

fn count_name(names: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = names.get_mut(name) {
        *count += 1;
        return;
    }
    let name = if names.len() < NAMES {
        name
    } else {
        "(others)"
    };
    *names.entry(name.to_owned()).or_default() += 1;
}

fn positive(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn spread(tally: &Tally) -> Spread {
    Spread {
        p50: tally.permille(500),
        p90: tally.permille(900),
        p99: tally.permille(990),
        max: tally.max(),
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {}  p90 {}  p99 {}  max {}",
            self.p50, self.p90, self.p99, self.max
        )
    }
}

impl fmt::Display for TraceStat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "jobs         {}, {} containers, {} of them without an end",
            self.jobs, self.containers, self.endless
        )?;
        writeln!(
            f,
            "arrivals     over {} s, most in an hour {}",
            self.span_ms / 1000,
            self.peak_per_hour
        )?;
        writeln!(f, "per job      {}", self.per_job)?;
        writeln!(f, "memory MiB   {}", self.memory_mib)?;
        writeln!(f, "vcores       {}", self.vcores)?;
        writeln!(f, "run ms       {}", self.run_ms)?;
        for (title, names) in [("queue", &self.queues), ("user", &self.users)] {
            let mut most: Vec<(&String, &u64)> = names.iter().collect();
            most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (name, count) in most.iter().take(10) {
                writeln!(f, "{title:<12} {count:>8}  {}", name.escape_debug())?;
            }
        }
        write!(f, "{}", self.mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ResourceVector;
    use crate::simulator::{Ready, Run, TaskGroup};

    #[test]
    fn arrivals_sizes_and_owners_are_counted() {
        let job = |at_ms, user: &str, run| Job {
            at_ms,
            user: user.to_owned(),
            queue: "root.a".to_owned(),
            name: format!("j{at_ms}"),
            priority: None,
            master: Some(ResourceVector::of(&[1, 1])),
            partition: None,
            tags: Vec::new(),
            tasks: vec![TaskGroup::new(ResourceVector::of(&[2048, 2]), 3, run)],
            line: 0,
        };
        let mut workload = Ready::new(vec![
            job(0, "x", Run::Same(5)),
            job(10, "y", Run::List(vec![1, 2, 9])),
            job(2 * HOUR, "x", Run::Forever),
        ]);
        let stat = TraceStat::of(&mut workload).unwrap();
        assert_eq!((stat.jobs, stat.containers, stat.endless), (3, 12, 3));
        assert_eq!((stat.span_ms, stat.peak_per_hour), (2 * HOUR, 2));
        assert_eq!((stat.run_ms.p50, stat.run_ms.max), (5, 9));
        assert_eq!(stat.users["x"], 2);
        assert!(stat.to_string().contains("p50 2048"), "{stat}");
        let shown = TraceStat {
            queues: [("root.\u{1b}[2J\na".to_owned(), 1)].into(),
            ..stat
        };
        let shown = shown.to_string();
        assert!(shown.contains("  root.\\u{1b}[2J\\na\n"), "{shown}");
    }
}
