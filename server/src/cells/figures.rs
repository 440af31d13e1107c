//! Figures of a router in the OpenMetrics text format.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::names::CellName;

type ByCell<M> = Family<Vec<(&'static str, String)>, M>;

/// What a router counts.
#[derive(Clone)]
pub(super) struct Figures {
    registry: Arc<Registry>,
    submitted: ByCell<Counter>,
    answered: ByCell<Counter>,
    failed: ByCell<Counter>,
    up: ByCell<Gauge>,
    policy: Gauge,
    homes: Gauge,
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

fn label(cell: &CellName) -> Vec<(&'static str, String)> {
    vec![("cell", cell.to_string())]
}

impl Figures {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("capsched_router");
        let (submitted, answered, failed) =
            (ByCell::default(), ByCell::default(), ByCell::default());
        let (up, policy, homes) = (ByCell::default(), Gauge::default(), Gauge::default());
        registry.register(
            "submissions",
            "Submissions that a cell answered",
            submitted.clone(),
        );
        registry.register("calls", "Calls that a cell answered", answered.clone());
        registry.register(
            "failed_calls",
            "Calls that a cell did not answer",
            failed.clone(),
        );
        registry.register("cell_up", "Whether an address of a cell is up", up.clone());
        registry.register(
            "policy_version",
            "Version of the policy; 0: none",
            policy.clone(),
        );
        registry.register("homes", "Applications whose cell is kept", homes.clone());
        Self {
            registry: Arc::new(registry),
            submitted,
            answered,
            failed,
            up,
            policy,
            homes,
        }
    }

    pub(super) fn submitted(&self, cell: &CellName) {
        self.submitted.get_or_create(&label(cell)).inc();
    }

    pub(super) fn answered(&self, cell: &CellName) {
        self.answered.get_or_create(&label(cell)).inc();
    }

    pub(super) fn failed(&self, cell: &CellName) {
        self.failed.get_or_create(&label(cell)).inc();
    }

    /// All figures as text, with the present states of cells, version of the policy and count of homes.
    pub(super) fn text(
        &self,
        cells: &[(CellName, bool)],
        policy: u64,
        homes: usize,
    ) -> Result<String, fmt::Error> {
        self.up.clear();
        for (cell, up) in cells {
            self.up.get_or_create(&label(cell)).set((*up).into());
        }
        self.policy.set(i64::try_from(policy).unwrap_or(i64::MAX));
        self.homes.set(i64::try_from(homes).unwrap_or(i64::MAX));
        let mut out = String::new();
        encode(&mut out, &self.registry)?;
        Ok(out)
    }
}
