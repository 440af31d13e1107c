//! The nodes of a partition in the order of every node policy, as the live state has them at each attempt.
//!
//! Tests: `tests/simulation/skipping.rs`.

use super::place_set::PlaceSet;
use crate::id::{NodeSlot, PartitionId, java_order};
use crate::proposer::{Candidates, FitIndex, policies_of, use_key};
use crate::queue::NodePolicy;
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The place of a slot that is not in the order.
const NOWHERE: u32 = u32::MAX;

/// Most nodes of an order that is compared with a new one; only in builds with assertions.
const CHECKED: usize = 32;

/// Counts changes of which nodes there are, and of what they offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) struct Structure {
    /// Calls that may have changed any node.
    pub(in crate::runtime) calls: u64,
    /// Changes of the list of one partition.
    pub(in crate::runtime) list: u64,
}

/// The nodes of one partition that run.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct LiveOrder {
    pub(super) structure: Structure,
    by_text: CollectedNodes,
    by_hash: CollectedNodes,
    orders: Vec<(NodePolicy, Vec<NodeSlot>)>,
    /// By slot: the rank of the name, and what is allocated as the orders have it.
    ranks: Vec<u32>,
    used: Vec<ResourceVector>,
    room: FitIndex,
    /// By slot: whether the node is reserved.
    is_reserved: Vec<bool>,
    reserved: usize,
}

/// The nodes in the order in which they are collected, with those that are reserved.
#[derive(Clone, Debug)]
struct CollectedNodes {
    nodes: Vec<NodeSlot>,
    /// By slot.
    places: Vec<u32>,
    reserved: PlaceSet,
}

/// The order in which nodes are collected before policies sort them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Collected {
    /// By the text of their names.
    ByText,
    /// As CapacityScheduler.getNodesHeartbeated: a hash map.
    ByHash,
}

impl LiveOrder {
    /// The nodes of a partition that run; those that multi-node placement does not find are left out under it.
    pub(super) fn of(state: &State, partition: PartitionId, structure: Structure) -> Self {
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
        let order = Self {
            structure,
            orders: policies.into_iter().map(sorted).collect(),
            by_text: CollectedNodes::of(by_text, slots),
            by_hash: CollectedNodes::of(by_hash, slots),
            ranks,
            used,
            room,
            is_reserved: vec![false; slots],
            reserved: 0,
        };
        order.with_reservations(state)
    }

    /// Whether an order that is made now is the same; only of few nodes, for that takes a while.
    pub(super) fn is_current(&self, state: &State, partition: PartitionId) -> bool {
        if self.by_text.nodes.len() > CHECKED {
            return true;
        }
        let now = Self::of(state, partition, self.structure);
        now.by_text.nodes == self.by_text.nodes
            && now.by_hash.nodes == self.by_hash.nodes
            && now.orders == self.orders
            && now.reserved == self.reserved
    }

    fn with_reservations(mut self, state: &State) -> Self {
        for place in 0..self.by_text.nodes.len() {
            let node = self.by_text.nodes[place];
            self.follow_reservation(state, node);
        }
        self
    }

    fn follow_reservation(&mut self, state: &State, node: NodeSlot) {
        let now = state.nodes[node].reserved.is_some();
        if std::mem::replace(&mut self.is_reserved[node.index()], now) == now {
            return;
        }
        self.reserved = if now {
            self.reserved + 1
        } else {
            self.reserved - 1
        };
        for collected in [&mut self.by_text, &mut self.by_hash] {
            let place = collected.places[node.index()];
            collected.reserved.set(place as usize, now);
        }
    }

    /// The nodes in the order in which they are collected.
    pub(in crate::runtime) fn nodes(&self, collected: Collected) -> &[NodeSlot] {
        &self.collected(collected).nodes
    }

    /// How many of the nodes are reserved.
    pub(in crate::runtime) fn reserved(&self) -> usize {
        self.reserved
    }

    /// The position of the first reserved node from one on.
    pub(in crate::runtime) fn next_reserved(
        &self,
        collected: Collected,
        from: usize,
    ) -> Option<usize> {
        let collected = self.collected(collected);
        collected.reserved.first(from..collected.nodes.len())
    }

    fn collected(&self, collected: Collected) -> &CollectedNodes {
        match collected {
            Collected::ByText => &self.by_text,
            Collected::ByHash => &self.by_hash,
        }
    }

    /// All of them as candidates, in the order of every policy.
    pub(in crate::runtime) fn candidates(&self, collected: Collected) -> Candidates<'_> {
        let several = self.by_text.nodes.len() > 1;
        let orders = self.orders.iter().filter(|_| several);
        let orders = orders.map(|(policy, nodes)| (*policy, nodes.as_slice()));
        let reserved = self.reserved;
        Candidates::ordered_beforehand(self.nodes(collected), orders, (&self.room, reserved))
    }

    /// Moves a node to where its use puts it now.
    pub(super) fn follow(&mut self, state: &State, node: NodeSlot) {
        if self
            .ranks
            .get(node.index())
            .is_none_or(|&rank| rank == NOWHERE)
        {
            return;
        }
        self.follow_reservation(state, node);
        self.room.set(node, Some(&free_of(state, node)));
        let now = state.nodes[node].allocated.get();
        let before = std::mem::replace(&mut self.used[node.index()], now);
        if before == now {
            return;
        }
        self.move_in_orders(node, before, now);
    }

    /// Moves a node to its place by what is allocated now.
    fn move_in_orders(&mut self, node: NodeSlot, before: ResourceVector, now: ResourceVector) {
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

impl CollectedNodes {
    fn of(nodes: Vec<NodeSlot>, slots: usize) -> Self {
        let mut places = vec![NOWHERE; slots];
        for (place, node) in (0..).zip(&nodes) {
            places[node.index()] = place;
        }
        Self {
            reserved: PlaceSet::of(nodes.len()),
            places,
            nodes,
        }
    }
}

/// The running nodes of a partition by the text of their names.
fn running(state: &State, partition: PartitionId) -> Vec<NodeSlot> {
    let nodes = state.partitions[partition].nodes.iter().copied();
    let mut nodes: Vec<_> = nodes.filter(|&node| state.is_candidate(node)).collect();
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
pub(super) fn free_of(state: &State, node: NodeSlot) -> ResourceVector {
    state.nodes[node]
        .free
        .get()
        .component_max(&ResourceVector::NONE)
}
