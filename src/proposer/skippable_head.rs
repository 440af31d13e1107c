//! The skippable head of a leaf's order in a pass: whether it still holds, and who joins it.
//!
//! [`crate::accounting`] says what the head is and when it is valid. A pass changes nothing; it observes the
//! limit that all of the head are handed, and the head that it found.
//!
//! An application joins when a pass looked at it, handed it its limit in this version of the leaf's users,
//! and gave it nothing for a reason that lasts.
//!
//! Builds with assertions look at those that are skipped: `head_comparison`.
//!
//! Tests: `tests/commit/skippable_head.rs`, `tests/simulation/fast_paths.rs`.

use super::assignment::Observation;
use super::leaf_visit::LeafVisit;
use super::simple_ask::simple_ask_of;
use super::walk::Pass;
use crate::accounting::{HeadGrowth, asks_nothing, may_join};
use crate::fast_path::FastPath;
use crate::id::{AppSlot, PartitionId};
use crate::policy::{Limits, is_surely_over, surely_over_from, weighted_value};
use crate::queue::{App, Bound, Exclusivity, Floor};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// The head as a pass finds it, and as it grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadView {
    pub(super) len: usize,
    pub(super) bound: Option<Bound>,
    /// Whether nobody joins any more in this pass.
    pub(super) closed: bool,
}

impl HeadView {
    /// Nobody, and nobody joins.
    pub(super) const CLOSED: Self = Self {
        len: 0,
        bound: None,
        closed: true,
    };

    /// Whether what is asked at the head, for which no node is large enough, is within the
    /// headroom; otherwise it stops those behind.
    pub(super) fn fits<const N: usize>(&self, state: &State, limits: &Limits<N>) -> bool {
        self.bound.is_none_or(|bound| {
            let largest = bound.largest.narrow();
            state.calculator.fits_in(&largest, &limits.headroom)
        })
    }
}

impl<const N: usize> Pass<'_, N> {
    /// The applications at the head, when each was handed its limit in an earlier version or by a
    /// look in this one.
    // Must equal a look at each application from the first one on.
    pub(super) fn skippable_head(&self, visit: &LeafVisit<N>) -> HeadView {
        if !FastPath::SkippableHead.is_taken() {
            return HeadView::CLOSED;
        }
        let users = self.state.queues[visit.leaf].as_leaf();
        let head = &users.head;
        let here = Some((self.partition, self.exclusivity));
        let bound = head.bound;
        debug_assert!(head.next > 0 || bound.is_none(), "a bound of nobody");
        let elsewhere =
            bound.is_some_and(|bound| Some((bound.partition, bound.exclusivity)) != here);
        let handed = users.users_version > head.since || head.grown == here;
        if head.next > 0 && (elsewhere || !handed) {
            return HeadView::CLOSED;
        }
        HeadView {
            len: head.next,
            bound,
            closed: false,
        }
    }

    /// Whether those at the head that ask still get nothing, and do not stop those behind them.
    pub(super) fn holds(
        &mut self,
        view: &HeadView,
        visit: &mut LeafVisit<N>,
        limits: &Limits<N>,
    ) -> bool {
        let Some(bound) = view.bound else {
            return true;
        };
        let state = self.state;
        if !may_be_too_large(state, &bound) {
            return false;
        }
        let (calculator, cluster) = (state.calculator, state.cluster.narrow());
        if let Some(floor) = bound.floor
            && !is_surely_over::<N>(state, visit.leaf, self.partition, &floor)
        {
            let limit = weighted_value(state, &self.common_limit(visit), floor.weight);
            if !calculator
                .compare(&cluster, &floor.used.narrow(), &limit)
                .is_gt()
            {
                return false;
            }
        }
        view.fits(state, limits)
    }

    /// Hands all of the head their limit, unless that happened in this version.
    pub(super) fn notify_head(&mut self, first: AppSlot, visit: &mut LeafVisit<N>) {
        let state = self.state;
        let users = state.queues[visit.leaf].as_leaf();
        let (version, here) = (users.users_version, (self.partition, self.exclusivity));
        let head = &users.head;
        let handed = head.version == version && head.notified.contains(&here);
        if !state.concurrent && version > head.since && !handed {
            let limit = self.common_limit(visit).into();
            let (leaf, (partition, exclusivity)) = (visit.leaf, here);
            self.note(|| Observation::HeadNotice {
                leaf,
                partition,
                exclusivity,
                version,
                limit,
            });
        }
        self.note_served(first, state.apps[first].user, visit);
    }

    /// Observes another head than the leaf has.
    pub(super) fn note_head(&mut self, view: &HeadView, visit: &LeafVisit<N>) {
        let version = self.state.queues[visit.leaf].as_leaf().users_version;
        self.observations.push(Observation::HeadGrown {
            leaf: visit.leaf,
            growth: HeadGrowth {
                len: view.len,
                version,
                grown: (self.partition, self.exclusivity),
                bound: view.bound.map(Box::new),
            },
        });
    }

    /// An application that got nothing joins the head, when that lasts.
    pub(super) fn join(&self, view: &mut HeadView, app: AppSlot, visit: &LeafVisit<N>) {
        let row = &self.state.apps[app];
        if view.closed || !may_join(self.state, visit.leaf, app) {
            return;
        }
        if asks_nothing(row) {
            view.len += 1;
        } else if let Some(largest) = self.too_large(row) {
            let bound = view.bound.get_or_insert(self.unbound());
            bound.largest = bound.largest.component_max(&largest);
            view.len += 1;
        }
    }

    /// An application whose user is at the limit joins the head.
    pub(super) fn join_at_limit(&self, view: &mut HeadView, app: AppSlot, visit: &LeafVisit<N>) {
        let row = &self.state.apps[app];
        let user = &self.state.users[row.user];
        let plain =
            self.partition == PartitionId::DEFAULT && self.exclusivity == Exclusivity::Respect;
        let floor = view.bound.and_then(|bound| bound.floor);
        let other = floor.is_some_and(|floor| floor.weight.to_bits() != user.weight.to_bits());
        if view.closed || !plain || other || !may_join(self.state, visit.leaf, app) {
            return;
        }
        let used = user.part(self.partition).used.get();
        let used = floor.map_or(used, |floor| floor.used.component_min(&used));
        let (state, weight) = (self.state, user.weight);
        let of = (weight, &used.narrow::<N>());
        let bound = view.bound.get_or_insert(self.unbound());
        bound.floor = Some(Floor {
            weight,
            used,
            surely_from: surely_over_from(state, visit.leaf, self.partition, of),
            epoch: state.epoch,
        });
        view.len += 1;
    }

    /// The largest of what an application asks when no node is large enough for any of it, and nothing reads what
    /// looks at it count; known only where nodes are indexed.
    pub(super) fn too_large(&self, app: &App) -> Option<ResourceVector> {
        let index = self.candidates.index()?;
        if is_any_shared(self.state) {
            return None;
        }
        let mut largest = ResourceVector::NONE;
        for asks in app.open_keys() {
            let size = simple_ask_of(self.state, app, asks)?.size.get();
            if self.state.calculator.fits_in(&size, index.largest()) {
                return None;
            }
            largest = largest.component_max(&size);
        }
        Some(largest)
    }

    fn unbound(&self) -> Bound {
        Bound {
            partition: self.partition,
            exclusivity: self.exclusivity,
            floor: None,
            largest: ResourceVector::NONE,
        }
    }
}

/// Whether applications whose asks are too large may be in a head of this bound.
pub(super) fn may_be_too_large(state: &State, bound: &Bound) -> bool {
    bound.largest == ResourceVector::NONE || !is_any_shared(state)
}

/// Whether a partition is shared: how often an ask was looked at decides when it may go there.
// As RegularContainerAllocator.preCheckForNodeCandidateSet, which counts missed opportunities.
fn is_any_shared(state: &State) -> bool {
    let mut others = state
        .partition_ids()
        .filter(|&id| id != PartitionId::DEFAULT);
    others.any(|id| state.partitions[id].exists && !state.partitions[id].exclusive)
}
