//! Live containers of one application by number. Numbers only grow: the latest stand in a window
//! that is indexed by them, and the few of before that live on in a list that is searched.

use std::collections::VecDeque;

use crate::commit::containers::slot::ContainerSlot;

const GAP: ContainerSlot = ContainerSlot(u32::MAX);

/// Places of the window that may be empty, however few containers live.
const SLACK: usize = 32;

/// Container slots by number.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct Live {
    /// Those before the window, by number, ascending.
    old: Vec<(u32, ContainerSlot)>,
    old_gaps: usize,
    /// Number of the first place of the window.
    first: u32,
    window: VecDeque<ContainerSlot>,
    /// Places of the window that hold a container.
    present: usize,
}

impl Live {
    /// Where in the window a number stands, or would.
    fn place(&self, number: u32) -> Option<usize> {
        number.checked_sub(self.first).map(|at| at as usize)
    }

    /// Searches those before the window, at first where an even spread of numbers would have this one.
    fn find_old(&self, number: u32) -> Result<usize, usize> {
        let (Some(&(first, _)), Some(&(last, _))) = (self.old.first(), self.old.last()) else {
            return Err(0);
        };
        if number < first || last < number {
            return Err(if number < first { 0 } else { self.old.len() });
        }
        let (before, all) = ((number - first) as usize, (last - first).max(1) as usize);
        self.find_around(number, before * (self.old.len() - 1) / all)
    }

    /// Searches ever wider ranges around a place, the first of which is some cache lines.
    fn find_around(&self, number: u32, guess: usize) -> Result<usize, usize> {
        let mut reach = 8;
        loop {
            let (from, to) = (
                guess.saturating_sub(reach),
                self.old.len().min(guess + reach),
            );
            let range = &self.old[from..to];
            let is_in = range[0].0 <= number && number <= range[range.len() - 1].0;
            if is_in || range.len() == self.old.len() {
                let found = range.binary_search_by_key(&number, |entry| entry.0);
                return found.map(|at| from + at).map_err(|at| from + at);
            }
            reach *= 8;
        }
    }

    /// The container with a number.
    pub(in crate::commit) fn get(&self, number: u32) -> Option<ContainerSlot> {
        let found = match self.place(number) {
            Some(at) => self.window.get(at).copied(),
            None => self.find_old(number).ok().map(|at| self.old[at].1),
        };
        found.filter(|slot| *slot != GAP)
    }

    /// Adds a container, mostly one with the largest number so far.
    pub(in crate::commit) fn insert(&mut self, number: u32, slot: ContainerSlot) {
        if self.window.is_empty() && self.old.last().is_none_or(|&(last, _)| last < number) {
            self.first = number;
        }
        let Some(mut at) = self.place(number) else {
            self.insert_old(number, slot);
            return;
        };
        if at >= 4 * (self.present + 1) + SLACK {
            self.shrink(0);
            self.first = number;
            at = 0;
        }
        if at == self.window.len() {
            self.window.push_back(slot);
            self.present += 1;
            return;
        }
        while self.window.len() <= at {
            self.window.push_back(GAP);
        }
        self.present += usize::from(self.window[at] == GAP);
        self.window[at] = slot;
    }

    /// Adds containers with consecutive numbers, the first of which is mostly the largest so far.
    pub(in crate::commit) fn extend(&mut self, first: u32, slots: &[ContainerSlot]) {
        let Some((&one, others)) = slots.split_first() else {
            return;
        };
        self.insert(first, one);
        if self
            .place(first)
            .is_some_and(|at| at + 1 == self.window.len())
        {
            self.window.extend(others);
            self.present += others.len();
        } else {
            (first + 1..)
                .zip(others)
                .for_each(|(number, &slot)| self.insert(number, slot));
        }
    }

    fn insert_old(&mut self, number: u32, slot: ContainerSlot) {
        match self.find_old(number) {
            Ok(at) => {
                self.old_gaps -= usize::from(self.old[at].1 == GAP);
                self.old[at].1 = slot;
            }
            Err(at) => self.old.insert(at, (number, slot)),
        }
    }

    /// Removes the container with a number.
    pub(in crate::commit) fn remove(&mut self, number: u32) {
        let Some(at) = self.place(number) else {
            self.remove_old(number);
            return;
        };
        let Some(slot) = self.window.get_mut(at).filter(|slot| **slot != GAP) else {
            return;
        };
        *slot = GAP;
        self.present -= 1;
        // Shrunk by half of its length at least, so that each removal pays for few places.
        if self.window.len() > 4 * self.present + SLACK {
            self.shrink(2);
        }
    }

    fn remove_old(&mut self, number: u32) {
        let Ok(at) = self.find_old(number) else {
            return;
        };
        if self.old[at].1 == GAP {
            return;
        }
        self.old[at].1 = GAP;
        self.old_gaps += 1;
        self.close_gaps();
    }

    fn close_gaps(&mut self) {
        if self.old_gaps * 2 > self.old.len() {
            self.old.retain(|entry| entry.1 != GAP);
            self.old_gaps = 0;
        }
    }

    /// Moves the window forward until it has at most so many places for each container in it.
    fn shrink(&mut self, places: usize) {
        while self.window.len() > places * self.present {
            let Some(slot) = self.window.pop_front() else {
                break;
            };
            if slot != GAP {
                self.old.push((self.first, slot));
                self.present -= 1;
            }
            self.first += 1;
        }
    }

    /// Places of the list, with those that hold no container.
    pub(in crate::commit) fn places(&self) -> usize {
        self.old.len() + self.window.len()
    }

    /// The containers of so many places from one on, by number.
    pub(in crate::commit) fn on_places(
        &self,
        from: usize,
        most: usize,
    ) -> impl Iterator<Item = ContainerSlot> + '_ {
        let to = from.saturating_add(most);
        let of_list = |len: usize, before: usize| {
            let at = |place: usize| place.saturating_sub(before).min(len);
            at(from)..at(to)
        };
        let old = &self.old[of_list(self.old.len(), 0)];
        let window = of_list(self.window.len(), self.old.len());
        let slots = old.iter().map(|entry| entry.1);
        let slots = slots.chain(self.window.range(window).copied());
        slots.filter(|slot| *slot != GAP)
    }

    /// All numbers, ascending.
    ///
    /// Cost: the places of the window and the list, in their order in memory.
    pub(in crate::commit) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let old = self.old.iter().filter(|entry| entry.1 != GAP);
        let window = (self.first..).zip(&self.window);
        let window = window.filter(|(_, slot)| **slot != GAP);
        old.map(|entry| entry.0)
            .chain(window.map(|(number, _)| number))
    }

    /// All containers by number.
    pub(in crate::commit) fn values(&self) -> impl Iterator<Item = ContainerSlot> + '_ {
        let old = self.old.iter().map(|entry| entry.1);
        let slots = old.chain(self.window.iter().copied());
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
        fn it_holds_what_a_map_holds(steps in prop::collection::vec((any::<bool>(), 0..300u32), 0..400)) {
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
                prop_assert!(live.numbers().eq(map.keys().copied()));
                let parts = (0..live.places()).step_by(7).flat_map(|from| live.on_places(from, 7));
                prop_assert!(parts.eq(map.values().copied()));
                prop_assert!(live.old.len() <= 2 * map.len().max(1));
                prop_assert!(live.window.len() <= 4 * live.present + SLACK);
            }
        }
    }

    #[test]
    fn long_lived_containers_cost_no_room_between_them() {
        let mut live = Live::default();
        for number in 1..100_000 {
            live.insert(number, ContainerSlot(number));
            if number % 1000 != 1 {
                live.remove(number);
            }
        }
        assert_eq!(live.values().count(), 100);
        assert!(live.old.len() + live.window.len() <= 300);
        assert_eq!(live.get(50_001), Some(ContainerSlot(50_001)));
        assert_eq!(live.get(50_002), None);
    }
}
