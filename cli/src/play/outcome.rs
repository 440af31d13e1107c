//! What a row came to, as figures and as JSON.
#![expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "figures of a report"
)]

use capsched::metrics::{Histogram, HistogramSet, Latency, Phase};
use capsched::simulator::RunReport;
use serde_json::{Map, Value, json};

use super::preemption::Account;
use super::run::Row;

/// Figures of one row.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
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
    /// Refused proposals by reason.
    pub(crate) conflicts: Vec<(&'static str, u64)>,
    /// Mean and largest use of each type while jobs arrived, in thousandths.
    pub(crate) utilisation: Vec<(u32, u32)>,
    /// Equal for rows that placed the same number of containers of every job.
    pub(crate) placed_set: u64,
    /// What preemption took, or would have taken; nothing when no round ran.
    pub(crate) preemption: Option<Account>,
    /// Everything in virtual time.
    pub(crate) report: RunReport,
}

impl Outcome {
    /// Containers placed in a second of wall time.
    pub(crate) fn per_second(&self) -> f64 {
        if self.wall_ns == 0 {
            return 0.0;
        }
        self.report.counts.placed as f64 * 1e9 / self.wall_ns as f64
    }

    /// Containers of the trace that were submitted, and that were placed, in an hour of virtual
    /// time up to the last submission and to the end: the load offered and achieved.
    pub(crate) fn load(&self) -> (f64, f64) {
        let report = &self.report;
        let hourly = |n: u64, ms: u64| n as f64 * 3.6e6 / ms.max(1) as f64;
        let placed_ms = report.last_submission_ms + report.first_container.max_ms;
        (
            hourly(report.counts.offered, report.last_submission_ms),
            hourly(report.counts.placed, placed_ms),
        )
    }

    /// Decisions and how long they took.
    pub(crate) fn decisions(&self) -> Option<&Histogram> {
        self.latencies.get(Phase::Propose)
    }

    /// Figures of the decisions; zero when nothing was placed.
    pub(crate) fn latency(&self) -> Latency {
        self.decisions().map(Histogram::latency).unwrap_or_default()
    }

    /// Broken invariants.
    pub(crate) fn violations(&self) -> u64 {
        self.report.violations.values().sum()
    }

    /// The row as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let (counts, latency) = (&self.report.counts, self.latency());
        let use_of = |name: &String, (mean, most): (u32, u32)| {
            let shares = json!({"mean": per_mille(mean), "max": per_mille(most)});
            (name.clone(), shares)
        };
        let utilisation: Map<String, Value> = self
            .types
            .iter()
            .zip(&self.utilisation)
            .map(|(name, shares)| use_of(name, *shares))
            .collect();
        let conflicts: Map<String, Value> = self
            .conflicts
            .iter()
            .map(|(reason, n)| ((*reason).to_owned(), json!(n)))
            .collect();
        let waits = |waits: &capsched::simulator::Waits| {
            json!({"n": waits.count, "p50": waits.p50_ms, "p95": waits.p95_ms,
                "p99": waits.p99_ms, "max": waits.max_ms})
        };
        json!({
            "mode": self.row.mode.name(),
            "reference": self.row.reference.name(),
            "engine": self.engine_name(),
            "threads": self.row.threads,
            "jobs": {"submitted": counts.submitted, "refused": counts.refused,
                "finished": counts.finished, "failed": counts.failed,
                "unfinished": counts.unfinished, "unserved": counts.unserved},
            "offered": counts.offered,
            "load_per_hour": {"offered": self.load().0, "achieved": self.load().1},
            "placed": counts.placed,
            "completed": counts.completed,
            "waiting": counts.waiting,
            "reserved": counts.reserved,
            "allocations_per_second": self.per_second(),
            "wall_seconds": self.wall_ns as f64 / 1e9,
            "engine_seconds": self.engine_ns as f64 / 1e9,
            "virtual_seconds": self.report.ended_ms as f64 / 1e3,
            "latency_ns": {"n": latency.n, "p50": latency.p50, "p99": latency.p99,
                "p999": latency.p999, "max": latency.max},
            "first_container_ms": waits(&self.report.first_container),
            "turnaround_ms": waits(&self.report.turnaround),
            "conflicts": conflicts,
            "utilisation": utilisation,
            "fairness_gap": {"mean": per_mille(self.report.gap_permille.0),
                "max": per_mille(self.report.gap_permille.1)},
            "preemption": self.preemption.as_ref().map(Account::to_json),
            "lost": counts.lost,
            "violations": self.violations(),
            "violations_by_invariant": self.report.violations,
            "messages": self.report.messages,
            "placed_set": format!("{:016x}", self.placed_set),
            "decisions": format!("{:016x}", self.report.decisions),
            "deterministic": self.row.sequential,
        })
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

fn per_mille(value: u32) -> f64 {
    f64::from(value) / 1000.0
}
