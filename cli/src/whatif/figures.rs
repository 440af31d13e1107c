//! What a run came to, queue by queue: waits, share, containers placed and preempted.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures of a report"
)]

use std::collections::BTreeMap;

use capsched::simulator::{JobLine, RunReport, RunWatch};

use crate::play::Outcome;

/// Jobs by queue, seen while a run goes.
#[derive(Debug, Default)]
pub(super) struct PerQueue {
    jobs: BTreeMap<String, Vec<Job>>,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    submitted_ms: u64,
    waited_ms: Option<u64>,
    placed: u64,
    asked: u64,
}

impl RunWatch for PerQueue {
    fn job(&mut self, job: &JobLine) {
        let seen = Job {
            submitted_ms: job.submitted_ms,
            waited_ms: job.waited_ms(),
            placed: job.placed,
            asked: job.asked,
        };
        match self.jobs.get_mut(&job.queue) {
            Some(jobs) => jobs.push(seen),
            None => {
                self.jobs.insert(job.queue.clone(), vec![seen]);
            }
        }
    }
}

/// Figures of one queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct QueueFigures {
    /// Jobs.
    pub(super) jobs: u64,
    /// Jobs that never got a container; their waits count up to the end of the run.
    pub(super) unserved: u64,
    /// Half of the jobs waited at most so long for their first container, in ms.
    pub(super) p50_ms: u64,
    /// 95 % of them.
    pub(super) p95_ms: u64,
    /// Mean share of the cluster until the last container ended, of the resource that the queue has most of.
    pub(super) share: f64,
    /// Containers placed.
    pub(super) placed: u64,
    /// Containers asked for and not placed.
    pub(super) unplaced: u64,
    /// Containers that preemption took, or would have taken.
    pub(super) preempted: u64,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunSummary {
    pub(super) name: String,
    /// Whether rounds of preemption ran.
    pub(super) preemption: bool,
    pub(super) queues: BTreeMap<String, QueueFigures>,
    /// Queues above those that have jobs, each with the jobs of all below it.
    parents: BTreeMap<String, QueueFigures>,
    /// The whole run.
    pub(super) all: QueueFigures,
    /// Virtual ms of the last container.
    pub(super) finished_ms: u64,
    /// Broken invariants.
    pub(super) violations: u64,
}

impl RunSummary {
    pub(super) fn of(name: &str, outcome: &Outcome, watch: PerQueue) -> Self {
        let report = &outcome.report;
        let end_ms = report.ended_ms;
        let shares = shares(report, outcome.types.len());
        let parents = of_parents(&watch.jobs, end_ms);
        let mut queues = BTreeMap::new();
        let mut everything = Vec::new();
        for (queue, jobs) in watch.jobs {
            let mut of_queue = figures(&jobs, end_ms);
            of_queue.share = shares.get(&queue).copied().unwrap_or(0.0);
            of_queue.preempted = outcome.preempted_of(&queue);
            queues.insert(queue, of_queue);
            everything.extend(jobs);
        }
        let mut all = figures(&everything, end_ms);
        all.share = queues
            .values()
            .map(|queue: &QueueFigures| queue.share)
            .sum();
        all.preempted = queues.values().map(|queue| queue.preempted).sum();
        Self {
            name: name.to_owned(),
            preemption: outcome.preemption.is_some(),
            queues,
            parents,
            all,
            finished_ms: report.finished_ms,
            violations: report.violations.values().sum(),
        }
    }
}

impl RunSummary {
    /// Figures of a queue with jobs, or of one above such queues.
    pub(super) fn figures_of(&self, queue: &str) -> Option<&QueueFigures> {
        let own = self.queues.get(queue);
        own.or_else(|| self.parents.get(queue))
    }
}

/// Waits and counts of the queues above those of the jobs.
fn of_parents(jobs: &BTreeMap<String, Vec<Job>>, end_ms: u64) -> BTreeMap<String, QueueFigures> {
    let mut below: BTreeMap<&str, Vec<Job>> = BTreeMap::new();
    for (queue, jobs) in jobs {
        let mut path = queue.as_str();
        while let Some((above, _)) = path.rsplit_once('.') {
            below.entry(above).or_default().extend(jobs);
            path = above;
        }
    }
    let figures = below
        .into_iter()
        .map(|(queue, jobs)| (queue.to_owned(), figures(&jobs, end_ms)));
    figures.collect()
}

fn figures(jobs: &[Job], end_ms: u64) -> QueueFigures {
    let waited = |job: &Job| {
        let until_end = end_ms.saturating_sub(job.submitted_ms);
        job.waited_ms.unwrap_or(until_end)
    };
    let mut waits: Vec<u64> = jobs.iter().map(waited).collect();
    waits.sort_unstable();
    let at = |permille: usize| {
        let rank = (waits.len() * permille).div_ceil(1000).max(1) - 1;
        waits.get(rank).copied().unwrap_or(0)
    };
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    QueueFigures {
        jobs: count(jobs.len()),
        unserved: count(jobs.iter().filter(|job| job.waited_ms.is_none()).count()),
        p50_ms: at(500),
        p95_ms: at(950),
        placed: jobs.iter().map(|job| job.placed).sum(),
        unplaced: jobs
            .iter()
            .map(|job| job.asked.saturating_sub(job.placed))
            .sum(),
        ..QueueFigures::default()
    }
}

/// Mean share of each leaf until the last container ended, of the type that it has most of.
fn shares(report: &RunReport, types: usize) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut length = 0.0;
    for pair in report.series.windows(2) {
        let [sample, next] = pair else { continue };
        if sample.at_ms >= report.finished_ms {
            break;
        }
        let ms = (next.at_ms.min(report.finished_ms) - sample.at_ms) as f64;
        length += ms;
        for (queue, used) in &sample.used {
            let of_type = |index: usize| {
                let total = sample.total[index];
                if total > 0 {
                    used[index] as f64 / total as f64
                } else {
                    0.0
                }
            };
            let share = (0..types).map(of_type).fold(0.0, f64::max);
            *sums.entry(queue.clone()).or_default() += share * ms;
        }
    }
    if length > 0.0 {
        sums.values_mut().for_each(|sum| *sum /= length);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_jobs_that_never_got_a_container_count_up_to_the_end() {
        let job = |submitted_ms, waited_ms| Job {
            submitted_ms,
            waited_ms,
            placed: 1,
            asked: 3,
        };
        let found = figures(&[job(0, Some(10)), job(100, None), job(0, Some(30))], 1000);
        assert_eq!((found.p50_ms, found.p95_ms), (30, 900));
        assert_eq!((found.unserved, found.placed, found.unplaced), (1, 3, 6));
        assert_eq!(figures(&[], 5).p95_ms, 0);
        let jobs = BTreeMap::from([
            ("root.dev.a".to_owned(), vec![job(0, Some(10))]),
            ("root.dev.b".to_owned(), vec![job(0, Some(30))]),
            ("root.prod".to_owned(), vec![job(0, Some(90))]),
        ]);
        let parents = of_parents(&jobs, 1000);
        assert_eq!(
            (parents["root.dev"].jobs, parents["root.dev"].p95_ms),
            (2, 30)
        );
        assert_eq!((parents["root"].jobs, parents.len()), (3, 2));
    }
}
