//! The ledger: the live state, the containers, and the names of everything.
//!
//! Tests: `tests/commit/property.rs`.

use std::sync::Arc;

use super::event::Event;
use super::event_counts::EventCounts;
use super::fetches::Fetches;
use super::outbox::Outbox;
use super::registry::Registry;
use crate::commit::apps::attempt_numbers::AttemptNumbers;
use crate::commit::apps::clock::LedgerClock;
use crate::commit::apps::failed_masters::FailedMasters;
use crate::commit::apps::tags::PlacementTags;
use crate::commit::containers::container::Container;
use crate::commit::containers::hand_out::HandOut;
use crate::commit::containers::slot::ContainerSlot;
use crate::commit::containers::store::Containers;
use crate::commit::gangs::Gangs;
use crate::commit::gangs::nodes::GangNodes;
use crate::commit::leaves::Leaves;
use crate::commit::leaves::renewed_bounds::RenewedBounds;
use crate::commit::nodes::history::NodeHistory;
use crate::commit::nodes::known_labels::{Labels, PartitionSpec};
use crate::commit::nodes::recovered::Recovery;
use crate::commit::nodes::watch::{DueReports, NodeWatch};
use crate::commit::opportunistic::Opportunistic;
use crate::commit::opportunistic::nodes::NodeQueues;
use crate::commit::opportunistic::rooms::NodeRooms;
use crate::commit::tree::Tree;
use crate::commit::tree::build::build;
use crate::commit::tree::capacity::update_cluster;
use crate::commit::tree::refresh_error::RefreshError;
use crate::id::{AppSlot, ApplicationId, NameId, NodeName, NodeSlot, PartitionId, QueueSlot};
use crate::queue::{SchedulerSettings, Templates, TreeSettings};
use crate::snapshot::State;

/// The live state and its only writer. What a batch of commits defers is outside of it, with
/// [`Unsettled`](super::Unsettled), which settles before it returns a ledger to be changed.
#[derive(Debug)]
pub struct Ledger {
    /// What decisions read.
    pub(super) state: State,
    pub(super) templates: Arc<dyn Templates>,
    pub(super) containers: Containers,
    pub(super) registry: Registry,
    pub(super) leaves: Leaves,
    pub(super) history: NodeHistory,
    pub(super) tags: PlacementTags,
    pub(super) attempts: AttemptNumbers,
    pub(super) masters: FailedMasters,
    pub(super) recovery: Recovery,
    pub(super) gangs: Gangs,
    pub(super) opportunistic: Opportunistic,
    pub(super) hand_out: HandOut,
    pub(super) outbox: Outbox,
    pub(super) clock: LedgerClock,
    pub(super) fetches: Fetches,
    bounds: RenewedBounds,
}

impl Ledger {
    /// A ledger without queues.
    pub(super) fn empty(scheduler: SchedulerSettings, templates: Arc<dyn Templates>) -> Self {
        Self {
            opportunistic: Opportunistic::new(scheduler.opportunistic),
            state: State::new(Arc::new(scheduler)),
            templates,
            containers: Containers::default(),
            registry: Registry::new(),
            leaves: Leaves::default(),
            history: NodeHistory::default(),
            tags: PlacementTags::default(),
            attempts: AttemptNumbers::default(),
            masters: FailedMasters::default(),
            recovery: Recovery::default(),
            gangs: Gangs::default(),
            hand_out: HandOut::default(),
            outbox: Outbox::default(),
            clock: LedgerClock::default(),
            fetches: Fetches::default(),
            bounds: RenewedBounds::default(),
        }
    }

    /// A copy for a trial: another ledger, whose decisions concern nobody. Events that nobody took
    /// are left out, and fetches that wait.
    ///
    /// Cost: a copy of every table.
    #[must_use]
    pub fn trial_copy(&self) -> Self {
        Self {
            state: self.state.clone(),
            templates: Arc::clone(&self.templates),
            containers: self.containers.clone(),
            registry: self.registry.clone(),
            leaves: self.leaves.clone(),
            history: self.history.clone(),
            tags: self.tags.clone(),
            attempts: self.attempts.clone(),
            masters: self.masters.clone(),
            recovery: self.recovery.clone(),
            gangs: self.gangs.clone(),
            opportunistic: self.opportunistic.clone(),
            hand_out: self.hand_out,
            outbox: Outbox::default(),
            clock: self.clock.clone(),
            fetches: Fetches::default(),
            bounds: self.bounds,
        }
    }

    /// Makes passes over a copy look at all nodes that nobody reserved, as threads in global mode do.
    ///
    /// Cost: a look at every application.
    pub fn look_at_all_nodes(&mut self) {
        let policy = Arc::make_mut(&mut self.state.settings).look_at_all_nodes();
        for slot in (0..self.state.apps.len()).map(AppSlot::at) {
            let submission = &mut self.state.apps[slot].submission;
            Arc::make_mut(submission).node_policy = Some(Arc::clone(&policy));
        }
    }

    /// Takes over a mode that is named, see
    /// [`AsynchronousSettings::name_mode`](crate::queue::AsynchronousSettings::name_mode).
    pub fn name_mode(&mut self, heartbeats_schedule: bool) {
        let settings = Arc::make_mut(&mut self.state.settings);
        settings.asynchronous.name_mode(heartbeats_schedule);
    }

    /// A ledger without nodes over a tree of queues.
    ///
    /// # Errors
    ///
    /// When the settings do not make a tree.
    pub fn new(settings: TreeSettings, partitions: &[PartitionSpec]) -> Result<Self, RefreshError> {
        let mut ledger = Self::empty(settings.scheduler, settings.templates);
        let mut tree = ledger.tree();
        tree.add_partition("", true, false);
        for partition in partitions {
            tree.add_partition(&partition.name, true, partition.exclusive);
        }
        build(&mut tree, &settings.queues)?;
        update_cluster(&mut ledger);
        Ok(ledger)
    }

    /// The tree of queues, to be changed.
    pub(super) fn tree(&mut self) -> Tree<'_> {
        let Self {
            state,
            registry,
            leaves,
            templates,
            ..
        } = self;
        Tree::new(state, registry, leaves, templates)
    }

    /// Names and slots of everything, to be read.
    pub(crate) fn names(&self) -> &Registry {
        &self.registry
    }

    /// Labels that the cluster knows and nodes that have them, to be read.
    #[must_use]
    pub fn labels(&self) -> Labels<'_> {
        Labels::new(&self.registry, &self.state)
    }

    /// What a report of a node may bring about.
    #[inline]
    #[must_use]
    pub fn due_reports(&self) -> DueReports<'_> {
        DueReports::new(&self.containers, &self.state, &self.outbox)
    }

    /// Nodes that changed since somebody last asked.
    #[inline]
    pub fn node_watch(&mut self) -> NodeWatch<'_> {
        NodeWatch::new(&mut self.containers, &mut self.state)
    }

    /// Gangs and the nodes that they watch or hold.
    pub(super) fn gang_nodes(&mut self) -> GangNodes<'_> {
        let now_ms = self.clock.now_ms();
        GangNodes::new(&mut self.gangs, &mut self.state, &mut self.outbox, now_ms)
    }

    /// Queues of nodes for opportunistic containers, to be read.
    #[inline]
    #[must_use]
    pub fn node_rooms(&self) -> NodeRooms<'_> {
        NodeRooms::new(&self.opportunistic, &self.containers, &self.state)
    }

    /// Queues of nodes for opportunistic containers, to be changed.
    #[inline]
    pub(super) fn node_queues(&mut self) -> NodeQueues<'_> {
        let rows = (&mut self.containers, &mut self.state);
        NodeQueues::new(
            &mut self.opportunistic,
            rows,
            (&mut self.outbox, &mut self.clock),
        )
    }

    /// What decisions read.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// From now on what is written is remembered for publication. `concurrent`: whether proposers
    /// decide on what is published.
    pub fn track(&mut self, concurrent: bool) {
        self.state.track();
        self.state.concurrent = concurrent;
        // Other children are passed over from now on.
        self.state.epoch += 1;
    }

    /// The state, for publication: what was written since the last one is handed over and forgotten.
    ///
    /// Cost: where capacities changed since, a look at each leaf.
    #[must_use]
    pub fn state_to_publish(&mut self) -> &mut State {
        self.renew_bounds_on(&mut { usize::MAX });
        &mut self.state
    }

    /// Renews bounds of user limits ahead of a publication, of as many queues as the budget has; whether none is left.
    pub(crate) fn renew_bounds_on(&mut self, budget: &mut usize) -> bool {
        self.bounds.go_on(&mut self.state, budget)
    }

    /// Hands over the events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.outbox.exchange(Vec::new())
    }

    /// Exchanges the events since the last call for an empty buffer, which takes the next ones.
    pub fn exchange_events(&mut self, buffer: Vec<Event>) -> Vec<Event> {
        self.outbox.exchange(buffer)
    }

    /// Events since they were last handed over.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.outbox.event_count()
    }

    /// How many events of each kind there were so far.
    #[must_use]
    pub fn event_counts(&self) -> &EventCounts {
        self.outbox.counts()
    }

    /// The id of a partition by name.
    #[must_use]
    pub fn partition(&self, name: &str) -> Option<PartitionId> {
        self.registry.partition(name)
    }

    /// A live application by id.
    #[must_use]
    pub fn app(&self, id: ApplicationId) -> Option<AppSlot> {
        self.registry.app(id)
    }

    /// A registered node by name.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<NodeSlot> {
        self.registry.node(name)
    }

    /// The name of a host, a rack, or `*`; empty where nothing has the id.
    #[must_use]
    pub fn place_name(&self, place: NameId) -> &str {
        let name = self.registry.place_names().get(place.index());
        name.map_or("", |name| name)
    }

    /// The names of all hosts and racks that were ever named, by id. Names come at the end, and none goes.
    #[must_use]
    pub fn place_names(&self) -> &[Arc<str>] {
        self.registry.place_names()
    }

    /// Registered nodes in no order, with their positions in the order of registrations.
    pub fn registrations(&self) -> impl Iterator<Item = (u64, NodeSlot)> {
        let nodes = self.registry.node_slots();
        nodes.map(move |node| (self.history.position(node), node))
    }

    /// Registered nodes in order of their names.
    pub fn nodes_by_name(&self) -> impl Iterator<Item = (&NodeName, NodeSlot)> {
        self.registry.nodes_by_name().into_iter()
    }

    /// Live applications by id, ascending.
    #[must_use]
    pub fn apps_by_id(&self) -> Vec<(ApplicationId, AppSlot)> {
        self.registry.apps_by_id()
    }

    /// A queue by full path, or by a name that is not ambiguous.
    #[must_use]
    pub fn queue(&self, path: &str) -> Option<QueueSlot> {
        self.registry.queue(path)
    }

    /// A container in the ledger.
    #[must_use]
    pub fn container(&self, slot: ContainerSlot) -> &Container {
        self.containers.get(slot)
    }
}
