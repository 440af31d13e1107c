//! One application on the candidate nodes: keys, nodes, locality, fit, reservations.
//!
//! Tests: the recordings of `tests/parity`, which `cli/tests/parity.rs` plays on the engine.

use super::assignment::{Observation, Outcome, Proposal, ProposalKind, Release, SkipReason};
use super::fit::FitIndex;
use super::key_visit::KeyVisit;
use super::simple_ask::simple_ask_of;
use super::walk::{Pass, WalkStep};
use crate::cluster::{Killable, Node, Reservation};
use crate::fast_path::FastPath;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId, SchedulerKey};
use crate::policy::{Limits, Locality, constraint_holds, may_use, reservations_starve};
use crate::queue::{App, Exclusivity, KeyAsks, asks_on};
use crate::resource::PackedVector;
use crate::snapshot::State;

/// What one node or one key answers (`ContainerAllocation.AllocationState`).
pub(super) enum Answer {
    Allocate(Fit),
    Reserve(Fit),
    /// A less local level may do.
    LocalitySkipped,
    /// The next key may do.
    KeySkipped,
    /// The next application may do.
    AppSkipped,
    /// The queue must wait.
    QueueSkipped,
}

impl Answer {
    /// What is proposed, or why nothing is.
    fn proposed(self) -> Result<(ProposalKind, Fit), SkipReason> {
        match self {
            Self::Allocate(fit) => Ok((ProposalKind::Allocate, fit)),
            Self::Reserve(fit) => Ok((ProposalKind::Reserve, fit)),
            Self::AppSkipped => Err(SkipReason::Other),
            Self::QueueSkipped => Err(SkipReason::QueueLimit),
            Self::LocalitySkipped | Self::KeySkipped => Err(SkipReason::Nothing),
        }
    }
}

/// A container that has a place, of the size that is asked at its level: two words, for it goes up every level.
pub(super) struct Fit {
    pub(super) locality: Locality,
    pub(super) requested: Locality,
    /// What goes for it; mostly nothing.
    pub(super) displaced: Option<Box<Displaced>>,
}

/// What goes for a container.
#[derive(Default)]
pub(super) struct Displaced {
    pub(super) exchange: Option<Box<Release>>,
    pub(super) kill: Vec<Killable>,
}

impl<const N: usize> Pass<'_, N> {
    /// Serves the first key of an application that can be served.
    // As RegularContainerAllocator.assignContainers.
    pub(super) fn allocate(&mut self, slot: AppSlot, limits: &Limits<N>) -> WalkStep {
        let state = self.state;
        let app = &state.apps[slot];
        if !asks_on::<N>(app, self.asked_on()) {
            return WalkStep::Skip(SkipReason::Other);
        }
        for asks in app.open_keys() {
            // Must equal [`Self::key`].
            if FastPath::SimpleAsk.is_taken() && self.simple_ask(slot, asks, limits) {
                return WalkStep::Proposal;
            }
            let fits = |size: &PackedVector| size.narrow().fits_in(&limits.headroom);
            if self.by_lower_bound && !asks.places.all_sizes(fits) {
                return WalkStep::Skip(SkipReason::Nothing);
            }
            match self.key(slot, asks, limits, None) {
                (Answer::KeySkipped, _) => {}
                (answer, node) => return self.convert(slot, asks, answer, node, None),
            }
        }
        WalkStep::Skip(SkipReason::Other)
    }

    /// Serves the key of a reservation on the node that is reserved.
    pub(super) fn allocate_reserved(&mut self, held: &Reservation, limits: &Limits<N>) -> WalkStep {
        let state = self.state;
        let app = &state.apps[held.app];
        match app.key(held.key) {
            Some(asks) if asks.known && asks.count(NameId::ANY) != 0 && !self.shuns(app) => {
                let (answer, node) = self.key(held.app, asks, limits, Some(held));
                self.convert(held.app, asks, answer, node, Some(held))
            }
            _ => {
                *self.outcome = Outcome::GiveUp(Release {
                    app: held.app,
                    key: held.key,
                    number: held.number,
                    node: self.candidates.first(),
                    size: held.size,
                });
                WalkStep::GiveUp
            }
        }
    }

    /// Whether an application gives up what it holds here, because it blacklists the node.
    // The reference keeps such a reservation (YARN-10902).
    fn shuns(&self, app: &App) -> bool {
        let node = &self.state.nodes[self.candidates.first()];
        let names = [node.host, node.rack];
        self.state.settings.mends.blacklisted_reservations
            && names.iter().any(|&name| app.blacklist.contains(name))
    }

    /// Walks the candidate nodes for one key.
    // As RegularContainerAllocator.allocate.
    pub(super) fn key(
        &mut self,
        slot: AppSlot,
        asks: &KeyAsks,
        limits: &Limits<N>,
        reserved: Option<&Reservation>,
    ) -> (Answer, NodeSlot) {
        let app = &self.state.apps[slot];
        let mut visit = KeyVisit::new((slot, app), asks, limits, reserved);
        let found = self.visit_key(&mut visit);
        self.looked(&visit);
        self.note_counters(&visit);
        found
    }

    #[inline]
    fn visit_key(&self, visit: &mut KeyVisit<'_, N>) -> (Answer, NodeSlot) {
        let state = self.state;
        if visit.reserved.is_none()
            && state.settings.rules.request_before_nodes
            && let Some(answer) = self.check_request(visit)
        {
            return (answer, self.candidates.first());
        }
        let fulfils = visit.reserved.is_some();
        if let Some(node) = self.candidates.single()
            && (fulfils || !self.skips_last_node())
        {
            return self.try_last(visit, node);
        }
        if let Some(index) = self.candidates.index()
            && !fulfils
            && let Some(found) = self.key_indexed(visit, index)
        {
            return found;
        }
        let nodes = self.nodes_to_try(visit.app, fulfils);
        let Some(&first) = nodes.first() else {
            return (Answer::KeySkipped, self.candidates.first());
        };
        self.walk(visit, &nodes, first)
    }

    /// One key by the index: the first node with room decides, or where none has, the last one,
    /// which may be reserved. Nothing for keys whose answer depends on more of a node than its
    /// room; those walk.
    fn key_indexed(
        &self,
        visit: &mut KeyVisit<'_, N>,
        index: &FitIndex,
    ) -> Option<(Answer, NodeSlot)> {
        let state = self.state;
        let ask = simple_ask_of(state, visit.app, visit.asks)?;
        let fitting = index.first_fit(&ask.size.get());
        let Some(node) = fitting.or_else(|| self.last_node(index)) else {
            return Some((Answer::KeySkipped, self.candidates.first()));
        };
        Some(self.try_last(visit, node))
    }

    /// Takes back the last observation where it is one of the counters of a key.
    fn take_counters(&mut self, slot: AppSlot, of: SchedulerKey) {
        self.observations.pop_if(|last| {
            matches!(last, Observation::Counters { app, key, .. } if (*app, *key) == (slot, of))
        });
    }

    #[inline]
    fn note_counters(&mut self, visit: &KeyVisit<'_, N>) {
        let (before, opportunities, missed) = (visit.asks, visit.opportunities, visit.missed);
        if (before.opportunities, before.missed) != (opportunities, missed) {
            let (app, key) = (visit.slot, before.key);
            self.note(|| Observation::Counters {
                app,
                key,
                opportunities,
                missed,
            });
        }
    }

    /// What can be said of a key before any node is looked at.
    // As RegularContainerAllocator.preCheckRequest of 3.5.
    fn check_request(&self, visit: &mut KeyVisit<'_, N>) -> Option<Answer> {
        self.check_demand(visit)
            .or_else(|| self.check_limits(visit, self.partition))
    }

    /// What can be said before a node is looked at closely.
    // As RegularContainerAllocator.preCheckForNodeCandidateSet of 3.4 and preCheckForNode of 3.5.
    #[inline]
    pub(super) fn check_node(&self, visit: &mut KeyVisit<'_, N>, node: &Node) -> Option<Answer> {
        if self.state.settings.rules.request_before_nodes {
            return self.check_place(visit, node);
        }
        self.check_demand(visit)
            .or_else(|| self.check_place(visit, node))
            .or_else(|| self.check_limits(visit, node.partition))
    }

    #[inline]
    fn check_demand(&self, visit: &KeyVisit<'_, N>) -> Option<Answer> {
        if visit.asks.count(NameId::ANY) <= 0 {
            return Some(Answer::KeySkipped);
        }
        let waits = !visit.app.unmanaged && visit.app.master.is_none();
        let may_borrow = !waits || self.state.settings.master_non_exclusive;
        (self.exclusivity == Exclusivity::Ignore && !may_borrow).then_some(Answer::AppSkipped)
    }

    /// Whether the key asks for the partition of a node and its constraint holds there.
    #[inline]
    fn check_place(&self, visit: &KeyVisit<'_, N>, node: &Node) -> Option<Answer> {
        let looked_at = match self.exclusivity {
            Exclusivity::Ignore => PartitionId::DEFAULT,
            Exclusivity::Respect => node.partition,
        };
        let holds = visit.asks.partition == looked_at
            && constraint_holds(self.state, visit.slot, visit.asks, node);
        (!holds).then_some(Answer::KeySkipped)
    }

    /// The limits of a key on a partition; counts a missed opportunity of the default one.
    #[inline]
    fn check_limits(&self, visit: &mut KeyVisit<'_, N>, partition: PartitionId) -> Option<Answer> {
        let (state, app, asks) = (self.state, visit.app, visit.asks);
        let Some(any) = asks.at(NameId::ANY).filter(|any| any.count > 0) else {
            return Some(Answer::KeySkipped);
        };
        let continue_looking = state.settings.continue_looking;
        if !continue_looking && !reservations_starve(state, app, asks, &any.size.get()) {
            return Some(Answer::KeySkipped);
        }
        let mut headroom = visit.limits.headroom;
        if continue_looking {
            headroom += app.part(partition).reserved.narrow();
        }
        if !state.calculator.fits_in(&any.size.narrow(), &headroom) {
            return Some(Answer::QueueSkipped);
        }
        let mut missed = 0;
        if asks.partition == PartitionId::DEFAULT {
            visit.missed = visit.missed.saturating_add(1);
            missed = visit.missed;
        }
        let nodes = i32::try_from(state.node_count).unwrap_or(i32::MAX);
        let borrows = self.exclusivity == Exclusivity::Ignore;
        (borrows && missed < nodes).then_some(Answer::AppSkipped)
    }

    #[inline]
    pub(super) fn try_node(&self, visit: &mut KeyVisit<'_, N>, node: &Node) -> Answer {
        visit.tried = true;
        let blacklist = &visit.app.blacklist;
        if blacklist.contains(node.host) || blacklist.contains(node.rack) {
            return Answer::AppSkipped;
        }
        visit.opportunities = visit.opportunities.saturating_add(1);
        let answer = if visit.asks.takes_port(node.name.port()) {
            self.cascade(visit, node)
        } else {
            Answer::KeySkipped
        };
        if visit.reserved.is_none() && matches!(answer, Answer::KeySkipped) {
            visit.opportunities = (visit.opportunities - 1).max(0);
        }
        answer
    }

    /// Host, rack, anywhere: the first level that yields something.
    // As RegularContainerAllocator.assignContainersOnNode.
    fn cascade(&self, visit: &KeyVisit<'_, N>, node: &Node) -> Answer {
        let asks = visit.asks;
        let mut requested = None;
        if asks.count(node.host) > 0 {
            requested = Some(Locality::Node);
            let answer = self.level(visit, node, Locality::Node, Locality::Node);
            if matches!(answer, Answer::Allocate(_) | Answer::Reserve(_)) {
                return answer;
            }
        }
        if asks.count(node.rack) > 0 {
            if !asks.relaxed(node.rack) {
                return Answer::KeySkipped;
            }
            let first = *requested.get_or_insert(Locality::Rack);
            let answer = self.level(visit, node, Locality::Rack, first);
            if matches!(answer, Answer::Allocate(_) | Answer::Reserve(_)) {
                return answer;
            }
        }
        if asks.count(NameId::ANY) > 0 {
            if !asks.relaxed(NameId::ANY) {
                return Answer::KeySkipped;
            }
            let first = requested.unwrap_or(Locality::Any);
            return match self.level(visit, node, Locality::Any, first) {
                Answer::LocalitySkipped => Answer::AppSkipped,
                answer => answer,
            };
        }
        Answer::KeySkipped
    }

    fn level(
        &self,
        visit: &KeyVisit<'_, N>,
        node: &Node,
        level: Locality,
        requested: Locality,
    ) -> Answer {
        let (state, asks) = (self.state, visit.asks);
        let settings = &state.queues[visit.app.leaf].settings.leaf;
        let reserved = visit.reserved.is_some();
        if !may_use(
            state,
            settings,
            asks,
            node,
            level,
            visit.opportunities,
            reserved,
        ) {
            return Answer::LocalitySkipped;
        }
        match asks.at(place_at(node, level)) {
            Some(ask) => self.fit(visit, node, &ask.size.narrow(), level, requested),
            None => Answer::LocalitySkipped,
        }
    }

    pub(super) fn convert(
        &mut self,
        slot: AppSlot,
        asks: &KeyAsks,
        answer: Answer,
        node: NodeSlot,
        held: Option<&Reservation>,
    ) -> WalkStep {
        let (kind, fit) = match answer.proposed() {
            Ok(proposed) => proposed,
            Err(reason) => return WalkStep::Skip(reason),
        };
        let (state, place) = (self.state, place_at(&self.state.nodes[node], fit.locality));
        let ask = asks.at(place).expect("what fits is asked at its level");
        let size = ask.size.narrow::<N>();
        if !state.calculator.above_none(&state.cluster.narrow(), &size) {
            return WalkStep::Skip(SkipReason::Nothing);
        }
        let simple = kind == ProposalKind::Allocate
            && held.is_none()
            && fit.locality == Locality::Any
            && fit.displaced.is_none();
        let counted = simple && self.counts_when_placed(slot, asks);
        if counted {
            self.take_counters(slot, asks.key);
        }
        let Displaced { exchange, kill } = fit.displaced.map(|all| *all).unwrap_or_default();
        *self.outcome = Outcome::Proposed(Proposal {
            kind,
            locality: fit.locality,
            requested: Some(fit.requested),
            exclusivity: self.exclusivity,
            counted,
            reserved: held.map(|held| held.number),
            exchange,
            kill,
            ..Proposal::anywhere(state, slot, asks, node, size.into())
        });
        WalkStep::Proposal
    }
}

/// The place of the asks that a level of a node serves.
#[inline]
fn place_at(node: &Node, level: Locality) -> NameId {
    match level {
        Locality::Node => node.host,
        Locality::Rack => node.rack,
        Locality::Any => NameId::ANY,
    }
}

impl<const N: usize> KeyVisit<'_, N> {
    /// Resets the counters of a key that got a container or a reservation.
    // As RegularContainerAllocator.doAllocation: before the commit, whatever becomes of it.
    pub(super) fn reset_after(&mut self, node: &Node, state: &State, answer: &Answer) {
        let (Answer::Allocate(fit) | Answer::Reserve(fit)) = answer else {
            return;
        };
        if self.reserved.is_some() {
            return;
        }
        let settings = &state.queues[self.app.leaf].settings.leaf;
        let resets = match fit.locality {
            Locality::Node => true,
            Locality::Rack => settings.rack_locality_full_reset,
            Locality::Any => false,
        };
        if resets {
            self.opportunities = 0;
        }
        if node.partition == PartitionId::DEFAULT {
            self.missed = 0;
        }
    }
}
