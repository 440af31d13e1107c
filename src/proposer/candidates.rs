//! The nodes that a pass may use: one node, or the nodes of a partition in a policy's order.
//!
//! Tests: `tests/simulation/skipping.rs`.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::fit::FitIndex;
use crate::cluster::Node;
use crate::id::{NodeSlot, PartitionId};
use crate::queue::{App, NodePolicy};
use crate::resource::{ResourceVector, with_width};
use crate::snapshot::State;

/// Nodes of one partition.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    nodes: Nodes<'a>,
    orders: Vec<(NodePolicy, Cow<'a, [NodeSlot]>)>,
    /// What is free on the nodes of the orders, and how many of them are reserved, where that is known beforehand.
    room: Option<(&'a FitIndex, usize)>,
}

/// Nodes in the order in which they were collected; a single one takes no allocation.
#[derive(Clone, Debug)]
enum Nodes<'a> {
    One([NodeSlot; 1]),
    Many(Cow<'a, [NodeSlot]>),
    /// In the right order for everybody, with their partition: some may have left it.
    Indexed(&'a FitIndex, PartitionId),
}

impl<'a> Candidates<'a> {
    /// A single node.
    #[must_use]
    pub fn node(node: NodeSlot) -> Self {
        Self {
            nodes: Nodes::One([node]),
            orders: Vec::new(),
            room: None,
        }
    }

    /// Several nodes of one partition, in the order in which they were collected, and that order
    /// by each of the node policies that the scheduler sorts for.
    ///
    /// # Panics
    ///
    /// Without nodes.
    #[must_use]
    pub fn partition(state: &State, nodes: Vec<NodeSlot>) -> Self {
        assert!(!nodes.is_empty(), "candidates are at least one node");
        let mut orders = Vec::new();
        if nodes.len() > 1 {
            for policy in policies_of(state) {
                orders.push((policy, Cow::Owned(sort_nodes(state, policy, &nodes))));
            }
        }
        Self {
            nodes: Nodes::Many(Cow::Owned(nodes)),
            orders,
            room: None,
        }
    }

    /// The same where the orders are known, with what is free on the nodes and how many of them are reserved.
    ///
    /// # Panics
    ///
    /// Without nodes.
    #[must_use]
    pub fn ordered_beforehand(
        nodes: &'a [NodeSlot],
        orders: impl IntoIterator<Item = (NodePolicy, &'a [NodeSlot])>,
        room: (&'a FitIndex, usize),
    ) -> Self {
        assert!(!nodes.is_empty(), "candidates are at least one node");
        let orders = orders.into_iter();
        Self {
            nodes: Nodes::Many(Cow::Borrowed(nodes)),
            orders: orders
                .map(|(policy, nodes)| (policy, Cow::Borrowed(nodes)))
                .collect(),
            room: Some(room),
        }
    }

    /// What is free on the nodes of the orders, where that is known beforehand.
    #[inline]
    pub(super) fn room(&self) -> Option<&'a FitIndex> {
        self.room.map(|(room, _)| room)
    }

    /// How many of the nodes of the orders are reserved, where that is known beforehand.
    #[inline]
    pub(super) fn reserved(&self) -> Option<usize> {
        self.room.map(|(_, reserved)| reserved)
    }

    /// The open nodes of an index of a partition, as a periodically sorted order has them; every
    /// application tries them in this order.
    ///
    /// # Panics
    ///
    /// Without nodes.
    #[must_use]
    pub fn indexed(index: &'a FitIndex, partition: PartitionId) -> Self {
        assert!(
            !index.order().is_empty(),
            "candidates are at least one node"
        );
        Self {
            nodes: Nodes::Indexed(index, partition),
            orders: Vec::new(),
            room: None,
        }
    }

    /// The index that finds nodes without a walk, if there is one.
    #[inline]
    #[must_use]
    pub fn index(&self) -> Option<&'a FitIndex> {
        match self.nodes {
            Nodes::Indexed(index, _) => Some(index),
            Nodes::One(_) | Nodes::Many(_) => None,
        }
    }

    /// The only node, if there is just one.
    #[inline]
    #[must_use]
    pub fn single(&self) -> Option<NodeSlot> {
        match &self.nodes {
            Nodes::One([node]) => Some(*node),
            Nodes::Many(nodes) if nodes.len() == 1 => Some(nodes[0]),
            Nodes::Many(_) | Nodes::Indexed(..) => None,
        }
    }

    /// The partition of the nodes.
    #[must_use]
    pub fn partition_of(&self, state: &State) -> PartitionId {
        match self.nodes {
            Nodes::Indexed(_, partition) => partition,
            Nodes::One(_) | Nodes::Many(_) => state.nodes[self.first()].partition,
        }
    }

    /// Some node of the set; all are of one partition.
    #[inline]
    #[must_use]
    pub fn first(&self) -> NodeSlot {
        match &self.nodes {
            Nodes::One([node]) => *node,
            Nodes::Many(nodes) => nodes[0],
            Nodes::Indexed(index, _) => index.order()[0],
        }
    }

    /// The nodes in the order of a policy; only the first node for applications without one.
    #[must_use]
    pub fn ordered(&self, policy: Option<NodePolicy>) -> Cow<'_, [NodeSlot]> {
        match &self.nodes {
            Nodes::One(node) => Cow::Borrowed(node),
            Nodes::Many(nodes) => {
                let known = policy.and_then(|policy| {
                    let mut orders = self.orders.iter();
                    orders.find(|(known, _)| *known == policy)
                });
                Cow::Borrowed(known.map_or(&nodes[..1], |(_, nodes)| nodes))
            }
            Nodes::Indexed(index, _) => Cow::Owned(index.open().collect()),
        }
    }
}

/// The node lookup policy that an application got from its first leaf; nothing when it is unknown.
pub(super) fn node_policy(state: &State, app: &App) -> Option<NodePolicy> {
    let name = app.submission.node_policy.as_ref()?;
    let policies = &state.settings.multi_node.policies;
    policies
        .iter()
        .find(|policy| policy.name == *name)
        .map(|policy| policy.order)
}

/// The node policies that the scheduler sorts for, each once.
#[must_use]
pub fn policies_of(state: &State) -> Vec<NodePolicy> {
    let mut found = Vec::new();
    for policy in &state.settings.multi_node.policies {
        if !found.contains(&policy.order) {
            found.push(policy.order);
        }
    }
    found
}

/// Nodes in the order of a policy.
#[must_use]
pub fn sort_nodes(state: &State, policy: NodePolicy, nodes: &[NodeSlot]) -> Vec<NodeSlot> {
    let mut nodes = nodes.to_vec();
    nodes.sort_by(|&a, &b| compare_nodes(policy, &state.nodes[a], &state.nodes[b]));
    nodes
}

/// Which of two nodes a policy tries first.
fn compare_nodes(policy: NodePolicy, a: &Node, b: &Node) -> Ordering {
    let by_use = use_key(policy, a).cmp(&use_key(policy, b));
    by_use.then_with(|| a.name.cmp(&b.name))
}

/// Nodes with a smaller key are tried first by a policy; of the same key, by their names.
#[must_use]
pub fn use_key(policy: NodePolicy, node: &Node) -> ResourceVector {
    match policy {
        NodePolicy::ResourceUsage | NodePolicy::ResourceUsagePartialShuffle => node.allocated.get(),
        NodePolicy::BestFit => -node.allocated.get(),
    }
}

/// Whether the smallest allocation fits in what is free or may be killed on a node.
#[must_use]
pub fn has_room(state: &State, node: NodeSlot) -> bool {
    let node = &state.nodes[node];
    if node.killable.is_empty() {
        return with_width!(state.calculator, N => {
            let free = node.free.narrow::<N>();
            state.calculator.holds_one(&free, &state.minimum.narrow())
        });
    }
    let room = node.free.get() + node.killable_total();
    state.calculator.holds_one(&room, &state.minimum)
}
