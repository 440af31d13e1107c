//! What an application has outstanding and reserved under its keys, counted in parts before it is needed.
//!
//! # What
//!
//! [`CountedKeys`] counts the leaves of a copy of the keys, which [shares them](crate::queue::AppKeys), some at a time. Others
//! are served in between and may write keys. At the end each leaf of the keys as they are then is looked up by its
//! address. One that was written meanwhile is another one than that of the copy, and is counted anew.
//!
//! # When it is valid
//!
//! Always: what was counted of other keys is not found. The copy keeps its leaves, so that no other one has their address.
//!
//! # Cost
//!
//! A look at each key in parts; at the end one look-up for each leaf, and a look at each key of those that were written.
//!
//! Tests: `tests/runtime/move_turns.rs`.

use std::collections::BTreeMap;

use crate::id::{AppSlot, Map, NameId, PartitionId};
use crate::queue::{App, AppKeys, KeyAsks, ReservedAt};
use crate::resource::ResourceVector;

/// What is asked and reserved under some keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::commit) struct KeySums {
    /// What is outstanding for `*`, by partition of the key.
    pending: BTreeMap<PartitionId, ResourceVector>,
    /// Reservations, key by key.
    reserved: Vec<ReservedAt>,
}

impl KeySums {
    pub(in crate::commit) fn of<'a>(keys: impl IntoIterator<Item = &'a KeyAsks>) -> Self {
        let mut sums = Self::default();
        for asks in keys {
            if let Some(any) = asks.at(NameId::ANY).filter(|any| any.count > 0) {
                sums.ask(asks.partition, any.size.get().times(i64::from(any.count)));
            }
            sums.reserved.extend(&asks.reserved);
        }
        sums
    }

    fn ask(&mut self, partition: PartitionId, size: ResourceVector) {
        let of = self.pending.entry(partition);
        *of.or_insert(ResourceVector::NONE) += size;
    }

    fn add(&mut self, more: &Self) {
        for (partition, size) in &more.pending {
            self.ask(*partition, *size);
        }
        self.reserved.extend(&more.reserved);
    }

    /// What is outstanding for `*`, by partition of the key.
    pub(in crate::commit) fn pending(&self) -> impl Iterator<Item = (PartitionId, ResourceVector)> {
        self.pending
            .iter()
            .map(|(partition, size)| (*partition, *size))
    }

    /// Reservations, key by key.
    pub(in crate::commit) fn reserved(&self) -> &[ReservedAt] {
        &self.reserved
    }
}

/// Keys of an application that are counted in parts.
#[derive(Debug)]
pub(in crate::commit) struct CountedKeys {
    /// The application with its generation.
    of: (AppSlot, u32),
    copy: AppKeys,
    /// Position of the next key to be counted.
    next: usize,
    /// By address of the leaf.
    leaves: Map<usize, KeySums>,
}

impl CountedKeys {
    /// Nothing is counted yet.
    ///
    /// Cost: a copy of the keys, which shares their nodes.
    pub(in crate::commit) fn of(slot: AppSlot, app: &App) -> Self {
        Self {
            of: (slot, app.generation),
            copy: app.keys.clone(),
            next: 0,
            leaves: Map::default(),
        }
    }

    /// Whether it counts for this application.
    pub(in crate::commit) fn is_for(&self, slot: AppSlot, app: &App) -> bool {
        self.of == (slot, app.generation)
    }

    /// Counts further keys, about as many as the budget has; whether all are counted.
    pub(in crate::commit) fn go_on(&mut self, budget: &mut usize) -> bool {
        while *budget > 0
            && let Some(leaf) = self.copy.leaf_from(self.next)
        {
            self.leaves.insert(address(leaf), KeySums::of(leaf));
            self.next += leaf.len();
            *budget = budget.saturating_sub(leaf.len());
        }
        self.next == self.copy.len()
    }

    /// The sums of keys as they are now.
    pub(in crate::commit) fn sums(&self, keys: &AppKeys) -> KeySums {
        let (mut sums, mut next) = (KeySums::default(), 0);
        while let Some(leaf) = keys.leaf_from(next) {
            match self.leaves.get(&address(leaf)) {
                Some(counted) => sums.add(counted),
                None => sums.add(&KeySums::of(leaf)),
            }
            next += leaf.len();
        }
        debug_assert_eq!(sums, KeySums::of(keys), "a counted leaf never changes");
        sums
    }
}

fn address(leaf: &[KeyAsks]) -> usize {
    leaf.as_ptr().addr()
}
