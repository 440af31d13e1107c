//! Names of users: their records by leaf and name, and slots that are free again.
//!
//! Tests: `tests/commit/property.rs`.

use std::sync::Arc;

use crate::id::{Map, QueueSlot, UserSlot};

/// Slots of the records of users.
#[derive(Clone, Debug, Default)]
pub(super) struct UserNames {
    slots: Map<(QueueSlot, Arc<str>), UserSlot>,
    free: Vec<UserSlot>,
}

impl UserNames {
    /// The record of a user in a leaf.
    pub(super) fn user(&self, leaf: QueueSlot, name: &Arc<str>) -> Option<UserSlot> {
        let key = (leaf, Arc::clone(name));
        self.slots.get(&key).copied()
    }

    /// Names the record of a user.
    pub(super) fn add(&mut self, leaf: QueueSlot, name: Arc<str>, slot: UserSlot) {
        self.slots.insert((leaf, name), slot);
    }

    /// Forgets the record of a user; its slot is not free yet.
    pub(super) fn remove(&mut self, leaf: QueueSlot, name: &Arc<str>) {
        self.slots.remove(&(leaf, Arc::clone(name)));
    }

    /// A slot that was used before.
    pub(super) fn take_free(&mut self) -> Option<UserSlot> {
        self.free.pop()
    }

    /// A slot may be used again, if it is not free already.
    pub(super) fn free(&mut self, slot: UserSlot) {
        if !self.free.contains(&slot) {
            self.free.push(slot);
        }
    }
}
