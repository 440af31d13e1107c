//! The skippable head of a leaf's order: applications in front that passes need not look at.
//!
//! # What
//!
//! An application that gets nothing for a reason that lasts joins the head: it asks for nothing, its user
//! is at the limit, or no node is large enough. A pass hands the user limit to all of the head at once.
//!
//! Looks at asks that are too large move counters, which the head does not. So such an application joins only while
//! nothing reads them: it asks for any place alone, and no partition is shared. Were a partition shared later, or a
//! place named under the same key, looks in the head would not have counted.
//!
//! # When it is valid
//!
//! * The order in front of its end is unchanged. Whoever changes it shortens the head first
//!   ([`SkippedApps::cut`] on the ledger, [`shorten`] on a working copy).
//! * No application in it asks for more, reserves or moves. [`SkippedApps::stop`] ends the head before
//!   such an application.
//! * The uses that its bound names have not shrunk ([`SkippedApps::recheck`]).
//!
//! # Why
//!
//! A leaf may hold thousands of applications that wait; a pass would look at each of them in vain.
//!
//! # Steps of the life of a head
//!
//! 1. A pass finds applications that may join and observes a [`HeadGrowth`].
//! 2. The commit applies it with [`SkippedApps::grow`], a working copy with [`grow_head`].
//! 3. Later passes hand the limit to all of the head at once ([`note_head_limit`]).
//! 4. A change cuts the head. The limit that was handed to all is noted with each user.
//!
//! # Cost
//!
//! One look for a pass; a cut looks at each application that it removes.
//!
//! Tests: `tests/commit/skippable_head.rs`.

use crate::fast_path::{PlantedFlaw, is_planted};
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::user_value;
use crate::queue::{App, AppOrder, Bound, Exclusivity, Leaf, SkippableHead};
use crate::resource::{PackedVector, ResourceVector};
use crate::snapshot::State;

/// Applications that join a head by themselves at once, at most: a container pays for them.
const JOIN_AT_ONCE: usize = 64;

/// The skippable head of a leaf as a pass found it.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadGrowth {
    /// Number of applications.
    pub len: usize,
    /// Version of the users in which each of them was handed its limit.
    pub version: u64,
    /// The partition and mode of the pass that did so.
    pub grown: (PartitionId, Exclusivity),
    /// On what it depends that those of them that ask get nothing; seldom, so that it does not widen
    /// what is observed.
    pub bound: Option<Box<Bound>>,
}

/// Whether an application asks for nothing.
pub(crate) fn asks_nothing(app: &App) -> bool {
    app.parts.iter().all(|part| part.pending.is_none())
}

/// Whether nothing about an application itself forbids that passes skip it in a leaf.
pub(crate) fn may_join(state: &State, leaf: QueueSlot, app: AppSlot) -> bool {
    let app = &state.apps[app];
    let user = &state.users[app.user];
    app.provider.is_some_and(|provider| {
        (provider.leaf, provider.user) == (leaf, app.user) && provider.generation == user.generation
    }) && app.leaf == leaf
        && !user.removed
        && app.parts.iter().all(|part| part.reserved.is_none())
        && user
            .parts
            .iter()
            .all(|part| part.cached_limits.iter().all(Option::is_none))
}

/// Notes that a pass handed all of the head their limit at once.
pub(crate) fn note_head_limit(
    state: &mut State,
    leaf: QueueSlot,
    of: (PartitionId, Exclusivity, u64),
    limit: ResourceVector,
) {
    let (partition, exclusivity, version) = of;
    let users = state.queues[leaf].as_leaf_mut();
    let head = &mut users.head;
    if version > head.since {
        head.len = head.next;
    }
    if head.version != version {
        head.version = version;
        head.notified.clear();
    }
    head.notified.push((partition, exclusivity));
    head.limit = Some(limit);
    users.notices += 1;
    head.notice = users.notices;
}

/// Notes the limit that was handed to an application of a user.
pub(crate) fn note_user_limit(state: &mut State, user: UserSlot, limit: PackedVector) {
    let leaf = state.users[user].leaf;
    let users = state.queues[leaf].as_leaf_mut();
    users.notices += 1;
    let notice = users.notices;
    let record = &mut state.users[user];
    record.last_limit = limit;
    record.notice = notice;
}

/// Sets the head that a pass found; a shorter one only on a working copy.
pub(crate) fn grow_head(state: &mut State, leaf: QueueSlot, growth: &HeadGrowth) {
    let head = &mut state.queues[leaf].as_leaf_mut().head;
    if growth.version > head.since {
        head.len = head.next;
    }
    (head.next, head.since) = (growth.len, growth.version);
    head.grown = Some(growth.grown);
    head.bound = growth.bound.as_deref().copied();
}

/// Ends the head of a leaf of a working copy at a place from which on the order changes.
pub(crate) fn shorten(users: &mut Leaf, place: usize) {
    end_at(&mut users.head, place);
}

/// Nobody from a place on is in the head. One of nobody depends on nothing.
fn end_at(head: &mut SkippableHead, place: usize) {
    (head.len, head.next) = (head.len.min(place), head.next.min(place));
    if place == 0 {
        head.bound = None;
    }
}

/// Which applications stand in the skippable head of their leaf, by slot. Of the ledger alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkippedApps(Vec<bool>);

impl SkippedApps {
    /// Gives a new application its place.
    pub(crate) fn add_app(&mut self) {
        self.0.push(false);
    }

    /// Whether passes skip an application.
    #[inline]
    pub(crate) fn holds(&self, app: AppSlot) -> bool {
        self.0[app.index()]
    }

    /// Lets more applications join the head.
    pub(crate) fn grow(&mut self, state: &mut State, leaf: QueueSlot, growth: &HeadGrowth) {
        grow_head(state, leaf, growth);
        for &app in &state.queues[leaf].as_leaf().active[..growth.len] {
            self.0[app.index()] = true;
        }
    }

    /// Lets applications right behind the head that ask for nothing join it, some at a time. Only where
    /// threads pass over copies, each of which would find them again; passes hand out no limits there.
    ///
    /// Cost: one look while the next application asks for something.
    #[inline(always)]
    pub(crate) fn join_idle(&mut self, state: &mut State, leaf: QueueSlot) {
        let queue = &state.queues[leaf];
        if !state.concurrent || queue.settings.leaf.app_order != AppOrder::Fifo {
            return;
        }
        let users = queue.as_leaf();
        let known = users.head.next;
        // Mostly the next one still asks.
        let next = users.active.get(known);
        if next.is_some_and(|&app| asks_nothing(&state.apps[app])) {
            self.join_idle_from(state, leaf, known);
        }
    }

    /// The same so many times, or until no more join.
    pub(crate) fn join_idle_often(&mut self, state: &mut State, leaf: QueueSlot, times: u32) {
        for _ in 0..times {
            let before = state.queues[leaf].as_leaf().head.next;
            self.join_idle(state, leaf);
            if state.queues[leaf].as_leaf().head.next == before {
                break;
            }
        }
    }

    #[inline(never)]
    fn join_idle_from(&mut self, state: &mut State, leaf: QueueSlot, known: usize) {
        let users = state.queues[leaf].as_leaf();
        let behind = users.active[known..].iter().take(JOIN_AT_ONCE);
        let joins = |app| asks_nothing(&state.apps[app]) && may_join(state, leaf, app);
        let next = known + behind.take_while(|&&app| joins(app)).count();
        for &app in &users.active[known..next] {
            self.0[app.index()] = true;
        }
        state.queues[leaf].as_leaf_mut().head.next = next;
    }

    /// Ends the head before an application that asks again or changes otherwise, if it stands in it.
    pub(crate) fn stop(&mut self, state: &mut State, app: AppSlot) {
        if !self.holds(app) || is_planted(PlantedFlaw::SkippableHeadKeepsAsker) {
            return;
        }
        let leaf = state.apps[app].leaf;
        let mut active = state.queues[leaf].as_leaf().active.iter();
        let place = active.position(|&other| other == app);
        self.cut(state, leaf, place.unwrap_or(0));
    }

    /// Ends the head before an application that leaves the order of the leaf.
    pub(crate) fn cut_before(&mut self, state: &mut State, leaf: QueueSlot, app: AppSlot) {
        let mut active = state.queues[leaf].as_leaf().active.iter();
        if let Some(place) = active.position(|&other| other == app) {
            self.cut(state, leaf, place);
        }
    }

    /// Ends the head at a place, before the order changes there. The limit that was handed to all is
    /// noted with each user whose application leaves the head.
    pub(crate) fn cut(&mut self, state: &mut State, leaf: QueueSlot, place: usize) {
        let users = state.queues[leaf].as_leaf();
        let (len, known) = (users.head.len, users.head.next);
        if known.max(len) <= place {
            return;
        }
        let apps = users.active[place..known.max(len)].to_vec();
        for (i, app) in apps.into_iter().enumerate() {
            self.0[app.index()] = false;
            if place + i < len {
                note_limit_of_head(state, leaf, app);
            }
        }
        end_at(&mut state.queues[leaf].as_leaf_mut().head, place);
    }

    /// Ends the head of a leaf where it depends on what users at their limit use, since one of them uses
    /// less now.
    pub(crate) fn recheck(&mut self, state: &mut State, leaf: QueueSlot) {
        let head = &state.queues[leaf].as_leaf().head;
        let at_limit = matches!(head.bound, Some(Bound { floor: Some(_), .. }));
        if at_limit && !is_planted(PlantedFlaw::SkippableHeadKeepsBound) {
            self.cut(state, leaf, 0);
        }
    }
}

/// Notes with a user the limit that an application of the head was handed with the others.
fn note_limit_of_head(state: &mut State, leaf: QueueSlot, app: AppSlot) {
    let slot = state.apps[app].user;
    let head = &state.queues[leaf].as_leaf().head;
    let record = &state.users[slot];
    let later = head.limit.filter(|_| head.notice > record.notice);
    let later = later.map(|limit| user_value(state, &limit, Some(record)));
    let (notified, version, notice) = (head.notified.clone(), head.version, head.notice);
    let record = &mut state.users[slot];
    if let Some(limit) = later {
        record.last_limit.set(limit);
        record.notice = notice;
    }
    // Once in a version, whatever limit the user was handed since.
    for (partition, exclusivity) in notified {
        let known = &mut record.parts[partition].limit_version[exclusivity as usize];
        *known = (*known).max(Some(version));
    }
}
