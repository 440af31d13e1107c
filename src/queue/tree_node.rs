//! Nodes of a tree that its copies share: leaves with entries, and branches with their children.
//!
//! [`SharedTree`](super::SharedTree) says what the tree is for, and has its tests.

use std::fmt::Debug;
use std::sync::Arc;

use smallvec::{Array, SmallVec};

/// Entries of a leaf and children of a branch at most.
pub(super) const MOST: usize = 32;

/// What stands in a tree.
pub trait TreeEntry: Clone + Debug {
    /// What entries are ordered by.
    type Key: Copy + Ord + Debug;
    /// What is known of several entries together.
    type Sum: TreeSum;
    /// As many entries as stand in the row itself.
    type Inline: Array<Item = Self> + Clone + Debug;

    /// Its key, which never changes.
    fn key(&self) -> Self::Key;

    /// What it adds to the sum of others.
    fn sum(&self) -> Self::Sum;

    /// Frees memory of an entry that nobody reads any more: about as many pieces as the budget has, from which they are
    /// taken off. Returns whether the rest is small.
    fn free_some(&mut self, _budget: &mut usize) -> bool {
        true
    }
}

/// What is known of some entries together, at least one.
pub trait TreeSum: Clone + Debug + PartialEq {
    /// Adds other entries.
    fn add(&mut self, others: &Self);

    /// Follows one entry that has another sum now, or was removed. Returns whether it could; or else the sum has to be
    /// made anew.
    fn follow(&mut self, before: &Self, after: Option<&Self>) -> bool;
}

const HAS_ENTRIES: &str = "a child of a branch has entries";

/// A node of a tree.
#[derive(Clone, Debug)]
pub(super) enum TreeNode<E: TreeEntry> {
    Leaf(SmallVec<E::Inline>),
    Branch(Vec<TreeChild<E>>),
}

/// A child of a branch.
#[derive(Clone, Debug)]
pub(super) struct TreeChild<E: TreeEntry> {
    /// Its lowest key.
    pub(super) first: E::Key,
    /// Entries up to its last one, counted from the first entry of the branch.
    pub(super) end: usize,
    /// The sum of its entries.
    pub(super) sum: E::Sum,
    pub(super) node: Arc<TreeNode<E>>,
}

impl<E: TreeEntry> Default for TreeNode<E> {
    fn default() -> Self {
        Self::Leaf(SmallVec::new())
    }
}

impl<E: TreeEntry> TreeNode<E> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Branch(children) => children.last().map_or(0, |child| child.end),
        }
    }

    /// The sum of its entries; nothing where it has none.
    pub(super) fn sum(&self) -> Option<E::Sum> {
        match self {
            Self::Leaf(entries) => {
                let (first, others) = entries.split_first()?;
                let mut sum = first.sum();
                others.iter().for_each(|entry| sum.add(&entry.sum()));
                Some(sum)
            }
            Self::Branch(children) => {
                let (first, others) = children.split_first()?;
                let mut sum = first.sum.clone();
                others.iter().for_each(|child| sum.add(&child.sum));
                Some(sum)
            }
        }
    }

    pub(super) fn first(&self) -> Option<E::Key> {
        match self {
            Self::Leaf(entries) => entries.first().map(E::key),
            Self::Branch(children) => children.first().map(|child| child.first),
        }
    }

    /// Whether it surely has the same entries as another one, as it shares all children with it.
    pub(super) fn is_copy(&self, other: &Self) -> bool {
        let (Self::Branch(ours), Self::Branch(theirs)) = (self, other) else {
            return false;
        };
        let mut pairs = ours.iter().zip(theirs);
        ours.len() == theirs.len() && pairs.all(|(one, other)| Arc::ptr_eq(&one.node, &other.node))
    }

    /// The entries from a position to the end of its leaf; none behind the last one.
    #[inline(never)]
    pub(super) fn leaf_from(&self, mut at: usize) -> &[E] {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(entries) => return entries.get(at..).unwrap_or_default(),
                Self::Branch(children) => {
                    let child = children.partition_point(|child| child.end <= at);
                    let Some(of) = children.get(child) else {
                        return &[];
                    };
                    (node, at) = (&of.node, at - begin(children, child));
                }
            }
        }
    }

    /// Frees nodes from the end as far as the budget reaches; whether all are freed.
    pub(super) fn free_some(&mut self, budget: &mut usize) -> bool {
        let children = match self {
            Self::Branch(children) => children,
            Self::Leaf(entries) => return free_entries::<E>(entries, budget),
        };
        while let Some(child) = children.last_mut() {
            if *budget == 0 {
                return false;
            }
            *budget -= 1;
            if let Some(node) = Arc::get_mut(&mut child.node)
                && !node.free_some(budget)
            {
                return false;
            }
            children.pop();
        }
        true
    }

    /// The lowest branch that has an entry, or the leaf that is the root.
    pub(super) fn group_from(&self, at: usize) -> &Self {
        let Self::Branch(children) = self else {
            return self;
        };
        let child = children.partition_point(|child| child.end <= at);
        match children.get(child).map(|child| &*child.node) {
            Some(node @ Self::Branch(_)) => node.group_from(at - begin(children, child)),
            _ => self,
        }
    }

    #[inline(never)]
    pub(super) fn entry_mut(&mut self, at: usize) -> &mut E {
        match self {
            Self::Leaf(entries) => &mut entries[at],
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end <= at);
                let at = at - begin(children, child);
                Arc::make_mut(&mut children[child].node).entry_mut(at)
            }
        }
    }

    /// Changes an entry, but for its key. Returns what the change returns, and the sum of the entry before and after it.
    pub(super) fn change<R>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut E) -> R,
    ) -> (R, [E::Sum; 2]) {
        match self {
            Self::Leaf(entries) => {
                let before = entries[at].sum();
                let answer = change(&mut entries[at]);
                (answer, [before, entries[at].sum()])
            }
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end <= at);
                let at = at - begin(children, child);
                let of = &mut children[child];
                let (answer, sums) = Arc::make_mut(&mut of.node).change(at, change);
                of.follow(&sums[0], Some(&sums[1]));
                (answer, sums)
            }
        }
    }

    /// Changes entries whose sum is one of those, but for their keys, as many as the budget has. A sum of several entries is
    /// one of those if that of any entry is.
    pub(super) fn change_some(
        &mut self,
        is_one: impl Fn(&E::Sum) -> bool + Copy,
        change: impl Fn(&mut E) + Copy,
        budget: &mut usize,
    ) {
        match self {
            Self::Leaf(entries) => {
                for entry in entries.iter_mut().filter(|entry| is_one(&entry.sum())) {
                    if *budget == 0 {
                        return;
                    }
                    *budget -= 1;
                    change(entry);
                }
            }
            Self::Branch(children) => {
                for child in children.iter_mut().filter(|child| is_one(&child.sum)) {
                    if *budget == 0 {
                        return;
                    }
                    Arc::make_mut(&mut child.node).change_some(is_one, change, budget);
                    child.sum_up();
                }
            }
        }
    }

    /// Position of the first entry from a position on whose sum is one of those. A sum of several entries is one of them if
    /// that of any entry is.
    pub(super) fn next(&self, at: usize, is_one: impl Fn(&E::Sum) -> bool + Copy) -> Option<usize> {
        match self {
            Self::Leaf(entries) => {
                let mut behind = entries.iter().skip(at);
                let found = behind.position(|entry| is_one(&entry.sum()));
                found.map(|by| at + by)
            }
            Self::Branch(children) => {
                let from = children.partition_point(|child| child.end <= at);
                (from..children.len()).find_map(|child| {
                    let begin = begin(children, child);
                    let TreeChild { sum, node, .. } = &children[child];
                    let found = is_one(sum).then(|| node.next(at.saturating_sub(begin), is_one));
                    found.flatten().map(|at| begin + at)
                })
            }
        }
    }

    #[inline(never)]
    pub(super) fn find(&self, key: E::Key) -> Result<usize, usize> {
        let (mut node, mut before) = (self, 0);
        loop {
            match node {
                Self::Leaf(entries) => {
                    let found = find_in(entries, key);
                    return found.map(|at| before + at).map_err(|at| before + at);
                }
                Self::Branch(children) => {
                    let behind = children.partition_point(|child| child.first <= key);
                    let child = behind.saturating_sub(1);
                    before += begin(children, child);
                    node = &children[child].node;
                }
            }
        }
    }

    /// Adds an entry at a position. Returns the right part of the node, if it had to be split.
    pub(super) fn insert(&mut self, at: usize, entry: E) -> Option<Self> {
        match self {
            Self::Leaf(entries) => insert_in::<E>(entries, at, entry).map(Self::Leaf),
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end < at);
                let at = at - begin(children, child);
                let of = &mut children[child];
                if at == 0 {
                    of.first = entry.key();
                }
                of.sum.add(&entry.sum());
                let right = Arc::make_mut(&mut of.node).insert(at, entry);
                children[child..]
                    .iter_mut()
                    .for_each(|child| child.end += 1);
                let right = right?;
                let right = TreeChild::new(right, children[child].end);
                children[child].end -= right.node.len();
                children[child].sum_up();
                children.insert(child + 1, right);
                if children.len() <= MOST {
                    return None;
                }
                let split = split_at(children.len() - 1, child + 1);
                let mut right = children.split_off(split);
                let before = begin(children, split);
                right.iter_mut().for_each(|child| child.end -= before);
                Some(Self::Branch(right))
            }
        }
    }

    pub(super) fn remove(&mut self, at: usize) -> E {
        match self {
            Self::Leaf(entries) => entries.remove(at),
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end <= at);
                let at = at - begin(children, child);
                let of = &mut children[child];
                let node = Arc::make_mut(&mut of.node);
                let removed = node.remove(at);
                let first = node.first();
                if let Some(first) = first {
                    of.first = first;
                    of.follow(&removed.sum(), None);
                }
                children[child..]
                    .iter_mut()
                    .for_each(|child| child.end -= 1);
                if first.is_none() {
                    children.remove(child);
                }
                removed
            }
        }
    }
}

impl<E: TreeEntry> TreeChild<E> {
    /// A node that has entries.
    pub(super) fn new(node: TreeNode<E>, end: usize) -> Self {
        Self {
            first: node.first().expect(HAS_ENTRIES),
            end,
            sum: node.sum().expect(HAS_ENTRIES),
            node: Arc::new(node),
        }
    }

    /// Follows one of its entries that has another sum now, or was removed while it has others.
    fn follow(&mut self, before: &E::Sum, after: Option<&E::Sum>) {
        if !self.sum.follow(before, after) {
            self.sum_up();
        }
    }

    fn sum_up(&mut self) {
        self.sum = self.node.sum().expect(HAS_ENTRIES);
    }
}

pub(super) fn branch<E: TreeEntry>(nodes: [TreeNode<E>; 2]) -> TreeNode<E> {
    let mut end = 0;
    let children = nodes.into_iter().map(|node| {
        end += node.len();
        TreeChild::new(node, end)
    });
    TreeNode::Branch(children.collect())
}

/// Entries of a branch before one of its children.
fn begin<E: TreeEntry>(children: &[TreeChild<E>], child: usize) -> usize {
    child
        .checked_sub(1)
        .map_or(0, |before| children[before].end)
}

/// Adds an entry to a leaf at a position. Returns the right part of a leaf that was full. It is split before it is too
/// large, as lists double their room.
fn insert_in<E: TreeEntry>(
    entries: &mut SmallVec<E::Inline>,
    at: usize,
    entry: E,
) -> Option<SmallVec<E::Inline>> {
    if entries.len() < MOST {
        entries.insert(at, entry);
        return None;
    }
    let split = split_at(entries.len(), at);
    let mut right: SmallVec<E::Inline> = entries.drain(split..).collect();
    match at.checked_sub(split) {
        Some(behind) if behind > 0 || right.is_empty() => right.insert(behind, entry),
        _ => entries.insert(at, entry),
    }
    Some(right)
}

/// Where a full node of so many items is split for another one: in the middle, or behind all where that comes to the end. So
/// ascending keys fill their nodes.
fn split_at(len: usize, added: usize) -> usize {
    if added == len { len } else { len / 2 }
}

#[inline(never)]
pub(super) fn find_in<E: TreeEntry>(entries: &[E], key: E::Key) -> Result<usize, usize> {
    entries.binary_search_by(|entry| entry.key().cmp(&key))
}

/// Frees entries from the end as far as the budget reaches; whether all are freed.
fn free_entries<E: TreeEntry>(entries: &mut SmallVec<E::Inline>, budget: &mut usize) -> bool {
    while let Some(entry) = entries.last_mut() {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        if !entry.free_some(budget) {
            return false;
        }
        entries.pop();
    }
    true
}

#[cfg(test)]
impl<E: TreeEntry> TreeNode<E> {
    /// The bounds that a tree relies on.
    pub(super) fn check(&self, is_root: bool) {
        match self {
            Self::Leaf(entries) => {
                assert!(entries.len() <= MOST && (is_root || !entries.is_empty()));
                assert!(entries.is_sorted_by(|one, other| one.key() < other.key()));
            }
            Self::Branch(children) => {
                assert!((1..=MOST).contains(&children.len()));
                let mut end = 0;
                for child in children {
                    end += child.node.len();
                    assert_eq!((child.end, Some(child.first)), (end, child.node.first()));
                    assert_eq!(Some(&child.sum), child.node.sum().as_ref());
                    child.node.check(false);
                }
            }
        }
    }
}
