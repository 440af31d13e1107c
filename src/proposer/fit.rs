//! The fit index: the first node of a fixed order on which a container fits, without a walk.
//!
//! Free resources stand by type in arrays along the order, with the maxima of blocks of 64 nodes
//! and of 64 such blocks above them. A search looks at the maxima first and descends only where
//! something may fit; a change of one node touches its block alone.

use crate::id::NodeSlot;
use crate::resource::{MAX_TYPES, ResourceVector};

const BLOCK: usize = 64;

/// What a node that takes nothing is said to have free; no container fits in it.
const CLOSED: i64 = -1;

const ABSENT: u32 = u32::MAX;

/// Nodes of one partition in a fixed order, with what is free on those that take containers.
#[derive(Clone, Debug, Default)]
pub struct FitIndex {
    order: Vec<NodeSlot>,
    /// Position of each node in the order.
    places: Vec<u32>,
    /// Most that a node offers, by type; of nodes that left as well.
    largest: ResourceVector,
    /// By resource type: along the order, by block, by block of blocks.
    levels: Vec<[Vec<i64>; 3]>,
}

impl FitIndex {
    /// An index over nodes in an order, all of them closed. `types`: resource types that count.
    #[must_use]
    pub fn new(order: Vec<NodeSlot>, types: usize) -> Self {
        let last = order.iter().map(|node| node.0 as usize + 1).max();
        let mut places = vec![ABSENT; last.unwrap_or(0)];
        for (place, node) in order.iter().enumerate() {
            places[node.0 as usize] = u32::try_from(place).expect("slots are 32 bits wide");
        }
        let blocks = order.len().div_ceil(BLOCK);
        let sizes = [order.len(), blocks, blocks.div_ceil(BLOCK)];
        let levels = (0..types.clamp(1, MAX_TYPES)).map(|_| sizes.map(|size| vec![CLOSED; size]));
        Self {
            levels: levels.collect(),
            largest: ResourceVector::NONE,
            order,
            places,
        }
    }

    /// The nodes in order, closed ones among them.
    #[must_use]
    pub fn order(&self) -> &[NodeSlot] {
        &self.order
    }

    /// Most that any node of the index offers, by type.
    #[must_use]
    pub fn largest(&self) -> &ResourceVector {
        &self.largest
    }

    /// Notes what a node offers in all.
    pub fn note_total(&mut self, total: &ResourceVector) {
        self.largest = self.largest.component_max(total);
    }

    /// Whether the node is one of the index.
    #[must_use]
    pub fn contains(&self, node: NodeSlot) -> bool {
        self.place(node).is_some()
    }

    fn place(&self, node: NodeSlot) -> Option<usize> {
        let place = self.places.get(node.0 as usize).copied();
        place.filter(|&place| place != ABSENT).map(|p| p as usize)
    }

    /// Whether the node takes containers.
    #[must_use]
    pub fn is_open(&self, node: NodeSlot) -> bool {
        self.place(node)
            .is_some_and(|place| self.levels[0][0][place] != CLOSED)
    }

    /// The open nodes in order.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = NodeSlot> + '_ {
        let free = &self.levels[0][0];
        let open = self.order.iter().zip(free);
        open.filter_map(|(&node, &free)| (free != CLOSED).then_some(node))
    }

    /// Notes what is free on a node; nothing closes it. Nodes of other indexes are passed over.
    pub fn set(&mut self, node: NodeSlot, free: Option<&ResourceVector>) {
        let Some(place) = self.place(node) else {
            return;
        };
        for (i, levels) in self.levels.iter_mut().enumerate() {
            // Overcommitted nodes have less than nothing free and stay open.
            let value = free.map_or(CLOSED, |free| free[i].max(0));
            raise_or_lower(levels, place, value);
        }
    }

    /// The first open node in order with a size free.
    #[must_use]
    pub fn first_fit(&self, size: &ResourceVector) -> Option<NodeSlot> {
        let levels = &self.levels;
        let fits = |level: usize, at: usize| {
            levels
                .iter()
                .enumerate()
                .all(|(i, free)| free[level][at] >= size[i].max(0))
        };
        let below = |level: usize, at: usize| {
            let end = ((at + 1) * BLOCK).min(levels[0][level].len());
            at * BLOCK..end
        };
        for top in 0..levels[0][2].len() {
            if !fits(2, top) {
                continue;
            }
            for block in below(1, top) {
                if !fits(1, block) {
                    continue;
                }
                let found = below(0, block).find(|&place| fits(0, place));
                if let Some(place) = found {
                    return Some(self.order[place]);
                }
            }
        }
        None
    }
}

/// Writes a value and repairs the maxima above it.
fn raise_or_lower(levels: &mut [Vec<i64>; 3], place: usize, value: i64) {
    let mut at = place;
    let mut value = value;
    for level in 0..3 {
        let before = std::mem::replace(&mut levels[level][at], value);
        if before == value || level == 2 {
            return;
        }
        let above = levels[level + 1][at / BLOCK];
        if value < above && before < above {
            return;
        }
        let block = at / BLOCK;
        if value < above {
            // It was the largest: another one may be now.
            let end = ((block + 1) * BLOCK).min(levels[level].len());
            let most = levels[level][block * BLOCK..end].iter().copied();
            value = most.fold(CLOSED, i64::max);
        }
        at = block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(memory: i64, vcores: i64) -> ResourceVector {
        ResourceVector::of(&[memory, vcores])
    }

    #[test]
    fn a_closed_or_unknown_node_is_never_found() {
        let mut index = FitIndex::new(vec![NodeSlot(3), NodeSlot(1)], 2);
        assert_eq!(index.first_fit(&size(0, 0)), None);
        index.set(NodeSlot(1), Some(&size(4, 4)));
        index.set(NodeSlot(7), Some(&size(9, 9)));
        assert_eq!(index.first_fit(&size(1, 1)), Some(NodeSlot(1)));
        index.set(NodeSlot(1), None);
        assert_eq!(index.first_fit(&size(1, 1)), None);
        assert!(!index.contains(NodeSlot(7)) && !index.is_open(NodeSlot(1)));
    }

    proptest! {
        #[test]
        fn a_search_finds_what_a_walk_finds(
            changes in prop::collection::vec((0..5000u32, -1..6i64, -1..6i64, 1..6i64, 1..6i64), 1..300)
        ) {
            let order: Vec<_> = (0..5000).rev().map(NodeSlot).collect();
            let mut index = FitIndex::new(order.clone(), 2);
            let mut plain = vec![None; 5000];
            for (node, memory, vcores, wanted, cores) in changes {
                let free = (memory >= 0).then(|| size(memory, vcores));
                plain[node as usize] = free;
                index.set(NodeSlot(node), free.as_ref());
                let wanted = size(wanted, cores);
                let walk = order.iter().copied().find(|node| {
                    plain[node.0 as usize].is_some_and(|free| wanted.fits_in(&free))
                });
                prop_assert_eq!(index.first_fit(&wanted), walk);
            }
        }
    }
}
