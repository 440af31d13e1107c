//! From the live state to a view.

use std::collections::BTreeMap;

use super::holdings::Holdings;
use super::view::{
    LimitLookup, RoundApp, RoundContainer, RoundInput, RoundLeaf, RoundNode, RoundQueue,
    RoundQueuePart, RoundUser,
};
use crate::commit::SeenContainer;
use crate::id::{
    AppSlot, ContainerId, NameId, NodeSlot, PartitionId, QueueSlot, Set, UserSlot, java_order,
};
use crate::policy::{
    compute_user_limit, current_fair_key, pending_within_limits, resorted, user_value,
};
use crate::proposer::Observation;
use crate::queue::{AppOrder, ChildOrder, LimitKind};
use crate::resource::{ResourceVector, share};
use crate::snapshot::State;

/// Positions in the view, and what looking changes.
pub(super) struct Extraction<'a, H> {
    held: &'a H,
    state: &'a State,
    partitions: Vec<PartitionId>,
    /// Position of each partition among those of the view.
    partition_at: Vec<Option<usize>>,
    queues: Vec<QueueSlot>,
    queue_at: BTreeMap<QueueSlot, usize>,
    users: Vec<UserSlot>,
    user_at: BTreeMap<UserSlot, usize>,
    apps: Vec<AppSlot>,
    /// Position of each application by its place in the state.
    app_at: Vec<Option<usize>>,
    limits: BTreeMap<(QueueSlot, PartitionId, usize), ResourceVector>,
    computed: Vec<Observation>,
    handed: BTreeMap<UserSlot, ResourceVector>,
    sorted: Vec<QueueSlot>,
    /// Members of gangs that have all of their minimum: they are no candidates.
    spared: Set<ContainerId>,
}

/// A limit of users of weight 1, from the leaf's cache or computed once a round.
fn common_limit(
    state: &State,
    limits: &mut BTreeMap<(QueueSlot, PartitionId, usize), ResourceVector>,
    computed: &mut Vec<Observation>,
    leaf: QueueSlot,
    partition: PartitionId,
    kind: LimitKind,
) -> ResourceVector {
    let users = state.queues[leaf].as_leaf();
    let version = users.users_version;
    *limits
        .entry((leaf, partition, kind as usize))
        .or_insert_with(|| {
            let cached = &users.parts[partition].limits[kind as usize];
            if let Some((known, limit)) = cached
                && *known == version
            {
                return limit.get();
            }
            let limit: ResourceVector = compute_user_limit(state, leaf, partition, kind);
            computed.push(Observation::UserLimit {
                leaf,
                partition,
                kind,
                version,
                limit: limit.into(),
            });
            limit
        })
}

impl<H> LimitLookup for Extraction<'_, H> {
    fn among_all(&mut self, queue: usize, user: usize, partition: usize) -> ResourceVector {
        let (leaf, partition) = (self.queues[queue], self.partitions[partition]);
        let (limits, computed) = (&mut self.limits, &mut self.computed);
        let kind = LimitKind::All;
        let limit = common_limit(self.state, limits, computed, leaf, partition, kind);
        user_value(
            self.state,
            &limit,
            Some(&self.state.users[self.users[user]]),
        )
    }
}

/// The partitions of a view, in its order.
pub(super) fn partitions_of(state: &State) -> Vec<PartitionId> {
    let exists = |id: &PartitionId| state.partitions[*id].exists;
    let mut partitions: Vec<_> = state.partition_ids().filter(exists).collect();
    partitions.sort_by_key(|&id| &state.partitions[id].name);
    partitions
}

impl<'a, H: Holdings> Extraction<'a, H> {
    pub(super) fn new(state: &'a State, held: &'a H) -> Self {
        let partitions = partitions_of(state);
        let mut partition_at = vec![None; state.partitions.len()];
        for (i, id) in partitions.iter().enumerate() {
            partition_at[id.index()] = Some(i);
        }
        let queues = state.subtree(State::ROOT);
        let queue_at = queues.iter().enumerate().map(|(i, &slot)| (slot, i));
        Self {
            held,
            state,
            partitions,
            partition_at,
            queue_at: queue_at.collect(),
            queues,
            users: Vec::new(),
            user_at: BTreeMap::new(),
            apps: Vec::new(),
            app_at: vec![None; state.apps.len()],
            limits: BTreeMap::new(),
            computed: Vec::new(),
            handed: BTreeMap::new(),
            sorted: Vec::new(),
            spared: held.whole_gang_members(),
        }
    }

    /// What looking changes, for the ledger.
    pub(super) fn observations(self) -> Vec<Observation> {
        let handed = self.handed.into_iter();
        let handed = handed.map(|(user, limit)| Observation::LimitNotice {
            user,
            limit: limit.into(),
            once: None,
        });
        let sorted = self.sorted.into_iter();
        let sorted = sorted.map(|leaf| Observation::Sorted { leaf });
        self.computed
            .into_iter()
            .chain(handed)
            .chain(sorted)
            .collect()
    }

    pub(super) fn view(&mut self) -> RoundInput {
        let state = self.state;
        let nodes = self.held.nodes_by_registration();
        self.number_apps(&nodes);
        let mut queues = self.queues();
        self.set_demand(&mut queues);
        let mut apps: Vec<_> = self.apps.iter().map(|&app| self.app(app)).collect();
        for (i, app) in apps.iter().enumerate() {
            if let Some(leaf) = &mut queues[app.queue].leaf {
                leaf.apps.push(i);
            }
        }
        for (i, row) in queues.iter_mut().enumerate() {
            let leaf = self.leaf(i, row.preemption_disabled);
            if let (Some(leaf), Some(known)) = (leaf, &mut row.leaf) {
                let apps = std::mem::take(&mut known.apps);
                *known = RoundLeaf { apps, ..leaf };
            }
        }
        let mut containers = Vec::new();
        let nodes = self.nodes(&nodes, &mut apps, &mut containers);
        let partitions = self.partitions.iter();
        RoundInput {
            calculator: state.calculator,
            cluster: state.cluster,
            minimum: state.minimum,
            partitions: partitions.map(|&id| state.total(id)).collect(),
            queues,
            users: self.users.iter().map(|&user| self.user(user)).collect(),
            apps,
            nodes,
            containers,
        }
    }

    /// Gives every live application, and every ended one that is still listed or has containers on
    /// nodes, a position.
    fn number_apps(&mut self, nodes: &[NodeSlot]) {
        let state = self.state;
        let mut all: BTreeMap<_, _> = self.held.apps_by_id().into_iter().collect();
        let mut known = vec![false; state.apps.len()];
        for slot in all.values() {
            known[slot.index()] = true;
        }
        let leaves = self.queues.iter();
        let leaves = leaves.filter_map(|&queue| state.queues[queue].leaf.as_ref());
        for &slot in leaves.flat_map(|leaf| leaf.active.iter().chain(&leaf.waiting)) {
            all.entry(state.apps[slot].id).or_insert(slot);
        }
        for &node in nodes {
            for container in self.held.on_node(node) {
                if !known[container.app.index()] {
                    all.entry(container.id.app).or_insert(container.app);
                }
            }
        }
        for slot in all.into_values() {
            let row = &state.apps[slot];
            if !self.queue_at.contains_key(&row.leaf) {
                continue;
            }
            self.app_at[slot.index()] = Some(self.apps.len());
            self.apps.push(slot);
            if !self.user_at.contains_key(&row.user) {
                self.user_at.insert(row.user, self.users.len());
                self.users.push(row.user);
            }
        }
    }

    fn queues(&self) -> Vec<RoundQueue> {
        let state = self.state;
        let killable = self.killable();
        let queue = |(i, &slot): (usize, &QueueSlot)| {
            let row = &state.queues[slot];
            let parent = row.parent.map(|parent| &state.queues[parent].settings);
            let by_priority =
                parent.is_some_and(|parent| parent.child_order == ChildOrder::PriorityUtilization);
            let children = row.children.iter().map(|child| self.queue_at[child]);
            RoundQueue {
                path: row.settings.path.clone(),
                parent: row.parent.map(|parent| self.queue_at[&parent]),
                children: children.collect(),
                priority: if by_priority {
                    row.settings.priority
                } else {
                    0
                },
                preemption_disabled: row.settings.preemption_disabled,
                intra_queue_disabled: row.settings.intra_queue_preemption_disabled,
                parts: (0..self.partitions.len())
                    .map(|partition| self.part(slot, partition, killable[i][partition]))
                    .collect(),
                leaf: row.is_leaf().then(RoundLeaf::default),
            }
        };
        self.queues.iter().enumerate().map(queue).collect()
    }

    // As TempQueuePerPartition's copy of a queue.
    fn part(&self, queue: QueueSlot, partition: usize, killable: ResourceVector) -> RoundQueuePart {
        let state = self.state;
        let id = self.partitions[partition];
        let (part, total) = (state.queues[queue].part(id), state.total(id));
        let shared = id != PartitionId::DEFAULT && !state.partitions[id].exclusive;
        let maximum = if shared { 1.0 } else { part.absolute_maximum };
        let or_share = |amount: ResourceVector, of: f32| {
            if amount.is_none() {
                share::times(&total, f64::from(of))
            } else {
                amount
            }
        };
        RoundQueuePart {
            used: part.used.get(),
            reserved: part.reserved.get(),
            guaranteed: or_share(part.guaranteed.get(), part.absolute_capacity),
            maximum: or_share(part.limit.get(), maximum),
            killable,
            pending: ResourceVector::NONE,
            pending_without_reserved: ResourceVector::NONE,
            absolute_capacity: part.absolute_capacity,
            used_capacity: part.used_capacity,
        }
    }

    /// Containers that may be killed, by queue and partition.
    fn killable(&self) -> Vec<Vec<ResourceVector>> {
        let state = self.state;
        let none = vec![ResourceVector::NONE; self.partitions.len()];
        let mut sums = vec![none; self.queues.len()];
        if !state.settings.lazy_preemption {
            return sums;
        }
        for (i, &partition) in self.partitions.iter().enumerate() {
            let nodes = state.partitions[partition].nodes.iter();
            let killable = nodes.flat_map(|&node| &state.nodes[node].killable);
            for killable in killable.filter(|killable| !killable.ended) {
                for queue in state.chain(killable.leaf) {
                    if let Some(&at) = self.queue_at.get(&queue) {
                        sums[at][i] += killable.size;
                    }
                }
            }
        }
        sums
    }

    /// Demand of leaves within their users' limits, summed up in their ancestors. Users are handed
    /// the limits, partition by partition.
    fn set_demand(&mut self, queues: &mut [RoundQueue]) {
        for partition in 0..self.partitions.len() {
            for i in 0..queues.len() {
                if queues[i].leaf.is_none() {
                    continue;
                }
                let demand = [false, true].map(|without| self.demand(i, partition, without));
                let mut above = Some(i);
                while let Some(queue) = above {
                    let part = &mut queues[queue].parts[partition];
                    part.pending += demand[0];
                    part.pending_without_reserved += demand[1];
                    above = queues[queue].parent;
                }
            }
        }
    }

    fn demand(&mut self, queue: usize, partition: usize, without_reserved: bool) -> ResourceVector {
        let (state, leaf, id) = (self.state, self.queues[queue], self.partitions[partition]);
        let (limits, computed) = (&mut self.limits, &mut self.computed);
        let handed = &mut self.handed;
        pending_within_limits(state, leaf, id, without_reserved, |user| {
            let limit = common_limit(state, limits, computed, leaf, id, LimitKind::Respect);
            let record = &state.users[user];
            let limit = user_value(state, &limit, Some(record));
            handed.insert(user, limit);
            limit
        })
    }

    /// The applications of a leaf. A leaf that others may take from is sorted on the way.
    fn leaf(&mut self, queue: usize, protected: bool) -> Option<RoundLeaf> {
        let (state, slot) = (self.state, self.queues[queue]);
        let leaf = state.queues[slot].leaf.as_ref()?;
        let moved = resorted(state, slot).filter(|_| !protected);
        if moved.is_some() {
            self.sorted.push(slot);
        }
        let position = |apps: &[AppSlot]| -> Vec<usize> {
            let apps = apps.iter().filter_map(|app| self.app_at[app.index()]);
            apps.collect()
        };
        let settings = &state.queues[slot].settings.leaf;
        let part = state.queues[slot].part(PartitionId::DEFAULT);
        Some(RoundLeaf {
            active: position(moved.as_deref().unwrap_or(&leaf.active)),
            waiting: position(&leaf.waiting),
            apps: Vec::new(),
            fair: matches!(settings.app_order, AppOrder::Fair { .. }),
            masters: share::times(&part.guaranteed.get(), f64::from(part.master_share)),
        })
    }

    fn user(&self, user: UserSlot) -> RoundUser {
        let record = &self.state.users[user];
        let partitions = self.partitions.iter();
        RoundUser {
            used: partitions.map(|&id| record.part(id).used.get()).collect(),
        }
    }

    fn app(&self, slot: AppSlot) -> RoundApp {
        let row = &self.state.apps[slot];
        let queue = &self.state.queues[row.leaf];
        let figures = |f: fn(&crate::queue::AppPart) -> ResourceVector| {
            let partitions = self.partitions.iter();
            partitions.map(|&id| f(row.part(id))).collect()
        };
        let fair_key = match (&queue.settings.leaf.app_order, &queue.leaf) {
            (AppOrder::Fair { size_based_weight }, Some(leaf)) => {
                let moved = leaf.dirty.contains(&slot) && !queue.settings.preemption_disabled;
                current_fair_key(row, moved, *size_based_weight)
            }
            _ => 0.0,
        };
        RoundApp {
            id: row.id,
            queue: self.queue_at[&row.leaf],
            user: self.user_at[&row.user],
            priority: row.priority,
            master_size: row.master_use(),
            master_partition: self.partition_at[row.master_partition.index()],
            started: row.unmanaged || row.master.is_some(),
            used: figures(|part| part.used.get()),
            pending: figures(|part| part.pending.get()),
            fair_key: (fair_key, row.start),
            live: Vec::new(),
            reserved: Vec::new(),
        }
    }

    fn nodes(
        &self,
        slots: &[NodeSlot],
        apps: &mut [RoundApp],
        containers: &mut Vec<RoundContainer>,
    ) -> Vec<RoundNode> {
        let mut nodes = Vec::with_capacity(slots.len());
        let holds = |&slot: &NodeSlot| self.held.on_node(slot).size_hint().0;
        containers.reserve(slots.iter().map(holds).sum());
        for &slot in slots {
            let row = &self.state.nodes[slot];
            let Some(partition) = self.partition_at[row.partition.index()] else {
                continue;
            };
            let mut node = RoundNode {
                slot,
                java_hash: row.java_hash,
                partition,
                total: row.total.get(),
                allocated: row.allocated.get(),
                killable: row.killable_total(),
                running: Vec::with_capacity(holds(&slot)),
                reserved: None,
            };
            for container in self.held.on_node(slot) {
                if let Some(view) = self.container(&container, nodes.len()) {
                    node.running.push(containers.len());
                    if !container.done {
                        apps[view.app].live.push(containers.len());
                    }
                    containers.push(view);
                }
            }
            let held = self.held.reservation_on(slot);
            if let Some(view) = held.and_then(|held| self.container(&held, nodes.len())) {
                node.reserved = Some(containers.len());
                apps[view.app].reserved.push(containers.len());
                containers.push(view);
            }
            nodes.push(node);
        }
        for app in apps {
            app.live.sort_by_key(|&at| containers[at].id);
            in_map_order(&mut app.reserved, containers, &nodes);
        }
        nodes
    }

    fn container(&self, row: &SeenContainer, node: usize) -> Option<RoundContainer> {
        if self.spared.contains(&row.id) {
            return None;
        }
        let app = self.app_at[row.app.index()]?;
        let killable = &self.state.nodes[row.node].killable;
        let asks = self.state.apps[row.app].key(row.key);
        let asks = asks.filter(|asks| asks.known);
        Some(RoundContainer {
            id: row.id,
            app,
            key: row.key,
            size: row.size.get(),
            node,
            requested_partition: self.partition_at[row.requested_partition.index()],
            reserved: row.reserved,
            master: row.master,
            killable: killable.iter().any(|killable| killable.container == row.id),
            may_move: asks.is_none_or(|asks| asks.relaxed(NameId::ANY)),
            stamp: row.stamp,
            created_ms: row.created_ms,
        })
    }
}

/// Puts the reservations of an application in the order in which the reference walks them: by key, then by node,
/// each in a hash map.
// As SchedulerApplicationAttempt.getReservedContainers.
fn in_map_order(reserved: &mut Vec<usize>, containers: &[RoundContainer], nodes: &[RoundNode]) {
    if reserved.len() < 2 {
        return;
    }
    reserved.sort_by_key(|&at| containers[at].id);
    let mut by_key: Vec<Vec<usize>> = Vec::new();
    for &at in reserved.iter() {
        let key = containers[at].key;
        match by_key.iter_mut().find(|of| containers[of[0]].key == key) {
            Some(of) => of.push(at),
            None => by_key.push(vec![at]),
        }
    }
    for of in &mut by_key {
        java_order::sort(of, 0, |&at| nodes[containers[at].node].java_hash);
    }
    java_order::sort(&mut by_key, 0, |of| {
        let key = containers[of[0]].key;
        java_order::scheduler_key_hash(key.priority, key.request_id)
    });
    *reserved = by_key.concat();
}
