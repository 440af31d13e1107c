//! Reservations that surely stay: those of one key are counted together.
//!
//! # Invariants
//!
//! * A node in the set is reserved by the key of its group, and an attempt on it keeps the reservation.
//! * A node that was written since leaves the set before anyone asks. A change of the application, or of more than
//!   one node, empties the set.
//!
//! Tests: `tests/simulation/skipping.rs`.

use crate::commit::Ledger;
use crate::id::{AppSlot, NodeSlot, SchedulerKey};
use crate::proposer::{keeps_quietly, limit_of_kept};
use crate::snapshot::State;

/// The group of a node that is not in the set.
const NONE: u32 = u32::MAX;

/// The set of reserved nodes, by slot, with the groups.
#[derive(Debug, Default)]
pub(super) struct KeptReservations {
    group_of: Vec<u32>,
    groups: Vec<KeyGroup>,
}

/// The reservations of one key.
#[derive(Debug)]
struct KeyGroup {
    app: AppSlot,
    key: SchedulerKey,
    /// One of the nodes.
    node: NodeSlot,
    /// Nodes of the set that are reserved for it.
    nodes: i32,
    /// Attempts that were counted and that the key does not know yet.
    counted: i32,
}

impl KeptReservations {
    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Nothing is known any more.
    pub(super) fn clear(&mut self) {
        debug_assert!(
            self.groups.iter().all(|group| group.counted == 0),
            "what is counted is applied before a change"
        );
        if !self.groups.is_empty() {
            self.groups.clear();
            self.group_of.clear();
        }
    }

    /// A reservation surely stays.
    pub(super) fn add(&mut self, state: &State, node: NodeSlot) {
        let Some(held) = &state.nodes[node].reserved else {
            return;
        };
        if self.group_of.len() <= node.index() {
            self.group_of.resize(state.nodes.len(), NONE);
        }
        if self.group_of[node.index()] != NONE {
            return;
        }
        let of = (held.app, held.key);
        let known = self
            .groups
            .iter()
            .position(|group| (group.app, group.key) == of);
        let group = known.unwrap_or_else(|| {
            self.groups.push(KeyGroup {
                app: held.app,
                key: held.key,
                node,
                nodes: 0,
                counted: 0,
            });
            self.groups.len() - 1
        });
        self.groups[group].nodes += 1;
        self.group_of[node.index()] = u32::try_from(group).unwrap_or(NONE);
    }

    /// A node was written.
    pub(super) fn remove(&mut self, node: NodeSlot) {
        if let Some(group) = self.group_of.get_mut(node.index())
            && *group != NONE
        {
            self.groups[*group as usize].nodes -= 1;
            *group = NONE;
        }
    }

    /// Empties the set unless an attempt on each of its nodes changes nothing but counters.
    pub(super) fn begin(&mut self, state: &State) {
        let quiet = self.groups.iter().all(|group| {
            // Others of the key may be kept beside them.
            let all = state.apps[group.app]
                .key(group.key)
                .map(|asks| asks.reserved.len());
            let all = all.and_then(|all| i32::try_from(all).ok());
            let of = (group.app, group.key);
            group.nodes == 0 || all.is_some_and(|all| keeps_quietly(state, of, all))
        });
        if !quiet {
            self.clear();
        }
    }

    /// Counts an attempt on a node of the set; whether it is in the set.
    pub(super) fn count(&mut self, node: NodeSlot) -> bool {
        let group = self.group_of.get(node.index()).copied().unwrap_or(NONE);
        if group == NONE {
            return false;
        }
        let group = &mut self.groups[group as usize];
        group.counted += 1;
        group.node = node;
        true
    }

    /// Writes to the keys what was counted; `with_limits`: and to the leaves their limits.
    pub(super) fn apply(&mut self, ledger: &mut Ledger, with_limits: bool) {
        for group in self.groups.iter_mut().filter(|group| group.counted > 0) {
            let times = std::mem::take(&mut group.counted);
            ledger.keep_reservation(group.node, times);
            if with_limits {
                let leaf = ledger.state().apps[group.app].leaf;
                let write = limit_of_kept(ledger.state(), leaf);
                ledger.write_limit(leaf, Some(&write.limit), None);
            }
        }
    }
}
