//! What is read when metrics are asked for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use capsched::metrics::Closed;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::StoreWatch;
use super::queue_figures;
use super::samples::{Family, Value};
use crate::page::PendingWatch;
use crate::rm::{AppState, NodeLife, ResourceManager};

/// Where nodes stand.
const NODES: [NodeLife; 6] = [
    NodeLife::Running,
    NodeLife::Unhealthy,
    NodeLife::Decommissioning,
    NodeLife::Decommissioned,
    NodeLife::Lost,
    NodeLife::Shutdown,
];

/// Reads the figures of a resource manager.
pub(super) struct Figures {
    rm: Arc<ResourceManager>,
    pending: Arc<PendingWatch>,
    store: Option<StoreWatch>,
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures").finish_non_exhaustive()
    }
}

impl Figures {
    pub(super) fn new(
        rm: Arc<ResourceManager>,
        pending: Arc<PendingWatch>,
        store: Option<StoreWatch>,
    ) -> Self {
        Self { rm, pending, store }
    }

    fn cluster(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (apps, nodes) = self.rm.read(|books| {
            let apps = AppState::ALL.map(|state| (state.name(), books.count_apps(state)));
            let nodes = NODES.map(|life| (life.name(), books.nodes().count(life)));
            (apps, nodes)
        });
        let of = |(state, n): (&'static str, usize)| {
            let n = i64::try_from(n).unwrap_or(i64::MAX);
            (vec![("state", state)], Value::Whole(n))
        };
        Family::of("applications", "Applications by state").gauges(to, apps.map(of))?;
        Family::of("nodes", "Nodes by state").gauges(to, nodes.map(of))?;
        let running = i64::from(self.rm.engine().is_running());
        let up = [(Vec::new(), Value::Whole(running))];
        Family::of("engine_running", "1 while the engine decides").gauges(to, up)?;
        let panics = [(Vec::new(), self.rm.engine().worker_panics().count)];
        Family::of("worker_panics", "Panics of threads that decide").counters(to, panics)?;
        let since = Duration::from_millis(self.rm.started_ms()).as_secs_f64();
        Family::of("start_time", "Start of the server since the Unix epoch")
            .in_unit(&Unit::Seconds)
            .gauges(to, [(Vec::new(), Value::Real(since))])
    }

    fn pending(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let look = self.pending.last();
        let age_ms = self.rm.now_ms().saturating_sub(look.at_ms());
        let age = Value::Real(Duration::from_millis(age_ms).as_secs_f64());
        Family::of("pending_age", "How long ago what waits was looked at")
            .in_unit(&Unit::Seconds)
            .gauges(to, [(Vec::new(), age)])?;
        let rows: Vec<_> = look
            .pending()
            .sums
            .iter()
            .map(|((queue, reason), sum)| (queue, reason, reason.tier().to_string(), sum))
            .collect();
        let labels = |at: usize| {
            let (queue, reason, tier, _) = &rows[at];
            vec![
                ("queue", &***queue),
                ("tier", tier.as_str()),
                ("reason", reason.token()),
            ]
        };
        let whole = |n: u64| Value::Whole(i64::try_from(n).unwrap_or(i64::MAX));
        let containers = (0..rows.len()).map(|at| (labels(at), whole(rows[at].3.containers)));
        let help = "Containers that wait, by queue, tier and reason";
        Family::of("pending_containers", help).gauges(to, containers)?;
        let apps = (0..rows.len()).map(|at| (labels(at), whole(rows[at].3.applications)));
        let help = "Applications by what they wait for first of all";
        Family::of("pending_applications", help).gauges(to, apps)
    }

    fn decisions(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let outcomes = self.rm.outcomes();
        let all = outcomes
            .iter()
            .map(|(outcome, n)| (vec![("outcome", outcome.name())], n));
        Family::of("proposals", "Proposals by outcome").counters(to, all)?;
        let seen = self.rm.engine().snapshot();
        let seen = seen.taken.iter().sum::<u64>() + seen.served;
        let lag = i64::try_from(outcomes.total().saturating_sub(seen)).unwrap_or(i64::MAX);
        let help = "Decisions that the newest snapshot does not show yet";
        let lag = [(Vec::new(), Value::Whole(lag))];
        Family::of("publication_lag_decisions", help).gauges(to, lag)?;
        let refused = outcomes.iter().filter(|(outcome, _)| outcome.is_refused());
        let refused = refused.map(|(cause, n)| (vec![("cause", cause.name())], n));
        Family::of("conflicts", "Proposals that the commit refused").counters(to, refused)?;
        let waiting = i64::try_from(self.rm.engine().events_waiting()).unwrap_or(i64::MAX);
        let waiting = [(Vec::new(), Value::Whole(waiting))];
        let help = "Events of the scheduler that the server has not taken";
        Family::of("events_waiting", help).gauges(to, waiting)?;
        let Ok(events) = self.rm.engine().event_counts() else {
            return Ok(());
        };
        let events = [
            ("allocated", events.allocated),
            ("reserved", events.reserved),
            ("unreserved", events.unreserved),
            ("moved", events.moved),
            ("finished", events.finished),
            ("released", events.released),
            ("killed", events.killed),
            ("started", events.started),
            ("masters_lost", events.masters_lost),
            ("ended", events.ended),
        ];
        let events = events.map(|(kind, n)| (vec![("kind", kind)], n));
        Family::of("events", "Events of the scheduler by kind").counters(to, events)
    }

    fn phases(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let latencies = self.rm.engine().latencies();
        let phases: Vec<_> = latencies
            .iter()
            .filter(|(_, found)| !found.is_empty())
            .collect();
        let samples = phases
            .iter()
            .map(|(phase, found)| (vec![("phase", phase.name())], found.len()));
        Family::of("phase_samples", "Measured passes of a phase").counters(to, samples)?;
        let points = [
            ("0.5", 0.5),
            ("0.9", 0.9),
            ("0.99", 0.99),
            ("0.999", 0.999),
            ("1", 1.0),
        ];
        let values = phases.iter().flat_map(|(phase, found)| {
            points.map(|(name, share)| {
                let seconds = Duration::from_nanos(found.quantile(share)).as_secs_f64();
                (
                    vec![("phase", phase.name()), ("quantile", name)],
                    Value::Real(seconds),
                )
            })
        });
        Family::of(
            "phase_duration",
            "How long a phase of a decision takes, since the start",
        )
        .in_unit(&Unit::Seconds)
        .gauges(to, values)
    }

    fn store(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(watch) = &self.store else {
            return Ok(());
        };
        let found = watch();
        let whole = |n: u64| {
            [(
                Vec::new(),
                Value::Whole(i64::try_from(n).unwrap_or(i64::MAX)),
            )]
        };
        let up = u64::from(!found.failed);
        Family::of("store_up", "1 while changes are kept").gauges(to, whole(up))?;
        let help = "Entries of the journal that do not survive a crash yet";
        Family::of("store_lag_entries", help).gauges(to, whole(found.lag_entries))?;
        let help = "Version of the scheduler's configuration";
        Family::of("configuration_version", help).gauges(to, whole(found.configuration_version))?;
        let help = "Changes of the configuration that were refused or failed";
        let refused = [(Vec::new(), found.configuration_refused)];
        Family::of("configuration_refused", help).counters(to, refused)
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        self.cluster(to)?;
        queue_figures::encode(&self.rm, to)?;
        self.pending(to)?;
        self.decisions(to)?;
        self.phases(to)?;
        self.store(to)
    }
}
