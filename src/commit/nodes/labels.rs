//! Labels that are added to the cluster while it runs.
//!
//! Tests: `tests/commit/operations.rs`.

use super::known_labels::PartitionSpec;
use crate::commit::ledger::Ledger;

impl Ledger {
    /// The cluster knows a label from now on. A label that it knows stays as it is.
    // As CommonNodeLabelsManager.addToCluserNodeLabels.
    pub fn add_label(&mut self, label: &PartitionSpec) {
        self.tree().add_label(label);
    }
}
