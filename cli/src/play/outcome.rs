//! What a row came to, as figures and as JSON.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures of a report"
)]

use capsched::metrics::{Histogram, HistogramSet, Interval, Latency, Phase};
use capsched::simulator::{Delays, LocalityCounts, RunReport, Waits};
use serde_json::{Map, Value, json};

use super::backlog::backlog_json;
use super::left::Left;
use super::preemption::Account;
use super::run::Row;

/// The shortest window that has a rate in an hour. Jobs that come within a second are one burst.
const SHORTEST_RATED_MS: u64 = 1000;

/// Figures of one row.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// A name that no other run beside it has.
    pub(crate) name: String,
    /// What differs from the runs beside it, by kind; its mode left out.
    pub(crate) differs: Vec<(&'static str, String)>,
    /// Mode and threads.
    pub(crate) row: Row,
    /// Names of the resource types.
    pub(crate) types: Vec<String>,
    /// Wall time of the run, driver and auditor included.
    pub(crate) wall_ns: u64,
    /// Wall time of the engine's calls within it.
    pub(crate) engine_ns: u64,
    /// Latencies by phase.
    pub(crate) latencies: HistogramSet<Phase>,
    /// The same in intervals of wall time; empty for an engine without threads.
    pub(crate) intervals: Vec<Interval<Phase>>,
    /// Refused proposals by reason.
    pub(crate) conflicts: Vec<(&'static str, u64)>,
    /// Equal for rows that placed the same number of containers of every job.
    pub(crate) placed_set: u64,
    /// What preemption took, or would have taken; nothing when no round ran.
    pub(crate) preemption: Option<Account>,
    /// Work that was refused or left, and why.
    pub(crate) left: Vec<Left>,
    /// Everything in virtual time.
    pub(crate) report: RunReport,
}

impl Outcome {
    /// Containers placed in a second of wall time; nothing when no time passed.
    pub(crate) fn per_second(&self) -> Option<f64> {
        let placed = self.report.counts.allocations as f64;
        (self.wall_ns > 0).then(|| placed * 1e9 / self.wall_ns as f64)
    }

    /// Containers asked and placed in an hour of virtual time, from the first submission to the
    /// last: the same window whatever the scheduler did. Nothing when the window is shorter than
    /// [`SHORTEST_RATED_MS`].
    pub(crate) fn load(&self) -> Option<(f64, f64)> {
        let counts = &self.report.counts;
        let ms = self.report.last_submission_ms;
        let hourly = |n: u64| n as f64 * 3.6e6 / ms as f64;
        (ms >= SHORTEST_RATED_MS).then(|| {
            (
                hourly(counts.offered),
                hourly(counts.placed_by_last_submission),
            )
        })
    }

    /// Containers asked in an hour of virtual time while jobs come.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for a table"
    )]
    pub(crate) fn asked_an_hour(&self) -> Option<u64> {
        self.load().map(|(asked, _)| asked.round() as u64)
    }

    /// Share of the run in which the scheduler worked, in thousandths; nothing when its work costs
    /// no time.
    pub(crate) fn busy_permille(&self) -> Option<u64> {
        let load = self.report.scheduler?;
        Some(load.busy_ns / 1000 / self.report.finished_ms.max(1))
    }

    /// Containers of a leaf that preemption took, or would have taken.
    pub(crate) fn preempted_of(&self, queue: &str) -> u64 {
        self.preemption
            .as_ref()
            .map_or(0, |account| account.of_queue(queue))
    }

    /// Whether it differs from another run by costs at most.
    pub(crate) fn same_setting(&self, other: &Self) -> bool {
        let of = |run: &Self| -> Vec<(&'static str, String)> {
            let kept = run.differs.iter().filter(|(kind, _)| *kind != "costs");
            kept.cloned().collect()
        };
        of(self) == of(other)
    }

    /// Containers that were refused, wait, or were not asked for.
    pub(crate) fn not_placed(&self) -> u64 {
        let counts = &self.report.counts;
        counts.refused_containers + counts.waiting + counts.not_asked
    }

    /// Decisions and how long they took.
    pub(crate) fn decisions(&self) -> Option<&Histogram> {
        self.latencies.get(Phase::Propose)
    }

    /// Figures of a phase; nothing when none was measured.
    pub(crate) fn phase(&self, phase: Phase) -> Option<Latency> {
        let latency = self.latencies.get(phase).map(Histogram::latency);
        latency.filter(|latency| latency.n > 0)
    }

    /// Broken invariants.
    pub(crate) fn violations(&self) -> u64 {
        self.report.violations.values().sum()
    }

    /// The row as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut all = self.virtual_json();
        let parts = self.wall_json();
        if let (Value::Object(all), Value::Object(mut parts)) = (&mut all, parts) {
            all.append(&mut parts);
        }
        all
    }

    /// What the run came to in virtual time: equal for equal runs.
    fn virtual_json(&self) -> Value {
        let report = &self.report;
        let counts = &report.counts;
        let (offered, achieved) = self.load().unzip();
        json!({
            "name": self.name,
            "delay_us": delays_json(&report.delays),
            "scheduler": self.scheduler_json(),
            "mode": self.row.mode.name(),
            "reference": self.row.reference.name(),
            "engine": self.engine_name(),
            "threads": self.row.threads,
            "jobs": self.jobs_json(),
            "offered": counts.offered,
            "placed": counts.placed,
            "waiting": counts.waiting,
            "not_asked": counts.not_asked,
            "refused": counts.refused_containers,
            "left": self.left.iter().map(Left::to_json).collect::<Vec<_>>(),
            "load_per_hour": {"offered": offered, "achieved": achieved},
            "allocations": counts.allocations,
            "completed": counts.completed,
            "reserved": counts.reserved,
            "lost": counts.lost,
            "virtual_seconds": report.finished_ms as f64 / 1e3,
            "first_container_ms": waits_json(&report.first_container),
            "first_container_ms_by_queue": self.waits_by_queue(),
            "longest_wait_ms": report.longest_wait_ms,
            "turnaround_ms": waits_json(&report.turnaround),
            "utilisation": self.utilisation_json(),
            "locality": locality_json(&report.locality),
            "backlog": backlog_json(report),
            "fairness_gap": gap_json(report),
            "preemption": self.preemption.as_ref().map(Account::to_json),
            "violations": self.violations(),
            "violations_by_invariant": report.violations,
            "messages": report.messages,
            "placed_set": format!("{:016x}", self.placed_set),
            "decisions": format!("{:016x}", report.decisions),
            "deterministic": self.row.sequential,
        })
    }

    fn scheduler_json(&self) -> Option<Value> {
        let load = self.report.scheduler?;
        let busy = self.busy_permille();
        Some(json!({"busy_ns": load.busy_ns, "busy_permille": busy,
            "late_ms": waits_json(&load.late)}))
    }

    fn jobs_json(&self) -> Value {
        let counts = &self.report.counts;
        json!({"submitted": counts.submitted, "refused": counts.refused,
            "finished": counts.finished, "failed": counts.failed,
            "unfinished": counts.unfinished, "unserved": counts.unserved})
    }

    fn waits_by_queue(&self) -> Map<String, Value> {
        let by_queue = self.report.first_by_queue.iter();
        by_queue
            .map(|(queue, waits)| (queue.clone(), waits_json(waits)))
            .collect()
    }

    /// What was measured by the clock on the wall.
    fn wall_json(&self) -> Value {
        let latency = self.phase(Phase::Propose).unwrap_or_default();
        let phases = [
            Phase::Propose,
            Phase::HandOff,
            Phase::Validate,
            Phase::Apply,
            Phase::EndToEnd,
        ];
        let named = |phase: Phase| {
            let measured = latency_json(&self.phase(phase)?);
            Some((capsched::metrics::Closed::name(phase).to_owned(), measured))
        };
        let phases: Map<String, Value> = phases.into_iter().filter_map(named).collect();
        let conflicts: Map<String, Value> = self
            .conflicts
            .iter()
            .map(|(reason, n)| ((*reason).to_owned(), json!(n)))
            .collect();
        json!({
            "allocations_per_second": self.per_second(),
            "wall_seconds": self.wall_ns as f64 / 1e9,
            "engine_seconds": self.engine_ns as f64 / 1e9,
            "latency_ns": latency_json(&latency),
            "latency_ns_by_phase": phases,
            "conflicts": conflicts,
        })
    }

    fn utilisation_json(&self) -> Map<String, Value> {
        let report = &self.report;
        let shares = report.used_permille.iter().zip(&report.most_used_permille);
        let shares = shares.zip(&report.packed_permille);
        let of_type = |(name, ((mean, most), packed)): (&String, ((&u32, &u32), &u32))| {
            let shares = json!({"mean": per_mille(*mean), "max": per_mille(*most),
                "packed": per_mille(*packed)});
            (name.clone(), shares)
        };
        self.types.iter().zip(shares).map(of_type).collect()
    }

    /// Which engine ran.
    pub(crate) const fn engine_name(&self) -> &'static str {
        if self.row.sequential {
            "stepped"
        } else {
            "threaded"
        }
    }
}

fn gap_json(report: &RunReport) -> Value {
    let (mean, most) = report.gap_permille;
    json!({"mean": per_mille(mean), "max": per_mille(most)})
}

fn locality_json(counts: &LocalityCounts) -> Value {
    json!({"on_host": counts.on_host, "in_rack": counts.in_rack, "elsewhere": counts.elsewhere})
}

fn delays_json(delays: &Delays) -> Value {
    json!({"n": delays.count, "p50": delays.p50_us, "p95": delays.p95_us,
        "p99": delays.p99_us, "max": delays.max_us})
}

fn waits_json(waits: &Waits) -> Value {
    json!({"n": waits.count, "p50": waits.p50_ms, "p95": waits.p95_ms,
        "p99": waits.p99_ms, "max": waits.max_ms})
}

fn latency_json(latency: &Latency) -> Value {
    json!({"n": latency.n, "p50": latency.p50, "p99": latency.p99,
        "p999": latency.p999, "max": latency.max})
}

fn per_mille(value: u32) -> f64 {
    f64::from(value) / 1000.0
}
