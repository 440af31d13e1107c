//! A leaf queue: its applications in order, gated by queue maximum and user limit.
//!
//! Tests: the recordings of `tests/parity`, which `cli/tests/parity.rs` plays on the engine.

use super::assignment::{Observation, SkipReason};
use super::leaf_visit::LeafVisit;
use super::skippable_head::HeadView;
use super::walk::{Pass, WalkStep};
use super::watch::Step;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{AppSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{
    Limits, compute_user_limit, is_granted, passes_maximum, queue_current_limit, resorted,
    served_on, user_value,
};
use crate::queue::{AppOrder, CachedUserLimit, Exclusivity, HeadroomProvider};
use crate::resource::{ResourceVector, with_calculator};
use crate::snapshot::State;

/// Applications that a pass by the lower bound looks at; where it serves none, the whole walk begins again.
const LOOKS_BY_LOWER_BOUND: usize = 4;

impl<const N: usize> Pass<'_, N> {
    // As AbstractLeafQueue.assignContainers.
    pub(super) fn leaf(&mut self, leaf: QueueSlot, limits: &mut Limits<N>) -> WalkStep {
        self.ended(Step::QueueOrder);
        let state = self.state;
        limits.leaf = Some(leaf);
        if let Some(node) = self.candidates.single()
            && let Some(reservation) = state.nodes[node].reserved
            && state.apps[reservation.app].leaf == leaf
        {
            return self.allocate_reserved(&reservation, limits);
        }
        if let Err(reason) = self.demand(leaf) {
            return WalkStep::Skip(reason);
        }
        // Other orders are kept as applications come and go.
        let resorted = match &state.queues[leaf].settings.leaf.app_order {
            AppOrder::Fifo | AppOrder::FifoForPendingApps => None,
            AppOrder::Fair { .. } => self.resorted(leaf),
            AppOrder::FifoWithPartitions { .. } => served_on(state, leaf, self.partition),
        };
        let mut visit = LeafVisit {
            handed: state.updates_leaf_limits().then_some(limits.limit),
            ..LeafVisit::without_notice(leaf)
        };
        let found = match resorted {
            Some(order) => {
                let mut nobody = HeadView::CLOSED;
                self.applications(&order, &mut visit, limits, &mut nobody, true)
            }
            None => self.behind_head(&mut visit, limits),
        };
        if visit.computed && !matches!(found, WalkStep::Proposal) {
            self.note_limit(&visit);
        }
        found
    }

    /// The applications of a leaf but for those at the head that get nothing.
    pub(super) fn behind_head(
        &mut self,
        visit: &mut LeafVisit<N>,
        limits: &mut Limits<N>,
    ) -> WalkStep {
        let users = self.state.queues[visit.leaf].as_leaf();
        let mut view = self.skippable_head(visit);
        let mut check_queue = true;
        if view.len > 0 {
            let (state, mode) = (self.state, self.exclusivity);
            let none = ResourceVector::NONE;
            if !self.by_lower_bound
                && !passes_maximum(state, visit.leaf, self.partition, limits, &none, mode)
            {
                return WalkStep::Skip(SkipReason::AtMaximum);
            }
            check_queue = false;
            let before = (*visit, self.observations.len());
            if self.holds(&view, visit, limits) {
                self.notify_head(users.active[0], visit);
                debug_assert!(self.head_gets_nothing(&view, before, limits));
            } else if self.by_lower_bound && !view.fits(state, limits) {
                return WalkStep::Skip(SkipReason::Nothing);
            } else {
                // Some of them may be served again, or stop those behind them.
                (view, check_queue) = (HeadView::CLOSED, true);
                self.note_head(&view, visit);
            }
        }
        let behind = &users.active[view.len..];
        let found = self.applications(behind, visit, limits, &mut view, check_queue);
        if view.len > users.head.next {
            self.note_head(&view, visit);
        }
        found
    }

    pub(super) fn applications(
        &mut self,
        order: &[AppSlot],
        visit: &mut LeafVisit<N>,
        limits: &mut Limits<N>,
        view: &mut HeadView,
        mut check_queue: bool,
    ) -> WalkStep {
        let (state, mut looks) = (self.state, 0);
        let rules = &state.settings.rules;
        for &app in order {
            self.ended(Step::AppOrder);
            if rules.passes_by_ended_attempts && !state.apps[app].has_attempt_in(visit.leaf) {
                continue;
            }
            let partition = self.partition;
            let held = || reserved_by(state, app, partition);
            if check_queue && !self.by_lower_bound {
                let (held, here) = (&held(), (self.partition, self.exclusivity));
                if !passes_maximum(state, visit.leaf, here.0, limits, held, here.1) {
                    return WalkStep::Skip(SkipReason::AtMaximum);
                }
                check_queue = state.settings.continue_looking && !held.is_none();
            }
            if self.passes_by(app, view) {
                continue;
            }
            if self.by_lower_bound && looks == LOOKS_BY_LOWER_BOUND {
                return WalkStep::Skip(SkipReason::Nothing);
            }
            looks += 1;
            let before = view.len;
            let found = self.serve(app, &held(), visit, limits, view);
            if !matches!(found, WalkStep::Skip(SkipReason::Other)) {
                return found;
            }
            view.closed |= view.len == before;
        }
        WalkStep::Skip(SkipReason::Other)
    }

    /// What an application gets. One that gets nothing for a reason that lasts joins the head.
    #[inline]
    fn serve(
        &mut self,
        app: AppSlot,
        held: &ResourceVector<N>,
        visit: &mut LeafVisit<N>,
        limits: &mut Limits<N>,
        view: &mut HeadView,
    ) -> WalkStep {
        let passes = self.passes_user_limit(app, held, visit, limits);
        self.ended(Step::Headroom);
        if !passes {
            self.join_at_limit(view, app, visit);
            return WalkStep::Skip(SkipReason::Other);
        }
        let found = self.allocate(app, limits);
        self.ended(Step::NodePick);
        if matches!(found, WalkStep::Skip(SkipReason::Other)) {
            self.join(view, app, visit);
        }
        found
    }

    /// Whether an application is passed by without a look: it asks nothing on this partition, and passes
    /// hand out no limits. While the head is open, the pass looks at it: it may join. The limit of one that is
    /// passed by is noted only once a pass serves its own partition.
    #[inline]
    fn passes_by(&self, app: AppSlot, view: &HeadView) -> bool {
        self.state.concurrent && view.closed && self.state.asks_elsewhere(app, self.asked_on())
    }

    /// Publishes the limit of a leaf that was handed so much; noted when it is another one.
    // As AbstractLeafQueue.setQueueResourceLimitsInfo. What updateCurrentResourceLimits writes at other visits is
    // overwritten before anything reads it.
    fn publish_limit(&mut self, leaf: QueueSlot, handed: &ResourceVector<N>) {
        let limit = queue_current_limit(self.state, leaf, handed);
        self.watch_limit(leaf, &limit);
        if self.state.queues[leaf].as_leaf().published_limit != limit {
            self.note(|| Observation::PublishedLimit {
                leaf,
                limit: limit.into(),
            });
        }
    }

    /// The order of the applications of a fair leaf when some of them moved since it was sorted.
    fn resorted(&mut self, leaf: QueueSlot) -> Option<Vec<AppSlot>> {
        let order = resorted(self.state, leaf)?;
        self.observations.push(Observation::Sorted { leaf });
        Some(order)
    }

    /// Whether the application's user may get more, by what the user has now.
    // As AbstractLeafQueue.canAssignToUser. Its CachedUserLimit holds for one version of the
    // leaf's users, and what it caches follows from that version alone; so it is kept only where
    // it does not: for users whose record was removed.
    fn passes_user_limit(
        &mut self,
        app: AppSlot,
        held: &ResourceVector<N>,
        visit: &mut LeafVisit<N>,
        limits: &mut Limits<N>,
    ) -> bool {
        let state = self.state;
        let Some(slot) = self.user_here(app, visit) else {
            return false;
        };
        let user = &state.users[slot];
        let version = state.queues[visit.leaf].as_leaf().users_version;
        let cached = user.part(self.partition).cached_limits[self.exclusivity as usize].as_ref();
        let cached = cached.filter(|cached| cached.version == version);
        if user.removed || cached.is_some() {
            let cached = cached.map(AsRef::as_ref);
            return self.passes_cached_limit((app, slot), held, cached, visit, limits);
        }
        if state.concurrent
            && self.exclusivity == Exclusivity::Respect
            && is_granted::<N>(state, visit.leaf, self.partition, user)
        {
            limits.must_unreserve = ResourceVector::NONE;
            self.note_served(app, slot, visit);
            return true;
        }
        let limit = self.user_limit((app, slot), visit);
        self.below_limit(slot, held, &limit, limits)
    }

    /// The record of an application's user in this leaf.
    #[inline]
    fn user_here(&mut self, app: AppSlot, visit: &LeafVisit<N>) -> Option<UserSlot> {
        let row = &self.state.apps[app];
        if row.leaf == visit.leaf {
            return Some(row.user);
        }
        self.user_of_stray(app, visit)
    }

    /// The record of the user of an application that moved away and is still listed here, if there
    /// is one; otherwise nothing is for it here.
    #[cold]
    fn user_of_stray(&mut self, app: AppSlot, visit: &LeafVisit<N>) -> Option<UserSlot> {
        let state = self.state;
        let mut users = state.queues[visit.leaf].as_leaf().users.iter();
        let name = &state.apps[app].submission.user_name;
        let user = users.find(|&&user| state.users[user].name == *name);
        if user.is_none() {
            self.observations.push(Observation::UserUnknown {
                leaf: visit.leaf,
                app,
                partition: self.partition,
                exclusivity: self.exclusivity,
            });
        }
        user.copied()
    }

    /// The user gate where something is remembered: a user whose record was dropped has no limit
    /// and gets nothing; that holds for a new record too until something changes.
    fn passes_cached_limit(
        &mut self,
        (app, slot): (AppSlot, UserSlot),
        held: &ResourceVector<N>,
        known: Option<&CachedUserLimit>,
        visit: &mut LeafVisit<N>,
        limits: &mut Limits<N>,
    ) -> bool {
        let state = self.state;
        let removed = state.users[slot].removed;
        let limit = match known {
            _ if removed => ResourceVector::NONE,
            Some(cached) => {
                self.note_served(app, slot, visit);
                cached.limit.narrow()
            }
            None => self.user_limit((app, slot), visit),
        };
        let mut cached = known.copied().unwrap_or(CachedUserLimit {
            version: state.queues[visit.leaf].as_leaf().users_version,
            limit: limit.widen(),
            can_assign: true,
            reserved: ResourceVector::NONE,
        });
        let held_in_all = held.widen();
        if !cached.can_assign && held_in_all.fits_in(&cached.reserved) {
            return false;
        }
        let passes = !removed && self.below_limit(slot, held, &limit, limits);
        if !passes && cached.reserved.fits_in(&held_in_all) {
            cached.can_assign = false;
            cached.reserved = held_in_all;
        }
        if known != Some(&cached) {
            self.note_cached_limit(slot, cached);
        }
        passes
    }

    fn note_cached_limit(&mut self, user: UserSlot, cached: CachedUserLimit) {
        self.observations.push(Observation::CachedUserLimit {
            user,
            partition: self.partition,
            exclusivity: self.exclusivity,
            cached: Box::new(cached),
        });
    }

    /// The limit of an application's user; the leaf's limit is published on the way.
    // As AbstractLeafQueue.computeUserLimitAndSetHeadroom.
    fn user_limit(
        &mut self,
        (app, slot): (AppSlot, UserSlot),
        visit: &mut LeafVisit<N>,
    ) -> ResourceVector<N> {
        let state = self.state;
        let user = &state.users[slot];
        let common = self.common_limit(visit);
        let limit = user_value(state, &common, Some(user));
        if !state.concurrent {
            self.hand_limit_to(slot, &limit, visit);
        }
        self.note_served(app, slot, visit);
        limit
    }

    /// Hands a user the limit, once in a version of the leaf's users.
    fn hand_limit_to(&mut self, slot: UserSlot, limit: &ResourceVector<N>, visit: &LeafVisit<N>) {
        let version = self.state.queues[visit.leaf].as_leaf().users_version;
        let (partition, exclusivity) = (self.partition, self.exclusivity);
        let handed = self.state.users[slot].part(partition).limit_version[exclusivity as usize];
        if handed != Some(version) && !self.was_notified_with_head(slot, visit) {
            self.note(|| Observation::LimitNotice {
                user: slot,
                limit: (*limit).into(),
                once: Some((partition, exclusivity, version)),
            });
        }
    }

    /// Whether the user was handed the limit in this version with all of the head.
    fn was_notified_with_head(&self, user: UserSlot, visit: &LeafVisit<N>) -> bool {
        let users = self.state.queues[visit.leaf].as_leaf();
        let head = &users.head;
        head.version == users.users_version
            && head.notified.contains(&(self.partition, self.exclusivity))
            && users.active[..head.len]
                .iter()
                .any(|&app| self.state.apps[app].user == user)
    }

    /// From now on the leaf's limit is the published one and the application has a headroom.
    pub(super) fn note_served(&mut self, app: AppSlot, user: UserSlot, visit: &mut LeafVisit<N>) {
        if let Some(handed) = visit.handed.take() {
            self.publish_limit(visit.leaf, &handed);
        }
        let state = self.state;
        let row = &state.apps[app];
        let provider = HeadroomProvider {
            leaf: visit.leaf,
            user,
            generation: state.users[user].generation,
        };
        // One that left an order behind when it moved may be looked at in both leaves.
        self.strays |= row.leaf != visit.leaf;
        if row.provider != Some(provider) || self.strays {
            self.note(|| Observation::Served { app, provider });
        }
    }

    /// The limit of a user of weight 1, from the leaf's cache or computed once a visit.
    pub(super) fn common_limit(&mut self, visit: &mut LeafVisit<N>) -> ResourceVector<N> {
        if let Some(limit) = visit.limit {
            return limit;
        }
        let (state, leaf, partition) = (self.state, visit.leaf, self.partition);
        let kind = self.exclusivity.limit_kind();
        let users = state.queues[leaf].as_leaf();
        let cached = users.parts[partition].limits[kind as usize].as_ref();
        let known = cached.filter(|(version, _)| {
            *version == users.users_version || is_planted(PlantedFlaw::UserLimitCacheIgnoresVersion)
        });
        // As UsersManager.removeUser, which keeps the computed limits.
        let stands = users.weights_moved_in == Some(users.users_version);
        let limit = match known {
            // Must equal [`compute_user_limit`], unless the limit stands whatever is computed now.
            Some((_, limit)) if FastPath::UserLimitCache.is_taken() || stands => {
                let limit = limit.narrow();
                debug_assert!(stands || limit == compute_user_limit(state, leaf, partition, kind));
                limit
            }
            _ => {
                // What is noted counts waiting users, as the reference does: once a version, on either path.
                visit.computed = known.is_none();
                compute_user_limit(state, leaf, partition, kind)
            }
        };
        visit.limit = Some(limit);
        // What a copy computed is good for this version, which ends with a container.
        if visit.computed && !state.copied {
            self.note_limit(visit);
            visit.computed = false;
        }
        limit
    }

    /// Notes the limit that was computed for this version of the leaf's users.
    fn note_limit(&mut self, visit: &LeafVisit<N>) {
        let Some(limit) = visit.limit else { return };
        let (partition, kind) = (self.partition, self.exclusivity.limit_kind());
        let version = self.state.queues[visit.leaf].as_leaf().users_version;
        self.note(|| Observation::UserLimit {
            leaf: visit.leaf,
            partition,
            kind,
            version,
            limit: limit.into(),
        });
    }

    /// Tests what the user has now, strictly, and how much would have to be unreserved.
    fn below_limit(
        &self,
        user: UserSlot,
        held: &ResourceVector<N>,
        limit: &ResourceVector<N>,
        limits: &mut Limits<N>,
    ) -> bool {
        let state = self.state;
        let cluster = &state.cluster.narrow();
        let user = &state.users[user];
        limits.must_unreserve = ResourceVector::NONE;
        let used = user.part(self.partition).used.narrow();
        let below = with_calculator!(state.calculator, calculator => {
            calculator.compare(cluster, &used, limit).is_le()
        });
        if below {
            return true;
        }
        let counted = state.continue_looking_on(self.partition);
        let left = user.part(counted).used.narrow() - *held;
        let below_without = state.calculator.compare(cluster, &left, limit).is_le();
        if state.settings.continue_looking && below_without {
            limits.must_unreserve = used - *limit;
            return true;
        }
        false
    }
}

const _: () = assert!(Exclusivity::Respect as usize == 0 && Exclusivity::Ignore as usize == 1);

/// What an application has reserved, where that counts for a pass over a partition.
#[inline]
fn reserved_by<const N: usize>(
    state: &State,
    app: AppSlot,
    partition: PartitionId,
) -> ResourceVector<N> {
    let counted = state.continue_looking_on(partition);
    state.apps[app].part(counted).reserved.narrow()
}
