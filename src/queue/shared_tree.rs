//! A B+ tree whose nodes are shared by its copies: keys of an application, places and reservations of a key, blacklists.
//!
//! # What
//!
//! Entries stand in ascending order of their keys, and have positions from 0. An application mostly asks under one
//! key, or a few, and at one place: a single entry stands in the row itself, and up to 32 in a list. One call may ask under
//! 100,000 keys or at 100,000 places. Then the entries stand in leaves, and a branch holds its children by reference. With
//! each child stands the sum of its entries. A search passes over children in which it finds nothing.
//!
//! # When it is valid
//!
//! A copy shares all nodes. A write copies what it is about to write where somebody else holds it: the nodes from the
//! root to one leaf. So nobody sees what another writes, and a published row stays as it was. A write that may change the sum
//! of an entry is one of the tree.
//!
//! # Cost
//!
//! Of n entries: a copy takes the references of the root. A look-up visits O(log n) nodes. A write costs the same, and one
//! copy of each visited node that is shared. A node that loses its last entry is removed; others are not merged.

use std::fmt;
use std::ops::Index;

use super::tree_node::{TreeEntry, TreeNode, branch, find_in};

/// Entries in ascending order of their keys.
#[derive(Clone)]
pub struct SharedTree<E: TreeEntry>(pub(super) TreeNode<E>);

/// The entries, however they stand in nodes.
impl<E: TreeEntry> fmt::Debug for SharedTree<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<E: TreeEntry> Default for SharedTree<E> {
    fn default() -> Self {
        Self(TreeNode::default())
    }
}

impl<E: TreeEntry + PartialEq> PartialEq for SharedTree<E> {
    /// Cost: a look at the root where one is a copy of the other, or else at the entries.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (self.0.is_copy(&other.0) || self.iter().eq(other))
    }
}

impl<E: TreeEntry> SharedTree<E> {
    /// Number of entries.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at a position.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&E> {
        match &self.0 {
            TreeNode::Leaf(entries) => entries.get(at),
            TreeNode::Branch(_) => self.0.leaf_from(at).first(),
        }
    }

    /// The first entry.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<&E> {
        self.get(0)
    }

    /// The entry, if there is one only.
    #[inline]
    #[must_use]
    pub fn only(&self) -> Option<&E> {
        match &self.0 {
            TreeNode::Leaf(entries) if entries.len() == 1 => entries.first(),
            TreeNode::Branch(_) if self.len() == 1 => self.first(),
            _ => None,
        }
    }

    /// Position of a key.
    ///
    /// # Errors
    ///
    /// The position at which it would be inserted, where it has no entry.
    #[inline]
    pub fn find(&self, key: E::Key) -> Result<usize, usize> {
        match &self.0 {
            // Mostly there is one entry, or the first is looked for.
            TreeNode::Leaf(entries) => match entries.as_slice() {
                [first, ..] if first.key() == key => Ok(0),
                [only] => Err(usize::from(only.key() < key)),
                entries => find_in(entries, key),
            },
            TreeNode::Branch(_) => self.0.find(key),
        }
    }

    /// The entry of a key.
    #[inline(always)]
    pub(super) fn at(&self, key: E::Key) -> Option<&E> {
        match &self.0 {
            TreeNode::Leaf(entries) => match entries.as_slice() {
                [first, ..] if first.key() == key => Some(first),
                [_] => None,
                entries => find_in(entries, key).ok().map(|at| &entries[at]),
            },
            TreeNode::Branch(_) => self.0.find(key).ok().map(|at| &self[at]),
        }
    }

    /// All entries.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> SharedTreeIter<'_, E> {
        self.iter_from(0)
    }

    /// The entries from a position on; none behind the last one.
    #[inline]
    #[must_use]
    pub fn iter_from(&self, at: usize) -> SharedTreeIter<'_, E> {
        let entries = match &self.0 {
            TreeNode::Leaf(entries) => entries.get(at..).unwrap_or_default(),
            TreeNode::Branch(_) => self.0.leaf_from(at),
        };
        SharedTreeIter {
            tree: self,
            entries: entries.iter(),
            next: at + entries.len(),
        }
    }

    /// Whether something holds for all entries. `of_sum`: whether it holds for all of those that make up a sum, as far as
    /// that is known.
    ///
    /// Cost: a look at each entry of a tree of one node, or else at the sums of the root.
    #[inline]
    pub fn all(&self, of_entry: impl FnMut(&E) -> bool, of_sum: impl Fn(&E::Sum) -> bool) -> bool {
        match &self.0 {
            TreeNode::Leaf(entries) => entries.iter().all(of_entry),
            TreeNode::Branch(children) => children.iter().all(|child| of_sum(&child.sum)),
        }
    }

    /// Frees entries of a tree that nobody reads any more, about as many as the budget has; whether none is left.
    /// Entries that other copies have are left to them.
    pub fn free_some(&mut self, budget: &mut usize) -> bool {
        self.0.free_some(budget)
    }

    /// Adds an entry at the position that [`SharedTree::find`] gives for its key.
    pub(super) fn insert(&mut self, at: usize, entry: E) {
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

    /// Changes the entry at a position, but for its key; what the change returns.
    pub(super) fn change<R>(&mut self, at: usize, change: impl FnOnce(&mut E) -> R) -> R {
        self.0.change(at, change).0
    }

    /// The entry at a position, to be written but for what its sum is made of.
    #[inline]
    pub(super) fn entry_mut(&mut self, at: usize) -> &mut E {
        match &mut self.0 {
            TreeNode::Leaf(entries) => &mut entries[at],
            node => node.entry_mut(at),
        }
    }
}

impl<E: TreeEntry> Index<usize> for SharedTree<E> {
    type Output = E;

    #[inline]
    fn index(&self, at: usize) -> &E {
        match &self.0 {
            TreeNode::Leaf(entries) => &entries[at],
            TreeNode::Branch(_) => &self.0.leaf_from(at)[0],
        }
    }
}

impl<'a, E: TreeEntry> IntoIterator for &'a SharedTree<E> {
    type Item = &'a E;
    type IntoIter = SharedTreeIter<'a, E>;

    fn into_iter(self) -> SharedTreeIter<'a, E> {
        self.iter()
    }
}

/// Entries in ascending order of their keys.
#[derive(Clone, Debug)]
pub struct SharedTreeIter<'a, E: TreeEntry> {
    tree: &'a SharedTree<E>,
    /// What is left of the present leaf.
    entries: std::slice::Iter<'a, E>,
    /// Position behind that leaf.
    next: usize,
}

impl<'a, E: TreeEntry> Iterator for SharedTreeIter<'a, E> {
    type Item = &'a E;

    #[inline]
    fn next(&mut self) -> Option<&'a E> {
        match self.entries.next() {
            None => self.next_leaf(),
            entry => entry,
        }
    }
}

impl<'a, E: TreeEntry> SharedTreeIter<'a, E> {
    /// The next one of the present leaf that is looked for.
    #[inline]
    pub(super) fn find_in_leaf(&mut self, is_it: impl Fn(&E) -> bool) -> Option<&'a E> {
        self.entries.find(|entry| is_it(entry))
    }

    /// Position behind the present leaf.
    #[inline]
    pub(super) fn behind_leaf(&self) -> usize {
        self.next
    }

    #[inline]
    fn next_leaf(&mut self) -> Option<&'a E> {
        if let TreeNode::Leaf(_) = self.tree.0 {
            return None;
        }
        let entries = self.tree.0.leaf_from(self.next);
        self.next += entries.len();
        self.entries = entries.iter();
        self.entries.next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::app_keys::AppKeys;
    use super::super::key_asks::KeyAsks;
    use super::super::tree_node::MOST;
    use super::*;
    use crate::id::SchedulerKey;
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
        fn leaves(node: &TreeNode<KeyAsks>, into: &mut Vec<*const KeyAsks>) {
            match node {
                TreeNode::Leaf(entries) => into.push(entries.as_ptr()),
                TreeNode::Branch(children) => {
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
                keys.0.check(true);
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
        descending.0.check(true);
    }
}
