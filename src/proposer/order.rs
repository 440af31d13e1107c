//! The order of the nodes of a partition, and the way from one order to another.

use std::sync::Arc;

use crate::id::NodeSlot;

const ABSENT: u32 = u32::MAX;

/// Nodes in an order, each once, and the place of each; cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct NodeOrder {
    nodes: Arc<[NodeSlot]>,
    /// By slot.
    places: Arc<[u32]>,
}

impl From<Vec<NodeSlot>> for NodeOrder {
    fn from(nodes: Vec<NodeSlot>) -> Self {
        let last = nodes.iter().map(|node| node.0 as usize + 1).max();
        let mut places = vec![ABSENT; last.unwrap_or(0)];
        for (place, node) in nodes.iter().enumerate() {
            places[node.0 as usize] = u32::try_from(place).expect("slots are 32 bits wide");
        }
        Self {
            nodes: nodes.into(),
            places: places.into(),
        }
    }
}

impl NodeOrder {
    /// The nodes in order.
    #[inline]
    #[must_use]
    pub fn nodes(&self) -> &[NodeSlot] {
        &self.nodes
    }

    /// An order of these nodes, each named once: first those that stand in this one, as they do here, then the
    /// others as they come.
    #[must_use]
    pub fn following(&self, nodes: &[NodeSlot]) -> Self {
        let mut stays = vec![false; self.nodes.len()];
        let mut others = Vec::new();
        for &node in nodes {
            match self.place(node) {
                Some(place) => stays[place] = true,
                None => others.push(node),
            }
        }
        let known = self.nodes.iter().zip(stays);
        let known = known.filter_map(|(&node, stays)| stays.then_some(node));
        known.chain(others).collect::<Vec<_>>().into()
    }

    /// Moves a node behind all that are `ahead` of it, which stand before all others. The places that it left and
    /// came to, if they differ.
    ///
    /// Cost: a search, and a move of each node between the two; a copy of the order where it is shared.
    pub(super) fn move_behind(
        &mut self,
        node: NodeSlot,
        ahead: impl Fn(NodeSlot) -> bool,
    ) -> Option<(usize, usize)> {
        let from = self.place(node)?;
        let (before, behind) = (&self.nodes[..from], &self.nodes[from + 1..]);
        let ahead = |other: &NodeSlot| ahead(*other);
        let to = match before.partition_point(ahead) {
            to if to < from => to,
            _ => from + behind.partition_point(ahead),
        };
        let range = from.min(to)..=from.max(to);
        let moved = &mut Arc::make_mut(&mut self.nodes)[range.clone()];
        if to < from {
            moved.rotate_right(1);
        } else {
            moved.rotate_left(1);
        }
        let places = Arc::make_mut(&mut self.places);
        for (place, node) in range.zip(moved) {
            places[node.0 as usize] = u32::try_from(place).expect("slots are 32 bits wide");
        }
        (from != to).then_some((from, to))
    }

    #[inline]
    pub(super) fn place(&self, node: NodeSlot) -> Option<usize> {
        let place = self.places.get(node.0 as usize).copied();
        place.filter(|&place| place != ABSENT).map(|p| p as usize)
    }
}

/// What is free on nodes by their places in an order, as far as they were put there.
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    order: NodeOrder,
    /// By resource type.
    free: Vec<Vec<i64>>,
}

impl Reordering {
    pub(super) fn new(order: NodeOrder, types: usize) -> Self {
        let empty = || Vec::with_capacity(order.nodes.len());
        Self {
            free: std::iter::repeat_with(empty).take(types).collect(),
            order,
        }
    }

    /// Puts at most so many further nodes in their places, with what is `known` of a type on each; how many.
    pub(super) fn go_on(&mut self, most: usize, known: impl Fn(NodeSlot, usize) -> i64) -> usize {
        let rest = self.order.nodes.iter().skip(self.placed()).take(most);
        let moved = rest.len();
        for &node in rest {
            for (i, free) in self.free.iter_mut().enumerate() {
                free.push(known(node, i));
            }
        }
        moved
    }

    fn placed(&self) -> usize {
        self.free.first().map_or(self.order.nodes.len(), Vec::len)
    }

    /// Whether all nodes are in their places.
    pub(super) fn is_done(&self) -> bool {
        self.placed() == self.order.nodes.len()
    }

    /// Notes what is free on a node now; one that was not put in its place yet will be known then. Whether
    /// the order has the node.
    pub(super) fn note(&mut self, node: NodeSlot, value: impl Fn(usize) -> i64) -> bool {
        let Some(place) = self.order.place(node) else {
            return false;
        };
        for (i, free) in self.free.iter_mut().enumerate() {
            if let Some(known) = free.get_mut(place) {
                *known = value(i);
            }
        }
        true
    }

    /// The order, and what is free in it by resource type.
    pub(super) fn into_parts(self) -> (NodeOrder, Vec<Vec<i64>>) {
        (self.order, self.free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_moves_behind_those_ahead_of_it_and_places_follow() {
        let slots = |slots: &[u32]| slots.iter().copied().map(NodeSlot).collect::<Vec<_>>();
        let mut order = NodeOrder::from(slots(&[3, 1, 4, 0]));
        let shared = order.clone();
        for (node, ahead, moved, expected) in [
            (3, &[1, 4][..], Some((0, 2)), [1, 4, 3, 0]),
            (0, &[], Some((3, 0)), [0, 1, 4, 3]),
            (4, &[0, 1], None, [0, 1, 4, 3]),
            (7, &[], None, [0, 1, 4, 3]),
        ] {
            let found = order.move_behind(NodeSlot(node), |other| ahead.contains(&other.0));
            assert_eq!((found, order.nodes()), (moved, &*slots(&expected)));
            for (place, &node) in order.nodes().iter().enumerate() {
                assert_eq!(order.place(node), Some(place));
            }
        }
        assert_eq!(shared.nodes(), slots(&[3, 1, 4, 0]));
    }

    #[test]
    fn nodes_that_come_stand_behind_those_that_stay() {
        let slots = |slots: &[u32]| slots.iter().copied().map(NodeSlot).collect::<Vec<_>>();
        let order = NodeOrder::from(slots(&[3, 1, 4, 0]));
        let same = order.following(&slots(&[0, 1, 3, 4]));
        assert_eq!(same.nodes(), order.nodes());
        let others = order.following(&slots(&[9, 0, 2, 3]));
        assert_eq!(others.nodes(), slots(&[3, 0, 9, 2]));
        assert_eq!(others.place(NodeSlot(9)), Some(2));
        assert_eq!(
            (others.place(NodeSlot(1)), others.place(NodeSlot(5))),
            (None, None)
        );
        assert!(order.following(&[]).nodes().is_empty());
    }
}
