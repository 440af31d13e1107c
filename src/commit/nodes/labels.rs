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

    /// The cluster does not know a label any more. Its nodes come to the default partition first.
    ///
    /// # Errors
    ///
    /// When the cluster does not know the label; nothing changed then.
    // As CommonNodeLabelsManager.removeFromClusterNodeLabels.
    pub fn remove_label(&mut self, label: &str) -> Result<(), NodeError> {
        let partition = known_label(&self.registry, &self.state, label)?;
        if partition == PartitionId::DEFAULT {
            return Err(NodeError::Label(label.to_owned()));
        }
        let nodes = self.state.partitions[partition].nodes.clone();
        let name = |node| self.state.nodes[node].name.clone();
        let names: Vec<NodeName> = nodes.into_iter().map(name).collect();
        for name in names {
            self.relabel_node(&name, "")?;
        }
        self.state.partitions[partition].exists = false;
        self.state.epoch += 1;
        Ok(())
    }
}
