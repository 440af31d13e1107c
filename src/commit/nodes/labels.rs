//! Labels that are added to the cluster or removed while it runs.
//!
//! Tests: `tests/commit/operations.rs`.

use super::registration::known_label;
use crate::commit::ledger::{Ledger, PartitionSpec};
use crate::commit::nodes::registration::NodeError;
use crate::id::{NodeName, PartitionId};

impl Ledger {
    /// The cluster knows a label from now on. A label that it knows stays as it is.
    // As CommonNodeLabelsManager.addToCluserNodeLabels.
    pub fn add_label(&mut self, label: &PartitionSpec) {
        self.tree()
            .add_partition(&label.name, true, label.exclusive);
        self.state.epoch += 1;
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
