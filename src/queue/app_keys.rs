//! The keys of an application, in a tree that counts those with outstanding asks.

use std::ops::IndexMut;

use super::key_asks::KeyAsks;
use super::shared_tree::SharedTree;
use super::tree_node::{TreeEntry, TreeNode, TreeSum};
use crate::id::SchedulerKey;

/// What was asked under each key, ascending by key.
pub type AppKeys = SharedTree<KeyAsks>;

/// How many keys have outstanding asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenKeys(usize);

impl TreeSum for OpenKeys {
    fn add(&mut self, others: &Self) {
        self.0 += others.0;
    }

    fn follow(&mut self, before: &Self, after: Option<&Self>) -> bool {
        self.0 = self.0 + after.map_or(0, |after| after.0) - before.0;
        true
    }
}

impl TreeEntry for KeyAsks {
    type Key = SchedulerKey;
    type Sum = OpenKeys;
    type Inline = [Self; 1];

    #[inline(always)]
    fn key(&self) -> SchedulerKey {
        self.key
    }

    #[inline(always)]
    fn sum(&self) -> OpenKeys {
        OpenKeys(usize::from(self.outstanding))
    }

    fn free_some(&mut self, budget: &mut usize) -> bool {
        self.places.free_some(budget)
    }
}

impl AppKeys {
    /// Position of the first entry from a position on that has outstanding asks.
    #[inline]
    #[must_use]
    pub fn next_outstanding(&self, at: usize) -> Option<usize> {
        self.0.next(at, |open| open.0 > 0)
    }

    /// The entries from a position on that have outstanding asks. Leaves without any are passed over.
    #[inline]
    pub(super) fn open_from(&self, at: usize) -> impl Iterator<Item = &KeyAsks> {
        let mut leaf = self.iter_from(at);
        std::iter::from_fn(move || {
            loop {
                let found = leaf.find_in_leaf(|entry| entry.outstanding);
                if found.is_some() {
                    return found;
                }
                leaf = self.iter_from(self.next_outstanding(leaf.behind_leaf())?);
            }
        })
    }

    /// Sets whether an entry has outstanding asks.
    #[inline]
    pub(super) fn set_outstanding(&mut self, at: usize, outstanding: bool) {
        match &mut self.0 {
            TreeNode::Leaf(entries) => entries[at].outstanding = outstanding,
            node => node.change(at, |entry| entry.outstanding = outstanding).0,
        }
    }

    /// The group of leaves that holds the entry at a position; nothing behind the last one.
    #[must_use]
    pub fn group_from(&self, at: usize) -> Option<LeafGroup<'_>> {
        (at < self.len()).then(|| LeafGroup(self.0.group_from(at)))
    }
}

impl IndexMut<usize> for AppKeys {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut KeyAsks {
        self.entry_mut(at)
    }
}

/// Some leaves of the keys of an application, beside each other. As long as a copy of many keys lives, its groups and leaves
/// stay where they are, and no others take their place in memory. The root moves with the copy.
#[derive(Clone, Copy, Debug)]
pub struct LeafGroup<'a>(&'a TreeNode<KeyAsks>);

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
            TreeNode::Leaf(entries) => (Some(entries), &[][..]),
            TreeNode::Branch(children) => (None, children.as_slice()),
        };
        let below = children.iter().filter_map(|child| match &*child.node {
            TreeNode::Leaf(entries) => Some(entries),
            TreeNode::Branch(_) => None,
        });
        let leaves = own.into_iter().chain(below);
        leaves.map(|entries| (entries.as_ptr().addr(), entries.as_slice()))
    }
}
