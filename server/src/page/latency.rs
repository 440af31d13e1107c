//! Latencies by phase, what became of proposals, and what waits by reason.

use axum::Json;
use axum::extract::State;
use capsched::metrics::{Closed, Histogram, Phase};
use serde_json::{Value, json};

use super::Page;
use super::answer::{Problem, blocking};
use super::look::Pending;

/// Shares of the samples at which a curve has points.
const SHARES: [f64; 15] = [
    0.0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995,
    0.99999,
];

/// All of it, as it stands now.
pub(super) async fn all(State(page): State<Page>) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let rm = &page.rm;
        let events = rm.engine().event_counts();
        let events = events.map_err(|error| Problem::gone(&error))?;
        let latencies = rm.engine().latencies();
        let phases = latencies.iter().filter(|(_, found)| !found.is_empty());
        let outcomes = rm.outcomes();
        let outcomes = outcomes.iter().map(|(outcome, n)| {
            json!({"outcome": outcome.name(), "refused": outcome.is_refused(), "count": n})
        });
        let look = page.pending.last();
        let now_ms = rm.now_ms();
        Ok(Json(json!({
            "time": now_ms,
            "allocated": events.allocated,
            "phases": phases.map(|(phase, found)| phase_of(phase, found)).collect::<Vec<_>>(),
            "outcomes": outcomes.collect::<Vec<_>>(),
            "pending": pending_of(look.pending()),
            "pending_age_ms": now_ms.saturating_sub(look.at_ms()),
        })))
    })
    .await
}

fn phase_of(phase: Phase, found: &Histogram) -> Value {
    let latency = found.latency();
    let curve = SHARES
        .iter()
        .map(|&share| json!([share, found.quantile(share)]));
    json!({
        "phase": phase.name(),
        "samples": latency.n,
        "p50": latency.p50,
        "p90": latency.p90,
        "p99": latency.p99,
        "p99_9": latency.p999,
        "max": latency.max,
        "curve": curve.collect::<Vec<_>>(),
    })
}

fn pending_of(pending: &Pending) -> Vec<Value> {
    let sums = pending.sums.iter();
    let shown = sums.map(|((queue, reason), sum)| {
        json!({
            "queue": &**queue,
            "reason": reason.token(),
            "tier": reason.tier(),
            "applications": sum.applications,
            "containers": sum.containers,
        })
    });
    shown.collect()
}
