//! Asks that are forgotten: what many keys and places take of memory is freed in parts.
//!
//! # What
//!
//! Whoever forgets asks changes the state at once, and leaves their tree here. Freeing 100,000 places takes a millisecond,
//! which others would wait for.
//!
//! # Cost
//!
//! Small trees are freed at once. Each turn of the committer frees up to some thousand entries of the others, and each call
//! some more. A committer without work takes no turns, and frees nothing.
//!
//! Tests: `tests/runtime/place_turns.rs`.

use crate::queue::{AppKeys, KeyAsks, Places};

/// Places of a key, or keys, that are freed at once: those of one node of a tree.
const AT_ONCE: usize = 32;

/// Entries that a turn frees: so many for each tree that waits, and at most.
const OF_A_TREE: usize = 512;
const OF_ALL: usize = 4096;

/// Trees that nobody reads any more.
#[derive(Clone, Debug, Default)]
pub(super) struct ForgottenAsks {
    keys: Vec<AppKeys>,
    places: Vec<Places>,
}

impl ForgottenAsks {
    /// Takes over keys.
    pub(super) fn add_keys(&mut self, keys: AppKeys) {
        let many = |asks: &KeyAsks| asks.places.len() > AT_ONCE;
        if keys.len() > AT_ONCE || keys.iter().any(many) {
            self.keys.push(keys);
        }
    }

    /// Takes over the places of a key.
    pub(super) fn add_places(&mut self, places: Places) {
        if places.len() > AT_ONCE {
            self.places.push(places);
        }
    }

    /// Frees as many entries as a turn does.
    pub(super) fn free_in_turn(&mut self) {
        let trees = self.keys.len() + self.places.len();
        self.free_some(&mut (OF_A_TREE * trees).min(OF_ALL));
    }

    /// Frees about as many entries as the budget has.
    pub(super) fn free_some(&mut self, budget: &mut usize) {
        while let Some(keys) = self.keys.last_mut()
            && keys.free_some(budget)
        {
            self.keys.pop();
        }
        while let Some(places) = self.places.last_mut()
            && places.free_some(budget)
        {
            self.places.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{NameId, SchedulerKey};
    use crate::queue::PlaceAsk;
    use crate::resource::ResourceVector;

    fn places(count: u32) -> Places {
        let mut asks = KeyAsks::new(SchedulerKey::MASTER);
        for place in 0..count {
            asks.put(PlaceAsk {
                place: NameId(place),
                size: ResourceVector::of(&[1024, 1]).into(),
                count: 1,
                relax: true,
                partition: None,
            });
        }
        asks.forget_asks()
    }

    #[test]
    fn many_places_go_in_turns_and_few_at_once() {
        let mut forgotten = ForgottenAsks::default();
        forgotten.add_places(places(32));
        assert!(forgotten.places.is_empty());
        forgotten.add_places(places(2_000));
        let mut turns = 0;
        while !forgotten.places.is_empty() {
            forgotten.free_in_turn();
            turns += 1;
        }
        assert!(turns >= 2_000 / OF_A_TREE, "{turns}");
    }

    #[test]
    fn those_that_others_read_stay_theirs() {
        let (mut forgotten, read) = (ForgottenAsks::default(), places(2_000));
        forgotten.add_places(read.clone());
        forgotten.free_some(&mut 100);
        assert!(forgotten.places.is_empty());
        assert_eq!(read.iter().count(), 2_000);
    }
}
