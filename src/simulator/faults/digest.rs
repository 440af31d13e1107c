//! Hashes by which two runs, or one state before and after, are compared.

use std::fmt::{self, Debug, Write};
use std::hash::{Hash, Hasher};

use crate::api::{Sequential, Unsettled};
use crate::id::QueueSlot;

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
        let state = engine.as_is().ledger().state();
        digest.add(&state.settings);
        for queue in state.queues.iter() {
            digest.add(&queue.settings);
            for part in &queue.parts {
                let shares = (part.capacity, part.maximum_capacity, part.weight);
                digest.add(&(shares, part.absolute_capacity, part.absolute_maximum));
            }
        }
        digest
    }

    /// What proposals may change of a live state: nodes, reservations, use, asks and containers. Not what a
    /// look at it may change: counters of a key, limits that were handed out, orders that were brought up to date.
    pub(super) fn of_state(engine: &Unsettled<Sequential>) -> Self {
        let mut digest = Self::new();
        let (ledger, hash) = (engine.as_is().ledger(), &mut digest);
        let state = ledger.state();
        for node in state.nodes.iter() {
            (node.incarnation, node.partition, node.containers).hash(hash);
            std::mem::discriminant(&node.state).hash(hash);
            (node.total.get(), node.allocated.get(), node.free.get()).hash(hash);
            if let Some(held) = &node.reserved {
                (held.app, held.number, held.size).hash(hash);
                (held.key.priority, held.key.request_id).hash(hash);
            }
            node.killable.len().hash(hash);
        }
        for (slot, queue) in state.queues.iter().enumerate() {
            queue.removed.hash(hash);
            for (part, partition) in queue.parts.iter().zip(queue.parts.partitions()) {
                let used = engine.use_of(QueueSlot::at(slot), partition);
                (used, part.reserved.get(), part.limit.get()).hash(hash);
                part.master_used.get().hash(hash);
                // The queues above leaves follow later.
                if queue.children.is_empty() {
                    part.pending.get().hash(hash);
                }
            }
        }
        for user in state.users.iter() {
            (user.leaf, user.generation, user.removed).hash(hash);
            (user.active, user.active_apps, user.asking_apps).hash(hash);
            for part in &user.parts {
                (part.used.get(), part.master_used.get()).hash(hash);
            }
        }
        for (id, slot) in ledger.apps_by_id() {
            let app = &state.apps[slot];
            (id, app.generation, app.leaf, app.user, app.next_container).hash(hash);
            std::mem::discriminant(&app.stage).hash(hash);
            (app.asking, app.priority, app.master).hash(hash);
            for part in &app.parts {
                (part.used.get(), part.pending.get(), part.reserved.get()).hash(hash);
            }
            for asks in &app.keys {
                (asks.key.priority, asks.key.request_id, asks.known).hash(hash);
                for ask in &asks.asks {
                    (ask.place, ask.count, ask.size.get(), ask.partition).hash(hash);
                }
                asks.reserved.len().hash(hash);
            }
            for container in ledger.live_containers(slot) {
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
