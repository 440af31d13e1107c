//! What is replayed: nodes, jobs with their groups of tasks, and where a stream of them comes from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::TraceError;
use super::report::MappingReport;
use crate::api::{Closeness, MAX_TYPES, ResourceVector};
use crate::simulator::statistics::Random;

/// The resource types of a trace, memory (MiB) and vcores first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceTypes {
    names: Vec<String>,
}

impl Default for ResourceTypes {
    fn default() -> Self {
        Self::with_extra(&[]).expect("two types are within the limit")
    }
}

impl ResourceTypes {
    /// Memory, vcores and the named extra types in this order; nothing when there are more than
    /// [`MAX_TYPES`] or one is named twice.
    #[must_use]
    pub fn with_extra(extra: &[&str]) -> Option<Self> {
        let mut names = vec!["memory-mb".to_owned(), "vcores".to_owned()];
        for name in extra {
            if names.iter().any(|known| known == name) {
                return None;
            }
            names.push((*name).to_owned());
        }
        (names.len() <= MAX_TYPES).then_some(Self { names })
    }

    /// Their names in the order of the values of a vector.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Position of a type; `memory` and `memory-mb` are the same.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        let name = if name == "memory" { "memory-mb" } else { name };
        self.names.iter().position(|known| known == name)
    }
}

/// One application of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Submission, in ms after the first job.
    pub at_ms: u64,
    /// Submitting user.
    pub user: String,
    /// Queue path or leaf name.
    pub queue: String,
    /// Its name in the trace; unique within one workload.
    pub name: String,
    /// Application priority, larger is more important; the queue's default when unset.
    pub priority: Option<i32>,
    /// Size of the application master's container; nothing for an unmanaged application.
    pub master: Option<ResourceVector>,
    /// Partition (node label) of all its containers; the queue's default when unset.
    pub partition: Option<String>,
    /// Application tags.
    pub tags: Vec<String>,
    /// Its containers besides the master's.
    pub tasks: Vec<TaskGroup>,
    /// Line of the source it came from; 0 when it has none.
    pub line: u64,
}

impl Job {
    /// Containers that it brings, its master included.
    #[must_use]
    pub fn containers(&self) -> u64 {
        let tasks: u64 = self.tasks.iter().map(|group| u64::from(group.count)).sum();
        tasks + u64::from(self.master.is_some())
    }
}

/// Containers of one size that are wanted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// Size of one container.
    pub size: ResourceVector,
    /// Number of containers.
    pub count: u32,
    /// Request priority, smaller is more important.
    pub priority: i32,
    /// Asked for once every group of the smaller stages is done.
    pub stage: u32,
    /// Asked for this many ms after its stage begins.
    pub delay_ms: u64,
    /// How long the containers run.
    pub run: Run,
    /// Hosts wanted; any when empty.
    pub hosts: Vec<String>,
    /// Racks wanted beside the hosts.
    pub racks: Vec<String>,
    /// Whether some of them are wanted all at once.
    pub gang: Option<GangTerms>,
}

/// How a group of tasks is wanted as a gang: so many at once, and the others afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GangTerms {
    /// Containers that are placed together.
    pub minimum: u32,
    /// How long each attempt may wait, in ms; the gang is asked for again afterwards.
    pub within_ms: u64,
    /// How close together the minimum has to be.
    #[serde(default)]
    pub close: Closeness,
}

impl TaskGroup {
    /// A group of stage 0 that may run anywhere, with request priority 20.
    #[must_use]
    pub const fn new(size: ResourceVector, count: u32, run: Run) -> Self {
        Self {
            size,
            count,
            priority: 20,
            stage: 0,
            delay_ms: 0,
            run,
            hosts: Vec::new(),
            racks: Vec::new(),
            gang: None,
        }
    }
}

/// How long the containers of a group run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// All this many ms.
    Same(u64),
    /// One value in ms for each container, repeated from the start when there are fewer.
    List(Vec<u64>),
    /// Log-normal around a median, drawn for each container from the seed; nothing is stored.
    Spread {
        /// Median in ms.
        median_ms: u64,
        /// Deviation of the logarithm, in thousandths.
        sigma_thousandths: u32,
        /// Seed of the group.
        seed: u64,
    },
    /// Never ends by itself.
    Forever,
}

impl Run {
    /// Run time in ms of container `index` of the group; nothing when it never ends.
    #[must_use]
    pub fn of(&self, index: u32) -> Option<u64> {
        match self {
            Self::Same(ms) => Some(*ms),
            Self::List(list) if list.is_empty() => Some(0),
            Self::List(list) => {
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                Some(list[index % list.len()])
            }
            Self::Spread {
                median_ms,
                sigma_thousandths,
                seed,
            } => Some(
                Random::stream(*seed, u64::from(index)).log_normal(*median_ms, *sigma_thousandths),
            ),
            Self::Forever => None,
        }
    }
}

/// One node of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLine {
    /// Host name.
    pub host: String,
    /// Rack, with its leading slash.
    pub rack: String,
    /// Everything the node offers.
    pub size: ResourceVector,
    /// Partition (node label); empty for the default one.
    pub partition: String,
    /// Attributes by name and value.
    pub attributes: Vec<(String, String)>,
}

/// A stream of jobs and the account of how it was made.
///
/// An item may be an error of one row; the stream goes on after it. After any other error it ends.
pub trait Workload: Iterator<Item = Result<Job, TraceError>> {
    /// What was used, dropped, clamped and guessed so far.
    fn report(&self) -> MappingReport;
}

impl<W: Workload + ?Sized> Workload for Box<W> {
    fn report(&self) -> MappingReport {
        (**self).report()
    }
}

/// A workload that is already in memory.
#[derive(Clone, Debug)]
pub struct Ready {
    jobs: std::vec::IntoIter<Job>,
    report: MappingReport,
}

impl Ready {
    /// The jobs in this order.
    #[must_use]
    pub fn new(jobs: Vec<Job>) -> Self {
        Self {
            jobs: jobs.into_iter(),
            report: MappingReport::new("memory"),
        }
    }
}

impl Iterator for Ready {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let job = self.jobs.next()?;
        self.report.rows += 1;
        self.report.used += 1;
        Some(Ok(job))
    }
}

impl Workload for Ready {
    fn report(&self) -> MappingReport {
        self.report.clone()
    }
}

/// Several workloads merged by time; names get the position of their workload as a prefix, so that
/// equal names in two files stay apart. Each workload has to be in order of time itself.
pub struct Merged {
    parts: Vec<Part>,
}

/// A workload and its next item.
type Part = (Box<dyn Workload + Send>, Option<Result<Job, TraceError>>);

impl std::fmt::Debug for Merged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Merged({} workloads)", self.parts.len())
    }
}

impl Merged {
    /// The workloads as one.
    #[must_use]
    pub fn new(parts: Vec<Box<dyn Workload + Send>>) -> Self {
        Self {
            parts: parts
                .into_iter()
                .map(|mut part| {
                    let first = part.next();
                    (part, first)
                })
                .collect(),
        }
    }
}

impl Iterator for Merged {
    type Item = Result<Job, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        // An error comes before all jobs, because it has no time.
        let time = |item: &Result<Job, TraceError>| item.as_ref().map_or(0, |job| job.at_ms);
        let (index, _) = self
            .parts
            .iter()
            .enumerate()
            .filter_map(|(index, (_, next))| Some((index, time(next.as_ref()?))))
            .min_by_key(|&(_, at)| at)?;
        let (part, next) = &mut self.parts[index];
        let item = std::mem::replace(next, part.next())?;
        Some(item.map(|mut job| {
            job.name = format!("{index}/{}", job.name);
            job
        }))
    }
}

impl Workload for Merged {
    fn report(&self) -> MappingReport {
        let mut all = MappingReport::new("merged");
        for (part, _) in &self.parts {
            all.add(&part.report());
        }
        all
    }
}

/// The name of a source, shared by its errors.
pub(in crate::simulator) type FileName = Arc<str>;

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn job(name: &str, at_ms: u64) -> Job {
        Job {
            at_ms,
            user: "u".to_owned(),
            queue: "root.a".to_owned(),
            name: name.to_owned(),
            priority: None,
            master: None,
            partition: None,
            tags: Vec::new(),
            tasks: vec![TaskGroup::new(
                ResourceVector::of(&[1024, 1]),
                1,
                Run::Same(10),
            )],
            line: 0,
        }
    }

    #[test]
    fn run_lists_repeat_and_spreads_are_seeded() {
        assert_eq!(Run::List(vec![5, 7]).of(2), Some(5));
        assert_eq!(Run::List(vec![]).of(9), Some(0));
        assert_eq!(Run::Forever.of(0), None);
        let spread = Run::Spread {
            median_ms: 1000,
            sigma_thousandths: 300,
            seed: 4,
        };
        assert_eq!(
            spread.of(3),
            Some(Random::stream(4, 3).log_normal(1000, 300))
        );
        assert_ne!(spread.of(3), spread.of(4));
    }

    #[test]
    fn two_workloads_merge_by_time_and_keep_equal_names_apart() {
        let a = Ready::new(vec![job("x", 0), job("y", 20)]);
        let b = Ready::new(vec![job("x", 10)]);
        let mut merged = Merged::new(vec![Box::new(a), Box::new(b)]);
        let names: Vec<String> = merged.by_ref().map(|j| j.unwrap().name).collect();
        assert_eq!(names, ["0/x", "1/x", "0/y"]);
        assert_eq!(merged.report().used, 3);
    }

    #[test]
    fn resource_types_have_memory_and_vcores_first() {
        let types = ResourceTypes::with_extra(&["yarn.io/gpu"]).unwrap();
        assert_eq!(types.index_of("memory"), Some(0));
        assert_eq!(types.index_of("yarn.io/gpu"), Some(2));
        assert_eq!(types.index_of("fpga"), None);
        assert_eq!(ResourceTypes::with_extra(&["vcores"]), None);
        assert_eq!(
            ResourceTypes::with_extra(&["a", "b", "c", "d", "e", "f", "g"]),
            None
        );
    }
}
