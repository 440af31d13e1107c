//! The orders of all partitions, which follow the nodes that were written.
//!
//! Tests: `tests/simulation/skipping.rs`.

use super::live_order::{LiveOrder, Structure};
use super::standstill::Standstill;
use super::walk_order::WalkOrder;
use crate::commit::Ledger;
use crate::id::{NodeSlot, PartitionId};

/// The orders of all partitions; they follow the nodes that were written.
#[derive(Debug, Default)]
pub(in crate::runtime) struct LiveOrders {
    partitions: Vec<Option<LiveOrder>>,
    /// Whether the ledger notes for this which nodes were written.
    following: bool,
    /// Whether somebody else takes what the ledger notes.
    shared: bool,
    written: Vec<u32>,
    /// The nodes as rounds walk them one by one.
    walk: Option<WalkOrder>,
}

impl LiveOrders {
    /// From now on nodes are written without a note here: each look makes the order anew.
    pub(in crate::runtime) fn share(&mut self) {
        self.shared = true;
    }

    /// Whether others write nodes.
    #[inline]
    pub(in crate::runtime) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Takes out the order of a partition as the state has it; it is put back after use.
    ///
    /// Cost: a search and a move for each node that was written since; all nodes where some came or went.
    pub(in crate::runtime) fn take(
        &mut self,
        (ledger, standstill): (&mut Ledger, &mut Standstill),
        partition: PartitionId,
        structure: Structure,
    ) -> LiveOrder {
        self.follow(ledger, standstill);
        let at = partition.index();
        if at >= self.partitions.len() {
            self.partitions.resize(at + 1, None);
        }
        let known = self.partitions[at].take();
        let known = known.filter(|known| known.structure == structure && !self.shared);
        debug_assert!(
            known
                .as_ref()
                .is_none_or(|known| known.is_current(ledger.state(), partition)),
            "the order follows every node that was written"
        );
        known.unwrap_or_else(|| LiveOrder::of(ledger.state(), partition, structure))
    }

    /// Puts an order back.
    pub(in crate::runtime) fn put(&mut self, partition: PartitionId, order: LiveOrder) {
        self.partitions[partition.index()] = Some(order);
    }

    /// Takes out the nodes in the order of a walk; they are put back after use. Nothing where somebody else follows
    /// what is written.
    ///
    /// Cost: a few looks for each node that was written since; all nodes where some came or went.
    pub(in crate::runtime) fn take_walk(
        &mut self,
        (ledger, standstill): (&mut Ledger, &mut Standstill),
        nodes: impl Iterator<Item = NodeSlot>,
    ) -> Option<WalkOrder> {
        self.follow(ledger, standstill);
        if self.shared {
            return None;
        }
        let partitions = ledger.state().partitions.iter();
        let lists = partitions.map(|partition| partition.changes).sum();
        let known = self.walk.take().filter(|walk| walk.is_of(lists));
        Some(known.unwrap_or_else(|| WalkOrder::of(ledger, nodes, lists)))
    }

    /// Puts the order of a walk back.
    pub(in crate::runtime) fn put_walk(&mut self, walk: WalkOrder) {
        self.walk = Some(walk);
    }

    /// Has the order of a walk follow what was written meanwhile.
    pub(in crate::runtime) fn follow_walk(
        &mut self,
        (ledger, standstill): (&mut Ledger, &mut Standstill),
        walk: WalkOrder,
    ) -> WalkOrder {
        self.walk = Some(walk);
        self.follow(ledger, standstill);
        self.walk.take().expect("it was put there")
    }

    fn follow(&mut self, ledger: &mut Ledger, standstill: &mut Standstill) {
        if self.shared {
            standstill.forget_kept();
            return;
        }
        if !std::mem::replace(&mut self.following, true) {
            ledger.node_watch().begin();
        }
        let mut watch = ledger.node_watch();
        watch.take_written(&mut self.written);
        let due = watch.take_due();
        if let Some(walk) = &mut self.walk {
            for &node in &self.written {
                walk.follow(ledger, NodeSlot(node));
            }
            for node in due {
                walk.follow_report(ledger, node);
            }
        }
        for &node in &self.written {
            let node = NodeSlot(node);
            standstill.note_written(node);
            let partition = ledger.state().nodes[node].partition;
            if let Some(Some(order)) = self.partitions.get_mut(partition.index()) {
                order.follow(ledger.state(), node);
            }
        }
    }
}
