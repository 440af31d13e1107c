//! Sums: what is kept step by step against the sum of the live containers, and what is stated.

use std::collections::{BTreeMap, BTreeSet};

use super::{AuditBooks, ancestors};
use crate::api::{NodeName, ResourceVector};

/// Events between two full checks, at least.
const FULL_CHECK: usize = 4096;

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
        let own = self
            .nodes
            .get(node)
            .map_or(ResourceVector::NONE, |entry| entry.used);
        if own != *used {
            self.violated(
                "N3",
                format!("{node} is stated to use {used}, the ledger has {own}"),
            );
        }
    }

    /// A full check when enough happened since the last one that its cost does not show.
    pub fn check_when_due(&mut self) {
        if self.unchecked >= self.containers.len().max(FULL_CHECK) {
            self.check();
        }
    }

    /// Adds everything up again from the live containers and compares.
    ///
    /// Not between a call that removes something and the events of its end.
    pub fn check(&mut self) {
        let mut nodes: BTreeMap<&NodeName, ResourceVector> = BTreeMap::new();
        let mut queues: BTreeMap<&str, ResourceVector> = BTreeMap::new();
        let mut users: BTreeMap<(&str, &str), ResourceVector> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for (container, held) in &self.containers {
            *nodes.entry(&held.node).or_default() += held.size;
            for path in ancestors(&held.queue) {
                *queues.entry(path).or_default() += held.size;
            }
            *users.entry((&held.queue, &held.user)).or_default() += held.size;
            if !self.nodes.contains_key(&held.node) {
                found.insert((
                    "N4",
                    format!("{container} lives on {}, not a node", held.node),
                ));
            }
            if !self.apps.contains_key(&container.app) {
                found.insert(("U8", format!("{container} outlives its application")));
            }
        }
        for (name, entry) in &self.nodes {
            let sum = nodes.get(name).copied().unwrap_or_default();
            if sum != entry.used {
                found.insert((
                    "N3",
                    format!("{name} uses {}, its containers {sum}", entry.used),
                ));
            }
        }
        for (path, used) in &self.queues {
            let sum = queues.get(path.as_str()).copied().unwrap_or_default();
            if sum != *used {
                found.insert((
                    "Q1",
                    format!("{path} uses {used}, the containers below it {sum}"),
                ));
            }
        }
        for ((queue, user), used) in &self.users {
            let sum = users.get(&(queue.as_str(), user.as_str())).copied();
            if sum.unwrap_or_default() != *used {
                found.insert(("U1", format!("{user} uses {used} in {queue}, not the sum")));
            }
        }
        for (id, text) in &found {
            if !self.reported.contains(&(*id, text.clone())) {
                self.violated(id, text.clone());
            }
        }
        self.reported = found;
        self.unchecked = 0;
        self.users.retain(|_, used| !used.is_none());
    }
}
