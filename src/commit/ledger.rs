//! The ledger: the live state, the containers, and the names of everything.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::event::Event;
use super::follow_up_events::FollowUpEvent;
use crate::accounting::{DeferredAncestorCharges, SkippedApps};
use crate::cluster::Partition;
use crate::commit::containers::container::Container;
use crate::commit::containers::store::Containers;
use crate::commit::tree::build::build;
use crate::commit::tree::refresh_error::RefreshError;
use crate::commit::users::user_limit_cache::RemovedUserLimits;
use crate::id::{
    AppSlot, ApplicationId, Map, NameId, NodeName, NodeSlot, PartitionId, QueueSlot, SchedulerKey,
    UserSlot,
};
use crate::policy::ConstraintRegistry;
use crate::queue::{ConstrainedKey, Templates, TreeSettings};
use crate::resource::ResourceVector;
use crate::snapshot::State;

/// A container's place in the ledger; reused once the container is gone from its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerSlot(pub u32);

/// A partition (node label) that the cluster knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// The label.
    pub name: String,
    /// Whether only requests that name it are served there.
    pub exclusive: bool,
}

/// The live state and its only writer.
#[derive(Debug)]
pub struct Ledger {
    /// What decisions read.
    pub(super) state: State,
    pub(super) templates: Arc<dyn Templates>,
    pub(super) containers: Containers,
    /// Whether an application is one of those at the front of its leaf's order that passes skip.
    pub(super) skipped: SkippedApps,
    pub(super) free_apps: Vec<AppSlot>,
    pub(super) free_users: Vec<UserSlot>,
    pub(super) free_nodes: Vec<NodeSlot>,
    /// Nodes that left with tags on them, which count until they come back.
    pub(super) departed: BTreeMap<NodeName, NodeSlot>,
    pub(super) apps: Map<ApplicationId, AppSlot>,
    pub(super) nodes: Map<NodeName, NodeSlot>,
    /// Component-wise largest total of all nodes, until one comes, goes or is resized.
    pub(super) biggest: Cell<Option<ResourceVector>>,
    pub(super) names: Map<Arc<str>, NameId>,
    pub(super) partitions: BTreeMap<Arc<str>, PartitionId>,
    pub(super) paths: BTreeMap<Arc<str>, QueueSlot>,
    pub(super) users: Map<(QueueSlot, Arc<str>), UserSlot>,
    /// Dropped records of users that still have outstanding asks.
    pub(super) dropped_users: Map<(QueueSlot, Arc<str>), UserSlot>,
    /// What passes found about users whose records went, for one version of a leaf's users.
    pub(super) dropped_gates: BTreeMap<QueueSlot, RemovedUserLimits>,
    /// The application that enters its new leaf, and the leaf that it comes from.
    pub(super) moving: Option<(AppSlot, QueueSlot)>,
    /// Running applications of each user, against the limit of parallel ones.
    pub(super) running_of: BTreeMap<Arc<str>, i32>,
    /// Scheduling requests whose containers carry tags on nodes.
    pub(super) tagged: Map<(AppSlot, SchedulerKey), Arc<ConstrainedKey>>,
    /// Constraints of applications and of the cluster.
    pub(super) constraints: ConstraintRegistry,
    pub(super) deferred: VecDeque<FollowUpEvent>,
    /// Whether commits leave queues above leaves, and used shares, for [`Ledger::catch_up`].
    pub(super) defers: bool,
    /// What is left for it.
    pub(super) deferred_charges: DeferredAncestorCharges,
    /// The epoch that was last published: all bounds of user limits held in it.
    published_epoch: u64,
    /// Users who got containers since they were last told a limit, and the partition of it.
    pub(super) untold: Vec<(UserSlot, PartitionId)>,
    pub(super) events: Vec<Event>,
    /// Time in ms, as far as it was told.
    pub(super) now_ms: u64,
    /// When lifetimes end, in ms, and whose.
    pub(super) deadlines: BTreeSet<(u64, AppSlot, u32)>,
    /// Attempts started so far.
    pub(super) starts: u64,
    /// Position of each node in the order of registrations.
    pub(super) registered_at: Vec<u64>,
    /// Registrations so far.
    pub(super) registrations: u64,
}

impl Ledger {
    /// A ledger without nodes over a tree of queues.
    ///
    /// # Errors
    ///
    /// When the settings do not make a tree.
    pub fn new(settings: TreeSettings, partitions: &[PartitionSpec]) -> Result<Self, RefreshError> {
        let mut ledger = Self {
            state: State::new(Arc::new(settings.scheduler)),
            templates: settings.templates,
            containers: Containers::default(),
            skipped: SkippedApps::default(),
            free_apps: Vec::new(),
            free_users: Vec::new(),
            free_nodes: Vec::new(),
            departed: BTreeMap::new(),
            apps: Map::default(),
            nodes: Map::default(),
            biggest: Cell::new(None),
            names: Map::default(),
            partitions: BTreeMap::new(),
            paths: BTreeMap::new(),
            users: Map::default(),
            dropped_users: Map::default(),
            dropped_gates: BTreeMap::new(),
            moving: None,
            running_of: BTreeMap::new(),
            tagged: Map::default(),
            constraints: ConstraintRegistry::new(),
            deferred: VecDeque::new(),
            defers: false,
            deferred_charges: DeferredAncestorCharges::default(),
            published_epoch: 0,
            untold: Vec::new(),
            events: Vec::new(),
            now_ms: 0,
            deadlines: BTreeSet::new(),
            starts: 0,
            registered_at: Vec::new(),
            registrations: 0,
        };
        ledger.names.insert("*".into(), NameId::ANY);
        ledger.add_partition("", true, false);
        for partition in partitions {
            ledger.add_partition(&partition.name, true, partition.exclusive);
        }
        build(&mut ledger, &settings.queues)?;
        ledger.update_cluster();
        Ok(ledger)
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

    /// What a queue uses on a partition, with what it was not charged with yet.
    ///
    /// Cost: a walk up the tree for each leaf of which the ancestors are not charged yet.
    #[must_use]
    pub fn use_of(&self, queue: QueueSlot, partition: PartitionId) -> ResourceVector {
        self.deferred_charges.use_of(&self.state, queue, partition)
    }

    /// The state, for publication: what was written since is handed over and forgotten.
    ///
    /// Cost: where capacities changed since, a look at each leaf.
    pub fn state_to_publish(&mut self) -> &mut State {
        if std::mem::replace(&mut self.published_epoch, self.state.epoch) != self.state.epoch {
            self.renew_all_bounds();
        }
        &mut self.state
    }

    /// Copies rows ahead of the next publication; as [`State::copy_ahead`].
    pub fn copy_ahead(&mut self, most: usize) {
        self.state.copy_ahead(most);
    }

    /// Hands over the events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Exchanges the events since the last call for an empty buffer, which takes the next ones.
    pub fn exchange_events(&mut self, mut buffer: Vec<Event>) -> Vec<Event> {
        buffer.clear();
        std::mem::replace(&mut self.events, buffer)
    }

    /// Events since they were last handed over.
    #[must_use]
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// The id of a host, rack or `*`, interned on first use.
    pub(super) fn intern(&mut self, name: &str) -> NameId {
        if name == "*" {
            return NameId::ANY;
        }
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = NameId::at(self.names.len());
        self.names.insert(name.into(), id);
        id
    }

    /// The id of a partition by name.
    #[must_use]
    pub fn partition(&self, name: &str) -> Option<PartitionId> {
        self.partitions.get(name).copied()
    }

    /// Adds a partition, or says of a known one that the cluster has it.
    pub(super) fn add_partition(
        &mut self,
        name: &str,
        exists: bool,
        exclusive: bool,
    ) -> PartitionId {
        if let Some(&id) = self.partitions.get(name) {
            if exists && !self.state.partitions[id].exists {
                self.state.partitions[id].exists = true;
                self.state.partitions[id].exclusive = exclusive;
            }
            return id;
        }
        let name: Arc<str> = name.into();
        let partition = Partition::new(Arc::clone(&name), exists, exclusive);
        let id = PartitionId::at(self.state.partitions.push(partition));
        self.partitions.insert(name, id);
        self.widen();
        id
    }

    /// Gives every row a place for every partition.
    fn widen(&mut self) {
        let count = self.state.partitions.len();
        for i in 0..self.state.queues.len() {
            let queue = &mut self.state.queues[QueueSlot::at(i)];
            queue.parts.widen(count);
            if let Some(leaf) = &mut queue.leaf {
                leaf.parts.widen(count);
            }
        }
        for i in 0..self.state.users.len() {
            let user = &mut self.state.users[UserSlot::at(i)];
            user.parts.widen(count);
        }
        for i in 0..self.state.apps.len() {
            let app = &mut self.state.apps[AppSlot::at(i)];
            app.parts.widen(count);
        }
    }

    /// A live application by id.
    #[must_use]
    pub fn app(&self, id: ApplicationId) -> Option<AppSlot> {
        self.apps.get(&id).copied()
    }

    /// A registered node by name.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<NodeSlot> {
        self.nodes.get(name).copied()
    }

    /// Registered nodes in order of their names.
    pub fn nodes_by_name(&self) -> impl Iterator<Item = (&NodeName, NodeSlot)> {
        let mut nodes: Vec<_> = self
            .nodes
            .iter()
            .map(|(name, &slot)| (name, slot))
            .collect();
        nodes.sort_unstable();
        nodes.into_iter()
    }

    /// Live applications by id, ascending.
    #[must_use]
    pub fn apps_by_id(&self) -> Vec<(ApplicationId, AppSlot)> {
        let mut apps: Vec<_> = self.apps.iter().map(|(&id, &slot)| (id, slot)).collect();
        apps.sort_unstable();
        apps
    }

    /// A queue by full path, or by a name that is not ambiguous.
    #[must_use]
    pub fn queue(&self, path: &str) -> Option<QueueSlot> {
        if let Some(&slot) = self.paths.get(path) {
            return Some(slot);
        }
        if path.contains('.') {
            return None;
        }
        let mut named = self.queues_named(path);
        let found = named.next()?;
        named.next().is_none().then_some(found)
    }

    /// Whether a name stands for several queues.
    #[must_use]
    pub fn is_ambiguous(&self, name: &str) -> bool {
        let full = name.contains('.') || self.paths.contains_key(name);
        !full && self.queues_named(name).nth(1).is_some()
    }

    /// Queues whose path ends with a name.
    fn queues_named(&self, name: &str) -> impl Iterator<Item = QueueSlot> {
        let named = move |path: &str| path.rsplit('.').next() == Some(name);
        let all = self.paths.iter();
        all.filter_map(move |(path, &slot)| named(path).then_some(slot))
    }

    /// A container in the ledger.
    #[must_use]
    pub fn container(&self, slot: ContainerSlot) -> &Container {
        self.containers.get(slot)
    }

    pub(super) fn container_mut(&mut self, slot: ContainerSlot) -> &mut Container {
        self.containers.get_mut(slot)
    }

    /// The children of every parent by name, in the scheduler's order.
    #[must_use]
    pub fn child_order(&self) -> BTreeMap<String, Vec<String>> {
        let queues = self.state.subtree(State::ROOT);
        queues
            .into_iter()
            .map(|queue| &self.state.queues[queue])
            .filter(|queue| !queue.children.is_empty())
            .map(|queue| {
                let names = queue
                    .children
                    .iter()
                    .map(|&child| self.state.queues[child].settings.name().to_owned());
                (queue.settings.path.to_string(), names.collect())
            })
            .collect()
    }
}
