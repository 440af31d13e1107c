//! Hosts and racks that an application does not use.

use super::shared_tree::SharedTree;
use super::tree_node::{TreeEntry, TreeSum};
use crate::id::NameId;

/// Hosts and racks, ascending.
pub type Blacklist = SharedTree<NameId>;

impl TreeSum for () {
    fn add(&mut self, (): &Self) {}

    fn follow(&mut self, (): &Self, _: Option<&Self>) -> bool {
        true
    }
}

impl TreeEntry for NameId {
    type Key = Self;
    type Sum = ();
    type Inline = [Self; 0];

    #[inline(always)]
    fn key(&self) -> Self {
        *self
    }

    #[inline(always)]
    fn sum(&self) {}
}

impl Blacklist {
    /// Whether a place is among them.
    #[inline]
    #[must_use]
    pub fn contains(&self, place: NameId) -> bool {
        self.find(place).is_ok()
    }

    /// Adds a place.
    pub fn add(&mut self, place: NameId) {
        if let Err(at) = self.find(place) {
            self.insert(at, place);
        }
    }

    /// Takes a place off.
    pub fn take(&mut self, place: NameId) {
        if let Ok(at) = self.find(place) {
            self.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(writes in prop::collection::vec((any::<bool>(), 0..3_000_u32), 0..4_000)) {
            let (mut places, mut plain) = (Blacklist::default(), BTreeSet::new());
            for (adds, place) in writes {
                let place = NameId(place);
                if adds {
                    places.add(place);
                    plain.insert(place);
                } else {
                    places.take(place);
                    plain.remove(&place);
                }
                prop_assert_eq!(places.contains(place), adds);
            }
            prop_assert!(places.iter().eq(&plain));
            let mut again = Blacklist::default();
            plain.iter().rev().for_each(|&place| again.add(place));
            prop_assert!(again == places && places == places.clone());
            again.add(NameId(3_000));
            prop_assert!(again != places);
        }
    }
}
