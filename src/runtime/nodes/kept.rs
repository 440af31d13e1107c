//! Reservations that surely stay: those of one key are counted together.
//!
//! # Invariants
//!
//! * A node in the set is reserved by the key of its group, takes containers, and an attempt on it keeps the reservation.
//! * A node that was written since leaves the set before anyone asks. A change of an application forgets its groups,
//!   and a change of more than that empties the set.
//!
//! Tests: `tests/simulation/skipping.rs`.

use std::collections::BTreeMap;

use crate::commit::Ledger;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};
use crate::proposer::keeps_quietly;
use crate::snapshot::State;

/// The group of a node that is not in the set.
const NONE: u32 = u32::MAX;

/// Forgotten groups that are kept beside as many as are known.
const FORGOTTEN: usize = 64;

/// How many times as often as its reservations a key is tested ahead, largest first.
const AHEAD: [i32; 3] = [4096, 64, 1];

/// An application and its key with reservations.
pub(super) type ReservedKey = (AppSlot, SchedulerKey);

/// The set of reserved nodes, by slot, with the groups.
#[derive(Debug, Default)]
pub(super) struct KeptReservations {
    /// By slot; the number of a forgotten group is that of none.
    group_of: Vec<u32>,
    groups: Vec<KeyGroup>,
    /// The groups that are known.
    by_key: BTreeMap<ReservedKey, u32>,
    /// What the present round kept of keys without a group.
    round: Vec<(ReservedKey, i32)>,
}

/// The reservations of one key.
#[derive(Debug)]
struct KeyGroup {
    of: ReservedKey,
    /// All reservations of the key.
    all: i32,
    /// Nodes of the set that are reserved for it; none once the group is forgotten.
    nodes: i32,
    /// The partition of its nodes; nothing where they are of several.
    partition: Option<PartitionId>,
    /// Attempts that were counted and that the key does not know yet.
    counted: i32,
    /// Attempts in the present round.
    round: i32,
    /// How often its reservations may be kept before anything else may come of it, as far as was tested.
    quiet: i32,
    is_known: bool,
}

/// How often the reservations of a key may surely be kept without any other effect, as far as is tested; at least as
/// often as it has reservations, or never.
fn quiet_times(state: &State, of: ReservedKey, all: i32) -> i32 {
    let mut times = AHEAD.iter().filter_map(|ahead| all.checked_mul(*ahead));
    times
        .find(|&times| keeps_quietly(state, of, times))
        .unwrap_or(0)
}

impl KeyGroup {
    fn of(state: &State, of: ReservedKey, partition: PartitionId) -> Self {
        let app = &state.apps[of.0];
        let all = app.key(of.1).map(|asks| asks.reserved.len());
        Self {
            of,
            all: all
                .and_then(|all| i32::try_from(all).ok())
                .unwrap_or(i32::MAX),
            nodes: 0,
            partition: Some(partition),
            counted: 0,
            round: 0,
            quiet: 0,
            is_known: true,
        }
    }

    /// Its nodes are in no group any more.
    fn forget(&mut self) {
        debug_assert!(
            self.counted == 0,
            "what is counted is applied before a change"
        );
        (self.is_known, self.nodes) = (false, 0);
    }

    #[inline]
    fn count(&mut self, times: i32) {
        self.counted += times;
        self.round += times;
        self.quiet -= times;
    }
}

impl KeptReservations {
    /// Nothing is known any more.
    pub(super) fn clear(&mut self) {
        debug_assert!(
            self.groups.iter().all(|group| group.counted == 0),
            "what is counted is applied before a change"
        );
        if !self.groups.is_empty() {
            self.groups.clear();
            self.group_of.clear();
            self.by_key.clear();
        }
    }

    /// Nothing is known any more of the reservations of an application.
    pub(super) fn forget(&mut self, app: AppSlot) {
        while let Some((&of, &group)) = self.by_key.range((app, SchedulerKey::FIRST)..).next()
            && of.0 == app
        {
            self.by_key.remove(&of);
            self.groups[group as usize].forget();
        }
        if self.groups.len() > 2 * self.by_key.len() + FORGOTTEN {
            self.clear();
        }
    }

    /// The group of a node of the set.
    #[inline]
    fn group_at(&mut self, node: NodeSlot) -> Option<&mut KeyGroup> {
        let group = self.group_of.get(node.index()).copied().unwrap_or(NONE);
        let group = self.groups.get_mut(group as usize);
        group.filter(|group| group.is_known)
    }

    /// A reservation surely stays, and is kept once more.
    pub(super) fn add(&mut self, state: &State, node: NodeSlot) {
        let row = &state.nodes[node];
        let Some(held) = &row.reserved else {
            return;
        };
        let of = (held.app, held.key);
        if !state.is_candidate(node) {
            self.round.push((of, 1));
            return;
        }
        if self.group_at(node).is_none() {
            if self.group_of.len() <= node.index() {
                self.group_of.resize(state.nodes.len(), NONE);
            }
            let number = *self.by_key.entry(of).or_insert_with(|| {
                self.groups.push(KeyGroup::of(state, of, row.partition));
                u32::try_from(self.groups.len() - 1).expect("fewer groups than nodes")
            });
            self.group_of[node.index()] = number;
            let group = &mut self.groups[number as usize];
            group.nodes += 1;
            group.partition = group.partition.filter(|&known| known == row.partition);
        }
        if let Some(group) = self.group_at(node) {
            group.round += 1;
            group.quiet -= 1;
        }
    }

    /// A node was written.
    pub(super) fn remove(&mut self, node: NodeSlot) {
        if let Some(group) = self.group_at(node) {
            group.nodes -= 1;
            self.group_of[node.index()] = NONE;
        }
    }

    /// Forgets the groups of which an attempt on each reserved node of the key may change more than counters.
    pub(super) fn begin(&mut self, state: &State) {
        for group in &mut self.groups {
            // Others of the key may be kept beside its nodes.
            if group.nodes == 0 || group.quiet >= group.all {
                continue;
            }
            group.quiet = quiet_times(state, group.of, group.all);
            if group.quiet < group.all {
                self.round.push((group.of, group.round));
                self.by_key.remove(&group.of);
                group.forget();
            }
        }
    }

    /// Counts an attempt on a node of the set; whether it is in the set.
    #[inline]
    pub(super) fn count(&mut self, node: NodeSlot) -> bool {
        let group = self.group_at(node);
        group.map(|group| group.count(1)).is_some()
    }

    /// Counts an attempt on each reserved node of a partition that has so many of them; whether all are in the set.
    pub(super) fn count_all(&mut self, partition: PartitionId, reserved: usize) -> bool {
        let mut known = 0;
        for group in self.groups.iter().filter(|group| group.nodes > 0) {
            match group.partition {
                Some(of) if of == partition => known += i64::from(group.nodes),
                Some(_) => {}
                None => return false,
            }
        }
        let all = i64::try_from(reserved) == Ok(known);
        if all {
            let groups = self.groups.iter_mut();
            for group in groups.filter(|group| group.partition == Some(partition)) {
                group.count(group.nodes);
            }
        }
        all
    }

    /// A round begins.
    pub(super) fn begin_round(&mut self) {
        self.round.clear();
        for group in &mut self.groups {
            group.round = 0;
        }
    }

    /// How often the round kept the reservations of each key, while nothing changed.
    pub(super) fn kept_in_round(&self) -> Vec<(ReservedKey, i32)> {
        let groups = self.groups.iter().filter(|group| group.is_known);
        let groups = groups.map(|group| (group.of, group.round));
        let all = self.round.iter().copied().chain(groups);
        let mut kept: Vec<_> = all.filter(|(_, times)| *times > 0).collect();
        kept.sort_unstable_by_key(|(of, _)| *of);
        kept.dedup_by(|one, sum| {
            let alike = one.0 == sum.0;
            sum.1 += if alike { one.1 } else { 0 };
            alike
        });
        kept
    }

    /// The counters of keys were moved elsewhere.
    pub(super) fn test_again(&mut self) {
        for group in &mut self.groups {
            group.quiet = 0;
        }
    }

    /// Writes to the keys what was counted.
    pub(super) fn apply(&mut self, ledger: &mut Ledger) {
        for group in self.groups.iter_mut().filter(|group| group.counted > 0) {
            let times = std::mem::take(&mut group.counted);
            ledger.looks().keep_reservations(group.of, times);
        }
    }
}
