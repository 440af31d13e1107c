//! What a pass over a node found of the keys of applications, and what stood against them.
//!
//! A pass that is not carried out says which keys it looks at, and what it would propose. What stands against the
//! others follows from the state that it sees.
// As RegularContainerAllocator with ActivitiesLogger, for passes over one node.

use capsched::api::{ApplicationId, ContainerId};
use capsched::cluster::Node;
use capsched::id::{AppSlot, NameId, NodeSlot, SchedulerKey};
use capsched::policy::{Locality, constraint_holds, may_use, reservations_starve};
use capsched::proposer::{
    Candidates, Outcome, Proposal, ProposalKind, Step, Watch, has_room, propose_reserved,
    propose_watched,
};
use capsched::queue::{Exclusivity, KeyAsks};
use capsched::resource::{MEMORY, ResourceVector, VCORES};
use capsched::snapshot::State;

/// One look of a pass at a key of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLook {
    /// The application.
    pub app: ApplicationId,
    /// Its key.
    pub key: SchedulerKey,
    /// What it came to.
    pub result: LookResult,
    /// What stood against a container.
    pub obstacle: Option<Obstacle>,
    /// The reserved container that is served.
    pub container: Option<ContainerId>,
}

/// What a look at a key came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookResult {
    /// Nothing, and the walk goes on.
    Skipped,
    /// Nothing, because of a limit.
    Rejected,
    /// A container.
    Allocated,
    /// A reservation.
    Reserved,
    /// A reservation is kept.
    ReservedAgain,
}

/// What stands against a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing is asked anywhere.
    NothingAsked,
    /// The reservations of the key are as many as it needs.
    ReservationsSuffice,
    /// The headroom of its queue is too small.
    Headroom,
    /// The node is of another partition than the one that is asked for.
    OtherPartition {
        /// That of the node.
        of_node: String,
        /// That of the key.
        asked: String,
    },
    /// The constraint of the key does not hold on the node.
    Constraint,
    /// The application blacklists the node or its rack.
    Blacklisted,
    /// Only more local places are asked.
    Strict,
    /// More local places are waited for.
    Waits,
    /// Nothing is asked of the host, of its rack, or anywhere.
    NotLocal,
    /// The whole node is too small.
    NodeTooSmall(Shortage),
    /// The node has too little free.
    NodeTooFull(Shortage),
    /// Limits need a reservation to be given up, and there is none.
    NothingToGiveUp,
}

/// An amount that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Names of the resource types that are short.
    pub missing: Vec<String>,
    /// What is asked, as the reference writes it.
    pub required: String,
    /// What there is.
    pub available: String,
}

/// Whether a pass may visit the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassEntry {
    /// It visits the queues from root downwards.
    Open,
    /// The node is reserved: the pass looks at the reservation alone.
    Reserved,
    /// The node has less free than the smallest allocation.
    Full,
}

impl LookResult {
    /// Whether a pass ends with it: it places something, or keeps a reservation.
    #[must_use]
    pub const fn places(self) -> bool {
        matches!(self, Self::Allocated | Self::Reserved | Self::ReservedAgain)
    }
}

impl PassEntry {
    // As CapacityScheduler.allocateContainerOnSingleNode.
    pub(super) fn of(state: &State, node: NodeSlot) -> Self {
        let row = &state.nodes[node];
        if row.reserved.is_some() {
            return Self::Reserved;
        }
        match has_room(state, node) {
            true => Self::Open,
            false => Self::Full,
        }
    }
}

impl Obstacle {
    /// Whether it stands against the key on every node, and not on this one alone.
    #[must_use]
    pub const fn is_of_request(&self) -> bool {
        matches!(
            self,
            Self::NothingAsked | Self::ReservationsSuffice | Self::Headroom
        )
    }

    const fn result(&self) -> LookResult {
        match self {
            Self::Headroom => LookResult::Rejected,
            _ => LookResult::Skipped,
        }
    }
}

impl Shortage {
    fn of(state: &State, required: &ResourceVector, available: &ResourceVector) -> Self {
        let types = &state.settings.resource_types;
        let counted = state.calculator.fitting_types();
        let missing = types.iter().take(counted).enumerate();
        let missing = missing.filter(|&(at, _)| required[at] > available[at]);
        Self {
            missing: missing.map(|(_, name)| name.to_string()).collect(),
            required: written(state, required),
            available: written(state, available),
        }
    }
}

/// An amount as the reference writes it.
// As Resource.toString.
fn written(state: &State, amount: &ResourceVector) -> String {
    let mut text = format!("<memory:{}, vCores:{}", amount[MEMORY], amount[VCORES]);
    let types = state.settings.resource_types.iter().enumerate();
    for (at, name) in types.skip(VCORES + 1).filter(|&(at, _)| amount[at] != 0) {
        let unit = state.settings.resource_units.get(at);
        let unit = unit.map(|unit| unit.name()).unwrap_or_default();
        text.push_str(&format!(", {name}: {}{unit}", amount[at]));
    }
    text.push('>');
    text
}

/// The keys that a pass looked at, and whether their limits let them come to the node.
#[derive(Debug, Default)]
struct LookList(Vec<(AppSlot, SchedulerKey, bool)>);

impl Watch for LookList {
    fn ended(&mut self, _: Step) {}

    fn looked(&mut self, app: AppSlot, key: SchedulerKey, tried: bool) {
        self.0.push((app, key, tried));
    }
}

/// What a pass over a node finds, without being carried out: its looks in order, the proposal last.
pub(super) fn looks(state: &State, node: NodeSlot) -> Vec<KeyLook> {
    let mut seen = LookList::default();
    // What a look counts is of no interest: the pass itself follows.
    let mut observed = Vec::new();
    let outcome = match PassEntry::of(state, node) {
        PassEntry::Reserved => propose_reserved(state, node, &mut observed),
        PassEntry::Open | PassEntry::Full => propose_watched(
            state,
            &Candidates::node(node),
            Exclusivity::Respect,
            &mut observed,
            Some(&mut seen),
        ),
    };
    let row = &state.nodes[node];
    let Outcome::Proposed(proposal) = outcome else {
        return seen
            .0
            .iter()
            .flat_map(|seen| in_vain(state, row, seen))
            .collect();
    };
    let others = seen.0.iter();
    let others = others.filter(|&&(app, key, _)| (app, key) != (proposal.app, proposal.key));
    let mut found: Vec<KeyLook> = others.flat_map(|seen| in_vain(state, row, seen)).collect();
    found.push(of_proposal(state, row, &proposal));
    found
}

/// A look that proposed nothing: once for each level of the node that was tried.
fn in_vain(
    state: &State,
    node: &Node,
    &(app, key, tried): &(AppSlot, SchedulerKey, bool),
) -> Vec<KeyLook> {
    let row = &state.apps[app];
    let obstacles = row.key(key).map(|asks| match tried {
        true => on_node(state, app, asks, node),
        false => vec![before_node(state, app, asks, node)],
    });
    let look = |obstacle: Obstacle| KeyLook {
        app: row.id,
        key,
        result: obstacle.result(),
        obstacle: Some(obstacle),
        container: None,
    };
    obstacles
        .unwrap_or_default()
        .into_iter()
        .map(look)
        .collect()
}

/// What stood against a key that did not come to a node.
// As RegularContainerAllocator.preCheckRequest and preCheckForNode.
fn before_node(state: &State, app: AppSlot, asks: &KeyAsks, node: &Node) -> Obstacle {
    let Some(any) = asks.at(NameId::ANY).filter(|any| any.count > 0) else {
        return Obstacle::NothingAsked;
    };
    let (row, size) = (&state.apps[app], any.size.get());
    if !state.settings.continue_looking && !reservations_starve(state, row, asks, &size) {
        return Obstacle::ReservationsSuffice;
    }
    if asks.partition != node.partition {
        let name = |partition| state.partitions[partition].name.to_string();
        return Obstacle::OtherPartition {
            of_node: name(node.partition),
            asked: name(asks.partition),
        };
    }
    match constraint_holds(state, app, asks, node) {
        true => Obstacle::Headroom,
        false => Obstacle::Constraint,
    }
}

/// What stood against a key on a node, by levels: host, rack, anywhere.
// As RegularContainerAllocator.tryAllocateOnNode and assignContainersOnNode.
fn on_node(state: &State, app: AppSlot, asks: &KeyAsks, node: &Node) -> Vec<Obstacle> {
    let row = &state.apps[app];
    if row.blacklist.contains(node.host) || row.blacklist.contains(node.rack) {
        return vec![Obstacle::Blacklisted];
    }
    if !asks.takes_port(node.name.port()) {
        return Vec::new();
    }
    let settings = &state.queues[row.leaf].settings.leaf;
    let opportunities = asks.opportunities.saturating_add(1);
    let levels = [
        (Locality::Node, node.host),
        (Locality::Rack, node.rack),
        (Locality::Any, NameId::ANY),
    ];
    let mut found = Vec::new();
    for (level, place) in levels {
        let Some(ask) = asks.at(place).filter(|ask| ask.count > 0) else {
            continue;
        };
        if level != Locality::Node && !ask.relax {
            found.push(Obstacle::Strict);
            return found;
        }
        if may_use(state, settings, asks, node, level, opportunities, false) {
            found.push(fit(state, node, &ask.size.get()));
        } else if level == Locality::Any {
            found.push(Obstacle::Waits);
        }
    }
    if found.is_empty() {
        found.push(Obstacle::NotLocal);
    }
    found
}

/// What stood against a container of a size on a node.
// As RegularContainerAllocator.assignContainer.
fn fit(state: &State, node: &Node, size: &ResourceVector) -> Obstacle {
    let (total, free) = (node.total.get(), node.free.get());
    if !state.calculator.fits_in(size, &total) {
        return Obstacle::NodeTooSmall(Shortage::of(state, size, &total));
    }
    if !state.calculator.fits_in(size, &free) {
        return Obstacle::NodeTooFull(Shortage::of(state, size, &free));
    }
    Obstacle::NothingToGiveUp
}

fn of_proposal(state: &State, node: &Node, proposal: &Proposal) -> KeyLook {
    let app = state.apps[proposal.app].id;
    let (result, obstacle) = match (proposal.kind, proposal.reserved) {
        (ProposalKind::Allocate, _) => (LookResult::Allocated, None),
        (ProposalKind::Reserve, of) => {
            let short = Shortage::of(state, &proposal.size.get(), &node.free.get());
            let result = match of {
                Some(_) => LookResult::ReservedAgain,
                None => LookResult::Reserved,
            };
            (result, Some(Obstacle::NodeTooFull(short)))
        }
    };
    let container = proposal
        .reserved
        .filter(|_| result == LookResult::Allocated);
    KeyLook {
        app,
        key: proposal.key,
        result,
        obstacle,
        container: container.map(|number| ContainerId {
            attempt: state.apps[proposal.app].attempt,
            ..ContainerId::new(app, number)
        }),
    }
}
