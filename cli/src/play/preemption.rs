//! What preemption took in a run, or would have taken.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use capsched::api::{PreemptionSettings, Rescheduler, Taken};
use capsched::metrics::Closed;
use serde_json::{Value, json};

use super::figures::grouped;

/// What a run does about preemption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Preemption {
    /// No round runs.
    #[default]
    Off,
    /// Rounds run and choose, and nothing is taken.
    Observe,
    /// Containers are asked back and killed.
    On,
}

impl Preemption {
    /// The settings of a configuration, switched as the run wants it: the command line decides
    /// whether rounds run, the configuration how.
    pub(crate) fn apply(self, settings: &PreemptionSettings) -> Option<PreemptionSettings> {
        (self != Self::Off).then(|| PreemptionSettings {
            enabled: true,
            observe_only: self == Self::Observe,
            ..settings.clone()
        })
    }
}

/// An account of preemption in a run.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    observed: bool,
    types: Vec<String>,
    taken: Vec<Taken>,
    waits: BTreeMap<&'static str, u64>,
}

impl Account {
    /// The account of a policy that recorded.
    pub(crate) fn of(policy: &Rescheduler, types: &[String]) -> Self {
        let waits = policy.waits();
        let waits = waits.filter(|(_, n)| *n > 0);
        Self {
            observed: policy.settings.observe_only,
            types: types.to_vec(),
            taken: policy.taken().cloned().collect(),
            waits: waits.map(|(why, n)| (why.name(), n)).collect(),
        }
    }

    /// The account as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let taken = |taken: &Taken| {
            let size = self.types.iter().enumerate();
            let size: serde_json::Map<String, Value> = size
                .map(|(i, name)| (name.clone(), json!(taken.size[i])))
                .collect();
            json!({"queue": &*taken.queue, "application": taken.app.to_string(),
                "reason": taken.reason.name(), "containers": taken.containers, "size": size})
        };
        json!({
            "mode": if self.observed { "observe" } else { "on" },
            "containers": self.containers(),
            "taken": self.taken.iter().map(taken).collect::<Vec<_>>(),
            "waiting_application_rounds": self.waits,
        })
    }

    /// Containers of a leaf.
    pub(super) fn of_queue(&self, queue: &str) -> u64 {
        let taken = self.taken.iter().filter(|taken| &*taken.queue == queue);
        taken.map(|taken| taken.containers).sum()
    }

    fn containers(&self) -> u64 {
        self.taken.iter().map(|taken| taken.containers).sum()
    }

    /// A table of at most `rows` applications, those that gave most first.
    pub(crate) fn table(&self, rows: usize) -> String {
        let verb = if self.observed {
            "would have been taken (observed only)"
        } else {
            "chosen to be taken"
        };
        let mut out = format!(
            "preemption: {} containers {verb}\n",
            grouped(self.containers())
        );
        if !self.taken.is_empty() {
            let _ = write!(
                out,
                "{:<32}{:<26}{:<16}{:>11}",
                "queue", "application", "reason", "containers"
            );
            for name in &self.types {
                let _ = write!(out, "{name:>14}");
            }
            out.push('\n');
        }
        let mut taken: Vec<_> = self.taken.iter().collect();
        taken.sort_by_key(|taken| std::cmp::Reverse(taken.containers));
        for row in taken.iter().take(rows) {
            let _ = write!(
                out,
                "{:<32}{:<26}{:<16}{:>11}",
                row.queue,
                row.app.to_string(),
                row.reason.name(),
                grouped(row.containers)
            );
            for i in 0..self.types.len() {
                let _ = write!(out, "{:>14}", row.size[i]);
            }
            out.push('\n');
        }
        if taken.len() > rows {
            let _ = writeln!(out, "and {} more; --json has all", taken.len() - rows);
        }
        if !self.waits.is_empty() {
            out.push_str(
                "what preemption did for applications that waited, by application and round:\n",
            );
            for (token, n) in &self.waits {
                let _ = writeln!(out, "  {token:<24}{:>12}", grouped(*n));
            }
        }
        out
    }
}
