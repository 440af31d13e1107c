//! The nodes that a pass may use: one node, or the nodes of a partition in a policy's order.

use crate::id::NodeSlot;
use crate::queue::NodePolicy;
use crate::snapshot::State;

/// Nodes of one partition.
#[derive(Clone, Debug)]
pub struct Candidates {
    nodes: Nodes,
    orders: Vec<(NodePolicy, Vec<NodeSlot>)>,
    /// Whether the nodes are in order for everybody.
    whole: bool,
}

/// Nodes in the order in which they were collected; a single one takes no allocation.
#[derive(Clone, Debug)]
enum Nodes {
    One([NodeSlot; 1]),
    Many(Vec<NodeSlot>),
}

impl Candidates {
    /// A single node.
    #[must_use]
    pub fn node(node: NodeSlot) -> Self {
        Self {
            nodes: Nodes::One([node]),
            orders: Vec::new(),
            whole: true,
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
        let mut orders: Vec<(NodePolicy, Vec<NodeSlot>)> = Vec::new();
        if nodes.len() > 1 {
            for policy in &state.settings.multi_node.policies {
                if orders.iter().all(|(known, _)| *known != policy.order) {
                    orders.push((policy.order, sort_nodes(state, policy.order, &nodes)));
                }
            }
        }
        Self {
            nodes: Nodes::Many(nodes),
            orders,
            whole: false,
        }
    }

    /// Several nodes of one partition that are in the right order already, as a periodically
    /// sorted index has it; every application tries them in this order.
    ///
    /// # Panics
    ///
    /// Without nodes.
    #[must_use]
    pub fn in_order(nodes: Vec<NodeSlot>) -> Self {
        assert!(!nodes.is_empty(), "candidates are at least one node");
        Self {
            nodes: Nodes::Many(nodes),
            orders: Vec::new(),
            whole: true,
        }
    }

    /// The only node, if there is just one.
    #[inline]
    #[must_use]
    pub fn single(&self) -> Option<NodeSlot> {
        match *self.all() {
            [node] => Some(node),
            _ => None,
        }
    }

    /// The nodes in the order in which they were collected.
    #[inline]
    #[must_use]
    pub fn all(&self) -> &[NodeSlot] {
        match &self.nodes {
            Nodes::One(node) => node,
            Nodes::Many(nodes) => nodes,
        }
    }

    /// Some node of the set; all are of one partition.
    #[inline]
    #[must_use]
    pub fn first(&self) -> NodeSlot {
        self.all()[0]
    }

    /// The nodes in the order of a policy; only the first node for applications without one.
    #[must_use]
    pub fn ordered(&self, policy: Option<NodePolicy>) -> &[NodeSlot] {
        let all = self.all();
        if self.whole || all.len() == 1 {
            return all;
        }
        policy
            .and_then(|policy| self.orders.iter().find(|(known, _)| *known == policy))
            .map_or(&all[..1], |(_, nodes)| nodes)
    }
}

/// Nodes in the order of a policy.
#[must_use]
pub fn sort_nodes(state: &State, policy: NodePolicy, nodes: &[NodeSlot]) -> Vec<NodeSlot> {
    let mut nodes = nodes.to_vec();
    nodes.sort_by(|&a, &b| {
        let (a, b) = (&state.nodes[a], &state.nodes[b]);
        let by_use = match policy {
            NodePolicy::ResourceUsage | NodePolicy::ResourceUsagePartialShuffle => {
                a.allocated.cmp(&b.allocated)
            }
            NodePolicy::BestFit => b.allocated.cmp(&a.allocated),
        };
        by_use.then_with(|| a.name.cmp(&b.name))
    });
    nodes
}
