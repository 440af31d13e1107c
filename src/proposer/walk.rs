//! The walk down the queues: from root to the most deserving leaf that can be served.
//!
//! Tests: the recordings of `tests/parity`, which `cli/tests/parity.rs` plays on the engine.

use std::iter;

use super::assignment::{Observation, Outcome, SkipReason};
use super::candidates::Candidates;
use super::key_visit::KeyVisit;
use super::watch::{Step, Watch};
use crate::id::{NodeSlot, PartitionId, QueueSlot};
use crate::policy::{
    Limits, child_limit, first_child, order_others, passes_maximum, visited_children,
};
use crate::queue::Exclusivity;
use crate::resource::{MAX_TYPES, ResourceVector, VCORES, with_calculator, with_width};
use crate::snapshot::State;

/// What a queue or application answers during a pass: a few bytes, for it goes up every level.
#[derive(Clone, Copy)]
pub(super) enum WalkStep {
    /// A container or reservation, kept in the pass.
    Proposal,
    /// A reservation to give up, kept in the pass.
    GiveUp,
    /// Nothing.
    Skip(SkipReason),
}

/// What a pass holds before it has found something.
pub(super) const NOTHING_YET: Outcome = Outcome::Skipped(SkipReason::Nothing);

/// One pass: what it reads and what it has observed so far.
pub(super) struct Pass<'a, const N: usize> {
    pub(super) state: &'a State,
    pub(super) candidates: &'a Candidates<'a>,
    pub(super) partition: PartitionId,
    pub(super) exclusivity: Exclusivity,
    pub(super) observations: &'a mut Vec<Observation>,
    /// What was found, once something is; made where the caller gets it.
    pub(super) outcome: &'a mut Outcome,
    watch: Option<&'a mut dyn Watch>,
    /// Whether an application of another leaf was looked at.
    pub(super) strays: bool,
    /// Whether the leaf is known to be below its maximum, with at least the headroom of its limits.
    pub(super) by_lower_bound: bool,
}

/// Looks for the next container to place on the candidates, from root downwards; what it changes
/// by looking is added to `observations`.
// As CapacityScheduler.allocateOrReserveNewContainers, one of its two passes.
pub fn propose(
    state: &State,
    candidates: &Candidates<'_>,
    exclusivity: Exclusivity,
    observations: &mut Vec<Observation>,
) -> Outcome {
    propose_watched(state, candidates, exclusivity, observations, None)
}

/// The same as [`propose`], with somebody who watches its steps.
pub fn propose_watched(
    state: &State,
    candidates: &Candidates<'_>,
    exclusivity: Exclusivity,
    observations: &mut Vec<Observation>,
    watch: Option<&mut dyn Watch>,
) -> Outcome {
    with_width!(state.calculator, N => {
        propose_in::<N>(state, candidates, exclusivity, observations, watch)
    })
}

fn propose_in<const N: usize>(
    state: &State,
    candidates: &Candidates<'_>,
    exclusivity: Exclusivity,
    observations: &mut Vec<Observation>,
    watch: Option<&mut dyn Watch>,
) -> Outcome {
    let partition = candidates.partition_of(state);
    let handed = match exclusivity {
        Exclusivity::Respect => state.total(partition),
        Exclusivity::Ignore => state.total(PartitionId::DEFAULT),
    };
    let mut outcome = NOTHING_YET;
    let mut pass = Pass::<N> {
        state,
        candidates,
        partition,
        exclusivity,
        observations,
        outcome: &mut outcome,
        // The object may live longer than the pass does; only a cast makes it shorter.
        watch: watch.map(|watch| -> &mut dyn Watch { watch }),
        strays: false,
        by_lower_bound: false,
    };
    let found = if pass.pass_by_lower_bound() {
        WalkStep::Proposal
    } else {
        pass.queue(State::ROOT, &mut Limits::new(handed.narrow()))
    };
    pass.finish(found);
    outcome
}

/// Tries to turn the reservation on a node into a container, or keeps it, or gives it up; what it
/// changes by looking is added to `observations`.
// As CapacityScheduler.allocateFromReservedContainer: the limit is that of the default partition.
pub fn propose_reserved(
    state: &State,
    node: NodeSlot,
    observations: &mut Vec<Observation>,
) -> Outcome {
    let candidates = Candidates::node(node);
    let row = &state.nodes[node];
    let mut outcome = NOTHING_YET;
    let mut pass = Pass::<MAX_TYPES> {
        state,
        candidates: &candidates,
        partition: row.partition,
        exclusivity: Exclusivity::Respect,
        observations,
        outcome: &mut outcome,
        watch: None,
        strays: false,
        by_lower_bound: false,
    };
    let found = match row.reserved {
        Some(reservation) => {
            let leaf = state.apps[reservation.app].leaf;
            pass.leaf(leaf, &mut Limits::new(state.total(PartitionId::DEFAULT)))
        }
        None => WalkStep::Skip(SkipReason::Other),
    };
    pass.finish(found);
    outcome
}

impl<const N: usize> Pass<'_, N> {
    /// A pass from the same place on, that observes for itself.
    pub(super) fn fork<'b>(
        &'b self,
        observations: &'b mut Vec<Observation>,
        outcome: &'b mut Outcome,
    ) -> Pass<'b, N> {
        Pass {
            state: self.state,
            candidates: self.candidates,
            partition: self.partition,
            exclusivity: self.exclusivity,
            observations,
            outcome,
            watch: None,
            strays: self.strays,
            by_lower_bound: false,
        }
    }

    fn finish(self, found: WalkStep) {
        debug_assert!(matches!(
            (found, &*self.outcome),
            (WalkStep::Proposal, Outcome::Proposed(_))
                | (WalkStep::GiveUp, Outcome::GiveUp(_))
                | (WalkStep::Skip(_), _)
        ));
        if let WalkStep::Skip(reason) = found {
            *self.outcome = Outcome::Skipped(reason);
        }
    }

    /// Notes an observation, made where it stays: pushed, it would be put together elsewhere and read
    /// back at once, which waits until it is written.
    #[inline]
    pub(super) fn note(&mut self, observation: impl FnOnce() -> Observation) {
        self.observations.extend(iter::once_with(observation));
    }

    /// Reports to the watch that a step has ended, if there is one.
    #[inline]
    pub(super) fn ended(&mut self, step: Step) {
        if let Some(watch) = &mut self.watch {
            watch.ended(step);
        }
    }

    /// Reports the published limit of a leaf to the watch, if there is one.
    #[inline]
    pub(super) fn watch_limit(&mut self, leaf: QueueSlot, limit: &ResourceVector<N>) {
        if let Some(watch) = &mut self.watch {
            watch.limit_published(leaf, (*limit).into());
        }
    }

    /// Reports that a key was looked at to the watch, where there is one.
    #[inline]
    pub(super) fn looked(&mut self, visit: &KeyVisit<'_, N>) {
        if let Some(watch) = &mut self.watch {
            watch.looked(visit.slot, visit.asks.key, visit.tried);
        }
    }

    pub(super) fn queue(&mut self, queue: QueueSlot, limits: &mut Limits<N>) -> WalkStep {
        if self.state.queues[queue].is_leaf() {
            self.leaf(queue, limits)
        } else {
            self.parent(queue, limits)
        }
    }

    /// The partition on which that is asked what the pass serves.
    #[inline]
    pub(super) fn asked_on(&self) -> PartitionId {
        match self.exclusivity {
            Exclusivity::Respect => self.partition,
            Exclusivity::Ignore => PartitionId::DEFAULT,
        }
    }

    /// Whether requests of a queue may and want to use the partition.
    pub(super) fn demand(&self, queue: QueueSlot) -> Result<(), SkipReason> {
        let row = &self.state.queues[queue];
        if self.exclusivity == Exclusivity::Respect && !row.can_access(self.partition) {
            return Err(SkipReason::NoAccess);
        }
        let pending = row.part(self.asked_on()).pending.narrow::<N>();
        let cluster = self.state.cluster.narrow();
        let wanted = with_calculator!(self.state.calculator, calculator => {
            calculator.above_none(&cluster, &pending)
        });
        wanted.then_some(()).ok_or(SkipReason::NothingPending)
    }

    /// A parent: its children in order, the first that can be served wins.
    // As AbstractParentQueue.assignContainers.
    fn parent(&mut self, queue: QueueSlot, limits: &mut Limits<N>) -> WalkStep {
        if let Err(reason) = self.demand(queue) {
            return WalkStep::Skip(reason);
        }
        let state = self.state;
        if self
            .candidates
            .single()
            .is_some_and(|node| !has_room::<N>(state, node))
        {
            return WalkStep::Skip(SkipReason::NodeFull);
        }
        // The reference reads metrics here, which know memory and vcores only.
        let reserved = state.queues[queue].reserved_by_present.narrow::<N>();
        let could = ResourceVector::build(|i| if i <= VCORES { reserved[i] } else { 0 });
        if !passes_maximum(
            state,
            queue,
            self.partition,
            limits,
            &could,
            self.exclusivity,
        ) {
            return WalkStep::Skip(SkipReason::AtMaximum);
        }
        let mut reason = SkipReason::Nothing;
        let (partition, mode) = (self.partition, self.exclusivity);
        let mut visit = |child| self.child(queue, child, limits, &mut reason);
        if let Some(mut children) = visited_children(state, queue, partition, mode) {
            return children.find_map(visit).unwrap_or(WalkStep::Skip(reason));
        }
        // Mostly the first child is served; the others are put in order only when it is not.
        let Some(first) = first_child(state, queue, partition, mode) else {
            return WalkStep::Skip(reason);
        };
        if let Some(found) = visit(first) {
            return found;
        }
        let mut others = order_others(state, queue, partition, mode, first).into_iter();
        others.find_map(visit).unwrap_or(WalkStep::Skip(reason))
    }

    /// What one child proposes, if anything; otherwise what its siblings must know is noted.
    fn child(
        &mut self,
        parent: QueueSlot,
        child: QueueSlot,
        limits: &mut Limits<N>,
        reason: &mut SkipReason,
    ) -> Option<WalkStep> {
        let state = self.state;
        let mut below = child_limit(state, parent, child, self.partition, limits, true);
        match self.queue(child, &mut below) {
            WalkStep::Skip(SkipReason::QueueLimit) => {
                *reason = SkipReason::QueueLimit;
                let blocked = if state.queues[child].is_leaf() {
                    below.headroom
                } else {
                    below.blocked
                };
                let calculator = state.calculator;
                let cluster = state.cluster.narrow();
                limits.blocked += calculator.max(&cluster, &blocked, &ResourceVector::NONE);
                None
            }
            WalkStep::Skip(_) | WalkStep::GiveUp => None,
            WalkStep::Proposal => Some(WalkStep::Proposal),
        }
    }
}

/// Whether a node takes anything new: unreserved, and the smallest allocation fits.
fn has_room<const N: usize>(state: &State, node: NodeSlot) -> bool {
    let node = &state.nodes[node];
    let mut room = node.free.narrow::<N>();
    if !node.killable.is_empty() {
        room += node.killable_total().narrow();
    }
    node.reserved.is_none() && state.calculator.fits_in(&state.minimum.narrow(), &room)
}
