//! Containers that an application has not fetched yet, in order of allocation. One that ends before
//! is taken off by its position, whatever their number.

use std::collections::VecDeque;

use crate::commit::containers::slot::ContainerSlot;

const GAP: ContainerSlot = ContainerSlot(u32::MAX);

/// Room that the list keeps when it is empty.
const KEPT: usize = 64;

/// Slots in order of allocation.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct Unfetched {
    slots: VecDeque<ContainerSlot>,
    /// Positions that were taken off the front so far; counts around.
    taken: u32,
}

impl Unfetched {
    /// Adds a container; returns its position.
    #[inline]
    pub(in crate::commit) fn push(&mut self, slot: ContainerSlot) -> u32 {
        let order = self.next_order();
        self.slots.push_back(slot);
        order
    }

    /// The position of the next container that is added.
    pub(in crate::commit) fn next_order(&self) -> u32 {
        self.taken.wrapping_add(length(&self.slots))
    }

    /// Adds containers at the next positions.
    pub(in crate::commit) fn extend(&mut self, slots: &[ContainerSlot]) {
        self.slots.extend(slots);
    }

    /// Takes the container at a position off.
    ///
    /// Cost: constant, but for gaps at both ends, each of which is dropped once.
    pub(in crate::commit) fn remove(&mut self, order: u32, slot: ContainerSlot) {
        let at = order.wrapping_sub(self.taken) as usize;
        if self.slots.get(at) == Some(&slot) {
            self.slots[at] = GAP;
        }
        while self.slots.back() == Some(&GAP) {
            self.slots.pop_back();
        }
        self.drop_front_gaps();
    }

    fn drop_front_gaps(&mut self) {
        while self.slots.front() == Some(&GAP) {
            self.slots.pop_front();
            self.taken = self.taken.wrapping_add(1);
        }
    }

    /// Takes the oldest container.
    pub(in crate::commit) fn pop(&mut self) -> Option<ContainerSlot> {
        let first = self.slots.pop_front()?;
        self.taken = self.taken.wrapping_add(1);
        self.drop_front_gaps();
        if self.slots.is_empty() {
            self.slots.shrink_to(KEPT);
        }
        Some(first)
    }

    /// Places of the list, some of which may be gaps.
    pub(in crate::commit) fn places(&self) -> usize {
        self.slots.len()
    }

    /// All containers, the oldest first.
    pub(in crate::commit) fn iter(&self) -> impl Iterator<Item = ContainerSlot> + '_ {
        self.slots.iter().copied().filter(|slot| *slot != GAP)
    }
}

fn length(slots: &VecDeque<ContainerSlot>) -> u32 {
    u32::try_from(slots.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_what_a_list_holds(steps in prop::collection::vec((0..3u8, 0..50usize), 0..300)) {
            let (mut unfetched, mut list) = (Unfetched::default(), Vec::new());
            for (next, (kind, at)) in steps.into_iter().enumerate() {
                match kind {
                    0 if !list.is_empty() => {
                        let (order, slot) = list.remove(at % list.len());
                        unfetched.remove(order, slot);
                    }
                    1 => {
                        let first = (!list.is_empty()).then(|| list.remove(0).1);
                        prop_assert_eq!(unfetched.pop(), first);
                    }
                    _ => {
                        let slot = ContainerSlot(u32::try_from(next).unwrap());
                        list.push((unfetched.push(slot), slot));
                    }
                }
                prop_assert!(unfetched.iter().eq(list.iter().map(|&(_, slot)| slot)));
            }
        }
    }
}
