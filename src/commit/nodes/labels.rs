//! Labels that are added to the cluster or removed while it runs.
//!
//! Tests: `tests/commit/operations.rs`.

use std::collections::BTreeSet;

use super::registration::known_label;
use crate::commit::ledger::{Ledger, PartitionSpec};
use crate::commit::nodes::node_error::NodeError;
use crate::commit::tree::refresh_error::RefreshError;
use crate::id::{NodeName, PartitionId};

/// Bytes of the name of a label.
// As CommonNodeLabelsManager.MAX_LABEL_LENGTH.
const MOST_BYTES: usize = 255;

impl Ledger {
    /// The cluster knows a label from now on. A label that it knows stays as it is.
    // As CommonNodeLabelsManager.addToCluserNodeLabels.
    pub fn add_label(&mut self, label: &PartitionSpec) {
        self.tree()
            .add_partition(&label.name, true, label.exclusive);
        self.state.epoch += 1;
    }

    /// Whether the labels of the cluster may become these.
    ///
    /// # Errors
    ///
    /// When a name is empty, too long or there twice, or a label that the cluster knows is exclusive and is not to be,
    /// or the reverse.
    // As CommonNodeLabelsManager.addToCluserNodeLabels, which refuses another exclusivity.
    pub fn check_labels(&self, labels: &[PartitionSpec]) -> Result<(), RefreshError> {
        let mut names = BTreeSet::new();
        for label in labels {
            let refuse = |reason| {
                let label = label.name.chars().take(64).collect();
                Err(RefreshError::Label { label, reason })
            };
            if label.name.is_empty() {
                return refuse("is the default one, which is always there");
            }
            if label.name.len() > MOST_BYTES {
                return refuse("is longer than 255 bytes");
            }
            if !names.insert(&label.name) {
                return refuse("is there twice");
            }
            let known = known_label(&self.registry, &self.state, &label.name);
            let other = |id| self.state.partitions[id].exclusive != label.exclusive;
            if known.is_ok_and(other) {
                return refuse("is known, and cannot change whether it is exclusive");
            }
        }
        Ok(())
    }

    /// The labels that the cluster knows, but for the default one and some others.
    #[must_use]
    pub fn labels_beside(&self, others: &[PartitionSpec]) -> Vec<String> {
        let known = self.state.partition_ids().skip(1);
        let known = known.map(|id| &self.state.partitions[id]);
        let is_other = |name: &str| others.iter().any(|label| label.name == name);
        known
            .filter(|known| known.exists && !is_other(&known.name))
            .map(|known| known.name.to_string())
            .collect()
    }

    /// The nodes that have a label, by name.
    ///
    /// # Errors
    ///
    /// When the cluster does not know the label, and for the default one.
    pub fn nodes_with_label(&self, label: &str) -> Result<Vec<NodeName>, NodeError> {
        let partition = known_label(&self.registry, &self.state, label)?;
        if partition == PartitionId::DEFAULT {
            return Err(NodeError::Label(label.to_owned()));
        }
        let nodes = self.state.partitions[partition].nodes.iter();
        let mut names: Vec<NodeName> = nodes
            .map(|&node| self.state.nodes[node].name.clone())
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Whether a node is registered and has a label.
    #[must_use]
    pub fn has_label(&self, node: &NodeName, label: &str) -> bool {
        let partition = self.node(node).map(|slot| self.state.nodes[slot].partition);
        partition.is_some() && partition == self.partition(label)
    }

    /// Containers of a node of which the space is taken; 0 where it is not registered.
    #[must_use]
    pub fn containers_on(&self, node: &NodeName) -> usize {
        let slot = self.node(node);
        slot.map_or(0, |slot| self.containers.placed_on(slot).len())
    }

    /// The cluster does not know a label any more. Its nodes come to the default partition first.
    ///
    /// # Errors
    ///
    /// When the cluster does not know the label; nothing changed then.
    // As CommonNodeLabelsManager.removeFromClusterNodeLabels.
    pub fn remove_label(&mut self, label: &str) -> Result<(), NodeError> {
        let partition = known_label(&self.registry, &self.state, label)?;
        for name in self.nodes_with_label(label)? {
            self.relabel_node(&name, "")?;
        }
        self.state.partitions[partition].exists = false;
        self.state.epoch += 1;
        Ok(())
    }
}
