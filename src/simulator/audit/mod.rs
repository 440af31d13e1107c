//! The auditor: a small ledger built from a scheduler's outputs alone, which counts violations.
//!
//! It shares no code with the engine. Each violation is counted under the id of its invariant:
//!
//! | id | what must hold |
//! | --- | --- |
//! | N1 | a container is placed only where the node has room for every type that is counted |
//! | N3 | use of a node = sum of the containers on it |
//! | N4 | containers live only on registered nodes |
//! | N5 | at most one reservation per node |
//! | Q1 | use of a queue = sum of its children = sum of the containers below it |
//! | Q4 | no queue on the path goes beyond its limit |
//! | U1 | use of a user in a leaf = sum of the containers there |
//! | U6 | headroom reported to applications is not negative in memory and vcores |
//! | U7 | never more containers than asked for under a key |
//! | U8 | an ended application gets nothing and keeps nothing |
//! | K1 | a container's number is given once |
//! | K3 | what ends was live, and ends once |
//! | K6 | what is handed to an application was placed, and is handed over once |
//! | R1 | a reservation on a node is replaced by its owner or after its release |
//! | R3 | a reserved container is placed on the node it was reserved on |
//! | G1 | the minimum of a gang is placed whole, with nothing in between, or not at all |
//! | G2 | no gang waits beyond its time |
//! | R4 | a reservation that fits on its node becomes a container, or goes, within one round |
//!
//! With the memory-only calculator (`DefaultResourceCalculator`) only memory is counted: vcores and
//! further types may be over-committed on a node, in a queue and in a headroom, as in the reference
//! (YARN-10848). A queue's limit holds on one partition. Where the total of a node shrinks below
//! what it holds, its containers stay, and none is added.
//!
//! Counts of proposals (P1, P3) are not among the outputs; the engine's own auditor checks them.

mod gangs;
mod limits;
mod names;
mod reservations;
mod rows;
mod sums;
mod updates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::rows::{AuditedContainer, AuditedGangs, Overdue, QueueLimit, WaitingReservation};
use crate::api::{
    ApplicationId, AskCall, AskReply, ContainerId, Event, MAX_TYPES, NodeName, NodeSpec,
    ResourceVector,
};
use crate::id::{Map, QueuePath, Set};
use crate::simulator::statistics::Numbered;

/// Findings that are kept as text; further ones are only counted.
const FINDINGS: usize = 20;

/// Places and counts of everything in the outputs.
#[derive(Debug)]
pub struct AuditBooks {
    /// Types that must fit: memory alone, or all that the cluster has.
    counted: usize,
    /// Whether events are judged; sums are kept in any case.
    judges: bool,
    nodes: Numbered<NodeName, NodeEntry>,
    partitions: Numbered<Arc<str>, ()>,
    containers: Map<ContainerId, AuditedContainer>,
    /// Reserved containers.
    reserved: Map<ContainerId, WaitingReservation>,
    /// Reservations that fit, and since when.
    overdue: Overdue,
    apps: Map<ApplicationId, AppEntry>,
    gangs: AuditedGangs,
    /// Every queue, leaves and parents.
    queues: Numbered<QueuePath, AuditedQueue>,
    names: Numbered<Arc<str>, ()>,
    /// Use by queue and user.
    users: Map<(usize, usize), ResourceVector>,
    /// Use of queues with a limit, by queue and partition.
    limited: Map<(usize, usize), QueueLimit>,
    used: ResourceVector,
    total: ResourceVector,
    /// What the nodes offer that run a container.
    busy: ResourceVector,
    counts: BTreeMap<&'static str, u64>,
    findings: Vec<String>,
    /// What the last full check found: a violation that stands is counted once.
    reported: BTreeSet<(&'static str, String)>,
    /// Events since the last full check.
    unchecked: usize,
}

/// A node that was named; one that is not registered has no total and no use.
#[derive(Debug, Default)]
struct NodeEntry {
    registered: bool,
    partition: usize,
    total: ResourceVector,
    used: ResourceVector,
    containers: usize,
    reserved: Option<ContainerId>,
}

#[derive(Debug)]
struct AuditedQueue {
    used: ResourceVector,
    /// Whether it ever held a container itself.
    is_leaf: bool,
    /// The queue itself and those above it.
    path: Box<[usize]>,
}

#[derive(Debug)]
struct AppEntry {
    user: usize,
    /// Containers that may still be placed, by priority and request id.
    wanted: BTreeMap<(i32, i64), i64>,
    /// Numbers given.
    numbers: Set<u32>,
}

/// Key of the ask for an application master.
const MASTER_KEY: (i32, i64) = (0, -1);

impl Default for AuditBooks {
    /// A ledger of a cluster that counts all types.
    fn default() -> Self {
        Self::new(MAX_TYPES, false)
    }
}

impl AuditBooks {
    /// A ledger of a cluster with so many resource types; `memory_only`: its calculator compares
    /// memory alone.
    #[must_use]
    pub fn new(types: usize, memory_only: bool) -> Self {
        Self {
            counted: if memory_only { 1 } else { types.min(MAX_TYPES) },
            judges: true,
            nodes: Numbered::default(),
            partitions: Numbered::default(),
            containers: Map::default(),
            reserved: Map::default(),
            overdue: Overdue::default(),
            apps: Map::default(),
            gangs: AuditedGangs::default(),
            queues: Numbered::default(),
            names: Numbered::default(),
            users: Map::default(),
            limited: Map::default(),
            used: ResourceVector::NONE,
            total: ResourceVector::NONE,
            busy: ResourceVector::NONE,
            counts: BTreeMap::new(),
            findings: Vec::new(),
            reported: BTreeSet::new(),
            unchecked: 0,
        }
    }

    /// The same ledger, which judges nothing: what is used by which queue, on how many nodes, is kept.
    #[must_use]
    pub fn keeping_sums(mut self) -> Self {
        self.judges = false;
        self
    }

    /// Whether an amount is within another for every type that is counted.
    fn within(&self, amount: &ResourceVector, most: &ResourceVector) -> bool {
        (0..self.counted).all(|index| amount[index] <= most[index])
    }

    /// A node offers another total from now on; what it holds stays.
    pub fn node_resized(&mut self, node: &NodeName, total: ResourceVector) {
        if let Some(node) = self.node(node) {
            let entry = self.nodes.row_mut(node);
            self.total += total - entry.total;
            if entry.containers > 0 {
                self.busy += total - entry.total;
            }
            entry.total = total;
            self.refit(node);
        }
    }

    /// A node was registered.
    pub fn node_added(&mut self, node: &NodeSpec) {
        self.total += node.total;
        let entry = NodeEntry {
            registered: true,
            partition: self.partition(&node.partition),
            total: node.total,
            ..NodeEntry::default()
        };
        let node = self.named_node(&node.name);
        *self.nodes.row_mut(node) = entry;
    }

    /// A node went away and its loss was delivered.
    pub fn node_removed(&mut self, node: &NodeName) {
        if let Some(node) = self.node(node) {
            let entry = std::mem::take(self.nodes.row_mut(node));
            self.total -= entry.total;
            if entry.containers > 0 {
                self.busy -= entry.total;
            }
        }
    }

    /// An application was taken.
    pub fn submitted(&mut self, app: ApplicationId, user: &str, has_master: bool) {
        let mut entry = AppEntry {
            user: self.user(user),
            wanted: BTreeMap::new(),
            numbers: Set::default(),
        };
        if has_master {
            entry.wanted.insert(MASTER_KEY, 1);
        }
        self.apps.insert(app, entry);
    }

    /// An application's call was taken; only asks for anywhere count containers.
    pub fn asked(&mut self, app: ApplicationId, call: &AskCall) {
        let Some(entry) = self.apps.get_mut(&app).filter(|_| self.judges) else {
            return;
        };
        for ask in call.asks.iter().filter(|ask| ask.place == "*") {
            let key = (ask.priority, ask.request_id);
            entry.wanted.insert(key, i64::from(ask.count));
        }
    }

    /// What an application's call was answered.
    pub fn replied(&mut self, app: ApplicationId, reply: &AskReply) {
        if !self.judges {
            return;
        }
        for granted in &reply.allocated {
            let handed = match self.containers.get_mut(&granted.container) {
                Some(held) if granted.container.app == app && held.size == granted.size => {
                    std::mem::replace(&mut held.handed_over, true)
                }
                _ => true,
            };
            if handed {
                let what = "is handed over twice or was never placed like this";
                self.violated("K6", format!("{} {what}", granted.container));
            }
        }
        let counted = reply.headroom.values(self.counted.min(2));
        if counted.iter().any(|&value| value < 0) {
            self.violated("U6", format!("headroom of {app} is {}", reply.headroom));
        }
    }

    /// An application was ended.
    pub fn app_ended(&mut self, app: ApplicationId) {
        self.apps.remove(&app);
        self.forget_gangs_of(app);
    }

    /// Something the scheduler did.
    pub fn event(&mut self, event: &Event) {
        self.unchecked += 1;
        self.gang_event(event);
        match event {
            Event::Allocated {
                container,
                node,
                size,
                queue,
                key,
                ..
            } => {
                let asked = (key.priority, key.request_id);
                self.numbered(*container, key.increases().is_none().then_some(asked));
                self.placed(*container, node, *size, queue);
            }
            Event::Updated {
                container,
                charged,
                auxiliary,
                ..
            } => self.updated(*container, **charged, auxiliary.id),
            Event::Reserved {
                container,
                node,
                size,
                ..
            } => self.reserve(*container, node, *size),
            Event::ReservationMoved {
                container,
                from,
                to,
                size,
            } => self.moved(*container, (from, to), *size),
            Event::Ended { container, .. } | Event::Unreserved { container, .. } => {
                self.released(*container);
            }
            // About applications as a whole.
            _ => {}
        }
    }

    /// A container gets its number. `key`: what it was asked under, where that counts containers.
    fn numbered(&mut self, container: ContainerId, key: Option<(i32, i64)>) {
        if !self.judges {
            return;
        }
        let Some(app) = self.apps.get_mut(&container.app) else {
            self.violated(
                "U8",
                format!("{container} is placed after its application ended"),
            );
            return;
        };
        let mut too_many = false;
        if let Some(key) = key {
            let wanted = app.wanted.entry(key).or_default();
            *wanted -= 1;
            too_many = *wanted < 0;
        }
        let again = !app.numbers.insert(container.number);
        if too_many {
            let text = format!("{container} was not asked for under {key:?}");
            self.violated("U7", text);
        }
        if again {
            self.violated("K1", format!("{container} is given a second time"));
        }
    }

    fn placed(
        &mut self,
        container: ContainerId,
        name: &NodeName,
        size: ResourceVector,
        queue: &str,
    ) {
        let node = self.named_node(name);
        if let Some(place) = self.unreserve(container)
            && place != node
        {
            let place = self.nodes.name(place);
            let text = format!("{container} was reserved on {place} and is placed on {name}");
            self.violated("R3", text);
        }
        let queue = self.queue(queue);
        let entry = self.nodes.row(node);
        let partition = entry.registered.then_some(entry.partition);
        if let Some(partition) = partition {
            self.fill(container, node, &size);
            self.within_limits(container, (queue, partition), &size);
        } else {
            self.violated("N4", format!("{container} is placed on {name}, not a node"));
        }
        self.queues.row_mut(queue).is_leaf = true;
        self.charge(queue, size);
        let known = self.apps.get(&container.app).map(|app| app.user);
        let user = known.unwrap_or_else(|| self.user(""));
        if self.judges {
            *self.users.entry((queue, user)).or_default() += size;
        }
        self.used += size;
        let held = AuditedContainer {
            node,
            partition,
            queue,
            user,
            size,
            handed_over: false,
        };
        self.containers.insert(container, held);
    }

    /// A container takes room on a registered node.
    fn fill(&mut self, container: ContainerId, node: usize, size: &ResourceVector) {
        let entry = self.nodes.row_mut(node);
        entry.used += *size;
        entry.containers += 1;
        if entry.containers == 1 {
            self.busy += entry.total;
        }
        let (used, total) = (entry.used, entry.total);
        if self.judges && !self.within(&used, &total) {
            let name = self.nodes.name(node);
            let text = format!("{container} of {size} on {name}: {used} of {total} used");
            self.violated("N1", text);
        }
    }

    /// Adds an amount to the use of a queue and of those above it.
    fn charge(&mut self, queue: usize, amount: ResourceVector) {
        for above in 0..self.queues.row(queue).path.len() {
            let queue = self.queues.row(queue).path[above];
            self.queues.row_mut(queue).used += amount;
        }
    }

    fn released(&mut self, container: ContainerId) {
        let Some(held) = self.containers.remove(&container) else {
            if self.unreserve(container).is_none() {
                self.violated("K3", format!("{container} ends and is not live"));
            }
            return;
        };
        self.free_limits(&held);
        let entry = self.nodes.row_mut(held.node);
        if entry.registered {
            entry.used -= held.size;
            if entry.containers == 1 {
                self.busy -= entry.total;
            }
            entry.containers = entry.containers.saturating_sub(1);
            self.refit(held.node);
        }
        self.charge(held.queue, -held.size);
        if let Some(used) = self.users.get_mut(&(held.queue, held.user)) {
            *used -= held.size;
        }
        self.used -= held.size;
    }

    fn violated(&mut self, id: &'static str, text: String) {
        if !self.judges {
            return;
        }
        *self.counts.entry(id).or_default() += 1;
        if self.findings.len() < FINDINGS {
            self.findings.push(format!("{id}: {text}"));
        }
    }

    /// Violations by the id of their invariant.
    #[must_use]
    pub fn violations(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// The first 20 findings in words.
    #[must_use]
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Use of a queue, leaf or parent.
    #[must_use]
    pub fn used_by(&self, queue: &str) -> ResourceVector {
        let known = self.queues.find(queue);
        known.map_or(ResourceVector::NONE, |queue| self.queues.row(queue).used)
    }

    /// Use of all leaf queues that ever held a container.
    #[must_use]
    pub fn leaves(&self) -> BTreeMap<String, ResourceVector> {
        let leaves = self.queues.rows().iter().filter(|(_, entry)| entry.is_leaf);
        leaves
            .map(|(path, entry)| (path.to_string(), entry.used))
            .collect()
    }

    /// Use of all containers, and everything the registered nodes offer.
    #[must_use]
    pub const fn cluster(&self) -> (ResourceVector, ResourceVector) {
        (self.used, self.total)
    }

    /// What the nodes offer that run at least one container.
    #[must_use]
    pub const fn busy(&self) -> ResourceVector {
        self.busy
    }

    /// Live containers.
    #[must_use]
    pub fn n_live(&self) -> usize {
        self.containers.len()
    }
}

#[cfg(test)]
mod random_runs;
#[cfg(test)]
mod tests;
