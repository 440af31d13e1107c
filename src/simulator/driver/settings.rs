//! Settings and result of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::costs::Costs;
use super::pace::SchedulerLoad;
use super::record::{Delays, LocalityCounts, Sample, Waits};
use super::refusal::Refusal;
use crate::simulator::workload::MappingReport;

/// How a run is driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    /// Number of resource types of the cluster.
    pub types: usize,
    /// Their names, for messages.
    pub type_names: Vec<Arc<str>>,
    /// Whether only memory is counted, so that vcores and further types may be over-committed
    /// (`DefaultResourceCalculator`).
    pub memory_only: bool,
    /// Period of a node's heartbeats in ms; the nodes are spread evenly over it.
    pub heartbeat_ms: u64,
    /// Period of rounds in ms for a mode that does not wait for heartbeats; heartbeats go on beside
    /// them. Nothing for the heartbeat mode.
    pub round_ms: Option<u64>,
    /// Shortest time between two calls of an application; 0 lets it take over what it got at once.
    pub call_ms: u64,
    /// Heartbeats and rounds pause when nothing waits, or when nothing changed for this many
    /// virtual ms; they go on with the next submission, completion or call. Rules of a scheduler
    /// that wait for time alone, such as preemption, need this longer than their own periods.
    /// Nothing: never pause while something waits.
    pub quiet_ms: Option<u64>,
    /// The same time at the end of a run, while looks alone may bring something, since reservations are kept
    /// ([`Scheduler::looks_may_bring`](crate::api::Scheduler::looks_may_bring)); where it is longer.
    pub looks_ms: u64,
    /// The run ends when nothing is left to come and nothing changed for this many ms.
    pub patience_ms: u64,
    /// The run ends at this time at the latest.
    pub until_ms: Option<u64>,
    /// Period of the time series in ms.
    pub sample_ms: u64,
    /// What the scheduler's work costs; nothing: no virtual time passes while it works.
    pub costs: Option<Costs>,
    /// Whether a round makes attempts at all nodes rather than walk them one by one. Costs depend
    /// on it.
    pub rounds_look_at_all: bool,
    /// Guarantees by queue path in thousandths of the cluster, for the fairness gap.
    pub guarantees: Vec<(String, u32)>,
    /// Whether the auditor judges the run; without it only the sums are kept that figures need.
    pub judges: bool,
}

impl Default for DriverSettings {
    fn default() -> Self {
        Self {
            types: 2,
            type_names: vec!["memory-mb".into(), "vcores".into()],
            memory_only: false,
            heartbeat_ms: 1000,
            round_ms: None,
            call_ms: 1000,
            quiet_ms: Some(30_000),
            looks_ms: 0,
            patience_ms: 600_000,
            until_ms: None,
            sample_ms: 10_000,
            costs: None,
            rounds_look_at_all: false,
            guarantees: Vec::new(),
            judges: true,
        }
    }
}

/// Numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Jobs submitted and taken.
    pub submitted: u64,
    /// Jobs the scheduler refused.
    pub refused: u64,
    /// Jobs whose containers all ran to their end.
    pub finished: u64,
    /// Jobs that ended because their master was lost.
    pub failed: u64,
    /// Jobs that were not done at the end.
    pub unfinished: u64,
    /// Of these, jobs that never got a container besides their master's.
    pub unserved: u64,
    /// Containers of all jobs that came, refused ones and masters included. At the end equal to
    /// `placed + waiting + not_asked + refused_containers`.
    pub offered: u64,
    /// Containers that have their place or had it to their end, masters included: one that was lost
    /// and is asked for again is not among them.
    pub placed: u64,
    /// Placements, also those that were lost later.
    pub allocations: u64,
    /// Containers placed by the time of the last submission.
    pub placed_by_last_submission: u64,
    /// Containers of refused jobs and of refused calls.
    pub refused_containers: u64,
    /// Containers that nobody asks for at the end: their stage did not begin, or their job failed.
    pub not_asked: u64,
    /// Of these, masters.
    pub masters: u64,
    /// Containers that ran to their end, without masters.
    pub completed: u64,
    /// Containers taken away before their end, by preemption or with their node.
    pub lost: u64,
    /// Reservations made.
    pub reserved: u64,
    /// Calls, completions and ends that the scheduler refused.
    pub refused_calls: u64,
    /// Placements that belong to no group of a job.
    pub strays: u64,
    /// Containers still asked for at the end.
    pub waiting: u64,
    /// Heartbeats sent.
    pub heartbeats: u64,
    /// Rounds run.
    pub rounds: u64,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Virtual ms of the last event.
    pub ended_ms: u64,
    /// Virtual ms at which the last container was placed or ended.
    pub finished_ms: u64,
    /// Virtual ms of the last submission.
    pub last_submission_ms: u64,
    /// Hash of all decisions in order: equal for equal runs.
    pub decisions: u64,
    /// Numbers.
    pub counts: RunCounts,
    /// From the call that asks for a container to its placement, masters left out.
    pub delays: Delays,
    /// How the scheduler kept up, when its work costs time.
    pub scheduler: Option<SchedulerLoad>,
    /// From submission to the first container besides the master's.
    pub first_container: Waits,
    /// The same by leaf queue.
    pub first_by_queue: BTreeMap<String, Waits>,
    /// The longest wait for a first container in ms: of jobs that never got one, up to the end.
    pub longest_wait_ms: u64,
    /// From submission to the end of the job.
    pub turnaround: Waits,
    /// Mean use of each type until the last container ended, in thousandths.
    pub used_permille: Vec<u32>,
    /// Mean use of each type in the same time as a share of the nodes that run any container, in
    /// thousandths: how densely nodes are packed.
    pub packed_permille: Vec<u32>,
    /// Where containers were placed that ask for hosts or racks.
    pub locality: LocalityCounts,
    /// Largest use of each type, in thousandths.
    pub most_used_permille: Vec<u32>,
    /// What was refused, by reason and setting.
    pub refusals: Vec<Refusal>,
    /// Mean and largest fairness gap until the last container ended, in thousandths of the cluster.
    pub gap_permille: (u32, u32),
    /// The time series.
    pub series: Vec<Sample>,
    /// Violations by the id of their invariant.
    pub violations: BTreeMap<&'static str, u64>,
    /// The first findings of the auditor, and the first refusals of the scheduler.
    pub messages: Vec<String>,
    /// What the importer made of the trace.
    pub mapping: MappingReport,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = &self.counts;
        writeln!(f, "virtual time     {} ms", self.ended_ms)?;
        writeln!(
            f,
            "jobs             {} submitted, {} refused, {} finished, {} failed, {} unfinished \
             ({} without a container)",
            n.submitted, n.refused, n.finished, n.failed, n.unfinished, n.unserved
        )?;
        writeln!(
            f,
            "containers       {} offered, {} placed, {} waiting, {} not asked yet, {} refused, \
             {} completed, {} lost",
            n.offered, n.placed, n.waiting, n.not_asked, n.refused_containers, n.completed, n.lost
        )?;
        writeln!(f, "first container  {}", self.first_container)?;
        writeln!(f, "turnaround       {}", self.turnaround)?;
        write!(f, "used             ")?;
        for permille in &self.used_permille {
            write!(f, "{}.{} %  ", permille / 10, permille % 10)?;
        }
        let (mean, max) = self.gap_permille;
        writeln!(
            f,
            "\nfairness gap     mean {}.{} %, max {}.{} %",
            mean / 10,
            mean % 10,
            max / 10,
            max % 10
        )?;
        writeln!(
            f,
            "violations       {}",
            self.violations.values().sum::<u64>()
        )?;
        for (id, count) in &self.violations {
            writeln!(f, "  {id:<4} {count}")?;
        }
        for message in &self.messages {
            writeln!(f, "  {message}")?;
        }
        writeln!(f, "decisions        {:016x}", self.decisions)
    }
}
