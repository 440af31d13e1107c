//! The life of a registered node: it is decommissioned and recommissioned, and comes back with another size.
//!
//! Tests: `tests/commit/operations.rs`.

use std::sync::Arc;

use super::description::{attributes_of, check_rack};
use super::known_labels::{check_total, registered};
use super::node_error::NodeError;
use crate::cluster::NodeState;
use crate::commit::ledger::Ledger;
use crate::id::NodeName;
use crate::queue::{EndCause, NodeSpec};
use crate::resource::ResourceVector;

/// Items that the end of one container counts as: it takes some 2 us where nothing of it is in a cache.
const END: usize = 4;

impl Ledger {
    /// A node takes no new containers; at later heartbeats its total follows what is left.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    pub fn decommission_node(&mut self, name: &NodeName) -> Result<(), NodeError> {
        let slot = registered(&self.registry, name)?;
        self.state.nodes[slot].state = NodeState::Decommissioning;
        Ok(())
    }

    /// Whether the total of a node follows what it runs.
    pub(crate) fn is_decommissioning(&self, name: &NodeName) -> bool {
        let node = self.node(name).map(|slot| &self.state.nodes[slot]);
        node.is_some_and(|node| node.state == NodeState::Decommissioning)
    }

    /// Ends containers of a node that is about to be removed, a quarter as many as the budget has. Returns whether there were
    /// none. Until it is removed the node takes no new ones.
    pub fn end_containers_on(&mut self, name: &NodeName, budget: &mut usize) -> bool {
        let Ok(slot) = registered(&self.registry, name) else {
            return true;
        };
        let placed = self.containers.placed_on(slot);
        if placed.is_empty() {
            return true;
        }
        let part = placed.len().min(*budget / END);
        let part = self.containers.by_id(&placed[..part]);
        *budget = 0;
        self.state.nodes[slot].state = NodeState::Decommissioning;
        for container in part {
            self.end_container(container, EndCause::NodeLost);
            self.free_space(container);
        }
        false
    }

    /// A node takes new containers again, with the total that it was given last. Nothing happens to one that is
    /// not decommissioning.
    ///
    /// # Errors
    ///
    /// When the node is not registered.
    // As RMNodeImpl.RecommissionNodeTransition, which restores the original total.
    pub fn recommission_node(&mut self, name: &NodeName) -> Result<(), NodeError> {
        let slot = registered(&self.registry, name)?;
        let row = &self.state.nodes[slot];
        if row.state != NodeState::Decommissioning {
            return Ok(());
        }
        let total = self.history.offered(slot);
        check_total(&self.state, &total, &row.total.get())?;
        let row = &mut self.state.nodes[slot];
        row.state = NodeState::Running;
        row.enforced = false;
        self.set_total(slot, total);
        Ok(())
    }

    /// A registered node is described anew: total, partition and attributes, all of them or none. What runs there
    /// stays, what is beyond the new total is asked back, and a node that was decommissioning takes containers
    /// again. The rack stays: asks that wait may name it.
    ///
    /// # Errors
    ///
    /// As [`NodeError`]; the state is unchanged then.
    // As RMNodeImpl.ReconnectNodeTransition of a node with running applications.
    pub fn reconnect_node(&mut self, spec: &NodeSpec) -> Result<(), NodeError> {
        let slot = registered(&self.registry, &spec.name)?;
        check_rack(&spec.rack)?;
        let attributes = attributes_of(spec)?;
        self.labels()
            .check_node(&spec.name, &spec.total, &spec.partition)?;
        let row = &mut self.state.nodes[slot];
        row.state = NodeState::Running;
        row.enforced = false;
        if *row.attributes != attributes {
            row.attributes = Arc::new(attributes);
            self.state.epoch += 1;
        }
        self.update_node(&spec.name, spec.total, &spec.partition)
    }

    /// Changes the total and the partition of a node, both or none. What runs there stays.
    ///
    /// # Errors
    ///
    /// When the node is not registered, its total is out of range or its label unknown; nothing changed then.
    pub fn update_node(
        &mut self,
        name: &NodeName,
        total: ResourceVector,
        label: &str,
    ) -> Result<(), NodeError> {
        self.labels().check_node(name, &total, label)?;
        self.resize_node(name, total)?;
        self.relabel_node(name, label)
    }
}
