//! Labels that are added to the cluster or removed while it runs.
//!
//! Tests: `tests/commit/operations.rs`.

use super::known_labels::{PartitionSpec, known_label};
use crate::commit::ledger::Ledger;
use crate::commit::nodes::node_error::NodeError;
use crate::id::NodeName;

impl Ledger {
    /// The cluster knows a label from now on. A label that it knows stays as it is.
    // As CommonNodeLabelsManager.addToCluserNodeLabels.
    pub fn add_label(&mut self, label: &PartitionSpec) {
        self.tree()
            .add_partition(&label.name, true, label.exclusive);
        self.state.epoch += 1;
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
        for name in self.labels().nodes_with(label)? {
            self.relabel_node(&name, "")?;
        }
        self.state.partitions[partition].exists = false;
        self.state.epoch += 1;
        Ok(())
    }
}
