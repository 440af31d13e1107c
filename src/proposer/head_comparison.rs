//! The comparison of the skippable head: builds with assertions look at its applications as the slow path does.
//!
//! A head of at most [`COMPARED`] applications is walked as a whole. Of a longer one so many in a row are walked;
//! the version of the leaf's users says from which on, so that each is looked at from time to time.
//!
//! Tests: `tests/commit/skippable_head.rs`.

use super::assignment::{Observation, SkipReason};
use super::leaf_visit::LeafVisit;
use super::skippable_head::HeadView;
use super::walk::{NOTHING_YET, Pass, WalkStep};
use crate::id::{AppSlot, PartitionId, QueueSlot};
use crate::policy::{Limits, user_value};
use crate::queue::Exclusivity;
use crate::resource::PackedVector;
use crate::snapshot::State;

/// Most applications that one comparison looks at.
const COMPARED: usize = 64;

/// Of a limit that is handed out: the leaf, the partition, the mode and the version of the users.
type NoticeScope = (QueueSlot, PartitionId, Exclusivity, u64);

impl<const N: usize> Pass<'_, N> {
    /// Whether a look at each application of the head finds nothing, stops nobody behind it, moves no counter, and
    /// hands out the limits that the pass hands out. `before`: the visit as it was before the head was skipped, and
    /// the number of observations then.
    // Must equal a look at each application from the first one on.
    pub(super) fn head_gets_nothing(
        &mut self,
        view: &HeadView,
        (mut visit, before): (LeafVisit<N>, usize),
        limits: &Limits<N>,
    ) -> bool {
        let leaf = visit.leaf;
        // What is looked at is noted behind what the pass observed, so that nothing is allocated for it.
        let (mut seen, mut outcome) = (std::mem::take(self.observations), NOTHING_YET);
        let end = seen.len();
        let mut pass = self.fork(&mut seen, &mut outcome);
        let (mut limits, mut nobody) = (*limits, HeadView::CLOSED);
        let apps = compared_apps(self.state, leaf, view.len);
        let check_queue = !self.by_lower_bound;
        let found = pass.applications(apps, &mut visit, &mut limits, &mut nobody, check_queue);
        let (skipped, looked) = (&seen[before..end], &seen[end..]);
        let covered = looked
            .iter()
            .all(|look| self.is_covered(leaf, look, skipped));
        seen.truncate(end);
        *self.observations = seen;
        covered && matches!(found, WalkStep::Skip(SkipReason::Other))
    }

    /// Whether what a look observed is known, or among what the pass observed that skipped the head.
    fn is_covered(&self, leaf: QueueSlot, look: &Observation, skipped: &[Observation]) -> bool {
        let state = self.state;
        match *look {
            Observation::Served { app, provider } => state.apps[app].provider == Some(provider),
            Observation::LimitNotice {
                user,
                ref limit,
                once: Some((partition, exclusivity, version)),
            } => skipped.iter().any(|all| {
                handed_to_head(all).is_some_and(|(scope, common)| {
                    let expected = user_value(state, &common.get(), Some(&state.users[user]));
                    scope == (leaf, partition, exclusivity, version) && limit.get() == expected
                })
            }),
            // Where proposers pass over copies, limits of a version may be computed by any of them.
            Observation::UserLimit { .. } if state.concurrent => true,
            Observation::PublishedLimit { .. } | Observation::UserLimit { .. } => {
                skipped.contains(look)
            }
            // The asks are too large for every node, and nothing reads what is counted.
            Observation::Counters { app, .. } => self.too_large(&state.apps[app]).is_some(),
            _ => false,
        }
    }
}

/// The limit that was handed to all of a head, and its scope.
fn handed_to_head(seen: &Observation) -> Option<(NoticeScope, &PackedVector)> {
    match seen {
        &Observation::HeadNotice {
            leaf,
            partition,
            exclusivity,
            version,
            ref limit,
        } => Some(((leaf, partition, exclusivity, version), limit)),
        _ => None,
    }
}

/// The applications of a head that are looked at.
fn compared_apps(state: &State, leaf: QueueSlot, len: usize) -> &[AppSlot] {
    let users = state.queues[leaf].as_leaf();
    let version = usize::try_from(users.users_version).unwrap_or_default();
    let first = match len.saturating_sub(COMPARED) {
        0 => 0,
        last => version % (last + 1),
    };
    &users.active[first..len.min(first + COMPARED)]
}
