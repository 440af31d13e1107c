//! Node labels as documents, with the nodes and the resources of their partitions.
// As NodeLabelsInfo, NodeToLabelsInfo and LabelsToNodesInfo.

use std::collections::BTreeMap;

use capsched::commit::Ledger;
use capsched::id::{NodeName, PartitionId};
use capsched::resource::ResourceVector;

use super::resource::open;
use crate::rest::tree::Object;
use crate::rm::Labels;

/// The label of nodes without one, as it is shown.
const DEFAULT: &str = "<DEFAULT_PARTITION>";

/// What the nodes of a label offer, and how many they are.
#[derive(Clone, Debug, Default)]
pub(in crate::rest) struct LabelFigures {
    by_name: BTreeMap<String, (ResourceVector, usize)>,
}

impl LabelFigures {
    /// Those of all labels, `""` being that of nodes without one.
    pub(in crate::rest) fn of(ledger: &Ledger) -> Self {
        let state = ledger.state();
        let existing = state
            .partition_ids()
            .filter(|&id| state.partitions[id].exists);
        let one = |id: PartitionId| {
            let partition = &state.partitions[id];
            let figures = (partition.total, partition.nodes.len());
            (partition.name.to_string(), figures)
        };
        Self {
            by_name: existing.map(one).collect(),
        }
    }

    fn get(&self, name: &str) -> (ResourceVector, usize) {
        self.by_name.get(name).copied().unwrap_or_default()
    }
}

type Settings = capsched::queue::SchedulerSettings;

fn label(name: &str, exclusive: bool) -> Object {
    Object::new()
        .with("name", name)
        .with("exclusivity", exclusive)
}

fn offer(settings: &Settings, total: &ResourceVector) -> Object {
    Object::new().with("resourceAvailable", open(settings, total))
}

/// All labels of the cluster, with what their nodes offer.
pub(in crate::rest) fn collection(
    settings: &Settings,
    labels: &Labels,
    figures: &LabelFigures,
) -> Object {
    let one = |(name, exclusive): (&str, bool)| {
        let (total, _) = figures.get(name);
        label(name, exclusive).with("partitionInfo", offer(settings, &total))
    };
    Object::new().with_many("nodeLabelInfo", labels.iter().map(one))
}

/// All labels with what their nodes offer and how many they are, nodes without a label included.
pub(in crate::rest) fn with_nodes(
    settings: &Settings,
    labels: &Labels,
    figures: &LabelFigures,
) -> Object {
    let one = |(name, exclusive): (&str, bool)| {
        let key = if name == DEFAULT { "" } else { name };
        let (total, nodes) = figures.get(key);
        label(name, exclusive)
            .with("partitionInfo", offer(settings, &total))
            .with("activeNMs", nodes)
    };
    let all = std::iter::once((DEFAULT, true)).chain(labels.iter());
    Object::new().with_many("nodeLabelInfo", all.map(one))
}

/// The labels of one node, without figures.
pub(in crate::rest) fn of_node(labels: &Labels, node: &NodeName) -> Object {
    let own = labels.of(node);
    let own = own.map(|name| label(name, labels.exclusivity(name).unwrap_or(true)));
    Object::new().with_many("nodeLabelInfo", own)
}

/// The nodes that have labels, with them.
pub(in crate::rest) fn by_node(labels: &Labels) -> Object {
    let entry = |(node, names): (&NodeName, &std::collections::BTreeSet<String>)| {
        let infos = names.iter();
        let infos = infos.map(|name| label(name, labels.exclusivity(name).unwrap_or(true)));
        let value = Object::new().with_many("nodeLabelInfo", infos);
        (node.to_string(), value)
    };
    let map = labels.nodes().map(entry).collect::<Vec<_>>();
    if map.is_empty() {
        return Object::new().with_map::<String, Object>("nodeToLabels", []);
    }
    Object::new().with_map("nodeToLabels", map)
}

/// The labels that nodes have, or those of them that are named, with their nodes.
pub(in crate::rest) fn by_label(
    settings: &Settings,
    labels: &Labels,
    figures: &LabelFigures,
    named: &[String],
) -> Object {
    let wanted = |(name, _): &(&str, bool)| named.is_empty() || named.iter().any(|n| n == name);
    let entries = labels
        .iter()
        .filter(wanted)
        .filter_map(|(name, exclusive)| {
            let nodes = labels.nodes();
            let nodes = nodes.filter(|(_, names)| names.contains(name));
            let nodes: Vec<String> = nodes.map(|(node, _)| node.to_string()).collect();
            if nodes.is_empty() {
                return None;
            }
            let (total, _) = figures.get(name);
            let value = Object::new()
                .with_many("nodes", nodes)
                .with("partitionInfo", offer(settings, &total));
            Some((label(name, exclusive), value))
        });
    Object::new().with_map("labelsToNodes", entries.collect::<Vec<_>>())
}
