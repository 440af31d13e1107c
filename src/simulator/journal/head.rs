//! The head of a snapshot: the configuration and the mode that its calls were made under.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::snapshot_error::{SHOWN, SnapshotError};
use crate::api::{Engine, ModeKind, PartitionSpec, Reference, Stepped};
use crate::config::{self, Loaded, Options, Properties};

/// Beginnings of the properties that a snapshot keeps: those that decisions depend on. Everything else of a
/// site, such as passwords and addresses, is left out.
const KEPT: [&str; 13] = [
    "yarn.scheduler.",
    "yarn.resource-types",
    "yarn.cluster.max-application-priority",
    "yarn.node-labels.",
    "yarn.resourcemanager.scheduler.",
    "yarn.resourcemanager.monitor.capacity.preemption.",
    "yarn.resourcemanager.placement-constraints.",
    "yarn.resourcemanager.node-labels.am.",
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
    "yarn.resourcemanager.opportunistic-container-allocation.",
    "yarn.resourcemanager.nm-container-queuing.",
    "yarn.nodemanager.opportunistic-containers-max-queue-length",
    "capsched.mend.",
];

/// Everything that the calls of a snapshot depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotHead {
    /// Names of the resource types in their order.
    pub types: Vec<String>,
    /// Properties of the site.
    #[serde(deserialize_with = "each_once")]
    pub site: BTreeMap<String, String>,
    /// Properties of the scheduler.
    #[serde(deserialize_with = "each_once")]
    pub scheduler: BTreeMap<String, String>,
    /// Labels of the cluster, and whether each is exclusive.
    pub labels: Vec<(String, bool)>,
    /// The mode by its name.
    pub mode: String,
    /// The release of Hadoop that decides.
    pub reference: String,
    /// Whether rounds of preemption run, and whether they only observe.
    pub preemption: Option<bool>,
    /// Whether every heartbeat and round is carried out.
    pub every_beat: bool,
    /// The moment in virtual ms.
    pub at_ms: u64,
    /// Whether the calls take over what runs, as after a restart, in place of all calls from the start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recovers: bool,
    /// What the calls do not carry over, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl SnapshotHead {
    /// Keeps of the properties of a configuration what decisions depend on.
    pub fn keep(&mut self, properties: &Properties) {
        let [site, scheduler] = properties.pairs_with(&[]);
        let kept = |(key, _): &(String, String)| KEPT.iter().any(|kept| key.starts_with(kept));
        self.site.extend(site.into_iter().filter(kept));
        self.scheduler.extend(scheduler.into_iter().filter(kept));
    }

    /// The calls are made in a mode; what it sets holds over the configuration. `sorts`: as in [`of_mode`].
    pub fn run_in(&mut self, mode: ModeKind, sorts: bool) {
        mode.name().clone_into(&mut self.mode);
        self.scheduler.extend(of_mode(mode, sorts));
    }

    /// The configuration.
    ///
    /// # Errors
    ///
    /// What it is refused for.
    pub fn loaded(&self) -> Result<Loaded, SnapshotError> {
        let reference: Reference = self
            .reference
            .parse()
            .map_err(|_| self.wrong(&format!("reference: there is no `{}`", self.reference)))?;
        let options = Options {
            resource_types: Some(self.types.clone()),
            reference,
            ..Options::default()
        };
        config::load_pairs(&self.site, &self.scheduler, &options).map_err(|report| {
            let first = report.first_error().map(ToString::to_string);
            self.wrong(&first.unwrap_or_default())
        })
    }

    fn wrong(&self, what: &str) -> SnapshotError {
        SnapshotError::Head(what.chars().take(SHOWN).collect())
    }

    /// The mode.
    ///
    /// # Errors
    ///
    /// When no mode has the name.
    pub fn mode(&self) -> Result<ModeKind, SnapshotError> {
        let all = [
            ModeKind::Heartbeat,
            ModeKind::Asynchronous,
            ModeKind::Global,
        ];
        let found = all.into_iter().find(|mode| mode.name() == self.mode);
        found.ok_or_else(|| self.wrong(&format!("mode: there is no `{}`", self.mode)))
    }

    /// Refuses labels that no cluster has: the engine takes what it is given.
    fn check_labels(&self) -> Result<(), SnapshotError> {
        let mut seen = BTreeSet::new();
        for (name, _) in &self.labels {
            if name.is_empty() {
                return Err(self.wrong("labels: the default partition has no name and is none"));
            }
            if !seen.insert(name) {
                return Err(self.wrong(&format!("labels: `{name}` stands there twice")));
            }
        }
        Ok(())
    }

    /// An engine before the first call.
    ///
    /// # Errors
    ///
    /// As [`Self::loaded`] and [`Self::mode`].
    pub fn engine(&self) -> Result<Stepped, SnapshotError> {
        let loaded = self.loaded()?;
        self.check_labels()?;
        let label = |(name, exclusive): &(String, bool)| PartitionSpec {
            name: name.clone(),
            exclusive: *exclusive,
        };
        let builder = Engine::builder(loaded.settings);
        let builder = builder.partitions(self.labels.iter().map(label));
        let builder = if self.recovers {
            builder.recovering()
        } else {
            builder
        };
        let engine = builder.sequential();
        let engine = engine.map_err(|error| self.wrong(&error.to_string()))?;
        let mut engine = Stepped::new(engine, self.mode()?);
        if self.every_beat {
            engine = engine.carrying_out_all();
        }
        if let Some(observe_only) = self.preemption {
            let mut settings = loaded.preemption;
            settings.enabled = true;
            settings.observe_only = observe_only;
            engine = engine.with_preemption(settings);
        }
        Ok(engine)
    }
}

/// The properties that a mode sets in runs. `sorts`: no policy sorts the nodes, so that the mode needs one.
#[must_use]
pub fn of_mode(mode: ModeKind, sorts: bool) -> Vec<(String, String)> {
    let class = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                 ResourceUsageMultiNodeLookupPolicy";
    let asynchronous = if mode == ModeKind::Heartbeat {
        "false"
    } else {
        "true"
    };
    let mut pairs = vec![("schedule-asynchronously.enable", asynchronous)];
    if mode == ModeKind::Global {
        pairs.push(("multi-node-placement-enabled", "true"));
        if sorts {
            pairs.extend([
                ("multi-node-sorting.policy.names", "resource-usage"),
                ("multi-node-sorting.policy", "resource-usage"),
                ("multi-node-sorting.policy.resource-usage.class", class),
                (
                    "multi-node-sorting.policy.resource-usage.sorting-interval.ms",
                    "0",
                ),
            ]);
        }
    }
    let full =
        |(key, value): (&str, &str)| (format!("yarn.scheduler.capacity.{key}"), value.to_owned());
    pairs.into_iter().map(full).collect()
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Reads properties of which none is named twice; by itself the later value would win.
fn each_once<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Pairs;
    impl<'de> Visitor<'de> for Pairs {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("properties by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
            let mut pairs = BTreeMap::new();
            while let Some((key, value)) = from.next_entry::<String, String>()? {
                if pairs.contains_key(&key) {
                    return Err(A::Error::custom(format!("`{key}` stands there twice")));
                }
                pairs.insert(key, value);
            }
            Ok(pairs)
        }
    }
    from.deserialize_map(Pairs)
}
