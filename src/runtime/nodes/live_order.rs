//! The nodes of a partition in the order of every node policy, as the live state has them at each attempt.

use super::standstill::Structure;
use crate::cluster::NodeState;
use crate::commit::Ledger;
use crate::id::{NodeSlot, PartitionId, java_order};
use crate::proposer::{Candidates, FitIndex, policies_of, use_key};
use crate::queue::NodePolicy;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The place of a slot that is not in the order.
const NOWHERE: u32 = u32::MAX;

/// The orders of all partitions; they follow the nodes that were written.
#[derive(Debug, Default)]
pub(in crate::runtime) struct LiveOrders {
    partitions: Vec<Option<LiveOrder>>,
    /// Whether the ledger notes for this which nodes were written.
    following: bool,
    /// Whether somebody else takes what the ledger notes.
    shared: bool,
    written: Vec<u32>,
}

/// The nodes of one partition that run.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct LiveOrder {
    structure: Structure,
    /// By the text of their names.
    by_text: Vec<NodeSlot>,
    /// As a hash map of names has them.
    by_hash: Vec<NodeSlot>,
    orders: Vec<(NodePolicy, Vec<NodeSlot>)>,
    /// By slot: the rank of the name, and what is allocated as the orders have it.
    ranks: Vec<u32>,
    used: Vec<ResourceVector>,
    room: FitIndex,
}

/// The order in which nodes are collected before policies sort them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Collected {
    /// By the text of their names.
    ByText,
    /// As CapacityScheduler.getNodesHeartbeated: a hash map.
    ByHash,
}

impl LiveOrders {
    /// From now on nodes are written that this is not told of: each look makes the order anew.
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
        ledger: &mut Ledger,
        partition: PartitionId,
        structure: Structure,
    ) -> LiveOrder {
        self.follow(ledger);
        let at = partition.index();
        if at >= self.partitions.len() {
            self.partitions.resize(at + 1, None);
        }
        let known = self.partitions[at].take();
        let known = known.filter(|known| known.structure == structure && !self.shared);
        known.unwrap_or_else(|| LiveOrder::of(ledger.state(), partition, structure))
    }

    /// Puts an order back.
    pub(in crate::runtime) fn put(&mut self, partition: PartitionId, order: LiveOrder) {
        self.partitions[partition.index()] = Some(order);
    }

    fn follow(&mut self, ledger: &mut Ledger) {
        if self.shared {
            return;
        }
        if !std::mem::replace(&mut self.following, true) {
            ledger.note_written_nodes();
        }
        ledger.take_written_nodes(&mut self.written);
        for &node in &self.written {
            let node = NodeSlot(node);
            let partition = ledger.state().nodes[node].partition;
            if let Some(Some(order)) = self.partitions.get_mut(partition.index()) {
                order.follow(ledger.state(), node);
            }
        }
    }
}

impl LiveOrder {
    /// The nodes of a partition that run; those that multi-node placement does not find are left out under it.
    fn of(state: &State, partition: PartitionId, structure: Structure) -> Self {
        let several = state.settings.multi_node.enabled;
        let by_text = running(state, partition);
        let mut by_hash = by_text.clone();
        java_order::sort(&mut by_hash, 0, |&node| state.nodes[node].java_hash);
        let mut by_name = by_text.clone();
        by_name.sort_by(|&a, &b| state.nodes[a].name.cmp(&state.nodes[b].name));
        let slots = state.nodes.len();
        let (mut ranks, mut used) = (vec![NOWHERE; slots], vec![ResourceVector::NONE; slots]);
        let mut room = FitIndex::new(by_name.clone(), state.calculator.fitting_types());
        for (rank, &node) in (0..).zip(&by_name) {
            ranks[node.index()] = rank;
            used[node.index()] = state.nodes[node].allocated.get();
            room.set(node, Some(&free_of(state, node)));
        }
        let policies = if several {
            policies_of(state)
        } else {
            Vec::new()
        };
        let sorted = |policy| {
            let mut nodes = by_name.clone();
            nodes.sort_by_cached_key(|&node| {
                (use_key(policy, &state.nodes[node]), ranks[node.index()])
            });
            (policy, nodes)
        };
        Self {
            structure,
            orders: policies.into_iter().map(sorted).collect(),
            by_text,
            by_hash,
            ranks,
            used,
            room,
        }
    }

    /// The nodes in the order in which they are collected.
    pub(in crate::runtime) fn nodes(&self, collected: Collected) -> &[NodeSlot] {
        match collected {
            Collected::ByText => &self.by_text,
            Collected::ByHash => &self.by_hash,
        }
    }

    /// All of them as candidates, in the order of every policy.
    pub(in crate::runtime) fn candidates(&self, collected: Collected) -> Candidates<'_> {
        let several = self.by_text.len() > 1;
        let orders = self.orders.iter().filter(|_| several);
        let orders = orders.map(|(policy, nodes)| (*policy, nodes.as_slice()));
        Candidates::ordered_beforehand(self.nodes(collected), orders, &self.room)
    }

    /// Moves a node to where its use puts it now.
    fn follow(&mut self, state: &State, node: NodeSlot) {
        if self
            .ranks
            .get(node.index())
            .is_none_or(|&rank| rank == NOWHERE)
        {
            return;
        }
        self.room.set(node, Some(&free_of(state, node)));
        let now = state.nodes[node].allocated.get();
        let before = std::mem::replace(&mut self.used[node.index()], now);
        if before == now {
            return;
        }
        let (ranks, used) = (&self.ranks, &self.used);
        for (policy, nodes) in &mut self.orders {
            let key = |of: NodeSlot, used| (key_of(*policy, used), ranks[of.index()]);
            let as_before = |&other: &NodeSlot| {
                let used = if other == node {
                    before
                } else {
                    used[other.index()]
                };
                key(other, used)
            };
            let Ok(from) = nodes.binary_search_by_key(&key(node, before), as_before) else {
                debug_assert!(false, "every node stands where it was put");
                continue;
            };
            let target = key(node, now);
            let ahead = |&other: &NodeSlot| key(other, used[other.index()]) < target;
            if nodes.get(from + 1).is_some_and(ahead) {
                let to = from + nodes[from + 1..].partition_point(ahead);
                nodes[from..=to].rotate_left(1);
            } else {
                let to = nodes[..from].partition_point(ahead);
                nodes[to..=from].rotate_right(1);
            }
        }
    }
}

/// The running nodes of a partition by the text of their names.
fn running(state: &State, partition: PartitionId) -> Vec<NodeSlot> {
    let several = state.settings.multi_node.enabled;
    let nodes = state.partitions[partition].nodes.iter().copied();
    let mut nodes: Vec<_> = nodes
        .filter(|&node| state.nodes[node].state == NodeState::Running)
        .filter(|&node| !(several && state.nodes[node].unlisted))
        .collect();
    nodes.sort_by_cached_key(|&node| state.nodes[node].name.to_string());
    nodes
}

/// As [`use_key`], of what is allocated.
fn key_of(policy: NodePolicy, allocated: ResourceVector) -> ResourceVector {
    match policy {
        NodePolicy::BestFit => -allocated,
        NodePolicy::ResourceUsage | NodePolicy::ResourceUsagePartialShuffle => allocated,
    }
}

/// What is free on a node; what it has too little of is none, for asks of nothing of it fit all the same.
fn free_of(state: &State, node: NodeSlot) -> ResourceVector {
    state.nodes[node]
        .free
        .get()
        .component_max(&ResourceVector::NONE)
}
