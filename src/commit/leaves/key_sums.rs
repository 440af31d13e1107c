//! What an application has outstanding and reserved under its keys, counted in parts before it is needed.
//!
//! # What
//!
//! [`CountedKeys`] counts a copy of the keys, which [shares the nodes of their tree](crate::queue::AppKeys), some at a
//! time. Others are served in between and may write keys. At the end the nodes of the keys as they are then are looked up
//! by their address. One that was written meanwhile is another one than that of the copy, and is counted anew.
//!
//! # When it is valid
//!
//! Always: what was counted of other keys is not found. The copy keeps its nodes, so that no other one has their address.
//!
//! # Cost
//!
//! A look at each key in parts. At the end one look-up for each group of leaves, one for each leaf of groups that were
//! written, and a look at each key of leaves that were written.
//!
//! Tests: `tests/runtime/move_turns.rs`.

use smallvec::SmallVec;

use crate::id::{AppSlot, Map, NameId, PartitionId};
use crate::queue::{App, AppKeys, KeyAsks, LeafGroup, ReservedAt};
use crate::resource::ResourceVector;

/// What is asked and reserved under some keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::commit) struct KeySums {
    /// What is outstanding for `*`, by partition of the key, ascending.
    pending: SmallVec<[(PartitionId, ResourceVector); 1]>,
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
        let found = self.pending.binary_search_by_key(&partition, |of| of.0);
        match found {
            Ok(at) => self.pending[at].1 += size,
            Err(at) => self.pending.insert(at, (partition, size)),
        }
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
    /// By address of the group, and of the leaf.
    groups: Map<usize, KeySums>,
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
            groups: Map::default(),
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
            && let Some(group) = self.copy.group_from(self.next)
        {
            let mut sums = KeySums::default();
            for (address, leaf) in group.leaves() {
                let counted = self.leaves.entry(address);
                sums.add(counted.or_insert_with(|| KeySums::of(leaf)));
            }
            self.groups.insert(group.address(), sums);
            self.next += group.count();
            *budget = budget.saturating_sub(group.count());
        }
        self.next == self.copy.len()
    }

    /// The sums of keys as they are now.
    pub(in crate::commit) fn sums(&self, keys: &AppKeys) -> KeySums {
        let (mut sums, mut next) = (KeySums::default(), 0);
        while let Some(group) = keys.group_from(next) {
            match self.groups.get(&group.address()) {
                Some(counted) => sums.add(counted),
                None => self.add_written(group, &mut sums),
            }
            next += group.count();
        }
        debug_assert_eq!(sums, KeySums::of(keys), "what was counted never changes");
        sums
    }

    /// Adds a group that was written since it was counted, or is new.
    fn add_written(&self, group: LeafGroup<'_>, sums: &mut KeySums) {
        for (address, leaf) in group.leaves() {
            match self.leaves.get(&address) {
                Some(counted) => sums.add(counted),
                None => sums.add(&KeySums::of(leaf)),
            }
        }
    }
}
