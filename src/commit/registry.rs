//! The registry: the slots of everything that has a name, and slots that are free again.
//!
//! Tests: `tests/commit/property.rs`.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use super::place_names::PlaceNames;
use crate::id::{
    AppSlot, ApplicationId, Map, NameId, NodeName, NodeSlot, PartitionId, QueuePath, QueueSlot,
};

/// Names of hosts, partitions, queues, applications and nodes.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    places: PlaceNames,
    partitions: BTreeMap<Arc<str>, PartitionId>,
    /// Queues by full path.
    queues: BTreeMap<QueuePath, QueueSlot>,
    apps: Map<ApplicationId, AppSlot>,
    nodes: Map<NodeName, NodeSlot>,
    /// The same in order, for pages.
    apps_in_order: BTreeMap<ApplicationId, AppSlot>,
    nodes_in_order: BTreeMap<NodeName, NodeSlot>,
    free_apps: Vec<AppSlot>,
    free_nodes: Vec<NodeSlot>,
}

impl Registry {
    /// Nothing but the name of all places.
    pub(super) fn new() -> Self {
        Self {
            places: PlaceNames::new(),
            partitions: BTreeMap::new(),
            queues: BTreeMap::new(),
            apps: Map::default(),
            nodes: Map::default(),
            apps_in_order: BTreeMap::new(),
            nodes_in_order: BTreeMap::new(),
            free_apps: Vec::new(),
            free_nodes: Vec::new(),
        }
    }

    /// The id of a host, rack or `*`, interned on first use.
    pub(super) fn intern(&mut self, name: &str) -> NameId {
        self.places.intern(name)
    }

    /// The names of all places, by id.
    pub(super) fn place_names(&self) -> &[Arc<str>] {
        self.places.by_id()
    }

    /// The slots of registered nodes, in no order.
    pub(super) fn node_slots(&self) -> impl Iterator<Item = NodeSlot> {
        self.nodes.values().copied()
    }

    /// The id of a partition by name.
    pub(super) fn partition(&self, name: &str) -> Option<PartitionId> {
        self.partitions.get(name).copied()
    }

    /// Names a partition.
    pub(super) fn add_partition(&mut self, name: Arc<str>, id: PartitionId) {
        self.partitions.insert(name, id);
    }

    /// A queue by full path.
    pub(super) fn queue_at(&self, path: &str) -> Option<QueueSlot> {
        self.queues.get(path).copied()
    }

    /// A queue by full path, or by a name that is not ambiguous.
    pub(super) fn queue(&self, path: &str) -> Option<QueueSlot> {
        if let Some(slot) = self.queue_at(path) {
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
    pub(crate) fn is_ambiguous(&self, name: &str) -> bool {
        let full = name.contains('.') || self.queues.contains_key(name);
        !full && self.queues_named(name).nth(1).is_some()
    }

    /// Queues whose path ends with a name.
    fn queues_named(&self, name: &str) -> impl Iterator<Item = QueueSlot> {
        let named = move |path: &str| path.rsplit('.').next() == Some(name);
        let all = self.queues.iter();
        all.filter_map(move |(path, &slot)| named(path).then_some(slot))
    }

    /// Names a queue.
    pub(super) fn add_queue(&mut self, path: QueuePath, slot: QueueSlot) {
        self.queues.insert(path, slot);
    }

    /// Forgets a queue, unless another one has its path by now.
    pub(super) fn remove_queue(&mut self, path: &str, slot: QueueSlot) {
        if self.queue_at(path) == Some(slot) {
            self.queues.remove(path);
        }
    }

    /// A live application by id.
    pub(super) fn app(&self, id: ApplicationId) -> Option<AppSlot> {
        self.apps.get(&id).copied()
    }

    /// Live applications by id, ascending.
    pub(super) fn apps_by_id(&self) -> Vec<(ApplicationId, AppSlot)> {
        let apps = self.apps_in_order.iter();
        apps.map(|(&id, &slot)| (id, slot)).collect()
    }

    /// The first applications behind an id, ascending.
    pub(crate) fn apps_behind(
        &self,
        behind: Option<ApplicationId>,
        most: usize,
    ) -> Vec<(ApplicationId, AppSlot)> {
        let behind = behind.map_or(Unbounded, Excluded);
        let apps = self.apps_in_order.range((behind, Unbounded));
        apps.take(most).map(|(&id, &slot)| (id, slot)).collect()
    }

    /// The first nodes behind a name, ascending.
    pub(crate) fn nodes_behind(
        &self,
        behind: Option<&NodeName>,
        most: usize,
    ) -> Vec<(&NodeName, NodeSlot)> {
        let behind = behind.map_or(Unbounded, Excluded);
        let nodes = self.nodes_in_order.range((behind, Unbounded));
        nodes.take(most).map(|(name, &slot)| (name, slot)).collect()
    }

    /// Names an application.
    pub(super) fn add_app(&mut self, id: ApplicationId, slot: AppSlot) {
        self.apps.insert(id, slot);
        self.apps_in_order.insert(id, slot);
    }

    /// Forgets an application; its slot is not free yet.
    pub(super) fn remove_app(&mut self, id: ApplicationId) {
        self.apps.remove(&id);
        self.apps_in_order.remove(&id);
    }

    /// A registered node by name.
    pub(super) fn node(&self, name: &NodeName) -> Option<NodeSlot> {
        self.nodes.get(name).copied()
    }

    /// Number of registered nodes.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Registered nodes in no order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeSlot> + '_ {
        self.nodes.values().copied()
    }

    /// Registered nodes by name, ascending.
    pub(super) fn nodes_by_name(&self) -> Vec<(&NodeName, NodeSlot)> {
        let nodes = self.nodes_in_order.iter();
        nodes.map(|(name, &slot)| (name, slot)).collect()
    }

    /// Names a node.
    pub(super) fn add_node(&mut self, name: NodeName, slot: NodeSlot) {
        self.nodes_in_order.insert(name.clone(), slot);
        self.nodes.insert(name, slot);
    }

    /// Forgets a node; its slot is not free yet.
    pub(super) fn remove_node(&mut self, name: &NodeName) {
        self.nodes.remove(name);
        self.nodes_in_order.remove(name);
    }

    /// A slot of an application that was used before.
    pub(super) fn take_free_app(&mut self) -> Option<AppSlot> {
        self.free_apps.pop()
    }

    /// The slot of an application may be used again.
    pub(super) fn free_app(&mut self, slot: AppSlot) {
        self.free_apps.push(slot);
    }

    /// A slot of a node that was used before.
    pub(super) fn take_free_node(&mut self) -> Option<NodeSlot> {
        self.free_nodes.pop()
    }

    /// The slot of a node may be used again.
    pub(super) fn free_node(&mut self, slot: NodeSlot) {
        self.free_nodes.push(slot);
    }
}
