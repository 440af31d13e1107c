//! Hashes by which two runs, or one state before and after, are compared.

use std::fmt::{self, Debug, Write};
use std::hash::{Hash, Hasher};

use crate::api::{Sequential, Unsettled};

/// A hash over what was written to it, the same in every run (as FNV-1a, by words).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds everything that a value shows of itself.
    pub(super) fn add(&mut self, value: &impl Debug) {
        write!(self, "{value:?};").expect("a hash takes everything");
    }

    /// What the settings of an engine and of its queues are.
    pub(super) fn of_settings(engine: &Unsettled<Sequential>) -> Self {
        let mut digest = Self::of_state(engine);
        let view = engine.view();
        digest.add(&view.settings());
        for queue in view.queues() {
            digest.add(&queue.settings());
            for partition in view.partition_ids() {
                digest.add(&(queue.shares(partition), queue.absolute_shares(partition)));
            }
        }
        digest
    }

    /// What proposals may change of a live state: nodes, reservations, use, asks and containers. Not what a
    /// look at it may change: counters of a key, limits that were handed out, orders that were brought up to date.
    pub(super) fn of_state(engine: &Unsettled<Sequential>) -> Self {
        let mut digest = Self::new();
        let (view, hash) = (engine.view(), &mut digest);
        for node in view.nodes().iter() {
            (node.incarnation, node.partition, node.containers).hash(hash);
            std::mem::discriminant(&node.state).hash(hash);
            (node.total.get(), node.allocated.get(), node.free.get()).hash(hash);
            if let Some(held) = &node.reserved {
                (held.app, held.number, held.size).hash(hash);
                (held.key.priority, held.key.request_id).hash(hash);
            }
            node.killable.len().hash(hash);
        }
        for queue in view.queues() {
            queue.is_removed().hash(hash);
            for partition in view.partition_ids() {
                let (used, reserved) = (queue.used(partition), queue.reserved(partition));
                (used, reserved, queue.limit(partition)).hash(hash);
                queue.master_used(partition).hash(hash);
                queue.pending(partition).hash(hash);
            }
        }
        for user in view.users() {
            (user.leaf(), user.generation(), user.is_removed()).hash(hash);
            (user.is_active(), user.active_apps(), user.asking_apps()).hash(hash);
            for partition in view.partition_ids() {
                (user.used(partition), user.master_used(partition)).hash(hash);
            }
        }
        for (id, slot) in view.apps_by_id() {
            let app = &view.apps()[slot];
            (id, app.generation, app.leaf, app.user, app.next_container).hash(hash);
            std::mem::discriminant(&app.stage).hash(hash);
            (app.asking, app.priority, app.master).hash(hash);
            for part in view.partition_ids().map(|partition| app.part(partition)) {
                (part.used.get(), part.pending.get(), part.reserved.get()).hash(hash);
            }
            for asks in &app.keys {
                (asks.key.priority, asks.key.request_id, asks.known).hash(hash);
                for ask in &asks.places {
                    (ask.place, ask.count, ask.size.get(), ask.partition).hash(hash);
                }
                asks.reserved.len().hash(hash);
            }
            for container in view.live_containers(slot) {
                (container.id, container.size.get(), container.node).hash(hash);
            }
        }
        digest
    }

    /// The hash as a number.
    pub(super) fn value(self) -> u64 {
        self.0
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    /// By words of eight bytes, since most of what is hashed are amounts.
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let rest = rest.iter().map(|byte| u64::from(*byte));
        for word in words
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .chain(rest)
        {
            let mixed = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
            self.0 = mixed ^ (mixed >> 29);
        }
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Hasher::write(self, text.as_bytes());
        Ok(())
    }
}
