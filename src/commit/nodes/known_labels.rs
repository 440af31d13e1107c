//! Labels that the cluster knows and the nodes that have them, to be read; checks of what nodes are to have.
//!
//! Tests: `tests/commit/operations.rs`.

use std::collections::BTreeSet;

use super::node_error::NodeError;
use crate::commit::registry::Registry;
use crate::commit::tree::refresh_error::RefreshError;
use crate::id::{NodeName, NodeSlot, PartitionId};
use crate::resource::{MAX_VALUE, ResourceVector};
use crate::snapshot::State;

/// Bytes of the name of a label.
// As CommonNodeLabelsManager.MAX_LABEL_LENGTH.
const MOST_BYTES: usize = 255;

/// A partition (node label) that the cluster knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// The label.
    pub name: String,
    /// Whether only requests that name it are served there.
    pub exclusive: bool,
}

/// Labels and nodes by name.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    registry: &'a Registry,
    state: &'a State,
}

impl<'a> Labels<'a> {
    /// Of the parts of a ledger.
    pub(in crate::commit) fn new(registry: &'a Registry, state: &'a State) -> Self {
        Self { registry, state }
    }

    /// Whether the labels of the cluster may become these.
    ///
    /// # Errors
    ///
    /// When a name is empty, too long or there twice, or a label that the cluster knows is exclusive and is not to be,
    /// or the reverse.
    // As CommonNodeLabelsManager.addToCluserNodeLabels, which refuses another exclusivity.
    pub fn check(self, labels: &[PartitionSpec]) -> Result<(), RefreshError> {
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
            let known = known_label(self.registry, self.state, &label.name);
            let other = |id| self.state.partitions[id].exclusive != label.exclusive;
            if known.is_ok_and(other) {
                return refuse("is known, and cannot change whether it is exclusive");
            }
        }
        Ok(())
    }

    /// The labels that the cluster knows, but for the default one and some others.
    #[must_use]
    pub fn beside(self, others: &[PartitionSpec]) -> Vec<String> {
        let known = self.state.partition_ids().skip(1);
        let known = known.map(|id| &self.state.partitions[id]);
        let is_other = |name: &str| others.iter().any(|label| label.name == name);
        known
            .filter(|known| known.exists && !is_other(&known.name))
            .map(|known| known.name.to_string())
            .collect()
    }

    /// Checks the total and the partition that a node is to have.
    pub(super) fn check_node(
        self,
        name: &NodeName,
        total: &ResourceVector,
        label: &str,
    ) -> Result<(), NodeError> {
        let slot = registered(self.registry, name)?;
        let total = self.state.calculator.known(total);
        check_total(self.state, &total, &self.state.nodes[slot].total.get())?;
        known_label(self.registry, self.state, label)?;
        Ok(())
    }
}

pub(super) fn registered(registry: &Registry, name: &NodeName) -> Result<NodeSlot, NodeError> {
    registry
        .node(name)
        .ok_or_else(|| NodeError::Unknown(name.clone()))
}

pub(super) fn known_label(
    registry: &Registry,
    state: &State,
    label: &str,
) -> Result<PartitionId, NodeError> {
    registry
        .partition(label)
        .filter(|&id| state.partitions[id].exists)
        .ok_or_else(|| NodeError::Label(label.to_owned()))
}

/// Checks a node's new total, with the cluster's as it would be then.
pub(super) fn check_total(
    state: &State,
    total: &ResourceVector,
    before: &ResourceVector,
) -> Result<(), NodeError> {
    let largest = ResourceVector::build(|_| MAX_VALUE);
    let valid = ResourceVector::NONE.fits_in(total)
        && total.fits_in(&largest)
        && (state.cluster - *before + *total).fits_in(&largest);
    valid.then_some(()).ok_or(NodeError::Total(*total))
}
