//! A label that the cluster forgets, carried out in parts.
//!
//! 1. The nodes that have the label are listed by name.
//! 2. One after the other comes to the default partition. The charges of its containers move, and its reservation ends.
//! 3. The cluster does not know the label any more. Capacities follow the totals of both partitions once, since each
//!    time costs a look at all queues.
//!
//! Between two parts totals have moved and capacities have not, as in the reference between its label manager and its
//! scheduler. Whatever has capacities follow meanwhile finds the totals of that moment. A node that leaves or gets another
//! label is passed. One that gets this label comes with the last part.
//!
//! Tests: `tests/runtime/label_turns.rs`.

use std::collections::BTreeSet;

use super::known_labels::known_label;
use crate::commit::ledger::Ledger;
use crate::commit::nodes::node_error::NodeError;
use crate::commit::tree::capacity::update_cluster;
use crate::id::{NodeName, NodeSlot, PartitionId};

/// A label that is being removed, and how far that is carried out.
#[derive(Debug)]
pub struct LabelRemoval {
    label: String,
    partition: PartitionId,
    /// Nodes that are to be listed.
    unlisted: Vec<NodeSlot>,
    /// Nodes that are to move, by name.
    listed: BTreeSet<NodeName>,
    /// Whether a node moved.
    moved: bool,
}

impl Ledger {
    /// Begins to remove a label; nothing changes yet.
    ///
    /// # Errors
    ///
    /// When the cluster does not know the label, and for the default one.
    pub fn begin_label_removal(&self, label: &str) -> Result<LabelRemoval, NodeError> {
        let partition = known_label(&self.registry, &self.state, label)?;
        if partition == PartitionId::DEFAULT {
            return Err(NodeError::Label(label.to_owned()));
        }
        Ok(LabelRemoval {
            label: label.to_owned(),
            partition,
            unlisted: self.state.partitions[partition].nodes.clone(),
            listed: BTreeSet::new(),
            moved: false,
        })
    }

    /// Goes on with the removal of a label, for as many nodes and containers as the budget has. What it came to once
    /// the label is gone.
    ///
    /// Cost: the nodes and their containers, each once, and one look at the nodes of the partition for each part. The
    /// last part costs a look at all queues, which is taken off the budget.
    // As CommonNodeLabelsManager.removeFromClusterNodeLabels, and CapacityScheduler.updateNodeLabelsAndQueueResource
    // for all nodes together.
    pub fn go_on_removing(
        &mut self,
        removal: &mut LabelRemoval,
        budget: &mut usize,
    ) -> Option<Result<(), NodeError>> {
        // A label that was sent to a node would come behind the one that it gets here.
        self.recompute_on(&mut { usize::MAX });
        self.list_nodes(removal, budget);
        while *budget > 0
            && let Some(node) = removal.listed.pop_first()
        {
            let placed = self.take_label_off(removal, &node);
            *budget = budget.saturating_sub(1 + placed);
        }
        self.leave_partition(removal.partition);
        (*budget > 0).then(|| self.forget_label(removal, budget))
    }

    /// Lists nodes by name; those whose slot has another node by now are not among them.
    fn list_nodes(&self, removal: &mut LabelRemoval, budget: &mut usize) {
        while *budget > 0
            && let Some(slot) = removal.unlisted.pop()
        {
            *budget -= 1;
            let row = &self.state.nodes[slot];
            if row.partition == removal.partition && self.node(&row.name) == Some(slot) {
                removal.listed.insert(row.name.clone());
            }
        }
    }

    /// Moves a node to the default partition if it has the label; how many containers it has. It stays in the list of
    /// its partition until [`Self::leave_partition`].
    fn take_label_off(&mut self, removal: &mut LabelRemoval, name: &NodeName) -> usize {
        let slot = self.node(name);
        let has_label = |slot: &NodeSlot| self.state.nodes[*slot].partition == removal.partition;
        let Some(slot) = slot.filter(has_label) else {
            return 0;
        };
        let row = &mut self.state.nodes[slot];
        row.labelled = true;
        let total = row.total.get();
        self.state.epoch += 1;
        self.state.partitions[removal.partition].total -= total;
        self.state.partitions[PartitionId::DEFAULT].total += total;
        self.move_node(slot, PartitionId::DEFAULT);
        removal.moved = true;
        self.containers.placed_on(slot).len()
    }

    /// Drops the nodes that have another partition by now from the list of one.
    fn leave_partition(&mut self, partition: PartitionId) {
        let nodes = &self.state.nodes;
        let stays = |node: NodeSlot| nodes[node].partition == partition;
        self.state.partitions[partition].keep(stays);
    }

    /// The last step: nodes that got the label meanwhile move, and capacities follow.
    fn forget_label(
        &mut self,
        removal: &mut LabelRemoval,
        budget: &mut usize,
    ) -> Result<(), NodeError> {
        let partition = removal.partition;
        if known_label(&self.registry, &self.state, &removal.label)? != partition {
            return Err(NodeError::Label(removal.label.clone()));
        }
        let late = &self.state.partitions[partition].nodes;
        let late: BTreeSet<_> = late
            .iter()
            .map(|&node| &self.state.nodes[node].name)
            .collect();
        for name in late.into_iter().cloned().collect::<Vec<_>>() {
            self.take_label_off(removal, &name);
        }
        self.leave_partition(partition);
        self.state.partitions[partition].exists = false;
        self.state.epoch += 1;
        if removal.moved {
            *budget = budget.saturating_sub(self.state.queues.len());
            update_cluster(self);
        }
        Ok(())
    }
}
