//! Sums: what is kept step by step against the sum of the live containers, and what is stated.

use std::collections::BTreeSet;

use super::AuditBooks;
use crate::api::{NodeName, ResourceVector};
use crate::id::Map;

/// Events between two full checks, at least.
const FULL_CHECK: usize = 4096;

/// Findings by the id of their invariant.
type Found = BTreeSet<(&'static str, String)>;

/// What the live containers come to, by number of the node, the queue, and the queue and user.
struct Sums {
    nodes: Vec<ResourceVector>,
    queues: Vec<ResourceVector>,
    users: Map<(usize, usize), ResourceVector>,
}

impl AuditBooks {
    /// Compares a queue's use as the scheduler states it.
    pub fn queue_stated(&mut self, queue: &str, used: &ResourceVector) {
        let own = self.used_by(queue);
        if own != *used {
            self.violated(
                "Q1",
                format!("{queue} is stated to use {used}, the ledger has {own}"),
            );
        }
    }

    /// Compares a node's use as the scheduler states it.
    pub fn node_stated(&mut self, node: &NodeName, used: &ResourceVector) {
        let own = self.node(node);
        let own = own.map_or(ResourceVector::NONE, |node| self.nodes.row(node).used);
        if own != *used {
            self.violated(
                "N3",
                format!("{node} is stated to use {used}, the ledger has {own}"),
            );
        }
    }

    /// A full check when enough happened since the last one that its cost does not show.
    pub fn check_when_due(&mut self) {
        let rows = self.containers.len() + self.nodes.rows().len();
        if self.judges && self.unchecked >= rows.max(FULL_CHECK) {
            self.check();
        }
    }

    /// Adds everything up again from the live containers and compares.
    ///
    /// Not between a call that removes something and the events of its end.
    pub fn check(&mut self) {
        if !self.judges {
            return;
        }
        let sums = self.sums();
        let mut found = BTreeSet::new();
        self.compare_nodes(&sums, &mut found);
        self.compare_queues(&sums, &mut found);
        self.find_orphans(&mut found);
        for (id, text) in &found {
            if !self.reported.contains(&(*id, text.clone())) {
                self.violated(id, text.clone());
            }
        }
        self.reported = found;
        self.unchecked = 0;
        self.users.retain(|_, used| !used.is_none());
    }

    #[expect(
        clippy::iter_over_hash_type,
        reason = "a sum does not depend on the order"
    )]
    fn sums(&self) -> Sums {
        let mut sums = Sums {
            nodes: vec![ResourceVector::NONE; self.nodes.rows().len()],
            queues: vec![ResourceVector::NONE; self.queues.rows().len()],
            users: Map::default(),
        };
        for held in self.containers.values() {
            sums.nodes[held.node] += held.size;
            *sums.users.entry((held.queue, held.user)).or_default() += held.size;
        }
        for ((queue, _), used) in &sums.users {
            for queue in &self.queues.row(*queue).path {
                sums.queues[*queue] += *used;
            }
        }
        sums
    }

    fn compare_nodes(&self, sums: &Sums, found: &mut Found) {
        for ((name, entry), sum) in self.nodes.rows().iter().zip(&sums.nodes) {
            if entry.registered && *sum != entry.used {
                let text = format!("{name} uses {}, its containers {sum}", entry.used);
                found.insert(("N3", text));
            }
        }
    }

    #[expect(clippy::iter_over_hash_type, reason = "what is found is sorted")]
    fn compare_queues(&self, sums: &Sums, found: &mut Found) {
        for ((path, entry), sum) in self.queues.rows().iter().zip(&sums.queues) {
            if *sum != entry.used {
                let text = format!("{path} uses {}, the containers below it {sum}", entry.used);
                found.insert(("Q1", text));
            }
        }
        for (key, used) in &self.users {
            if sums.users.get(key).copied().unwrap_or_default() != *used {
                let (queue, user) = (self.queues.name(key.0), self.names.name(key.1));
                let text = format!("{user} uses {used} in {queue}, not the sum");
                found.insert(("U1", text));
            }
        }
    }

    /// Containers without a node or an application.
    #[expect(clippy::iter_over_hash_type, reason = "what is found is sorted")]
    fn find_orphans(&self, found: &mut Found) {
        for (container, held) in &self.containers {
            if !self.nodes.row(held.node).registered {
                let node = self.nodes.name(held.node);
                found.insert(("N4", format!("{container} lives on {node}, not a node")));
            }
            if !self.apps.contains_key(&container.app) {
                found.insert(("U8", format!("{container} outlives its application")));
            }
        }
    }
}
