//! Shapes: cluster, queues and applications of a workload, the same for every scheduler compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, Engine, NodeName, NodeSpec, ResourceVector, Sequential,
    TreeSettings,
};
use capsched::config;
use serde::Deserialize;

use crate::ModeName;
use crate::hash::Hash;
use crate::limits;
pub(crate) use crate::spec::{Cluster, Hopeless, Load, NodeOrder, Queues, Run};

/// A workload as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    #[serde(skip)]
    pub(crate) name: String,
    /// What it is, for people.
    pub(crate) about: String,
    pub(crate) cluster: Cluster,
    pub(crate) queues: Queues,
    pub(crate) load: Load,
    pub(crate) run: Run,
}

/// An application, and what it asks for.
#[derive(Clone, Debug)]
pub(crate) struct AppPlan {
    pub(crate) spec: AppSpec,
    pub(crate) size: ResourceVector,
    pub(crate) count: i32,
}

impl Shape {
    /// Reads `configs/workloads/NAME.toml`.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let path = folder().join(format!("{name}.toml"));
        let text = limits::is_name(name).then(|| fs::read_to_string(&path).ok());
        let Some(text) = text.flatten() else {
            bail!("no workload {name}; there are {}", names()?.join(", "));
        };
        let read = || -> Result<Self> {
            let mut shape: Self = toml::from_str(&text)?;
            name.clone_into(&mut shape.name);
            shape.check(&text)?;
            Ok(shape)
        };
        read().with_context(|| path.display().to_string())
    }

    /// Reads several workloads; fails before any is measured when one is not there or not valid.
    pub(crate) fn all(names: &[String]) -> Result<Vec<Self>> {
        names.iter().map(|name| Self::named(name)).collect()
    }

    /// Refuses what cannot be run, with places in the text of its file.
    pub(crate) fn check(&self, text: &str) -> Result<()> {
        let refusals = limits::refusals(self, text);
        ensure!(refusals.is_empty(), "{}", refusals.join("\n"));
        Ok(())
    }

    /// How often each node reports by the clock, in a churn whose nodes do.
    pub(crate) fn heartbeat_interval_ms(&self) -> Option<u32> {
        match self.run {
            Run::Churn {
                heartbeat_interval_ms,
                ..
            } => heartbeat_interval_ms,
            _ => None,
        }
    }

    fn node_order(&self) -> &'static str {
        match self.cluster.order {
            NodeOrder::Spread => USAGE,
            NodeOrder::BestFit => BEST_FIT,
        }
    }

    /// Names of all resource types.
    pub(crate) fn types(&self) -> Vec<String> {
        let plain = ["memory-mb", "vcores"].map(str::to_owned);
        plain
            .into_iter()
            .chain(self.cluster.more_types.iter().cloned())
            .collect()
    }

    /// One node.
    pub(crate) fn node(&self) -> ResourceVector {
        ResourceVector::of(&self.cluster.node)
    }

    /// Containers that fit, by the mean of their sizes.
    pub(crate) fn fits(&self) -> u32 {
        let classes = i64::try_from(self.load.containers.len()).unwrap_or(1);
        let of_type = |(i, &amount): (usize, &i64)| {
            let sum: i64 = self.load.containers.iter().map(|size| size[i]).sum();
            amount * classes / sum
        };
        let amounts = self.cluster.node.iter().enumerate();
        let a_node = amounts.map(of_type).min().unwrap_or(0);
        let all = u64::try_from(a_node).unwrap_or(0) * u64::from(self.cluster.nodes);
        u32::try_from(all).unwrap_or(u32::MAX)
    }

    /// A round of filling ends with this many containers.
    pub(crate) fn target(&self) -> u32 {
        match self.run {
            Run::Fill { until_percent } => self.share(until_percent).min(self.asked()),
            Run::Churn { .. } | Run::Open { .. } => {
                self.asked_each().saturating_mul(self.load.apps)
            }
            Run::Beats { .. } | Run::Trace { .. } => self.fits(),
        }
    }

    fn share(&self, percent: u32) -> u32 {
        let share = u64::from(self.fits()) * u64::from(percent) / 100;
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    pub(crate) fn asked(&self) -> u32 {
        match self.run {
            Run::Churn { full_percent, .. } | Run::Open { full_percent, .. } => {
                self.share(full_percent)
            }
            _ => self
                .load
                .asked
                .unwrap_or_else(|| (self.fits() / 4).saturating_mul(5)),
        }
    }

    /// Containers that each application with a chance asks for.
    fn asked_each(&self) -> u32 {
        let able = (0..self.load.apps).filter(|&app| !self.is_hopeless(app));
        let able = u32::try_from(able.count()).unwrap_or(1).max(1);
        match self.run {
            Run::Churn { .. } | Run::Open { .. } => self.asked() / able,
            _ => self.asked().div_ceil(able),
        }
    }

    /// Some tenths of the applications of each leaf, at places that differ from leaf to leaf.
    fn is_hopeless(&self, app: u32) -> bool {
        let leaves = self.leaf_count();
        self.load.hopeless != Hopeless::None
            && (app / leaves + app % leaves) % 10 >= 10 - self.load.hopeless_tenths
    }

    fn leaf_count(&self) -> u32 {
        self.queues.levels.iter().product()
    }

    /// The configuration as Hadoop would have it.
    pub(crate) fn pairs(&self, mode: ModeName) -> BTreeMap<String, String> {
        let mut pairs = vec![
            ("resource-calculator".to_owned(), DOMINANT.to_owned()),
            (
                "maximum-am-resource-percent".to_owned(),
                self.queues.am_share.clone(),
            ),
            ("maximum-applications".to_owned(), "1000000".to_owned()),
            (
                "per-node-heartbeat.maximum-offswitch-assignments".to_owned(),
                self.load.a_heartbeat.to_string(),
            ),
        ];
        if mode == ModeName::Global {
            let policy = "multi-node-sorting.policy";
            pairs.extend([
                ("multi-node-placement-enabled".to_owned(), "true".to_owned()),
                // Without it nodes that others reserved are proposed again and again, here and in Hadoop.
                (
                    "skip-allocate-on-nodes-with-reserved-containers".to_owned(),
                    "true".to_owned(),
                ),
                (policy.to_owned(), "usage".to_owned()),
                (format!("{policy}.names"), "usage".to_owned()),
                (
                    format!("{policy}.usage.class"),
                    self.node_order().to_owned(),
                ),
            ]);
        }
        for label in &self.cluster.partitions {
            let key = format!("root.accessible-node-labels.{label}.capacity");
            pairs.push((key, "100".to_owned()));
        }
        self.add_queues(&mut pairs, "root", "q", 0);
        self.add_weights(&mut pairs);
        let prefixed = |(key, value)| (format!("yarn.scheduler.capacity.{key}"), value);
        pairs.into_iter().map(prefixed).collect()
    }

    /// Equal shares on each level; leaf names differ, as the scheduler wants.
    fn add_queues(
        &self,
        pairs: &mut Vec<(String, String)>,
        path: &str,
        prefix: &str,
        depth: usize,
    ) {
        let Some(&count) = self.queues.levels.get(depth) else {
            let limits = [
                (
                    "minimum-user-limit-percent",
                    self.queues.user_percent.to_string(),
                ),
                ("user-limit-factor", self.queues.user_factor.clone()),
                ("maximum-am-resource-percent", self.queues.am_share.clone()),
                ("ordering-policy", "fifo".to_owned()),
            ];
            pairs.extend(limits.map(|(key, value)| (format!("{path}.{key}"), value)));
            return;
        };
        let names: Vec<String> = (0..count).map(|i| format!("{prefix}{i}")).collect();
        for name in &names {
            let child = format!("{path}.{name}");
            pairs.push((format!("{child}.capacity"), percent(count)));
            pairs.push((format!("{child}.maximum-capacity"), "100".to_owned()));
            if !self.cluster.partitions.is_empty() {
                let labels = self.cluster.partitions.join(",");
                pairs.push((format!("{child}.accessible-node-labels"), labels));
            }
            for label in &self.cluster.partitions {
                let of = format!("{child}.accessible-node-labels.{label}");
                pairs.push((format!("{of}.capacity"), percent(count)));
                pairs.push((format!("{of}.maximum-capacity"), "100".to_owned()));
            }
            self.add_queues(pairs, &child, &format!("{name}-"), depth + 1);
        }
        pairs.push((format!("{path}.queues"), names.join(",")));
    }

    /// Weights that hold users at their limit whose every application in a leaf is hopeless.
    fn add_weights(&self, pairs: &mut Vec<(String, String)>) {
        if self.load.hopeless != Hopeless::User {
            return;
        }
        let mut weights = BTreeMap::new();
        for (i, app) in (0..).zip(self.apps()) {
            let key = format!("{}.user-settings.{}.weight", app.queue, app.user);
            let able = weights.entry(key).or_insert(false);
            *able |= !self.is_hopeless(i);
        }
        let weight = |able| if able { "10.0" } else { "0.01" };
        pairs.extend(
            weights
                .into_iter()
                .map(|(key, able)| (key, weight(able).to_owned())),
        );
    }

    /// Settings of the configuration.
    pub(crate) fn settings(&self, mode: ModeName) -> Result<TreeSettings> {
        let site = [
            ("minimum-allocation-mb", self.cluster.minimum_mib),
            ("maximum-allocation-mb", MAXIMUM_MIB),
            ("maximum-allocation-vcores", MAXIMUM_VCORES),
        ]
        .map(|(key, value)| (format!("yarn.scheduler.{key}"), value.to_string()));
        let loaded = config::from_pairs(&BTreeMap::from(site), &self.pairs(mode), &self.types());
        let mut settings = loaded.context("the configuration of the shape")?.settings;
        let asynchronous = &mut settings.scheduler.asynchronous;
        asynchronous.name_mode(mode == ModeName::Heartbeat);
        Ok(settings)
    }

    /// All nodes, in order of their numbers.
    pub(crate) fn node_specs(&self) -> Result<Vec<NodeSpec>> {
        let partitions = self.all_partitions();
        let node = |i: u32| {
            let name = NodeName::new(&format!("host{i}"), 8041)?;
            let partition = partitions[i as usize % partitions.len()].clone();
            let node = NodeSpec::new(name, self.node());
            Ok(NodeSpec { partition, ..node })
        };
        (0..self.cluster.nodes).map(node).collect()
    }

    /// Names of the nodes, in order of their numbers.
    pub(crate) fn node_names(&self) -> Result<Vec<NodeName>> {
        Ok(self
            .node_specs()?
            .into_iter()
            .map(|node| node.name)
            .collect())
    }

    fn all_partitions(&self) -> Vec<String> {
        let labels = self.cluster.partitions.iter().cloned();
        [String::new()].into_iter().chain(labels).collect()
    }

    /// All applications; queues and users take turns.
    fn apps(&self) -> Vec<AppSpec> {
        let leaves = self.leaves();
        let partitions = self.all_partitions();
        let spec = |(i, leaf): (u32, &String)| {
            let round = i as usize / leaves.len();
            let user = (i as usize + round) % self.load.users as usize;
            let app = AppSpec::new(ApplicationId::new(i + 1), leaf, &format!("user{user}"));
            let label = &partitions[round % partitions.len()];
            let partition = (!label.is_empty()).then(|| label.clone());
            AppSpec { partition, ..app }
        };
        (0..self.load.apps)
            .zip(leaves.iter().cycle())
            .map(spec)
            .collect()
    }

    /// All applications with what each asks for.
    pub(crate) fn app_plans(&self) -> Vec<AppPlan> {
        let count = i32::try_from(self.asked_each()).unwrap_or(i32::MAX);
        let classes = &self.load.containers;
        let plan = |(i, spec): (u32, AppSpec)| {
            let hopeless = self.is_hopeless(i);
            let mut size = classes[i as usize % classes.len()].clone();
            if hopeless && self.load.hopeless == Hopeless::Size {
                size[0] = 2 * self.cluster.node[0];
            }
            let size = ResourceVector::of(&size);
            AppPlan { spec, size, count }
        };
        (0..).zip(self.apps()).map(plan).collect()
    }

    fn leaves(&self) -> Vec<String> {
        let mut level = vec![("root".to_owned(), "q".to_owned())];
        for &count in &self.queues.levels {
            let below = |(path, prefix): &(String, String)| {
                let child = |i| {
                    let name = format!("{prefix}{i}");
                    (format!("{path}.{name}"), format!("{name}-"))
                };
                (0..count).map(child).collect::<Vec<_>>()
            };
            level = level.iter().flat_map(below).collect();
        }
        level.into_iter().map(|(path, _)| path).collect()
    }

    /// An engine with all nodes and applications, whose asks wait; no event is left in it.
    pub(crate) fn engine(&self, mode: ModeName) -> Result<Sequential> {
        let mut builder = Engine::builder(self.settings(mode)?);
        for label in &self.cluster.partitions {
            builder = builder.partition(label, true);
        }
        let mut engine = builder.sequential()?;
        for node in self.node_specs()? {
            engine.add_node(&node)?;
        }
        // A node that is gone again before anything is decided: while it is there, more may be
        // asked for than the others have.
        let largest = NodeName::new("largest", 8041)?;
        if self.load.hopeless == Hopeless::Size {
            let mut total = self.cluster.node.clone();
            total[0] *= 2;
            let total = ResourceVector::of(&total);
            engine.add_node(&NodeSpec::new(largest.clone(), total))?;
        }
        for app in self.app_plans() {
            engine.submit(&app.spec)?;
            let asks = vec![Ask::anywhere(app.size, app.count)];
            engine.ask(app.spec.id, &AskCall::asking(asks))?;
        }
        if self.load.hopeless == Hopeless::Size {
            engine.remove_node(&largest)?;
        }
        drop(engine.take_events());
        Ok(engine)
    }

    /// Names the workload by its content. Builds that know fewer settings name one that leaves the
    /// others as usual alike.
    pub(crate) fn hash(&self) -> String {
        const USUAL: [&str; 3] = [
            ", heartbeat_interval_ms: None",
            ", order: Spread",
            ", am_share: \"1\"",
        ];
        let mut content = format!("{self:?}");
        for usual in USUAL {
            content = content.replace(usual, "");
        }
        let mut hash = Hash::new();
        hash.bytes(content.as_bytes());
        hash.hex()
    }

    /// Names the configuration by its content.
    pub(crate) fn config_hash(&self, mode: ModeName) -> String {
        let mut hash = Hash::new();
        for (key, value) in self.pairs(mode) {
            hash.bytes(key.as_bytes());
            hash.bytes(value.as_bytes());
        }
        hash.hex()
    }
}

/// Names of all workloads that have a file.
pub(crate) fn names() -> Result<Vec<String>> {
    let folder = folder();
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if let Some(name) = name.to_string_lossy().strip_suffix(".toml") {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/workloads"))
}

const DOMINANT: &str = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
const USAGE: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                     ResourceUsageMultiNodeLookupPolicy";

const BEST_FIT: &str = "BestFitMultiNodeLookupPolicy";

/// Largest allocation that may be asked for, more than a node of most shapes has.
const MAXIMUM_MIB: i64 = 2048 * 1024;
const MAXIMUM_VCORES: i64 = 262_144;

/// An equal share of `count` queues in percent; counts divide 100 evenly.
fn percent(count: u32) -> String {
    (100 / count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_a_tree_with_the_leaves_of_its_applications() {
        for name in names().unwrap() {
            let mut shape = Shape::named(&name).unwrap();
            shape.cluster.nodes = shape.cluster.nodes.min(10);
            shape.load.apps = shape.load.apps.min(2 * shape.leaf_count());
            for mode in [ModeName::Heartbeat, ModeName::Global] {
                shape.engine(mode).unwrap();
            }
        }
    }

    #[test]
    fn the_shapes_that_peers_know_have_their_sizes() {
        for (name, target) in [
            ("S1", 31_680),
            ("S3", 316_800),
            ("W1", 10_000),
            ("S5", 30_400),
        ] {
            assert_eq!(Shape::named(name).unwrap().target(), target, "{name}");
        }
        let shape = Shape::named("S4").unwrap();
        assert_eq!((0..100).filter(|&app| shape.is_hopeless(app)).count(), 90);
    }

    #[test]
    fn a_churn_whose_nodes_report_without_an_interval_is_refused() {
        let mut shape = Shape::named("W12-1000").unwrap();
        shape.check("").unwrap();
        let named = shape.hash();
        for (found, refused) in [(Some(0), true), (None, false)] {
            if let Run::Churn {
                heartbeat_interval_ms,
                ..
            } = &mut shape.run
            {
                *heartbeat_interval_ms = found;
            }
            let error = shape.check("").err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert_eq!(error.contains("heartbeat_interval_ms = 0"), refused);
        }
        assert_ne!(shape.hash(), named);
    }

    #[test]
    fn a_workload_without_a_file_is_answered_with_those_that_have_one() {
        for name in ["S17", "../workloads/S1", "S1/"] {
            let error = Shape::named(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("S4U"), "{error}");
        }
    }
}
