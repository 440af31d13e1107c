//! Nodes of the tree of keys: leaves with entries, and branches with their children.
//!
//! [`AppKeys`](super::AppKeys) says what the tree is for, and has its tests.

use std::sync::Arc;

use smallvec::SmallVec;

use super::key_asks::KeyAsks;
use crate::id::SchedulerKey;

/// Entries of a leaf and children of a branch at most.
pub(super) const MOST: usize = 32;

/// A node of the tree.
#[derive(Clone, Debug)]
pub(super) enum KeyNode {
    Leaf(SmallVec<[KeyAsks; 1]>),
    Branch(Vec<KeyChild>),
}

/// A child of a branch.
#[derive(Clone, Debug)]
pub(super) struct KeyChild {
    /// Its lowest key.
    pub(super) first: SchedulerKey,
    /// Entries up to its last one, counted from the first entry of the branch.
    pub(super) end: usize,
    /// How many of its entries have outstanding asks.
    pub(super) open: usize,
    pub(super) node: Arc<KeyNode>,
}

impl Default for KeyNode {
    fn default() -> Self {
        Self::Leaf(SmallVec::new())
    }
}

impl KeyNode {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Branch(children) => children.last().map_or(0, |child| child.end),
        }
    }

    pub(super) fn open(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.iter().filter(|entry| entry.outstanding).count(),
            Self::Branch(children) => children.iter().map(|child| child.open).sum(),
        }
    }

    pub(super) fn first(&self) -> Option<SchedulerKey> {
        match self {
            Self::Leaf(entries) => entries.first().map(|entry| entry.key),
            Self::Branch(children) => children.first().map(|child| child.first),
        }
    }

    /// The entries from a position to the end of its leaf; none behind the last one.
    #[inline(never)]
    pub(super) fn leaf_from(&self, mut at: usize) -> &[KeyAsks] {
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
        let Self::Branch(children) = self else {
            *budget = budget.saturating_sub(self.len());
            return true;
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
    pub(super) fn entry_mut(&mut self, at: usize) -> &mut KeyAsks {
        match self {
            Self::Leaf(entries) => &mut entries[at],
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end <= at);
                let at = at - begin(children, child);
                Arc::make_mut(&mut children[child].node).entry_mut(at)
            }
        }
    }

    /// Sets whether an entry has outstanding asks; whether it had.
    pub(super) fn set_open(&mut self, at: usize, open: bool) -> bool {
        match self {
            Self::Leaf(entries) => std::mem::replace(&mut entries[at].outstanding, open),
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end <= at);
                let at = at - begin(children, child);
                let of = &mut children[child];
                let before = Arc::make_mut(&mut of.node).set_open(at, open);
                of.open = of.open + usize::from(open) - usize::from(before);
                before
            }
        }
    }

    /// Position of the first entry from a position on that has outstanding asks.
    pub(super) fn next_open(&self, at: usize) -> Option<usize> {
        match self {
            Self::Leaf(entries) => {
                let mut behind = entries.iter().skip(at);
                behind.position(|entry| entry.outstanding).map(|by| at + by)
            }
            Self::Branch(children) => {
                let from = children.partition_point(|child| child.end <= at);
                (from..children.len()).find_map(|child| {
                    let begin = begin(children, child);
                    let KeyChild { open, node, .. } = &children[child];
                    let found = (*open > 0).then(|| node.next_open(at.saturating_sub(begin)));
                    found.flatten().map(|at| begin + at)
                })
            }
        }
    }

    #[inline(never)]
    pub(super) fn find(&self, key: SchedulerKey) -> Result<usize, usize> {
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
    pub(super) fn insert(&mut self, at: usize, entry: KeyAsks) -> Option<Self> {
        match self {
            Self::Leaf(entries) => insert_in(entries, at, entry).map(Self::Leaf),
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end < at);
                let at = at - begin(children, child);
                let of = &mut children[child];
                if at == 0 {
                    of.first = entry.key;
                }
                let right = Arc::make_mut(&mut of.node).insert(at, entry);
                children[child..]
                    .iter_mut()
                    .for_each(|child| child.end += 1);
                let right = right?;
                let right = KeyChild::new(right, children[child].end);
                children[child].end -= right.node.len();
                children[child].open -= right.open;
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

    pub(super) fn remove(&mut self, at: usize) -> KeyAsks {
        match self {
            Self::Leaf(entries) => entries.remove(at),
            Self::Branch(children) => {
                let child = children.partition_point(|child| child.end <= at);
                let at = at - begin(children, child);
                let of = &mut children[child];
                let node = Arc::make_mut(&mut of.node);
                let removed = node.remove(at);
                of.open -= usize::from(removed.outstanding);
                let first = node.first();
                of.first = first.unwrap_or(of.first);
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

impl KeyChild {
    /// A node that has entries.
    pub(super) fn new(node: KeyNode, end: usize) -> Self {
        Self {
            first: node.first().expect("a child of a branch has entries"),
            end,
            open: node.open(),
            node: Arc::new(node),
        }
    }
}

pub(super) fn branch(nodes: [KeyNode; 2]) -> KeyNode {
    let mut end = 0;
    let children = nodes.into_iter().map(|node| {
        end += node.len();
        KeyChild::new(node, end)
    });
    KeyNode::Branch(children.collect())
}

/// Entries of a branch before one of its children.
fn begin(children: &[KeyChild], child: usize) -> usize {
    child
        .checked_sub(1)
        .map_or(0, |before| children[before].end)
}

/// Adds an entry to a leaf at a position. Returns the right part of a leaf that was full. It is split before it is too
/// large, as lists double their room.
fn insert_in(
    entries: &mut SmallVec<[KeyAsks; 1]>,
    at: usize,
    entry: KeyAsks,
) -> Option<SmallVec<[KeyAsks; 1]>> {
    if entries.len() < MOST {
        entries.insert(at, entry);
        return None;
    }
    let split = split_at(entries.len(), at);
    let mut right: SmallVec<[KeyAsks; 1]> = entries.drain(split..).collect();
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

pub(super) fn find_in(entries: &[KeyAsks], key: SchedulerKey) -> Result<usize, usize> {
    entries.binary_search_by(|entry| entry.key.cmp(&key))
}
