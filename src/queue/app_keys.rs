//! The keys of an application: a B+ tree whose nodes are shared by its copies.
//!
//! # What
//!
//! Entries stand in ascending order of their keys, and have positions from 0. An application mostly asks under one
//! key, or a few: up to 32 entries stand in the row itself. One call may ask under 100,000. Then the entries
//! stand in leaves, and a branch holds its children by reference.
//!
//! # When it is valid
//!
//! A copy shares all nodes. A write copies what it is about to write where somebody else holds it: the nodes from the
//! root to one leaf. So nobody sees what another writes, and a published row stays as it was.
//!
//! # Cost
//!
//! Of n entries: a copy takes the references of the root. A look-up visits O(log n) nodes. A write costs the same, and one
//! copy of each visited node that is shared. A node that loses its last entry is removed; others are not merged.

use std::ops::{Index, IndexMut};

use super::key_asks::KeyAsks;
use super::key_node::{KeyNode, branch, find_in};
use crate::id::SchedulerKey;

/// What was asked under each key, ascending by key.
#[derive(Clone, Debug, Default)]
pub struct AppKeys(KeyNode);

impl AppKeys {
    /// Number of keys.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no key.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at a position.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&KeyAsks> {
        match &self.0 {
            KeyNode::Leaf(entries) => entries.get(at),
            KeyNode::Branch(_) => self.0.leaf_from(at).first(),
        }
    }

    /// The first entry.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<&KeyAsks> {
        self.get(0)
    }

    /// Position of a key.
    ///
    /// # Errors
    ///
    /// The position at which it would be inserted, where it has no entry.
    #[inline]
    pub fn find(&self, key: SchedulerKey) -> Result<usize, usize> {
        match &self.0 {
            // Mostly there is one key, or the first is served.
            KeyNode::Leaf(entries) => match entries.first() {
                Some(first) if first.key == key => Ok(0),
                _ => find_in(entries, key),
            },
            KeyNode::Branch(_) => self.0.find(key),
        }
    }

    /// All entries.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> AppKeysIter<'_> {
        self.iter_from(0)
    }

    /// The entries from a position on; none behind the last one.
    #[inline]
    #[must_use]
    pub fn iter_from(&self, at: usize) -> AppKeysIter<'_> {
        let entries = match &self.0 {
            KeyNode::Leaf(entries) => entries.get(at..).unwrap_or_default(),
            KeyNode::Branch(_) => self.0.leaf_from(at),
        };
        AppKeysIter {
            keys: self,
            entries: entries.iter(),
            next: at + entries.len(),
        }
    }

    /// Position of the first entry from a position on that has outstanding asks.
    #[inline]
    #[must_use]
    pub fn next_outstanding(&self, at: usize) -> Option<usize> {
        self.0.next_open(at)
    }

    /// The entries from a position on that have outstanding asks. Leaves without any are passed over.
    #[inline]
    pub(super) fn open_from(&self, at: usize) -> impl Iterator<Item = &KeyAsks> {
        let mut leaf = self.iter_from(at);
        std::iter::from_fn(move || {
            loop {
                let found = leaf.entries.find(|entry| entry.outstanding);
                if found.is_some() {
                    return found;
                }
                leaf = self.iter_from(self.next_outstanding(leaf.next)?);
            }
        })
    }

    /// Sets whether an entry has outstanding asks.
    #[inline]
    pub(super) fn set_outstanding(&mut self, at: usize, outstanding: bool) {
        match &mut self.0 {
            KeyNode::Leaf(entries) => entries[at].outstanding = outstanding,
            node => _ = node.set_open(at, outstanding),
        }
    }

    /// The group of leaves that holds the entry at a position; nothing behind the last one.
    #[must_use]
    pub fn group_from(&self, at: usize) -> Option<LeafGroup<'_>> {
        (at < self.len()).then(|| LeafGroup(self.0.group_from(at)))
    }

    /// Frees entries of a row that nobody reads any more, about as many as the budget has; whether none is left.
    /// Entries that other copies have are left to them.
    pub fn free_some(&mut self, budget: &mut usize) -> bool {
        self.0.free_some(budget)
    }

    /// Adds an entry at the position that [`AppKeys::find`] gives for its key.
    pub(super) fn insert(&mut self, at: usize, entry: KeyAsks) {
        if let Some(right) = self.0.insert(at, entry) {
            let left = std::mem::take(&mut self.0);
            self.0 = branch([left, right]);
        }
    }

    /// Removes the entry at a position, which is there.
    pub(super) fn remove(&mut self, at: usize) {
        self.0.remove(at);
        if self.is_empty() {
            *self = Self::default();
        }
    }
}

impl Index<usize> for AppKeys {
    type Output = KeyAsks;

    #[inline]
    fn index(&self, at: usize) -> &KeyAsks {
        match &self.0 {
            KeyNode::Leaf(entries) => &entries[at],
            KeyNode::Branch(_) => &self.0.leaf_from(at)[0],
        }
    }
}

impl IndexMut<usize> for AppKeys {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut KeyAsks {
        match &mut self.0 {
            KeyNode::Leaf(entries) => &mut entries[at],
            node => node.entry_mut(at),
        }
    }
}

impl<'a> IntoIterator for &'a AppKeys {
    type Item = &'a KeyAsks;
    type IntoIter = AppKeysIter<'a>;

    fn into_iter(self) -> AppKeysIter<'a> {
        self.iter()
    }
}

/// Some leaves of the keys of an application, beside each other. As long as a copy of many keys lives, its groups and leaves
/// stay where they are, and no others take their place in memory. The root moves with the copy.
#[derive(Clone, Copy, Debug)]
pub struct LeafGroup<'a>(&'a KeyNode);

impl<'a> LeafGroup<'a> {
    /// Number of entries, 1 at least.
    #[must_use]
    pub fn count(self) -> usize {
        self.0.len()
    }

    /// Where it stands in memory.
    #[must_use]
    pub fn address(self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }

    /// Its leaves: where each stands in memory, and its entries.
    pub fn leaves(self) -> impl Iterator<Item = (usize, &'a [KeyAsks])> {
        let (own, children) = match self.0 {
            KeyNode::Leaf(entries) => (Some(entries), &[][..]),
            KeyNode::Branch(children) => (None, children.as_slice()),
        };
        let below = children.iter().filter_map(|child| match &*child.node {
            KeyNode::Leaf(entries) => Some(entries),
            KeyNode::Branch(_) => None,
        });
        let leaves = own.into_iter().chain(below);
        leaves.map(|entries| (entries.as_ptr().addr(), entries.as_slice()))
    }
}

/// Entries of an application in ascending order of their keys.
#[derive(Clone, Debug)]
pub struct AppKeysIter<'a> {
    keys: &'a AppKeys,
    /// What is left of the present leaf.
    entries: std::slice::Iter<'a, KeyAsks>,
    /// Position behind that leaf.
    next: usize,
}

impl<'a> Iterator for AppKeysIter<'a> {
    type Item = &'a KeyAsks;

    #[inline]
    fn next(&mut self) -> Option<&'a KeyAsks> {
        match self.entries.next() {
            None => self.next_leaf(),
            entry => entry,
        }
    }
}

impl<'a> AppKeysIter<'a> {
    #[inline]
    fn next_leaf(&mut self) -> Option<&'a KeyAsks> {
        if let KeyNode::Leaf(_) = self.keys.0 {
            return None;
        }
        let entries = self.keys.0.leaf_from(self.next);
        self.next += entries.len();
        self.entries = entries.iter();
        self.entries.next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_node::MOST;
    use super::*;
    use proptest::prelude::*;

    fn key(number: u32) -> SchedulerKey {
        SchedulerKey::new(1, i64::from(number))
    }

    fn entry(number: u32) -> KeyAsks {
        KeyAsks::new(key(number))
    }

    /// Of ascending numbers.
    fn tree(numbers: impl IntoIterator<Item = u32>) -> AppKeys {
        let mut keys = AppKeys::default();
        for number in numbers {
            keys.insert(keys.len(), entry(number));
        }
        keys
    }

    fn numbers(keys: impl Iterator<Item = SchedulerKey>) -> Vec<i64> {
        keys.map(|key| key.request_id).collect()
    }

    /// What a sequence of writes leaves: the number of each key, how often it was written, and whether it is open.
    type Plain = Vec<(u32, i32, bool)>;

    fn plain(keys: &AppKeys) -> Plain {
        let entries = keys.iter();
        let pair = |entry: &KeyAsks| {
            (
                u32::try_from(entry.key.request_id).expect("a test's number"),
                entry.missed,
                entry.outstanding,
            )
        };
        entries.map(pair).collect()
    }

    /// Nodes of two trees at the same address.
    fn shared(one: &AppKeys, other: &AppKeys) -> (usize, usize) {
        fn leaves(node: &KeyNode, into: &mut Vec<*const KeyAsks>) {
            match node {
                KeyNode::Leaf(entries) => into.push(entries.as_ptr()),
                KeyNode::Branch(children) => {
                    children.iter().for_each(|child| leaves(&child.node, into));
                }
            }
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        leaves(&one.0, &mut ours);
        leaves(&other.0, &mut theirs);
        let same = ours.iter().filter(|leaf| theirs.contains(leaf)).count();
        (same, ours.len())
    }

    /// The bounds that the tree relies on.
    fn check(node: &KeyNode, is_root: bool) {
        match node {
            KeyNode::Leaf(entries) => {
                assert!(entries.len() <= MOST && (is_root || !entries.is_empty()));
                assert!(entries.is_sorted_by(|one, other| one.key < other.key));
            }
            KeyNode::Branch(children) => {
                assert!((1..=MOST).contains(&children.len()));
                let mut end = 0;
                for child in children {
                    end += child.node.len();
                    assert_eq!((child.end, Some(child.first)), (end, child.node.first()));
                    assert_eq!(child.open, child.node.open());
                    check(&child.node, false);
                }
            }
        }
    }

    /// A write, by a number below 5 and the key that it is about.
    fn write(keys: &mut AppKeys, plain: &mut Plain, (what, number): (u8, u32)) {
        let found = keys.find(key(number));
        assert_eq!(found, plain.binary_search_by_key(&number, |entry| entry.0));
        match (what, found) {
            (0, Err(at)) => {
                keys.insert(at, entry(number));
                plain.insert(at, (number, 0, false));
            }
            (1, Ok(at)) => {
                keys.remove(at);
                plain.remove(at);
            }
            (2 | 3, Ok(at)) => {
                keys.set_outstanding(at, what == 2);
                plain[at].2 = what == 2;
            }
            (_, Ok(at)) => {
                keys[at].missed += 1;
                plain[at].1 += 1;
                assert_eq!(keys.get(at).map(|entry| entry.missed), Some(plain[at].1));
            }
            (_, Err(_)) => {}
        }
    }

    proptest! {
        /// Against a sorted list, with copies at random moments that must stay as they were.
        #[test]
        fn it_is_a_sorted_list_and_copies_stay_as_they_were(
            first in prop::collection::btree_set(0..3_000_u32, 0..2_500),
            writes in prop::collection::vec((0..5_u8, 0..3_000_u32), 0..3_000),
            copies in prop::collection::vec(0..3_000_usize, 0..6),
            from in 0..3_000_usize,
        ) {
            let mut keys = tree(first.iter().copied());
            let mut list: Plain = first.into_iter().map(|number| (number, 0, false)).collect();
            let mut copied = vec![(keys.clone(), list.clone())];
            for (moment, one) in writes.into_iter().enumerate() {
                if copies.contains(&moment) {
                    copied.push((keys.clone(), list.clone()));
                }
                write(&mut keys, &mut list, one);
            }
            copied.push((keys, list));
            for (keys, list) in &copied {
                check(&keys.0, true);
                prop_assert_eq!(&plain(keys), list);
                prop_assert_eq!(keys.len(), list.len());
                let behind: Vec<_> = keys.iter_from(from).map(|entry| entry.missed).collect();
                let expected = list.get(from..).unwrap_or_default();
                prop_assert_eq!(behind, expected.iter().map(|entry| entry.1).collect::<Vec<_>>());
                prop_assert!(keys.get(list.len()).is_none());
                let open: Vec<_> = keys.open_from(from).map(|entry| entry.key).collect();
                let expected = expected.iter().filter(|entry| entry.2);
                prop_assert_eq!(&open, &expected.map(|entry| key(entry.0)).collect::<Vec<_>>());
                let next = keys.next_outstanding(from).map(|at| keys[at].key);
                prop_assert_eq!(next, open.first().copied());
            }
        }
    }

    /// Cost: a write to a copy of many entries copies one leaf.
    #[test]
    fn a_write_copies_one_leaf_and_shares_the_others() {
        let keys = tree(0..100_000);
        let mut copy = keys.clone();
        assert_eq!(shared(&keys, &copy), (3125, 3125));
        copy[70_000].missed = 1;
        assert_eq!(shared(&keys, &copy), (3124, 3125));
        copy[70_001].missed = 1;
        assert_eq!(shared(&keys, &copy), (3124, 3125));
        assert_eq!((keys[70_000].missed, copy[70_000].missed), (0, 1));
    }

    #[test]
    fn ascending_keys_fill_their_nodes_and_others_split_them() {
        let ascending = tree(0..10_000);
        let mut descending = AppKeys::default();
        for number in 0..10_000 {
            descending.insert(0, entry(9_999 - number));
        }
        let leaves = |keys: &AppKeys| shared(keys, keys).1;
        assert_eq!(leaves(&ascending), 10_000_usize.div_ceil(MOST));
        assert!(leaves(&descending) <= 2 * leaves(&ascending) + 2);
        let all = |keys: &AppKeys| numbers(keys.iter().map(|entry| entry.key));
        assert_eq!(all(&ascending), all(&descending));
        check(&descending.0, true);
    }
}
