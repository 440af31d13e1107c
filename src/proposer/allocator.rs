//! One application on the candidate nodes: keys, nodes, locality, fit, reservations.

use super::assignment::{Observation, Outcome, Proposal, ProposalKind, Release, SkipReason};
use super::candidates::node_policy;
use super::fit::FitIndex;
use super::simple_ask::plain_ask;
use super::walk::{Found, Pass};
use crate::cluster::{Killable, Node, Reservation};
use crate::fast_path::FastPath;
use crate::id::{AppSlot, NameId, NodeSlot, PartitionId, SchedulerKey, java_order};
use crate::policy::{Limits, Locality, constraint_holds, may_kill, may_use, reservations_starve};
use crate::queue::{App, Exclusivity, KeyAsks, PlaceAsk, asks_on};
use crate::resource::ResourceVector;
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

/// A container that has a place.
pub(super) struct Fit {
    size: ResourceVector,
    locality: Locality,
    requested: Locality,
    exchange: Option<Box<Release>>,
    kill: Vec<Killable>,
}

/// One key of an application during a pass, with counters that the state does not know yet.
struct Visit<'a, const N: usize> {
    slot: AppSlot,
    app: &'a App,
    asks: &'a KeyAsks,
    limits: &'a Limits<N>,
    reserved: Option<&'a Reservation>,
    opportunities: i32,
    missed: i32,
}

impl<const N: usize> Pass<'_, N> {
    /// Serves the first key of an application that can be served.
    // As RegularContainerAllocator.assignContainers.
    pub(super) fn allocate(&mut self, slot: AppSlot, limits: &Limits<N>) -> Found {
        let state = self.state;
        let app = &state.apps[slot];
        if !asks_on::<N>(app, self.asked_on()) {
            return Found::Skip(SkipReason::Other);
        }
        for asks in &app.keys {
            if !asks.outstanding {
                continue;
            }
            // Must equal [`Self::key`].
            if FastPath::SimpleAsk.is_taken() && self.plain(slot, asks, limits) {
                return Found::Proposal;
            }
            let surely_within = |ask: &PlaceAsk| ask.size.narrow().fits_in(&limits.headroom);
            if self.ample && !asks.asks.iter().all(surely_within) {
                return Found::Skip(SkipReason::Nothing);
            }
            match self.key(slot, asks, limits, None) {
                (Answer::KeySkipped, _) => {}
                (answer, node) => return self.convert(slot, asks, answer, node, None),
            }
        }
        Found::Skip(SkipReason::Other)
    }

    /// Serves the key of a reservation on the node that is reserved.
    pub(super) fn allocate_reserved(&mut self, held: &Reservation, limits: &Limits<N>) -> Found {
        let state = self.state;
        let app = &state.apps[held.app];
        match app.key(held.key) {
            Some(asks) if asks.known && asks.count(NameId::ANY) != 0 && !self.shuns(app) => {
                let (answer, node) = self.key(held.app, asks, limits, Some(held));
                self.convert(held.app, asks, answer, node, Some(held))
            }
            _ => {
                self.outcome = Outcome::GiveUp(Release {
                    app: held.app,
                    key: held.key,
                    number: held.number,
                    node: self.candidates.first(),
                    size: held.size,
                });
                Found::GiveUp
            }
        }
    }

    /// Whether an application gives up what it holds here, because it blacklists the node.
    // The reference keeps such a reservation (YARN-10902).
    fn shuns(&self, app: &App) -> bool {
        let node = &self.state.nodes[self.candidates.first()];
        let names = [node.host, node.rack];
        self.state.settings.mends.blacklisted_reservations
            && names.iter().any(|name| app.blacklist.contains(name))
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
        let state = self.state;
        let app = &state.apps[slot];
        let mut visit = Visit {
            slot,
            app,
            asks,
            limits,
            reserved,
            opportunities: asks.opportunities,
            missed: asks.missed,
        };
        if reserved.is_none()
            && state.settings.rules.request_before_nodes
            && let Some(answer) = self.check_request(&mut visit)
        {
            self.note_counters(&visit);
            return (answer, self.candidates.first());
        }
        if let Some(index) = self.candidates.index()
            && reserved.is_none()
            && let Some(found) = self.key_indexed(&mut visit, index)
        {
            self.note_counters(&visit);
            return found;
        }
        let nodes = self.candidates.ordered(node_policy(state, app));
        let Some(&first) = nodes.first() else {
            return (Answer::KeySkipped, self.candidates.first());
        };
        let mut last = (Answer::KeySkipped, first);
        for (i, &node) in nodes.iter().enumerate() {
            let is_last = i + 1 == nodes.len();
            let row = &state.nodes[node];
            if state.settings.skip_reserved_nodes && row.reserved.is_some() && !is_last {
                continue;
            }
            if reserved.is_none()
                && let Some(answer) = self.check_node(&mut visit, row)
            {
                last = (answer, node);
                continue;
            }
            let answer = self.try_node(&mut visit, node, row);
            let done = match &answer {
                Answer::Allocate(_) => true,
                Answer::Reserve(_) => is_last,
                _ => false,
            };
            last = (answer, node);
            if done {
                visit.reset_after(row, state, &last.0);
                break;
            }
        }
        self.note_counters(&visit);
        last
    }

    /// One key by the index: the first node with room decides, or where none has, the last one,
    /// which may be reserved. Nothing for keys whose answer depends on more of a node than its
    /// room; those walk.
    fn key_indexed(
        &self,
        visit: &mut Visit<'_, N>,
        index: &FitIndex,
    ) -> Option<(Answer, NodeSlot)> {
        let state = self.state;
        let ask = plain_ask(state, visit.app, visit.asks)?;
        let fitting = index.first_fit(&ask.size.get());
        let Some(node) = fitting.or_else(|| index.open().next_back()) else {
            return Some((Answer::KeySkipped, self.candidates.first()));
        };
        let row = &state.nodes[node];
        let answer = match self.check_node(visit, row) {
            Some(answer) => answer,
            None => self.try_node(visit, node, row),
        };
        visit.reset_after(row, state, &answer);
        Some((answer, node))
    }

    /// Takes back the last observation where it is one of the counters of a key.
    fn take_counters(&mut self, slot: AppSlot, of: SchedulerKey) {
        self.observations.pop_if(|last| {
            matches!(last, Observation::Counters { app, key, .. } if (*app, *key) == (slot, of))
        });
    }

    fn note_counters(&mut self, visit: &Visit<'_, N>) {
        let (before, opportunities, missed) = (visit.asks, visit.opportunities, visit.missed);
        if (before.opportunities, before.missed) != (opportunities, missed) {
            self.observations.push(Observation::Counters {
                app: visit.slot,
                key: before.key,
                opportunities,
                missed,
            });
        }
    }

    /// What can be said of a key before any node is looked at.
    // As RegularContainerAllocator.preCheckRequest of 3.5.
    fn check_request(&self, visit: &mut Visit<'_, N>) -> Option<Answer> {
        self.check_demand(visit)
            .or_else(|| self.check_limits(visit, self.partition))
    }

    /// What can be said before a node is looked at closely.
    // As RegularContainerAllocator.preCheckForNodeCandidateSet of 3.4 and preCheckForNode of 3.5.
    fn check_node(&self, visit: &mut Visit<'_, N>, node: &Node) -> Option<Answer> {
        if self.state.settings.rules.request_before_nodes {
            return self.check_place(visit, node);
        }
        self.check_demand(visit)
            .or_else(|| self.check_place(visit, node))
            .or_else(|| self.check_limits(visit, node.partition))
    }

    fn check_demand(&self, visit: &Visit<'_, N>) -> Option<Answer> {
        if visit.asks.count(NameId::ANY) <= 0 {
            return Some(Answer::KeySkipped);
        }
        let waits = !visit.app.unmanaged && visit.app.master.is_none();
        let may_borrow = !waits || self.state.settings.master_non_exclusive;
        (self.exclusivity == Exclusivity::Ignore && !may_borrow).then_some(Answer::AppSkipped)
    }

    /// Whether the key asks for the partition of a node and its constraint holds there.
    fn check_place(&self, visit: &Visit<'_, N>, node: &Node) -> Option<Answer> {
        let looked_at = match self.exclusivity {
            Exclusivity::Ignore => PartitionId::DEFAULT,
            Exclusivity::Respect => node.partition,
        };
        let holds = visit.asks.partition == looked_at
            && constraint_holds(self.state, visit.slot, visit.asks, node);
        (!holds).then_some(Answer::KeySkipped)
    }

    /// The limits of a key on a partition; counts a missed opportunity of the default one.
    fn check_limits(&self, visit: &mut Visit<'_, N>, partition: PartitionId) -> Option<Answer> {
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
        let lending = self.exclusivity == Exclusivity::Ignore;
        (lending && missed < nodes).then_some(Answer::AppSkipped)
    }

    fn try_node(&self, visit: &mut Visit<'_, N>, slot: NodeSlot, node: &Node) -> Answer {
        let blacklist = &visit.app.blacklist;
        if blacklist.contains(&node.host) || blacklist.contains(&node.rack) {
            return Answer::AppSkipped;
        }
        visit.opportunities = visit.opportunities.saturating_add(1);
        let answer = self.cascade(visit, slot, node);
        if visit.reserved.is_none() && matches!(answer, Answer::KeySkipped) {
            visit.opportunities = (visit.opportunities - 1).max(0);
        }
        answer
    }

    /// Host, rack, anywhere: the first level that yields something.
    // As RegularContainerAllocator.assignContainersOnNode.
    fn cascade(&self, visit: &Visit<'_, N>, slot: NodeSlot, node: &Node) -> Answer {
        let asks = visit.asks;
        let mut requested = None;
        if asks.count(node.host) > 0 {
            requested = Some(Locality::Node);
            let answer = self.level(visit, slot, node, Locality::Node, Locality::Node);
            if matches!(answer, Answer::Allocate(_) | Answer::Reserve(_)) {
                return answer;
            }
        }
        if asks.count(node.rack) > 0 {
            if !asks.relaxed(node.rack) {
                return Answer::KeySkipped;
            }
            let first = *requested.get_or_insert(Locality::Rack);
            let answer = self.level(visit, slot, node, Locality::Rack, first);
            if matches!(answer, Answer::Allocate(_) | Answer::Reserve(_)) {
                return answer;
            }
        }
        if asks.count(NameId::ANY) > 0 {
            if !asks.relaxed(NameId::ANY) {
                return Answer::KeySkipped;
            }
            let first = requested.unwrap_or(Locality::Any);
            return match self.level(visit, slot, node, Locality::Any, first) {
                Answer::LocalitySkipped => Answer::AppSkipped,
                answer => answer,
            };
        }
        Answer::KeySkipped
    }

    fn level(
        &self,
        visit: &Visit<'_, N>,
        slot: NodeSlot,
        node: &Node,
        level: Locality,
        requested: Locality,
    ) -> Answer {
        let (state, asks) = (self.state, visit.asks);
        let settings = &state.queues[visit.app.leaf].settings.leaf;
        let reserved = visit.reserved.is_some();
        let (host, rack) = (node.host, node.rack);
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
        let place = match level {
            Locality::Node => host,
            Locality::Rack => rack,
            Locality::Any => NameId::ANY,
        };
        match asks.at(place) {
            Some(ask) => self.fit(visit, slot, node, &ask.size.get(), level, requested),
            None => Answer::LocalitySkipped,
        }
    }

    /// Whether a container fits now, after killing or unreserving something, or should wait here.
    // As RegularContainerAllocator.assignContainer.
    fn fit(
        &self,
        visit: &Visit<'_, N>,
        slot: NodeSlot,
        node: &Node,
        size: &ResourceVector,
        locality: Locality,
        requested: Locality,
    ) -> Answer {
        let state = self.state;
        let calculator = state.calculator;
        let room = match visit.reserved {
            Some(held) if state.concurrent => size.component_max(&held.size),
            _ => *size,
        };
        let total = node.total.get();
        if !(calculator.fits_in(&room, &total) && state.has_cores(&room, &total)) {
            return Answer::LocalitySkipped;
        }
        let from_reservation = visit.reserved.is_some();
        let continue_looking = state.settings.continue_looking;
        let wanted = reservations_starve(state, visit.app, visit.asks, size);
        let limits = visit.limits;
        // Mostly there is headroom for it, and nothing has to go.
        let (mut missing, headroom) = (limits.must_unreserve.widen(), limits.headroom.widen());
        if !(missing.is_none() && size.fits_in(&headroom)) {
            let beyond = *size - headroom;
            missing = calculator.max(&state.cluster, &beyond, &missing);
        }
        let must_unreserve = calculator.any_above_zero(&missing);
        let mut kill = Vec::new();
        let free = node.free.get();
        let mut fits = calculator.holds_one(&free, &room) && state.has_cores(&room, &free);
        let may_kill = || {
            let leaf = limits.leaf;
            leaf.is_some_and(|leaf| may_kill(state, leaf, self.partition))
        };
        if !fits && calculator.containers(&node.free.get(), &room) == 0 && may_kill() {
            fits = self.room_by_killing(node, &room, &mut kill);
        }
        let fit = |exchange, kill| Fit {
            size: *size,
            locality,
            requested,
            exchange,
            kill,
        };
        if fits {
            let mut exchange = None;
            if !from_reservation && continue_looking && (!wanted || must_unreserve) {
                let least = if must_unreserve { &missing } else { size };
                exchange = self.reservation_of(visit, least).map(Box::new);
                if exchange.is_none() {
                    return Answer::LocalitySkipped;
                }
            }
            return Answer::Allocate(fit(exchange, kill));
        }
        if !(wanted || from_reservation)
            || (continue_looking && !from_reservation && must_unreserve)
        {
            return Answer::LocalitySkipped;
        }
        debug_assert!(!fits, "slot {slot:?}");
        Answer::Reserve(fit(None, Vec::new()))
    }

    /// Collects containers to kill until the request fits.
    fn room_by_killing(
        &self,
        node: &Node,
        size: &ResourceVector,
        kill: &mut Vec<Killable>,
    ) -> bool {
        let mut order = node.killable.clone();
        java_order::sort(&mut order, 0, |killable| {
            let id = killable.container;
            java_order::container_hash(id.app.cluster, id.app.sequence, id.number)
        });
        let mut room = node.free.get();
        for killable in order {
            kill.push(killable);
            room += killable.size;
            if self.state.calculator.fits_in(size, &room) && self.state.has_cores(size, &room) {
                return true;
            }
        }
        false
    }

    /// A reservation of the key that covers an amount, in the order of a hash map of nodes.
    fn reservation_of(&self, visit: &Visit<'_, N>, least: &ResourceVector) -> Option<Release> {
        let mut held = visit.asks.reserved.clone();
        java_order::sort(&mut held, 0, |held| held.java_hash);
        let found = held
            .into_iter()
            .find(|held| self.state.calculator.fits_in(least, &held.size))?;
        Some(Release {
            app: visit.slot,
            key: visit.asks.key,
            number: found.number,
            node: found.node,
            size: found.size,
        })
    }

    pub(super) fn convert(
        &mut self,
        slot: AppSlot,
        asks: &KeyAsks,
        answer: Answer,
        node: NodeSlot,
        held: Option<&Reservation>,
    ) -> Found {
        let (kind, fit) = match answer {
            Answer::Allocate(fit) => (ProposalKind::Allocate, fit),
            Answer::Reserve(fit) => (ProposalKind::Reserve, fit),
            Answer::AppSkipped => return Found::Skip(SkipReason::Other),
            Answer::QueueSkipped => return Found::Skip(SkipReason::QueueLimit),
            Answer::LocalitySkipped | Answer::KeySkipped => {
                return Found::Skip(SkipReason::Nothing);
            }
        };
        if !self
            .state
            .calculator
            .above_none(&self.state.cluster, &fit.size)
        {
            return Found::Skip(SkipReason::Nothing);
        }
        let simple = kind == ProposalKind::Allocate
            && held.is_none()
            && fit.locality == Locality::Any
            && fit.exchange.is_none()
            && fit.kill.is_empty();
        let counted = simple && self.counts_when_placed(slot, asks);
        if counted {
            self.take_counters(slot, asks.key);
        }
        self.outcome = Outcome::Proposed(Proposal {
            kind,
            locality: fit.locality,
            requested: Some(fit.requested),
            exclusivity: self.exclusivity,
            counted,
            reserved: held.map(|held| held.number),
            exchange: fit.exchange,
            kill: fit.kill,
            ..Proposal::anywhere(self.state, slot, asks, node, fit.size.into())
        });
        Found::Proposal
    }
}

impl<const N: usize> Visit<'_, N> {
    /// Resets the counters of a key that got a container or a reservation.
    // As RegularContainerAllocator.doAllocation: before the commit, whatever becomes of it.
    fn reset_after(&mut self, node: &Node, state: &State, answer: &Answer) {
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
