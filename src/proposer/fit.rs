//! The fit index: the first node of a fixed order on which a container fits, without a walk.
//!
//! Free resources stand by type in arrays along the order, with the maxima of blocks of 16 nodes,
//! of 16 such blocks, and of 16 of those above them. A search looks at the maxima first and
//! descends only where something may fit; a change of one node touches its block alone.

use std::cell::RefCell;

use crate::id::NodeSlot;
use crate::resource::{MAX_TYPES, MEMORY, ResourceVector, VCORES};

const BLOCK: usize = 16;

/// Levels of the index; the last one is walked from its beginning.
const LEVELS: usize = 4;

/// What is free by node, and the maxima by block on each level above.
type Levels = [Vec<i64>; LEVELS];

/// What a node that takes nothing is said to have free; no container fits in it.
const CLOSED: i64 = -1;

const ABSENT: u32 = u32::MAX;

/// Sizes that are remembered.
const HINTS: usize = 8;

/// No node before the place holds the size.
#[derive(Clone, Copy, Debug)]
struct Hint {
    size: ResourceVector,
    place: usize,
}

/// Nodes of one partition in a fixed order, with what is free on those that take containers.
#[derive(Clone, Debug, Default)]
pub struct FitIndex {
    order: Vec<NodeSlot>,
    /// Position of each node in the order.
    places: Vec<u32>,
    /// Most that a node offers, by type; of nodes that left as well.
    largest: ResourceVector,
    /// By resource type.
    levels: Vec<Levels>,
    /// Where searches begin; they never change an answer.
    hints: RefCell<Vec<Hint>>,
}

impl FitIndex {
    /// An index over nodes in an order, all of them closed. `types`: resource types that decide
    /// whether something fits.
    #[must_use]
    pub fn new(order: Vec<NodeSlot>, types: usize) -> Self {
        let last = order.iter().map(|node| node.0 as usize + 1).max();
        let mut places = vec![ABSENT; last.unwrap_or(0)];
        for (place, node) in order.iter().enumerate() {
            places[node.0 as usize] = u32::try_from(place).expect("slots are 32 bits wide");
        }
        let mut sizes = [order.len(); LEVELS];
        for level in 1..LEVELS {
            sizes[level] = sizes[level - 1].div_ceil(BLOCK);
        }
        let levels = (0..types.clamp(1, MAX_TYPES)).map(|_| sizes.map(|size| vec![CLOSED; size]));
        Self {
            levels: levels.collect(),
            largest: ResourceVector::NONE,
            hints: RefCell::default(),
            order,
            places,
        }
    }

    /// The same nodes in another order, with what is known of each; nothing if they are not the
    /// same.
    ///
    /// Cost: a look at each place, and none at a node.
    #[must_use]
    pub fn reordered(&self, order: &[NodeSlot]) -> Option<Self> {
        if order.len() != self.order.len() {
            return None;
        }
        let places = order.iter().map(|&node| self.place(node));
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        let mut next = Self::new(order.to_vec(), self.levels.len());
        next.largest = self.largest;
        for (levels, known) in next.levels.iter_mut().zip(&self.levels) {
            for (value, &place) in levels[0].iter_mut().zip(&places) {
                *value = known[0][place];
            }
            for level in 1..LEVELS {
                let [.., below, above] = &mut levels[..=level] else {
                    continue;
                };
                for (most, block) in above.iter_mut().zip(below.chunks(BLOCK)) {
                    *most = block.iter().copied().fold(CLOSED, i64::max);
                }
            }
        }
        Some(next)
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

    /// Notes what is free on a node; nothing closes it. Whether the node is one of the index:
    /// others are passed over.
    pub fn set(&mut self, node: NodeSlot, free: Option<&ResourceVector>) -> bool {
        let Some(place) = self.place(node) else {
            return false;
        };
        let mut raised = false;
        for (i, levels) in self.levels.iter_mut().enumerate() {
            // Overcommitted nodes have less than nothing free and stay open.
            let value = free.map_or(CLOSED, |free| free[i].max(0));
            raised |= raise_or_lower(levels, place, value);
        }
        if raised {
            for hint in self.hints.get_mut() {
                hint.place = hint.place.min(place);
            }
        }
        true
    }

    /// The first open node in order with a size free.
    ///
    /// Cost: one look where the last search for the size ended, as long as that node holds more.
    #[must_use]
    pub fn first_fit(&self, size: &ResourceVector) -> Option<NodeSlot> {
        let mut hints = self.hints.borrow_mut();
        let known = hints.iter().position(|hint| hint.size == *size);
        let hint = known.unwrap_or_else(|| {
            if hints.len() == HINTS {
                hints.remove(0);
            }
            hints.push(Hint {
                size: *size,
                place: 0,
            });
            hints.len() - 1
        });
        let from = hints[hint].place;
        let place = match self.levels.as_slice() {
            // Most clusters count memory and vcores only.
            [memory, vcores] => self.first_place(from, |level, at| {
                memory[level][at] >= size[MEMORY].max(0) && vcores[level][at] >= size[VCORES].max(0)
            }),
            levels => self.first_place(from, |level, at| {
                let mut types = levels.iter().enumerate();
                types.all(|(i, free)| free[level][at] >= size[i].max(0))
            }),
        };
        hints[hint].place = place.unwrap_or(self.order.len());
        place.map(|place| self.order[place])
    }

    /// The first place from one on that fits; `fits` takes a level and a position on it.
    fn first_place(&self, from: usize, fits: impl Fn(usize, usize) -> bool) -> Option<usize> {
        let lengths = self.levels[0].each_ref().map(Vec::len);
        let (mut level, mut at) = (0, from);
        loop {
            // Past the end of a block: on with the next one.
            while at == lengths[level] || (at % BLOCK == 0 && level + 1 < LEVELS && at > 0) {
                if level + 1 == LEVELS {
                    return None;
                }
                (level, at) = (level + 1, at.div_ceil(BLOCK));
            }
            // Down as long as something may fit.
            while fits(level, at) {
                if level == 0 {
                    return Some(at);
                }
                (level, at) = (level - 1, at * BLOCK);
            }
            at += 1;
        }
    }
}

/// Writes a value and repairs the maxima above it. Whether it is larger than the one before.
fn raise_or_lower(levels: &mut Levels, place: usize, value: i64) -> bool {
    let before = std::mem::replace(&mut levels[0][place], value);
    let most = levels[1][place / BLOCK];
    // Mostly neither of the two is the largest of its block.
    if before != value && (value >= most || before >= most) {
        repair(levels, place, before, value);
    }
    value > before
}

/// Repairs the maxima above a place whose value changed.
fn repair(levels: &mut Levels, place: usize, mut before: i64, mut value: i64) {
    let mut at = place;
    for level in 1..LEVELS {
        let (block, below) = (at / BLOCK, &levels[level - 1]);
        let most = levels[level][block];
        if value < most && before < most {
            return;
        }
        if value < most {
            // It was the largest: another one may be now.
            let end = ((block + 1) * BLOCK).min(below.len());
            let others = below[block * BLOCK..end].iter().copied();
            value = others.fold(CLOSED, i64::max);
        }
        before = std::mem::replace(&mut levels[level][block], value);
        if before == value {
            return;
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
        assert!(index.set(NodeSlot(1), Some(&size(4, 4))));
        assert!(!index.set(NodeSlot(7), Some(&size(9, 9))));
        assert_eq!(index.first_fit(&size(1, 1)), Some(NodeSlot(1)));
        index.set(NodeSlot(1), None);
        assert_eq!(index.first_fit(&size(1, 1)), None);
        assert!(!index.is_open(NodeSlot(7)) && !index.is_open(NodeSlot(1)));
    }

    #[test]
    fn other_nodes_are_no_other_order() {
        let index = FitIndex::new(vec![NodeSlot(3), NodeSlot(1)], 2);
        assert!(index.reordered(&[NodeSlot(3)]).is_none());
        assert!(index.reordered(&[NodeSlot(3), NodeSlot(2)]).is_none());
        let swapped = index.reordered(&[NodeSlot(1), NodeSlot(3)]).unwrap();
        assert_eq!(swapped.order(), [NodeSlot(1), NodeSlot(3)]);
    }

    proptest! {
        #[test]
        fn a_search_finds_what_a_walk_finds(
            changes in prop::collection::vec((0..5000u32, -1..6i64, -1..6i64, 1..6i64, 1..6i64), 1..300),
            types in 1..=3usize
        ) {
            let mut order: Vec<_> = (0..5000).rev().map(NodeSlot).collect();
            let mut index = FitIndex::new(order.clone(), types);
            // A third type that follows from the other two.
            let size = |memory: i64, vcores: i64| ResourceVector::of(&[memory, vcores, (memory + vcores) % 4]);
            let mut plain = vec![None; 5000];
            for (i, (node, memory, vcores, wanted, cores)) in changes.into_iter().enumerate() {
                if i % 50 == 49 {
                    order.rotate_left(node as usize);
                    order.swap(0, node as usize);
                    index = index.reordered(&order).unwrap();
                }
                let free = (memory >= 0).then(|| size(memory, vcores));
                plain[node as usize] = free;
                index.set(NodeSlot(node), free.as_ref());
                let wanted = size(wanted, cores);
                let walk = order.iter().copied().find(|node| {
                    plain[node.0 as usize].is_some_and(|free: ResourceVector| {
                        (0..types).all(|i| wanted[i] <= free[i].max(0))
                    })
                });
                prop_assert_eq!(index.first_fit(&wanted), walk);
            }
        }
    }
}
