//! Reservations that surely stay: those of one key are counted together.
//!
//! Counters of a key that asks at one place decide nothing while its reservations are kept quietly. They are written
//! before the application changes, and at the end of a call; those of other keys are written at each attempt.
//!
//! # Invariants
//!
//! * A node in the set is reserved by the key of its group, takes containers, and an attempt on it keeps the reservation.
//! * A node that was written since leaves the set before anyone asks. A change of an application forgets its groups,
//!   and a change of more than that empties the set.
//!
//! Tests: `tests/simulation/skipping.rs`.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::commit::Ledger;
use crate::id::{AppSlot, NodeSlot, PartitionId, SchedulerKey};
use crate::proposer::{Observation, keeps_quietly};
use crate::snapshot::State;

/// The group of a node that is not in the set.
const NONE: u32 = u32::MAX;

/// Forgotten groups that are kept beside as many as are known.
const FORGOTTEN: usize = 64;

/// How many times as often as its reservations a key is tested ahead, largest first.
const AHEAD: [i32; 3] = [4096, 64, 1];

impl Default for WholeCounts {
    fn default() -> Self {
        Self {
            partition: PartitionId::DEFAULT,
            reserved: 0,
            counted: 0,
            left: 0,
        }
    }
}

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
    /// Groups of keys whose counters passes read.
    read: Vec<u32>,
    /// What the present round kept of keys without a group.
    round: Vec<(ReservedKey, i32)>,
    whole: WholeCounts,
}

/// Attempts on each reserved node of a partition, all of which are in the set. Groups of keys whose counters passes
/// read count them at once, the others later.
#[derive(Debug)]
struct WholeCounts {
    partition: PartitionId,
    /// Nodes that are reserved.
    reserved: usize,
    /// Attempts that the groups do not know yet.
    counted: i32,
    /// How many more attempts surely keep all of them.
    left: i32,
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
    /// Whether passes read its counters: the key asks at several places.
    is_read: bool,
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

/// Adds to the opportunities that a pass has seen of a key.
fn count_on(seen: &mut Observation, of: ReservedKey, times: i32) {
    if let Observation::Counters {
        app,
        key,
        opportunities,
        ..
    } = seen
        && (*app, *key) == of
    {
        *opportunities = opportunities.saturating_add(times);
    }
}

impl KeyGroup {
    fn of(state: &State, of: ReservedKey, partition: PartitionId) -> Self {
        let asks = state.apps[of.0].key(of.1);
        let all = asks.map(|asks| asks.reserved.len());
        Self {
            of,
            all: all
                .and_then(|all| i32::try_from(all).ok())
                .unwrap_or(i32::MAX),
            nodes: 0,
            partition: Some(partition),
            // As may_use: a single ask waits for no locality.
            is_read: asks.is_none_or(|asks| asks.places.len() > 1),
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

    /// Writes to the key what was counted.
    fn apply(&mut self, ledger: &mut Ledger) {
        let times = std::mem::take(&mut self.counted);
        if times > 0 {
            ledger.looks().keep_reservations(self.of, times);
        }
    }

    /// Whether it has nodes in a partition and nowhere else.
    fn is_in(&self, partition: PartitionId) -> bool {
        self.nodes > 0 && self.partition == Some(partition)
    }

    /// Attempts on each of its nodes before which it need not be tested again.
    fn quiet_attempts(&self) -> i32 {
        if self.quiet < self.all {
            return 0;
        }
        (self.quiet - self.all) / self.nodes.max(1) + 1
    }
}

impl KeptReservations {
    /// Nothing is known any more.
    pub(super) fn clear(&mut self) {
        debug_assert!(
            self.groups.iter().all(|group| group.counted == 0),
            "what is counted is applied before a change"
        );
        debug_assert!(self.whole.counted == 0, "the groups know what was counted");
        if !self.groups.is_empty() {
            self.groups.clear();
            self.group_of.clear();
            self.by_key.clear();
            self.read.clear();
            self.whole = WholeCounts::default();
        }
    }

    /// Has the groups know the attempts on whole partitions.
    fn count_whole(&mut self) {
        let whole = std::mem::take(&mut self.whole);
        if whole.counted == 0 {
            return;
        }
        let groups = self.groups.iter_mut();
        for group in groups.filter(|group| !group.is_read && group.is_in(whole.partition)) {
            group.count(group.nodes * whole.counted);
        }
    }

    /// Nothing is known any more of the reservations of an application.
    #[inline]
    pub(super) fn forget(&mut self, app: AppSlot) {
        if !self.groups.is_empty() {
            self.forget_groups_of(app);
        }
    }

    fn forget_groups_of(&mut self, app: AppSlot) {
        while let Some((&of, &group)) = self.by_key.range((app, SchedulerKey::FIRST)..).next()
            && of.0 == app
        {
            self.count_whole();
            self.by_key.remove(&of);
            self.groups[group as usize].forget();
        }
        // While something is counted and not written, the groups are needed.
        let is_written = || self.groups.iter().all(|group| group.counted == 0);
        let many = self.groups.len() > 2 * self.by_key.len() + FORGOTTEN;
        if many && self.whole.counted == 0 && is_written() {
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
            self.count_whole();
            if self.group_of.len() <= node.index() {
                self.group_of.resize(state.nodes.len(), NONE);
            }
            let number = *self.by_key.entry(of).or_insert_with(|| {
                let number = u32::try_from(self.groups.len()).expect("fewer groups than nodes");
                let group = KeyGroup::of(state, of, row.partition);
                self.read.extend(group.is_read.then_some(number));
                self.groups.push(group);
                number
            });
            self.group_of[node.index()] = number;
            let group = &mut self.groups[number as usize];
            group.nodes += 1;
            group.partition = group.partition.filter(|&known| known == row.partition);
        }
        self.whole.left = 0;
        if let Some(group) = self.group_at(node) {
            group.round += 1;
            group.quiet -= 1;
        }
    }

    /// A node was written.
    pub(super) fn remove(&mut self, node: NodeSlot) {
        if self.group_at(node).is_none() {
            return;
        }
        self.count_whole();
        if let Some(group) = self.group_at(node) {
            group.nodes -= 1;
            self.group_of[node.index()] = NONE;
        }
    }

    /// Forgets the groups of which an attempt on each reserved node of the key may change more than counters.
    pub(super) fn begin(&mut self, ledger: &mut Ledger) {
        self.count_whole();
        for group in &mut self.groups {
            // Others of the key may be kept beside its nodes.
            if group.nodes == 0 || group.quiet >= group.all {
                continue;
            }
            group.apply(ledger);
            group.quiet = quiet_times(ledger.state(), group.of, group.all);
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
        self.whole.left = 0;
        let group = self.group_at(node);
        group.map(|group| group.count(1)).is_some()
    }

    /// Counts an attempt on each reserved node of a partition that has so many of them; whether all are in the set.
    ///
    /// Cost: that of the keys whose counters passes read; of all keys where one of them changed, or is to be tested
    /// again.
    pub(super) fn count_all(
        &mut self,
        ledger: &mut Ledger,
        partition: PartitionId,
        reserved: usize,
    ) -> bool {
        let whole = &self.whole;
        let knows_all =
            whole.left > 0 && (whole.partition, whole.reserved) == (partition, reserved);
        if !knows_all && !self.know_all(ledger, partition, reserved) {
            return false;
        }
        self.whole.left -= 1;
        self.whole.counted += 1;
        for &number in &self.read {
            let group = &mut self.groups[number as usize];
            if group.is_in(partition) {
                group.count(group.nodes);
                group.apply(ledger);
            }
        }
        true
    }

    /// Whether all reserved nodes of a partition are in the set, so that an attempt on each of them keeps all.
    fn know_all(&mut self, ledger: &mut Ledger, partition: PartitionId, reserved: usize) -> bool {
        self.begin(ledger);
        let mut known = 0;
        for group in self.groups.iter().filter(|group| group.nodes > 0) {
            match group.partition {
                Some(of) if of == partition => known += i64::from(group.nodes),
                Some(_) => {}
                None => return false,
            }
        }
        if i64::try_from(reserved) != Ok(known) {
            return false;
        }
        let groups = self.groups.iter().filter(|group| group.is_in(partition));
        let left = groups.map(KeyGroup::quiet_attempts).min();
        self.whole = WholeCounts {
            partition,
            reserved,
            counted: 0,
            left: left.unwrap_or(i32::MAX),
        };
        self.whole.left > 0
    }

    /// A round begins.
    pub(super) fn begin_round(&mut self) {
        self.count_whole();
        self.round.clear();
        for group in &mut self.groups {
            group.round = 0;
        }
    }

    /// How often the round kept the reservations of each key, while nothing changed.
    pub(super) fn kept_in_round(&self) -> Vec<(ReservedKey, i32)> {
        debug_assert!(self.whole.counted == 0, "the groups know what was counted");
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
        self.count_whole();
        for group in &mut self.groups {
            group.quiet = 0;
        }
    }

    /// Writes to the keys what was counted.
    #[inline]
    pub(super) fn apply(&mut self, ledger: &mut Ledger) {
        if !self.groups.is_empty() || self.whole.counted > 0 {
            self.apply_groups(ledger);
        }
    }

    fn apply_groups(&mut self, ledger: &mut Ledger) {
        self.count_whole();
        for group in &mut self.groups {
            group.apply(ledger);
        }
    }

    /// Writes what was counted to the keys whose counters passes read.
    pub(super) fn apply_read(&mut self, ledger: &mut Ledger) {
        for &number in &self.read {
            self.groups[number as usize].apply(ledger);
        }
    }

    /// Whether no reservation is held that attempts keep.
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Writes what was counted to the keys of an application that is about to change; of all, where others may change.
    /// What a pass has seen of their counters is written behind that.
    pub(super) fn apply_before(
        &mut self,
        ledger: &mut Ledger,
        app: Option<AppSlot>,
        seen: &mut [Observation],
    ) {
        let of_app = |of: &ReservedKey| app.is_none_or(|app| of.0 == app);
        let least = app.map(|app| (app, SchedulerKey::FIRST));
        let least = least.map_or(Bound::Unbounded, Bound::Included);
        let known = self.by_key.range((least, Bound::Unbounded)).next();
        if known.is_none_or(|(of, _)| !of_app(of)) {
            return;
        }
        self.count_whole();
        let groups = self.by_key.range((least, Bound::Unbounded));
        for (of, &number) in groups.take_while(|(of, _)| of_app(of)) {
            let group = &mut self.groups[number as usize];
            for counters in seen.iter_mut() {
                count_on(counters, *of, group.counted);
            }
            group.apply(ledger);
        }
    }
}
