//! Shapes: cluster, queues and applications of a workload, the same for every scheduler compared.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use capsched::api::{AppSpec, ApplicationId, NodeName, NodeSpec, ResourceVector, TreeSettings};
use capsched::config;

use crate::hash::Hash;
use crate::{ModeName, ShapeName};

/// A workload that fills a cluster with containers of one size that may run anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) nodes: u32,
    pub(crate) node: ResourceVector,
    /// Children of each queue by level.
    pub(crate) levels: &'static [u32],
    pub(crate) apps: u32,
    pub(crate) users: u32,
    pub(crate) container: ResourceVector,
    /// Containers asked for in all.
    pub(crate) asked: u32,
    /// A round ends with this many containers.
    pub(crate) target: u32,
    /// Containers a heartbeat may place.
    pub(crate) a_heartbeat: u32,
}

impl Shape {
    pub(crate) fn named(name: ShapeName) -> Self {
        match name {
            ShapeName::S1 => Self::fill("S1", 1_000, &[10], 100, 20),
            ShapeName::S2 => Self::fill("S2", 5_000, &[5, 10], 500, 100),
            ShapeName::S3 => Self::fill("S3", 10_000, &[5, 4, 5], 1_000, 200),
            ShapeName::W1 => Self {
                name: "W1",
                nodes: 1_000,
                node: gib(11, 11),
                levels: &[2],
                apps: 2,
                users: 2,
                container: gib(1, 1),
                asked: 10_000,
                target: 10_000,
                a_heartbeat: 1,
            },
        }
    }

    /// Nodes for 32 containers each, asked for 1.25 times what fits, full at 99 %.
    fn fill(name: &'static str, nodes: u32, levels: &'static [u32], apps: u32, users: u32) -> Self {
        let fits = 32 * nodes;
        Self {
            name,
            nodes,
            node: gib(128, 32),
            levels,
            apps,
            users,
            container: gib(4, 1),
            asked: fits * 5 / 4,
            target: fits * 99 / 100,
            a_heartbeat: 1,
        }
    }

    /// The configuration as Hadoop would have it.
    pub(crate) fn pairs(&self, mode: ModeName) -> BTreeMap<String, String> {
        let mut pairs = vec![
            ("resource-calculator".to_owned(), DOMINANT.to_owned()),
            ("maximum-am-resource-percent".to_owned(), "1".to_owned()),
            (
                "per-node-heartbeat.maximum-offswitch-assignments".to_owned(),
                self.a_heartbeat.to_string(),
            ),
        ];
        if mode == ModeName::Global {
            let policy = "multi-node-sorting.policy";
            pairs.extend([
                ("multi-node-placement-enabled".to_owned(), "true".to_owned()),
                (policy.to_owned(), "usage".to_owned()),
                (format!("{policy}.names"), "usage".to_owned()),
                (format!("{policy}.usage.class"), USAGE.to_owned()),
            ]);
        }
        self.add_queues(&mut pairs, "root", "q", 0);
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
        let Some(&count) = self.levels.get(depth) else {
            let limits = [
                ("minimum-user-limit-percent", "25"),
                ("user-limit-factor", "10"),
                ("ordering-policy", "fifo"),
            ];
            pairs.extend(limits.map(|(key, value)| (format!("{path}.{key}"), value.to_owned())));
            return;
        };
        let names: Vec<String> = (0..count).map(|i| format!("{prefix}{i}")).collect();
        for name in &names {
            let child = format!("{path}.{name}");
            pairs.push((format!("{child}.capacity"), percent(count)));
            pairs.push((format!("{child}.maximum-capacity"), "100".to_owned()));
            self.add_queues(pairs, &child, &format!("{name}-"), depth + 1);
        }
        pairs.push((format!("{path}.queues"), names.join(",")));
    }

    /// Settings of the configuration.
    pub(crate) fn settings(&self, mode: ModeName) -> Result<TreeSettings> {
        let site = [
            ("maximum-allocation-mb", self.node.memory()),
            ("maximum-allocation-vcores", self.node.vcores()),
        ]
        .map(|(key, value)| (format!("yarn.scheduler.{key}"), value.to_string()));
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = config::from_pairs(&BTreeMap::from(site), &self.pairs(mode), &types);
        Ok(loaded.context("the configuration of the shape")?.settings)
    }

    /// All nodes, in order of their numbers.
    pub(crate) fn node_specs(&self) -> Result<Vec<NodeSpec>> {
        let node = |i| {
            Ok(NodeSpec::new(
                NodeName::new(&format!("host{i}"), 8041)?,
                self.node,
            ))
        };
        (0..self.nodes).map(node).collect()
    }

    /// All applications and what each asks for; queues and users take turns.
    pub(crate) fn app_specs(&self) -> Vec<(AppSpec, i32)> {
        let leaves = self.leaves();
        let asks = i32::try_from(self.asked / self.apps).unwrap_or(i32::MAX);
        let spec = |(i, leaf): (u32, &String)| {
            let round = i as usize / leaves.len();
            let user = (i as usize + round) % self.users as usize;
            let id = ApplicationId::new(i + 1);
            (AppSpec::new(id, leaf, &format!("user{user}")), asks)
        };
        (0..self.apps)
            .zip(leaves.iter().cycle())
            .map(spec)
            .collect()
    }

    fn leaves(&self) -> Vec<String> {
        let mut level = vec![("root".to_owned(), "q".to_owned())];
        for &count in self.levels {
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

    /// Names the workload by its content.
    pub(crate) fn hash(&self) -> String {
        let mut hash = Hash::new();
        hash.bytes(format!("{self:?}").as_bytes());
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

const DOMINANT: &str = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
const USAGE: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.\
                     ResourceUsageMultiNodeLookupPolicy";

/// Memory in GiB and vcores.
pub(crate) fn gib(memory: i64, vcores: i64) -> ResourceVector {
    ResourceVector::of(&[memory * 1024, vcores])
}

/// An equal share of `count` queues in percent; counts divide 100 evenly.
fn percent(count: u32) -> String {
    (100 / count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_tree_with_the_leaves_of_its_applications() {
        for name in [ShapeName::S1, ShapeName::S2, ShapeName::S3, ShapeName::W1] {
            let shape = Shape::named(name);
            for mode in [ModeName::Heartbeat, ModeName::Global] {
                let settings = shape.settings(mode).unwrap();
                let mut engine = capsched::api::Engine::builder(settings)
                    .sequential()
                    .unwrap();
                for (app, asks) in shape.app_specs() {
                    engine.submit(&app).unwrap();
                    assert!(asks > 0);
                }
            }
        }
    }

    #[test]
    fn different_shapes_have_different_hashes() {
        let hash = |name| Shape::named(name).hash();
        assert_ne!(hash(ShapeName::S1), hash(ShapeName::S2));
    }
}
