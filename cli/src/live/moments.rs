//! What a server looks like now, as a moment of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
#[cfg(feature = "top")]
use std::time::Duration;

use anyhow::Result;
use capsched::api::Reason;
use capsched::metrics::Latency;
use serde::Deserialize;
use serde_json::Value;

use super::{LiveServer, ServedApp};
#[cfg(feature = "top")]
use crate::moments::Film;
use crate::moments::{APPS, AppAt, Count, Moment, NODES, NodeAt, PartAt, QueueAt, Tally, permille};
#[cfg(feature = "top")]
use crate::play::grouped;

/// Time between two looks at a server.
#[cfg(feature = "top")]
const BETWEEN: Duration = Duration::from_secs(1);

/// The answer of `/v1/snapshot`.
#[derive(Deserialize)]
struct StateAnswer {
    at_ms: u64,
    state: Tables,
}

#[derive(Deserialize)]
struct Tables {
    queues: Vec<QueueRow>,
    nodes: Vec<NodeRow>,
}

#[derive(Deserialize)]
struct QueueRow {
    path: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    active_apps: u64,
    #[serde(default)]
    pending_apps: u64,
    #[serde(default)]
    non_runnable_apps: u64,
    labels: BTreeMap<String, PartRow>,
}

#[derive(Deserialize)]
struct PartRow {
    // Shares that are no numbers are texts.
    abs_cap: Value,
    abs_max_cap: Value,
    abs_used_cap: Value,
    eff_min: Vec<i64>,
    eff_max: Vec<i64>,
    #[serde(default)]
    used: Vec<i64>,
}

#[derive(Deserialize)]
struct NodeRow {
    node: String,
    #[serde(default)]
    partition: Option<String>,
    total: Vec<i64>,
    allocated: Vec<i64>,
    containers: u32,
    #[serde(default)]
    reserved: Option<Value>,
}

/// The answer of `/v1/latency`.
#[derive(Deserialize)]
struct LatencyAnswer {
    phases: Vec<PhaseRow>,
    outcomes: Vec<OutcomeRow>,
}

#[derive(Deserialize)]
struct PhaseRow {
    phase: String,
    samples: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    max: u64,
}

#[derive(Deserialize)]
struct OutcomeRow {
    refused: bool,
    count: u64,
}

/// The moment from which times count, in ms since the Unix epoch: the start of the server.
pub(crate) fn first(server: &LiveServer) -> Result<u64> {
    let path = "/ws/v1/cluster/info";
    let answer: Value = server.json(path)?;
    let started = answer["clusterInfo"]["startedOn"].as_u64();
    let started = started.ok_or_else(|| server.foreign(path, &"it names no start"))?;
    Ok(begin(started, &server.apps()?))
}

/// Nothing that is shown is older: neither the server nor an application that it took over.
fn begin(started_ms: u64, apps: &[ServedApp]) -> u64 {
    let apps = apps.iter().map(|app| app.started_ms);
    apps.fold(started_ms, u64::min)
}

/// What the server looks like now; times count from a moment of its clock.
pub(crate) fn moment(server: &LiveServer, since_ms: u64) -> Result<Moment> {
    let state: StateAnswer = server.json("/v1/snapshot")?;
    let latency: LatencyAnswer = server.json("/v1/latency")?;
    let apps = server.apps()?;
    let metrics = server.text("/metrics")?;
    let counts = counts(&metrics);
    let refused = latency.outcomes.iter().filter(|row| row.refused);
    let count = |kind: &str| counts.get(kind).copied().unwrap_or(0);
    Ok(Moment {
        at_ms: state.at_ms.saturating_sub(since_ms),
        queues: state.state.queues.iter().map(QueueRow::shown).collect(),
        nodes: state
            .state
            .nodes
            .iter()
            .take(NODES)
            .map(NodeRow::shown)
            .collect(),
        reasons: reasons(&apps),
        further_apps: apps.len().saturating_sub(APPS),
        apps: rows(&apps, since_ms),
        free: None,
        phases: latency.phases.into_iter().map(PhaseRow::read).collect(),
        tally: Tally {
            placed: count("allocated"),
            released: count("finished") + count("released") + count("killed"),
            killed: count("killed"),
            reserved: count("reserved"),
            submitted: count("started"),
            refused: 0,
            conflicts: refused.map(|row| row.count).sum(),
            ended: count("ended"),
        },
    })
}

/// Looks again and again, until nobody shows it any more; an error ends it.
#[cfg(feature = "top")]
pub(crate) fn watch(server: &LiveServer, film: &Film) -> Result<()> {
    let since_ms = first(server)?;
    let mut before: Option<Tally> = None;
    loop {
        let now = moment(server, since_ms)?;
        for text in before.map_or_else(Vec::new, |before| happened(&before, &now.tally)) {
            film.note(now.at_ms, text);
        }
        before = Some(now.tally);
        film.push(now);
        std::thread::sleep(BETWEEN);
    }
}

/// What happened between two looks, by how the totals grew.
#[cfg(feature = "top")]
fn happened(before: &Tally, now: &Tally) -> Vec<String> {
    let grown = [
        (before.reserved, now.reserved, "reservations"),
        (
            before.killed,
            now.killed,
            "containers ended by the scheduler",
        ),
        (before.conflicts, now.conflicts, "proposals refused"),
    ];
    let more = |(before, now, what): (u64, u64, &str)| {
        let more = now.saturating_sub(before);
        (more > 0).then(|| format!("{} {what}", grouped(more)))
    };
    grown.into_iter().filter_map(more).collect()
}

/// Counts of events by kind, from the text of the metrics.
fn counts(metrics: &str) -> BTreeMap<&str, u64> {
    metrics.lines().filter_map(count_of_kind).collect()
}

fn count_of_kind(line: &str) -> Option<(&str, u64)> {
    let rest = line.strip_prefix("capsched_events_total{kind=\"")?;
    let (kind, count) = rest.split_once("\"} ")?;
    Some((kind, count.trim().parse().ok()?))
}

fn reasons(apps: &[ServedApp]) -> BTreeMap<Reason, Count> {
    let mut reasons: BTreeMap<Reason, Count> = BTreeMap::new();
    for app in apps {
        let Some(found) = &app.finding else { continue };
        let count = reasons.entry(found.reason).or_default();
        count.apps += 1;
        count.containers += app.waiting;
    }
    reasons
}

/// Those that wait first.
fn rows(apps: &[ServedApp], since_ms: u64) -> Vec<AppAt> {
    let row = |app: &ServedApp| AppAt {
        id: app.id,
        queue: app.queue.clone(),
        user: Arc::clone(&app.user),
        submitted_ms: app.started_ms.saturating_sub(since_ms),
        running: app.running,
        waiting: app.waiting,
        reason: app.finding.as_ref().map(|found| found.reason),
    };
    let mut rows: Vec<AppAt> = apps.iter().map(row).collect();
    rows.sort_by_key(|app| (app.reason.is_none(), app.id));
    rows.truncate(APPS);
    rows
}

impl QueueRow {
    fn shown(&self) -> QueueAt {
        QueueAt {
            path: self.path.as_str().into(),
            is_leaf: self.kind == "leaf",
            running: self.active_apps,
            pending: self.pending_apps + self.non_runnable_apps,
            parts: self.labels.iter().map(PartRow::shown).collect(),
        }
    }
}

impl PartRow {
    fn shown((partition, of): (&String, &Self)) -> PartAt {
        let memory = |amounts: &[i64]| amounts.first().copied().unwrap_or(0);
        PartAt {
            partition: partition.as_str().into(),
            used_permille: share(&of.abs_used_cap),
            guaranteed_permille: share(&of.abs_cap),
            maximum_permille: share(&of.abs_max_cap),
            used_mib: memory(&of.used),
            guaranteed_mib: memory(&of.eff_min),
            maximum_mib: memory(&of.eff_max),
        }
    }
}

/// Thousandths of a share; 0 for one that is no number.
#[expect(clippy::cast_possible_truncation, reason = "a share for a picture")]
fn share(of: &Value) -> u32 {
    permille(of.as_f64().unwrap_or(0.0) as f32)
}

impl NodeRow {
    fn shown(&self) -> NodeAt {
        let partition = self.partition.as_deref().unwrap_or("").into();
        let [used_permille, memory_permille] = NodeAt::shares(&self.total, &self.allocated);
        NodeAt {
            name: self.node.as_str().into(),
            partition,
            used_permille,
            memory_permille,
            containers: self.containers,
            reserved: self.reserved.is_some(),
        }
    }
}

impl PhaseRow {
    fn read(self) -> (String, Latency) {
        let latency = Latency {
            n: self.samples,
            p50: self.p50,
            p90: self.p90,
            p99: self.p99,
            p999: self.p99_9,
            max: self.max,
            ..Latency::default()
        };
        (self.phase, latency)
    }
}

#[cfg(test)]
mod tests {
    use capsched::api::ApplicationId;

    use super::*;

    #[test]
    fn counts_of_events_are_read_from_the_metrics() {
        let text = "# TYPE capsched_events counter\ncapsched_events_total{kind=\"allocated\"} 12\n\
                    capsched_events_total{kind=\"killed\"} 0\ncapsched_other_total{kind=\"x\"} 3\n";
        assert_eq!(
            counts(text),
            BTreeMap::from([("allocated", 12), ("killed", 0)])
        );
        assert!(counts("").is_empty());
    }

    #[cfg(feature = "top")]
    #[test]
    fn what_happened_between_two_looks_is_noted() {
        let before = Tally {
            reserved: 3,
            killed: 7,
            ..Tally::default()
        };
        let now = Tally {
            reserved: 1_203,
            ..before
        };
        assert_eq!(happened(&before, &now), ["1,200 reservations"]);
        assert!(happened(&now, &before).is_empty());
    }

    #[test]
    fn shares_that_are_no_numbers_are_nothing() {
        assert_eq!(share(&serde_json::json!(0.5)), 500);
        assert_eq!(share(&serde_json::json!("NaN")), 0);
    }

    #[test]
    fn ages_of_applications_are_those_of_the_server() {
        let app = |sequence: u32, started_ms: u64| ServedApp {
            id: ApplicationId::new(sequence),
            name: String::new(),
            user: "ann".into(),
            queue: "root.a".into(),
            state: "RUNNING".to_owned(),
            priority: 0,
            started_ms,
            ended_ms: None,
            running: 1,
            waiting: 0,
            finding: None,
        };
        // The first one was taken over by the server, which started at 9,000.
        let apps = [app(1, 5_000), app(2, 9_500)];
        let since_ms = begin(9_000, &apps);
        let now_ms = 10_000 - since_ms;
        let rows = rows(&apps, since_ms);
        let ages: Vec<u64> = rows.iter().map(|app| now_ms - app.submitted_ms).collect();
        assert_eq!(ages, [5_000, 500]);
        assert_eq!(begin(9_000, &[]), 9_000);
    }
}
