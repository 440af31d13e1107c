//! Simple allocations: the fast path of committing a container that may be anywhere.
//!
//! # What
//!
//! Most proposals ask for a container anywhere, replace nothing and leave more outstanding under their key.
//! [`CommitBatch::check_simple`] looks at their rows once, for checking and applying.
//!
//! # When it is valid
//!
//! All of [`CommitBatch::find_simple`] holds. Anything else takes the general path, which finds the conflict if
//! there is one.
//!
//! # Why
//!
//! In a batch the general path settles the charges of ancestors for each container; this one checks them
//! against the smallest room ([`crate::accounting`]).
//!
//! # Cost
//!
//! The rows of application, node, leaf and user, each once.
//!
//! `tests/commit/deferred_charges.rs` and `tests/commit/property.rs` compare it with the general path.

use super::batch::CommitBatch;
use super::conflict::Conflict;
use super::sink::sink;
use super::validate::{is_within_user_limit, validate_allocation};
use crate::accounting::{ContainerPlacement, has_room_above, place};
use crate::commit::ledger::Ledger;
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{NameId, PartitionId, QueueSlot, UserSlot};
use crate::policy::Locality;
use crate::proposer::{Proposal, ProposalKind};
use crate::queue::{App, Exclusivity};
use crate::resource::ResourceVector;
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

/// Where a simple container counts.
pub(in crate::commit) struct SimpleAllocation {
    leaf: QueueSlot,
    user: UserSlot,
    /// Partition of its node.
    partition: PartitionId,
    /// Position of its key among those of the application.
    key: usize,
}

impl CommitBatch<'_> {
    /// Whether a proposal for a simple container holds; nothing where only the general path can say, and
    /// then nothing has changed.
    // Must equal [`Ledger::validate`] where it answers.
    #[inline]
    pub(super) fn check_simple<const N: usize>(
        &mut self,
        proposal: &Proposal,
    ) -> Option<Result<SimpleAllocation, Conflict>> {
        if !FastPath::SimpleAllocation.is_taken() {
            return None;
        }
        let found = self.find_simple::<N>(proposal);
        let simple = match found {
            None if self.has_deferred_charges() => self.find_settled::<N>(proposal),
            found => found,
        }?;
        debug_assert!(self.holds_generally::<N>(proposal, simple.leaf));
        // Last, because it notes the user's limit.
        let within = is_within_user_limit::<N>(
            &mut self.ledger.state,
            self.notices.as_deref_mut(),
            proposal.exclusivity,
            (simple.leaf, simple.user, simple.partition),
            &ResourceVector::NONE,
        );
        Some(within.then_some(simple).ok_or(Conflict::OverUserLimit))
    }

    fn has_deferred_charges(&self) -> bool {
        let charges = self.charges.as_deref();
        charges.is_some_and(|charges| !charges.are_none())
    }

    #[cold]
    fn find_settled<const N: usize>(&mut self, proposal: &Proposal) -> Option<SimpleAllocation> {
        self.charge_ancestors();
        self.find_simple::<N>(proposal)
    }

    #[inline(always)]
    fn find_simple<const N: usize>(&self, proposal: &Proposal) -> Option<SimpleAllocation> {
        if !is_simple(proposal) || self.ledger.leaves.skipped().holds(proposal.app) {
            return None;
        }
        let state = &self.ledger.state;
        let app = &state.apps[proposal.app];
        let (key, size) = (app.keys.find(proposal.key).ok()?, proposal.size.narrow());
        let partition = state.nodes[proposal.node].partition;
        if !takes::<N>(state, proposal) || !asks_on::<N>(state, (app, key), proposal, partition) {
            return None;
        }
        let leaf = app.leaf;
        let part = state.queues[leaf].part(partition);
        let has_room = state
            .calculator
            .fits_in(&(part.used.narrow::<N>() + size), &part.limit.narrow())
            && self.leaves_room(leaf, partition, &size);
        has_room.then_some(SimpleAllocation {
            leaf,
            user: app.user,
            partition,
            key,
        })
    }

    /// Whether every queue above a leaf surely has room for one more container.
    #[inline(always)]
    fn leaves_room<const N: usize>(
        &self,
        leaf: QueueSlot,
        partition: PartitionId,
        size: &ResourceVector<N>,
    ) -> bool {
        let state = &self.ledger.state;
        match self.charges.as_deref() {
            Some(charges) => {
                charges.are_on(partition) && charges.leave_room(state, leaf, partition, size)
            }
            None => has_room_above(state, leaf, partition, size),
        }
    }

    /// Whether the general path finds no conflict before it comes to the user, with the use of the ancestors
    /// as it will be after settling.
    // Must equal [`Ledger::validate`].
    fn holds_generally<const N: usize>(&self, proposal: &Proposal, leaf: QueueSlot) -> bool {
        let state = &self.ledger.state;
        let partition = state.nodes[proposal.node].partition;
        let within = |queue: QueueSlot| {
            let used = match self.charges.as_deref() {
                Some(charges) => charges.use_of(state, queue, partition),
                None => state.queues[queue].part(partition).used.get(),
            };
            let limit = state.queues[queue].part(partition).limit.get();
            let used = used + proposal.size.get();
            state.calculator.fits_in(&used, &limit)
        };
        validate_allocation::<N>(state, proposal).is_ok() && state.chain(leaf).all(within)
    }

    /// Places a simple container that holds.
    // Must equal [`Ledger::apply_allocation`].
    #[inline]
    pub(super) fn apply_simple<const N: usize>(
        &mut self,
        proposal: &Proposal,
        simple: &SimpleAllocation,
    ) {
        let size = proposal.size.narrow::<N>();
        let placement = ContainerPlacement {
            counted: proposal.counted,
            ..ContainerPlacement::anywhere(proposal.app, simple.key, proposal.node, size)
        };
        let charges = self.charges.as_deref_mut();
        let (state, mut sink) = sink::<true>(self.ledger, charges, proposal, None);
        let ended = place(state, &placement, &mut sink);
        debug_assert!(!ended, "more than one was outstanding");
        let Ledger { leaves, state, .. } = &mut *self.ledger;
        leaves.skipped_mut().join_idle(state, simple.leaf);
    }
}

/// Whether a proposal is for a container that may be anywhere and replaces nothing.
#[inline(always)]
fn is_simple(proposal: &Proposal) -> bool {
    proposal.kind == ProposalKind::Allocate
        && proposal.locality == Locality::Any
        && proposal.key.updates.is_none()
        && proposal.exclusivity == Exclusivity::Respect
        && proposal.reserved.is_none()
        && proposal.exchange.is_none()
        && proposal.kill.is_empty()
        && !injected(Mutant::SkipQueueCharge)
}

/// Whether application and user are those of the proposal, and more than one container is asked under a
/// key as the proposal says.
#[inline(always)]
fn asks_on<const N: usize>(
    state: &State,
    (app, key): (&App, usize),
    proposal: &Proposal,
    partition: PartitionId,
) -> bool {
    let (asks, user) = (&app.keys[key], &state.users[app.user]);
    app.generation == proposal.generation
        && !app.stage.is_over()
        && !app.waits_for_master()
        && asks.known
        && asks.constrained.is_none()
        && asks.at(NameId::ANY).is_some_and(|ask| {
            ask.count > 1
                && ask.size.narrow::<N>() == proposal.size.narrow()
                && ask.partition.unwrap_or(PartitionId::DEFAULT) == partition
        })
        && !user.removed
        && user.leaf == app.leaf
}

/// Whether the node of a proposal is the one that it saw, and has room.
#[inline(always)]
fn takes<const N: usize>(state: &State, proposal: &Proposal) -> bool {
    let node = &state.nodes[proposal.node];
    node.incarnation == proposal.incarnation
        && node.takes_containers()
        && (node.reserved.is_none() || is_planted(PlantedFlaw::SimpleAllocationIgnoresReservation))
        && state
            .calculator
            .fits_in(&proposal.size.narrow::<N>(), &node.free.narrow())
        && state.has_cores(&proposal.size.narrow::<N>(), &node.free.narrow())
}
