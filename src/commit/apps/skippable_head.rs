//! The front of a leaf's order that passes skip: telling it, growing it, and giving it up.

use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::user_value;
use crate::proposer::{Growth, is_idle, may_join};
use crate::queue::{AppOrder, Bound, Exclusivity};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// Applications that join a front by themselves at once, at most: a container pays for them.
const JOIN_AT_ONCE: usize = 64;

/// A pass told all at the front their limit at once.
pub(in crate::commit) fn tell_prefix(
    state: &mut State,
    leaf: QueueSlot,
    of: (PartitionId, Exclusivity, u64),
    limit: ResourceVector,
) {
    let (partition, exclusivity, version) = of;
    let users = state.queues[leaf].as_leaf_mut();
    let prefix = &mut users.prefix;
    if version > prefix.since {
        prefix.len = prefix.next;
    }
    if prefix.version != version {
        prefix.version = version;
        prefix.told.clear();
    }
    prefix.told.push((partition, exclusivity));
    prefix.limit = Some(limit);
    users.tellings += 1;
    prefix.telling = users.tellings;
}

/// More applications join the front; or fewer, which only a working copy takes this way.
pub(in crate::commit) fn grow_prefix(state: &mut State, leaf: QueueSlot, growth: &Growth) {
    let prefix = &mut state.queues[leaf].as_leaf_mut().prefix;
    if growth.version > prefix.since {
        prefix.len = prefix.next;
    }
    (prefix.next, prefix.since) = (growth.len, growth.version);
    prefix.grown = Some(growth.grown);
    prefix.bound = growth.bound.as_deref().copied();
}

/// Notes what a user was told.
pub(in crate::commit) fn tell_user(state: &mut State, user: UserSlot, limit: PackedVector) {
    let leaf = state.users[user].leaf;
    let users = state.queues[leaf].as_leaf_mut();
    users.tellings += 1;
    let telling = users.tellings;
    let record = &mut state.users[user];
    record.last_limit = limit;
    record.telling = telling;
}

impl Ledger {
    /// More applications join the front, and are remembered to be there.
    pub(in crate::commit) fn grow_front(&mut self, leaf: QueueSlot, growth: &Growth) {
        grow_prefix(&mut self.state, leaf, growth);
        for &app in &self.state.queues[leaf].as_leaf().active[..growth.len] {
            self.skipped[app.index()] = true;
        }
    }

    /// Applications right behind the front of a leaf's order that ask for nothing join it, some at
    /// a time. Only where threads pass over copies, each of which would find them anew; passes
    /// tell nobody a limit there.
    #[inline]
    pub(in crate::commit) fn join_idle(&mut self, leaf: QueueSlot) {
        let state = &self.state;
        let queue = &state.queues[leaf];
        if !state.concurrent || queue.settings.leaf.app_order != AppOrder::Fifo {
            return;
        }
        let users = queue.as_leaf();
        let known = users.prefix.next;
        // Mostly the next one still asks.
        let next = users.active.get(known);
        if next.is_some_and(|&app| is_idle(&state.apps[app])) {
            self.join_idle_from(leaf, known);
        }
    }

    fn join_idle_from(&mut self, leaf: QueueSlot, known: usize) {
        let state = &self.state;
        let users = state.queues[leaf].as_leaf();
        let behind = users.active[known..].iter().take(JOIN_AT_ONCE);
        let idle =
            behind.take_while(|&&app| is_idle(&state.apps[app]) && may_join(state, leaf, app));
        let next = known + idle.count();
        for &app in &users.active[known..next] {
            self.skipped[app.index()] = true;
        }
        self.state.queues[leaf].as_leaf_mut().prefix.next = next;
    }

    /// An application at the front asks again, or changes otherwise: passes look at it and at
    /// those behind it from now on.
    pub(in crate::commit) fn stop_skipping(&mut self, app: AppSlot) {
        if !self.skipped[app.index()] {
            return;
        }
        let leaf = self.state.apps[app].leaf;
        let mut active = self.state.queues[leaf].as_leaf().active.iter();
        let place = active.position(|&other| other == app);
        self.cut_prefix(leaf, place.unwrap_or(0));
    }

    /// Cuts the front of a leaf's order off before an application that leaves the order.
    pub(in crate::commit) fn cut_before(&mut self, leaf: QueueSlot, app: AppSlot) {
        let mut active = self.state.queues[leaf].as_leaf().active.iter();
        if let Some(place) = active.position(|&other| other == app) {
            self.cut_prefix(leaf, place);
        }
    }

    /// Cuts the front of a leaf's order off at a place, before the order changes there; what was
    /// told to all is noted with each user.
    pub(in crate::commit) fn cut_prefix(&mut self, leaf: QueueSlot, place: usize) {
        let users = self.state.queues[leaf].as_leaf();
        let (told, known) = (users.prefix.len, users.prefix.next);
        if known.max(told) <= place {
            return;
        }
        let apps = users.active[place..known.max(told)].to_vec();
        for (i, app) in apps.into_iter().enumerate() {
            self.skipped[app.index()] = false;
            if place + i < told {
                self.note_told(leaf, app);
            }
        }
        let prefix = &mut self.state.queues[leaf].as_leaf_mut().prefix;
        prefix.len = told.min(place);
        prefix.next = known.min(place);
        if place == 0 {
            prefix.bound = None;
        }
    }

    /// What an application at the front was told with the others, noted with its user.
    fn note_told(&mut self, leaf: QueueSlot, app: AppSlot) {
        let slot = self.state.apps[app].user;
        let users = self.state.queues[leaf].as_leaf();
        let prefix = &users.prefix;
        let record = &self.state.users[slot];
        let later = prefix.limit.filter(|_| prefix.telling > record.telling);
        let later = later.map(|limit| user_value(&self.state, &limit, Some(record)));
        let (told, version, telling) = (prefix.told.clone(), prefix.version, prefix.telling);
        let record = &mut self.state.users[slot];
        if let Some(limit) = later {
            record.last_limit.set(limit);
            record.telling = telling;
        }
        // Once in a version, whatever the user was told since.
        for (partition, exclusivity) in told {
            let known = &mut record.parts[partition].told[exclusivity as usize];
            *known = (*known).max(Some(version));
        }
    }

    /// A user's use shrinks: those at the front that were skipped for it are looked at again.
    pub(in crate::commit) fn recheck_bound(&mut self, leaf: QueueSlot) {
        let prefix = &self.state.queues[leaf].as_leaf().prefix;
        if matches!(prefix.bound, Some(Bound { floor: Some(_), .. })) {
            self.cut_prefix(leaf, 0);
        }
    }
}
