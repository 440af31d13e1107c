//! Validation: whether a proposal still holds against the live state.
//!
//! Tests: `tests/commit/bad_proposals.rs`.

use super::conflict::Conflict;
use super::deferred::PendingNotices;
use crate::accounting::renew_bounds;
use crate::cluster::{Killable, Node};
use crate::commit::leaves::records::user_limit;
use crate::commit::ledger::Ledger;
use crate::commit::nodes::registration::is_registered;
use crate::id::{NameId, NodeSlot, PartitionId, QueueSlot, UserSlot};
use crate::policy::{Locality, compute_user_limit, constraint_holds, is_granted, user_value};
use crate::proposer::{Proposal, ProposalKind};
use crate::queue::{Exclusivity, LimitKind};
use crate::resource::ResourceVector;
use crate::snapshot::State;
use crate::sync::{Mutant, injected};

impl Ledger {
    /// Whether a proposal holds, in the reference's order of tests.
    // As FiCaSchedulerApp.accept, AbstractLeafQueue.accept, AbstractCSQueue.accept.
    pub(in crate::commit) fn validate<const N: usize>(
        &mut self,
        proposal: &Proposal,
        notices: Option<&mut PendingNotices>,
    ) -> Result<(), Conflict> {
        let app = &self.state.apps[proposal.app];
        let gone = app.generation != proposal.generation || app.stage.is_over();
        if gone && !injected(Mutant::CommitForEndedApp) {
            return Err(Conflict::AppGone);
        }
        if !is_registered(&self.state, proposal.node, proposal.incarnation)
            && !injected(Mutant::SkipRegistrationCheck)
        {
            return Err(Conflict::NodeGone);
        }
        if !proposal
            .kill
            .iter()
            .all(|victim| self.may_kill(proposal.node, victim))
        {
            return Err(Conflict::VictimGone);
        }
        let node = &self.state.nodes[proposal.node];
        let may_borrow =
            proposal.exclusivity == Exclusivity::Respect || may_borrow(&self.state, node.partition);
        if !node.takes_containers() || !may_borrow {
            return Err(Conflict::NodeState);
        }
        let leaf = app.leaf;
        match proposal.kind {
            ProposalKind::Allocate => validate_allocation::<N>(&self.state, proposal)?,
            ProposalKind::Reserve => validate_reservation(&self.state, proposal)?,
        }
        if proposal.reserved.is_some() {
            return Ok(());
        }
        validate_limits::<N>(&mut self.state, proposal, leaf, notices)
    }

    /// Whether a container lives on a node and is marked to be killed there: only what it takes is room.
    fn may_kill(&self, node: NodeSlot, victim: &Killable) -> bool {
        let mut marked = self.state.nodes[node].killable.iter();
        marked.any(|known| (known.container, known.size) == (victim.container, victim.size))
            && self.live_container(victim.container).is_some()
    }
}

/// Whether a proposal is within the limits of its user, its leaf and the queues above.
fn validate_limits<const N: usize>(
    state: &mut State,
    proposal: &Proposal,
    leaf: QueueSlot,
    notices: Option<&mut PendingNotices>,
) -> Result<(), Conflict> {
    let partition = state.nodes[proposal.node].partition;
    let user = state.apps[proposal.app].user;
    if state.users[user].removed {
        return Err(Conflict::OverUserLimit);
    }
    // A reservation gives nothing up.
    let allocates = proposal.kind == ProposalKind::Allocate;
    let mut released = ResourceVector::<N>::NONE;
    if allocates {
        for victim in &proposal.kill {
            released += victim.size.narrow();
        }
        if let Some(exchange) = &proposal.exchange {
            released += exchange.size.narrow();
        }
    }
    let place = (leaf, user, partition);
    if !is_within_user_limit(state, notices, proposal.exclusivity, place, &released) {
        return Err(Conflict::OverUserLimit);
    }
    let calculator = state.calculator;
    let net = proposal.size.narrow() - released;
    for queue in state.chain(leaf) {
        let part = state.queues[queue].part(partition);
        let most = state.most_of(queue, partition, proposal.exclusivity);
        if injected(Mutant::SkipAncestorMaximum) && queue != leaf {
            break;
        }
        if !calculator.fits_in(&(part.used.narrow() + net), &most) {
            return Err(Conflict::OverQueueLimit);
        }
    }
    Ok(())
}

/// Whether a user, relieved of what a proposal releases, is within the limit. The limit is noted with the user: at
/// once, or where `notices` may wait, as it is when they are settled.
// As AbstractLeafQueue.accept.
#[inline(always)]
pub(super) fn is_within_user_limit<const N: usize>(
    state: &mut State,
    notices: Option<&mut PendingNotices>,
    exclusivity: Exclusivity,
    (leaf, user, partition): (QueueSlot, UserSlot, PartitionId),
    released: &ResourceVector<N>,
) -> bool {
    if let Some(notices) = notices
        && state.concurrent
        && exclusivity == Exclusivity::Respect
    {
        // Whether the check takes its fast path or not.
        notices.add(state, user, partition);
        if is_granted::<N>(state, leaf, partition, &state.users[user]) {
            return true;
        }
        let limit = weighted_limit(state, leaf, user, partition);
        return is_below_limit(state, user, partition, released, &limit);
    }
    let kind = exclusivity.limit_kind();
    let limit = user_limit(state, leaf, Some(user), partition, kind);
    is_below_limit(state, user, partition, released, &limit)
}

/// The limit of a user, which is noted later.
#[inline(never)]
fn weighted_limit<const N: usize>(
    state: &mut State,
    leaf: QueueSlot,
    user: UserSlot,
    partition: PartitionId,
) -> ResourceVector<N> {
    renew_bounds(state, leaf, partition);
    let limit = compute_user_limit(state, leaf, partition, LimitKind::Respect);
    user_value(state, &limit, Some(&state.users[user]))
}

fn is_below_limit<const N: usize>(
    state: &State,
    user: UserSlot,
    partition: PartitionId,
    released: &ResourceVector<N>,
    limit: &ResourceVector<N>,
) -> bool {
    let used = state.users[user].part(partition).used.narrow() - *released;
    let beyond = state
        .calculator
        .compare(&state.cluster.narrow(), &used, limit);
    beyond.is_le() || injected(Mutant::SkipUserLimitCheck)
}

/// Whether idle capacity of a partition may be borrowed. A node may have come to another one since the proposal.
fn may_borrow(state: &State, partition: PartitionId) -> bool {
    partition != PartitionId::DEFAULT && !state.partitions[partition].exclusive
}

pub(super) fn validate_allocation<const N: usize>(
    state: &State,
    proposal: &Proposal,
) -> Result<(), Conflict> {
    let node = &state.nodes[proposal.node];
    let app = &state.apps[proposal.app];
    let asks = app.key(proposal.key).filter(|asks| asks.known);
    let Some(asks) = asks.filter(|asks| asks.count(NameId::ANY) > 0) else {
        return Err(Conflict::AskGone);
    };
    if !asks.takes_port(node.name.port()) {
        return Err(Conflict::AskGone);
    }
    if !constraint_holds(state, proposal.app, asks, node) {
        return Err(Conflict::Constraint);
    }
    let level_gone = match proposal.locality {
        Locality::Any => false,
        Locality::Rack => asks.count(node.rack) <= 0,
        Locality::Node => asks.count(node.rack) <= 0 || asks.count(node.host) <= 0,
    };
    if level_gone {
        return Err(Conflict::AskGone);
    }
    if !is_reserved_as_seen(node, proposal) {
        return Err(Conflict::ReservationChanged);
    }
    if let Some(exchange) = &proposal.exchange {
        // Only the application's own reservation, as large as it is, counts against what its queues
        // use.
        let held = state.nodes[exchange.node].reserved;
        let given_up = Some((proposal.app, exchange.number, exchange.size));
        if held.map(|held| (held.app, held.number, held.size)) != given_up {
            return Err(Conflict::ExchangeGone);
        }
    }
    if !fits_after_kills::<N>(state, node, proposal) && !injected(Mutant::SkipRoomCheck) {
        return Err(Conflict::DoesNotFit);
    }
    Ok(())
}

/// Whether the reservation on a node is the one that a proposal fulfils, or there is none and it fulfils none.
fn is_reserved_as_seen(node: &Node, proposal: &Proposal) -> bool {
    let own = node.reserved.filter(|held| held.app == proposal.app);
    let expected = own.map(|held| held.number);
    let of_another_key = own.is_some_and(|held| held.key != proposal.key);
    let other = proposal.reserved != expected || of_another_key;
    let of_another_app = node.reserved.is_some() && expected.is_none();
    !(of_another_app || other && !injected(Mutant::FulfilOtherReservation))
}

/// Whether a node has room for a container once those were killed that a proposal names.
fn fits_after_kills<const N: usize>(state: &State, node: &Node, proposal: &Proposal) -> bool {
    let free = node.free.narrow::<N>();
    let killed = proposal.kill.iter();
    let room = killed.fold(free, |room, victim| room + victim.size.narrow());
    let size = match node.reserved.filter(|_| proposal.reserved.is_some()) {
        Some(held) if state.concurrent => {
            let held = held.size.narrow();
            proposal.size.narrow().component_max(&held)
        }
        _ => proposal.size.narrow(),
    };
    state.calculator.fits_in(&size, &room) && state.has_cores(&size, &room)
}

fn validate_reservation(state: &State, proposal: &Proposal) -> Result<(), Conflict> {
    let asks = state.apps[proposal.app].key(proposal.key);
    if asks.is_none_or(|asks| !asks.known || asks.count(NameId::ANY) <= 0) {
        return Err(Conflict::AskGone);
    }
    let node = &state.nodes[proposal.node];
    let held = node.reserved;
    let held = held.map(|held| (held.app, held.number, held.key));
    let expected = proposal.reserved;
    let expected = expected.map(|number| (proposal.app, number, proposal.key));
    if held != expected {
        return Err(Conflict::ReservationChanged);
    }
    // One that is kept may be on a node that has become smaller since.
    let ever = state
        .calculator
        .fits_in(&proposal.size.get(), &node.total.get());
    if expected.is_none() && !ever {
        return Err(Conflict::DoesNotFit);
    }
    Ok(())
}
