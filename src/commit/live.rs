//! Live containers of one application by number, in a plain list: numbers only grow, so that new
//! ones are appended, and ended ones leave gaps that are closed when they prevail.

use super::ledger::ContainerSlot;

const GAP: ContainerSlot = ContainerSlot(u32::MAX);

/// Container slots by number, ascending.
#[derive(Debug, Default)]
pub(super) struct Live {
    entries: Vec<(u32, ContainerSlot)>,
    gaps: usize,
}

impl Live {
    fn find(&self, number: u32) -> Result<usize, usize> {
        // Mostly the newest is meant, or one of a list without gaps.
        match self.entries.last() {
            Some(&(last, _)) if last < number => Err(self.entries.len()),
            Some(&(last, _)) if last == number => Ok(self.entries.len() - 1),
            _ => self.entries.binary_search_by_key(&number, |entry| entry.0),
        }
    }

    /// The container with a number.
    pub(super) fn get(&self, number: u32) -> Option<ContainerSlot> {
        let slot = self.entries[self.find(number).ok()?].1;
        (slot != GAP).then_some(slot)
    }

    /// Adds a container, mostly one with the largest number so far.
    pub(super) fn insert(&mut self, number: u32, slot: ContainerSlot) {
        match self.find(number) {
            Ok(at) => {
                self.gaps -= usize::from(self.entries[at].1 == GAP);
                self.entries[at].1 = slot;
            }
            Err(at) => self.entries.insert(at, (number, slot)),
        }
    }

    /// Removes the container with a number.
    pub(super) fn remove(&mut self, number: u32) {
        let Ok(at) = self.find(number) else { return };
        if self.entries[at].1 == GAP {
            return;
        }
        self.entries[at].1 = GAP;
        self.gaps += 1;
        if self.gaps * 2 > self.entries.len() {
            self.entries.retain(|entry| entry.1 != GAP);
            self.gaps = 0;
        }
    }

    /// All containers by number.
    pub(super) fn values(&self) -> impl Iterator<Item = ContainerSlot> + '_ {
        let slots = self.entries.iter().map(|entry| entry.1);
        slots.filter(|slot| *slot != GAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_holds_what_a_map_holds(steps in prop::collection::vec((any::<bool>(), 0..40u32), 0..200)) {
            let (mut live, mut map) = (Live::default(), BTreeMap::new());
            for (add, number) in steps {
                if add {
                    live.insert(number, ContainerSlot(number + 7));
                    map.insert(number, ContainerSlot(number + 7));
                } else {
                    live.remove(number);
                    map.remove(&number);
                }
                prop_assert_eq!(live.get(number), map.get(&number).copied());
                prop_assert!(live.values().eq(map.values().copied()));
                prop_assert!(live.entries.len() <= 2 * map.len().max(1));
            }
        }
    }
}
