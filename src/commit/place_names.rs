//! Names of places, and their ids.
//!
//! # What
//!
//! Hosts, racks and `*` by name, and by id. None is ever forgotten.
//!
//! # Cost
//!
//! The names stand in many small maps, by their hash. A map that grows moves what it holds, and one call may name 100,000
//! new places. A single map would move 57,344 of them at once, for milliseconds.

use std::hash::BuildHasher;
use std::sync::Arc;

use crate::id::{Map, NameId};

/// Maps by hash; a power of two.
const MAPS: usize = 256;

/// Places by name and by id.
#[derive(Clone, Debug)]
pub(super) struct PlaceNames {
    ids: Box<[Map<Arc<str>, NameId>]>,
    names: Vec<Arc<str>>,
}

impl PlaceNames {
    /// Nothing but the name of all places.
    pub(super) fn new() -> Self {
        Self {
            ids: vec![Map::default(); MAPS].into(),
            names: vec!["*".into()],
        }
    }

    /// The id of a host, rack or `*`, interned on first use.
    pub(super) fn intern(&mut self, name: &str) -> NameId {
        if name == "*" {
            return NameId::ANY;
        }
        // The maps look at the lower bits of the same hash, and at the highest.
        let hash = self.ids[0].hasher().hash_one(name);
        let ids = &mut self.ids[(hash >> 32) as usize % MAPS];
        if let Some(&id) = ids.get(name) {
            return id;
        }
        let (id, name): (_, Arc<str>) = (NameId::at(self.names.len()), name.into());
        self.names.push(Arc::clone(&name));
        ids.insert(name, id);
        id
    }

    /// All names, by id.
    pub(super) fn by_id(&self) -> &[Arc<str>] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_id() {
        let mut names = PlaceNames::new();
        let ids: Vec<_> = (0..20_000)
            .map(|number| names.intern(&format!("n{number}")))
            .collect();
        assert_eq!(names.intern("*"), NameId::ANY);
        for (number, &id) in ids.iter().enumerate() {
            let name = format!("n{number}");
            assert_eq!(names.intern(&name), id);
            assert_eq!(&*names.by_id()[id.index()], name);
        }
        assert_eq!(names.by_id().len(), 20_001);
    }

    /// Cost: no map has more than a small share of the names.
    #[test]
    fn names_are_spread_over_the_maps() {
        let mut names = PlaceNames::new();
        for number in 0..25_600 {
            names.intern(&format!("host-{number}.example.com"));
        }
        let most = names.ids.iter().map(Map::len).max();
        assert!(most < Some(200), "{most:?}");
    }
}
