//! The fit index: the first node of a fixed order on which a container fits, without a walk.
//!
//! Free resources stand by type in arrays along the order, with bounds of blocks of 16 nodes, of 16
//! such blocks, and of 16 of those above them: no node of a block has more. A search looks at the
//! bounds first and descends only where something may fit. A node with less than before leaves the
//! bounds as they are; a search that finds nothing in a block lowers them.

use std::cell::RefCell;

use super::order::{NodeOrder, Reordering};
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::NodeSlot;
use crate::resource::{MAX_TYPES, MEMORY, NARROW, PackedVector, ResourceVector, VCORES};

const BLOCK: usize = 16;

/// Levels of the index, the nodes among them; the last one is walked from its beginning.
const LEVELS: usize = 4;

/// What no node of a block exceeds, by block, on each level above the nodes.
type Bounds = [Vec<i64>; LEVELS - 1];

/// What a node that takes nothing is said to have free; no container fits in it.
const CLOSED: i64 = -1;

/// Places in front of an answer at which builds with assertions look, nearest ones.
const COMPARED: usize = 1024;

/// Sizes that are remembered.
const HINTS: usize = 8;

/// No node before the place holds the size.
#[derive(Clone, Debug)]
struct Hint {
    size: PackedVector,
    place: usize,
}

/// Nodes of one partition in a fixed order, with what is free on those that take containers.
#[derive(Clone, Debug)]
pub struct FitIndex {
    order: NodeOrder,
    /// Most that a node offers, by type; of nodes that left as well.
    largest: ResourceVector,
    /// What is free by node, by resource type.
    free: Vec<Vec<i64>>,
    /// What no node of a block exceeds, by resource type; they never change an answer.
    bounds: RefCell<Vec<Bounds>>,
    /// Where searches begin; they never change an answer.
    hints: RefCell<Vec<Hint>>,
    /// The order to be, as far as nodes were put in their places.
    next: Option<Box<Reordering>>,
}

impl FitIndex {
    /// An index over nodes in an order, all of them closed. `types`: resource types that decide
    /// whether something fits.
    #[must_use]
    pub fn new(order: impl Into<NodeOrder>, types: usize) -> Self {
        let order = order.into();
        let free = vec![vec![CLOSED; order.nodes().len()]; types.clamp(1, MAX_TYPES)];
        Self::with(order, ResourceVector::NONE, free)
    }

    fn with(order: NodeOrder, largest: ResourceVector, free: Vec<Vec<i64>>) -> Self {
        Self {
            bounds: RefCell::new(free.iter().map(|free| bounds_of(free)).collect()),
            free,
            largest,
            hints: RefCell::default(),
            next: None,
            order,
        }
    }

    /// Begins to put the nodes in another order, in which it knows of each what it knows in this one; those
    /// that it does not know are closed. Until [`Self::go_on`] was called often enough the order is the old
    /// one; one that was under way is forgotten.
    pub fn reorder(&mut self, order: NodeOrder) {
        self.next = Some(Box::new(Reordering::new(order, self.free.len())));
    }

    /// Whether the nodes are being put in another order.
    #[must_use]
    pub fn is_reordering(&self) -> bool {
        self.next.is_some()
    }

    /// Puts some more nodes in their places in the next order, at most so many; how many. With the last one,
    /// that is the order.
    ///
    /// Cost: some 10 ns for each; with the last one a look at each place.
    pub fn go_on(&mut self, most: usize) -> usize {
        let Some(next) = &mut self.next else {
            return 0;
        };
        let (order, free) = (&self.order, &self.free);
        let moved = next.go_on(most, |node, i| {
            order.place(node).map_or(CLOSED, |place| free[i][place])
        });
        if let Some(next) = self.next.take_if(|next| next.is_done()) {
            let (order, free) = next.into_parts();
            *self = Self::with(order, self.largest, free);
        }
        moved
    }

    /// Moves a node behind all that are `ahead` of it, which stand before all others. No other order is under way.
    ///
    /// Cost: a search, and some looks at each place between the old one and the new one.
    pub fn move_behind(&mut self, node: NodeSlot, ahead: impl Fn(NodeSlot) -> bool) {
        debug_assert!(self.next.is_none(), "a node moves in one order");
        let Some((from, to)) = self.order.move_behind(node, ahead) else {
            return;
        };
        let (first, last) = (from.min(to), from.max(to));
        for (free, bounds) in self.free.iter_mut().zip(self.bounds.get_mut()) {
            if to < from {
                free[first..=last].rotate_right(1);
            } else {
                free[first..=last].rotate_left(1);
            }
            bound_again(free, bounds, (first, last));
        }
        for hint in self.hints.get_mut() {
            // Behind the last one, the same nodes stand before it.
            if hint.place <= last {
                hint.place = hint.place.min(first);
            }
        }
    }

    /// Whether the node is one of the index.
    #[must_use]
    pub fn knows(&self, node: NodeSlot) -> bool {
        self.order.place(node).is_some()
    }

    /// The nodes in order, closed ones among them.
    #[must_use]
    pub fn order(&self) -> &[NodeSlot] {
        self.order.nodes()
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

    /// Whether the node takes containers.
    #[must_use]
    pub fn is_open(&self, node: NodeSlot) -> bool {
        self.order
            .place(node)
            .is_some_and(|place| self.free[0][place] != CLOSED)
    }

    /// The open nodes in order.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = NodeSlot> + '_ {
        let open = self.order.nodes().iter().zip(&self.free[0]);
        open.filter_map(|(&node, &free)| (free != CLOSED).then_some(node))
    }

    /// Notes what is free on a node; nothing closes it. Whether the node is one of the index, and will be one in
    /// the next order: one that is not in both is lost with the change of orders, or only known then.
    pub fn set(&mut self, node: NodeSlot, free: Option<&ResourceVector>) -> bool {
        let value = |i: usize| {
            // Overcommitted nodes have less than nothing free and stay open.
            free.map_or(CLOSED, |free| free[i].max(0))
        };
        let next = self.next.as_mut();
        let stays = next.is_none_or(|next| next.note(node, value));
        let Some(place) = self.order.place(node) else {
            return false;
        };
        let mut raised = false;
        let bounds = self.bounds.get_mut().iter_mut();
        for (i, (known, bounds)) in self.free.iter_mut().zip(bounds).enumerate() {
            let value = value(i);
            if value > std::mem::replace(&mut known[place], value) {
                raised = true;
                raise(bounds, place, value);
            }
        }
        if raised {
            for hint in self.hints.get_mut() {
                hint.place = hint.place.min(place);
            }
        }
        stays
    }

    /// The same for a node with no more free than before; one that is closed stays closed.
    pub fn lessen(&mut self, node: NodeSlot, free: &PackedVector) {
        let place = self.order.place(node);
        let Some(place) = place.filter(|&place| self.free[0][place] != CLOSED) else {
            return;
        };
        if let Some(next) = &mut self.next {
            next.note(node, |i| free.get()[i].max(0));
        }
        match self.free.as_mut_slice() {
            [memory, vcores] => {
                let free = free.narrow::<NARROW>();
                memory[place] = free[MEMORY].max(0);
                vcores[place] = free[VCORES].max(0);
            }
            known => {
                for (i, known) in known.iter_mut().enumerate() {
                    known[place] = free.get()[i].max(0);
                }
            }
        }
    }

    /// The first open node in order with a size free.
    ///
    /// Cost: one look where the last search for the size ended, as long as that node holds more.
    #[must_use]
    // Must equal [`Self::scan_from`] from the first place.
    pub fn first_fit<const N: usize>(&self, size: &ResourceVector<N>) -> Option<NodeSlot> {
        if !FastPath::FitIndexBounds.is_taken() {
            return self
                .scan_from(0, size)
                .map(|place| self.order.nodes()[place]);
        }
        let mut hints = self.hints.borrow_mut();
        let known = hints.iter().position(|hint| hint.size == *size);
        let hint = known.unwrap_or_else(|| {
            if hints.len() == HINTS {
                hints.remove(0);
            }
            hints.push(Hint {
                size: (*size).into(),
                place: 0,
            });
            hints.len() - 1
        });
        let from = hints[hint].place;
        let found = from < self.order.nodes().len() && self.fits_at(from, size);
        let place = if found || from == self.order.nodes().len() {
            found.then_some(from)
        } else {
            self.place_from(from, size)
        };
        debug_assert!(self.is_first_place(0, place, size));
        hints[hint].place = place.unwrap_or(self.order.nodes().len());
        place.map(|place| self.order.nodes()[place])
    }

    /// The first open node with a size free that stands at least `distance` places behind another.
    ///
    /// Cost: one look where the node at that distance has it; at most a look at each place behind.
    #[must_use]
    pub fn fit_behind<const N: usize>(
        &self,
        node: NodeSlot,
        distance: usize,
        size: &ResourceVector<N>,
    ) -> Option<NodeSlot> {
        let from = self.order.place(node)?.saturating_add(distance);
        if from >= self.order.nodes().len() {
            return None;
        }
        let place = self.place_from(from, size);
        place.map(|place| self.order.nodes()[place])
    }

    /// Whether the node at a place has a size free.
    #[inline(always)]
    fn fits_at<const N: usize>(&self, place: usize, size: &ResourceVector<N>) -> bool {
        match self.free.as_slice() {
            // Most clusters count memory and vcores only.
            [memory, vcores] => {
                memory[place] >= size[MEMORY].max(0) && vcores[place] >= size[VCORES].max(0)
            }
            free => {
                let mut types = free.iter().enumerate();
                types.all(|(i, free)| free[place] >= size[i].max(0))
            }
        }
    }

    /// The first place from one on with a size free, by a look at each.
    ///
    /// Cost: one look at every place.
    fn scan_from<const N: usize>(&self, from: usize, size: &ResourceVector<N>) -> Option<usize> {
        (from..self.order.nodes().len()).find(|&place| self.fits_at(place, size))
    }

    /// The first place from one on with a size free.
    // Must equal [`Self::scan_from`].
    fn place_from<const N: usize>(&self, from: usize, size: &ResourceVector<N>) -> Option<usize> {
        if !FastPath::FitIndexBounds.is_taken() {
            return self.scan_from(from, size);
        }
        let bounds = &mut *self.bounds.borrow_mut();
        let found = match self.free.as_slice() {
            [memory, vcores] => self.first_place(from, bounds, |bounds, level, at| {
                let (memory, vcores) = match level {
                    0 => (memory[at], vcores[at]),
                    _ => (bounds[MEMORY][level - 1][at], bounds[VCORES][level - 1][at]),
                };
                memory >= size[MEMORY].max(0) && vcores >= size[VCORES].max(0)
            }),
            free => self.first_place(from, bounds, |bounds, level, at| {
                let mut types = free.iter().zip(bounds).enumerate();
                types.all(|(i, (free, bounds))| {
                    let most = match level {
                        0 => free[at],
                        _ => bounds[level - 1][at],
                    };
                    most >= size[i].max(0)
                })
            }),
        };
        debug_assert!(self.is_first_place(from, found, size));
        found
    }

    /// Whether a place has a size free, and none of the [`COMPARED`] places in front of it, from one on. Nothing
    /// stands for the end of the order.
    // Must equal [`Self::scan_from`], of which it does that part.
    fn is_first_place<const N: usize>(
        &self,
        from: usize,
        place: Option<usize>,
        size: &ResourceVector<N>,
    ) -> bool {
        let end = place.unwrap_or(self.order.nodes().len());
        let first = from.max(end.saturating_sub(COMPARED));
        let scanned = self.scan_from(first, size);
        scanned == place
    }

    /// The first place from one on that fits; `fits` takes a level and a position on it.
    fn first_place(
        &self,
        from: usize,
        bounds: &mut [Bounds],
        fits: impl Fn(&[Bounds], usize, usize) -> bool,
    ) -> Option<usize> {
        let length = |level| match level {
            0 => self.order.nodes().len(),
            _ => bounds[0][level - 1].len(),
        };
        let lengths: [usize; LEVELS] = std::array::from_fn(length);
        let (mut level, mut at) = (0, from);
        loop {
            // Past the end of a block, where nothing was found: on with the next one.
            while at == lengths[level] || (at % BLOCK == 0 && level + 1 < LEVELS && at > 0) {
                if level + 1 == LEVELS {
                    return None;
                }
                (level, at) = (level + 1, at.div_ceil(BLOCK));
                if at > 0 {
                    self.lower(bounds, level, at - 1);
                }
            }
            // Down as long as something may fit.
            while fits(bounds, level, at) {
                if level == 0 {
                    return Some(at);
                }
                (level, at) = (level - 1, at * BLOCK);
            }
            at += 1;
        }
    }

    /// Sets the bound of a block to what its parts say.
    fn lower(&self, bounds: &mut [Bounds], level: usize, block: usize) {
        for (free, bounds) in self.free.iter().zip(bounds) {
            let (below, above) = bounds.split_at_mut(level - 1);
            let below = below.last().unwrap_or(free);
            above[0][block] = most_of(below, block);
        }
    }
}

/// The bounds above the nodes, from what each node has free.
fn bounds_of(free: &[i64]) -> Bounds {
    let mut bounds = Bounds::default();
    for level in 0..bounds.len() {
        let below = level.checked_sub(1).map_or(free, |below| &bounds[below]);
        let blocks = 0..below.len().div_ceil(BLOCK);
        bounds[level] = blocks.map(|block| most_of(below, block)).collect();
    }
    bounds
}

/// Sets the bounds above the places from one to another.
fn bound_again(free: &[i64], bounds: &mut Bounds, (mut first, mut last): (usize, usize)) {
    for level in 0..bounds.len() {
        (first, last) = (first / BLOCK, last / BLOCK);
        let (below, above) = bounds.split_at_mut(level);
        let below = below.last().map_or(free, Vec::as_slice);
        for (block, bound) in (first..).zip(&mut above[0][first..=last]) {
            *bound = most_of(below, block);
        }
    }
}

/// The largest value of a block.
fn most_of(below: &[i64], block: usize) -> i64 {
    let end = ((block + 1) * BLOCK).min(below.len());
    below[block * BLOCK..end]
        .iter()
        .copied()
        .fold(CLOSED, i64::max)
}

/// Raises the bounds above a place to a value.
fn raise(bounds: &mut Bounds, place: usize, value: i64) {
    if is_planted(PlantedFlaw::FitIndexBoundsStayLow) {
        return;
    }
    let mut block = place;
    for bounds in bounds {
        block /= BLOCK;
        if bounds[block] >= value {
            return;
        }
        bounds[block] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Set;
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
    fn what_was_known_of_a_node_stays_known_in_another_order() {
        let mut index = FitIndex::new(vec![NodeSlot(3), NodeSlot(1)], 2);
        index.set(NodeSlot(1), Some(&size(4, 4)));
        index.set(NodeSlot(3), Some(&size(2, 2)));
        index.note_total(&size(8, 8));
        index.reorder(vec![NodeSlot(7), NodeSlot(1)].into());
        assert!(!index.knows(NodeSlot(7)) && index.is_reordering());
        assert_eq!(index.go_on(5), 2);
        assert!(!index.is_reordering() && !index.is_open(NodeSlot(7)));
        assert_eq!(index.order(), [NodeSlot(7), NodeSlot(1)]);
        assert_eq!(index.largest(), &size(8, 8));
        assert_eq!(index.first_fit(&size(1, 1)), Some(NodeSlot(1)));
        assert!(!index.set(NodeSlot(3), Some(&size(9, 9))), "it left");
        assert!(index.set(NodeSlot(7), Some(&size(1, 1))));
        assert_eq!(index.first_fit(&size(1, 1)), Some(NodeSlot(7)));
    }

    proptest! {
        #[test]
        fn a_search_finds_what_a_walk_finds(
            changes in prop::collection::vec((0..5000u32, -1..6i64, -1..6i64, 1..6i64, 1..6i64), 1..300),
            types in 1..=3usize,
            distance in 0..3000usize
        ) {
            let mut order: Vec<_> = (0..5000).rev().map(NodeSlot).collect();
            let (mut next, mut gone) = (order.clone(), Set::default());
            let mut index = FitIndex::new(order.clone(), types);
            // A third type that follows from the other two.
            let size = |memory: i64, vcores: i64| ResourceVector::of(&[memory, vcores, (memory + vcores) % 4]);
            let mut plain: Vec<Option<ResourceVector>> = vec![None; 5000];
            for (i, (node, memory, vcores, wanted, cores)) in changes.into_iter().enumerate() {
                // It takes more changes until all are in their places; sometimes more than there are.
                if i % 20 == 10 {
                    let cut = next.len() - 1;
                    next.rotate_left(node as usize % cut);
                    next.swap(0, node as usize % cut);
                    let leaves = next.pop().unwrap();
                    plain[leaves.0 as usize] = None;
                    index.set(leaves, None);
                    gone.insert(leaves);
                    index.reorder(next.clone().into());
                }
                if index.go_on(400) > 0 && !index.is_reordering() {
                    order.clone_from(&next);
                }
                if gone.contains(&NodeSlot(node)) {
                    continue;
                }
                if i % 3 == 1 && !index.is_reordering() {
                    let from = order.iter().position(|&one| one == NodeSlot(node)).unwrap();
                    order.remove(from);
                    let to = (node as usize * 977 + i * 13) % order.len();
                    let ahead: Set<_> = order[..to].iter().copied().collect();
                    order.insert(to, NodeSlot(node));
                    index.move_behind(NodeSlot(node), |other| ahead.contains(&other));
                    prop_assert_eq!(index.order(), &*order);
                }
                let free = (memory >= 0).then(|| size(memory, vcores));
                let before = std::mem::replace(&mut plain[node as usize], free);
                let known = |of: &ResourceVector| -> ResourceVector {
                    ResourceVector::build_first(types, |i| of[i])
                };
                match (before, free) {
                    (Some(before), Some(free)) if known(&free).fits_in(&known(&before)) => {
                        index.lessen(NodeSlot(node), &known(&free).into());
                    }
                    _ => {
                        index.set(NodeSlot(node), free.as_ref());
                    }
                }
                let wanted = size(wanted, cores);
                let has_room = |node: &NodeSlot| {
                    plain[node.0 as usize].is_some_and(|free| {
                        (0..types).all(|i| wanted[i] <= free[i].max(0))
                    })
                };
                let walk = order.iter().copied().find(has_room);
                prop_assert_eq!(index.first_fit(&wanted), walk);
                let behind = order.iter().position(|&one| one == NodeSlot(node)).unwrap();
                let walk = order.iter().skip(behind + distance).copied().find(has_room);
                prop_assert_eq!(index.fit_behind(NodeSlot(node), distance, &wanted), walk);
            }
        }
    }
}
