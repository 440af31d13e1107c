//! The auditor: a small ledger built from a scheduler's outputs alone, which counts violations.
//!
//! It shares no code with the engine. Each violation is counted under the id of its invariant:
//!
//! | id | what must hold |
//! | --- | --- |
//! | N1 | a container is placed only where the node has room for every type |
//! | N3 | use of a node = sum of the containers on it |
//! | N4 | containers live only on registered nodes |
//! | N5 | at most one reservation per node |
//! | Q1 | use of a queue = sum of its children = sum of the containers below it |
//! | Q4 | no queue on the path goes beyond its limit |
//! | U1 | use of a user in a leaf = sum of the containers there |
//! | U6 | headroom told to applications is not negative in memory and vcores |
//! | U7 | never more containers than asked for under a key |
//! | U8 | an ended application gets nothing and keeps nothing |
//! | K1 | a container's number is given once |
//! | K3 | what ends was live, and ends once |
//! | K6 | what is handed to an application was placed, and is handed over once |
//! | R1 | a reservation on a node is replaced by its owner or after its release |
//! | R3 | a reserved container is placed on the node it was reserved on |
//!
//! Counts of proposals (P1, P3) are not among the outputs; the engine's own auditor checks them.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{
    ApplicationId, AskCall, AskReply, ContainerId, Event, NodeName, NodeSpec, ResourceVector,
};
use crate::id::{Map, Set};

/// Findings that are kept as text; further ones are only counted.
const FINDINGS: usize = 20;

/// Events between two full checks, at least.
const FULL_CHECK: usize = 4096;

/// Places and counts of everything that outputs told of.
#[derive(Debug, Default)]
pub struct Ledger {
    nodes: BTreeMap<NodeName, NodeEntry>,
    containers: BTreeMap<ContainerId, Held>,
    /// Reserved containers and the node of each.
    reserved: Map<ContainerId, NodeName>,
    apps: Map<ApplicationId, AppEntry>,
    /// Use of every queue, leaves and parents.
    queues: BTreeMap<String, ResourceVector>,
    leaves: Set<String>,
    users: BTreeMap<(String, String), ResourceVector>,
    limits: Map<String, ResourceVector>,
    used: ResourceVector,
    total: ResourceVector,
    counts: BTreeMap<&'static str, u64>,
    findings: Vec<String>,
    /// What the last full check found: a violation that stands is counted once.
    standing: BTreeSet<(&'static str, String)>,
    /// Events since the last full check.
    unchecked: usize,
}

#[derive(Debug)]
struct NodeEntry {
    total: ResourceVector,
    used: ResourceVector,
    reserved: Option<ContainerId>,
}

#[derive(Debug)]
struct Held {
    node: NodeName,
    size: ResourceVector,
    queue: String,
    user: String,
    handed_over: bool,
}

#[derive(Debug)]
struct AppEntry {
    user: String,
    /// Containers that may still be placed, by priority and request id.
    wanted: BTreeMap<(i32, i64), i64>,
    /// Numbers given.
    numbers: Set<u32>,
}

/// Key of the ask for an application master.
const MASTER_KEY: (i32, i64) = (0, -1);

impl Ledger {
    /// Sets the most a queue may use. Queues without a limit are not checked for Q4, and none should
    /// be set where the limit legally is the partition's, as without exclusivity.
    pub fn limit(&mut self, queue: &str, most: ResourceVector) {
        self.limits.insert(queue.to_owned(), most);
    }

    /// A node was registered.
    pub fn node_added(&mut self, node: &NodeSpec) {
        self.total += node.total;
        let entry = NodeEntry {
            total: node.total,
            used: ResourceVector::NONE,
            reserved: None,
        };
        self.nodes.insert(node.name.clone(), entry);
    }

    /// A node went away and its loss was told.
    pub fn node_removed(&mut self, node: &NodeName) {
        if let Some(entry) = self.nodes.remove(node) {
            self.total -= entry.total;
        }
    }

    /// An application was taken.
    pub fn submitted(&mut self, app: ApplicationId, user: &str, has_master: bool) {
        let mut entry = AppEntry {
            user: user.to_owned(),
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
        let Some(entry) = self.apps.get_mut(&app) else {
            return;
        };
        for ask in call.asks.iter().filter(|ask| ask.place == "*") {
            let key = (ask.priority, ask.request_id);
            entry.wanted.insert(key, i64::from(ask.count));
        }
    }

    /// What an application's call was answered.
    pub fn replied(&mut self, app: ApplicationId, reply: &AskReply) {
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
        if reply.headroom.memory() < 0 || reply.headroom.vcores() < 0 {
            self.violated("U6", format!("headroom of {app} is {}", reply.headroom));
        }
    }

    /// An application was ended.
    pub fn app_ended(&mut self, app: ApplicationId) {
        self.apps.remove(&app);
    }

    /// Something the scheduler did.
    pub fn event(&mut self, event: &Event) {
        self.unchecked += 1;
        match event {
            Event::Allocated {
                container,
                node,
                size,
                queue,
                priority,
                request_id,
            } => {
                self.numbered(*container, (*priority, *request_id));
                self.placed(*container, node, *size, queue);
            }
            Event::Reserved {
                container, node, ..
            } => self.reserve(*container, node),
            Event::ReservationMoved {
                container,
                from,
                to,
                ..
            } => {
                if self.unreserve(*container).as_ref() != Some(from) {
                    let text = format!("{container} moves from {from}, where it holds nothing");
                    self.violated("R1", text);
                }
                self.reserve(*container, to);
            }
            Event::Released { container, .. } => self.released(*container),
            Event::MasterStarted { .. } => {}
        }
    }

    fn numbered(&mut self, container: ContainerId, key: (i32, i64)) {
        let Some(app) = self.apps.get_mut(&container.app) else {
            self.violated(
                "U8",
                format!("{container} is placed after its application ended"),
            );
            return;
        };
        let wanted = app.wanted.entry(key).or_default();
        *wanted -= 1;
        let too_many = *wanted < 0;
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
        node: &NodeName,
        size: ResourceVector,
        queue: &str,
    ) {
        if let Some(place) = self.unreserve(container)
            && place != *node
        {
            let text = format!("{container} was reserved on {place} and is placed on {node}");
            self.violated("R3", text);
        }
        match self.nodes.get_mut(node) {
            None => self.violated("N4", format!("{container} is placed on {node}, not a node")),
            Some(entry) => {
                entry.used += size;
                if !entry.used.fits_in(&entry.total) {
                    let text = format!(
                        "{container} of {size} on {node}: {} of {} used",
                        entry.used, entry.total
                    );
                    self.violated("N1", text);
                }
            }
        }
        let user = self
            .apps
            .get(&container.app)
            .map_or_else(String::new, |app| app.user.clone());
        self.leaves.insert(queue.to_owned());
        for path in ancestors(queue) {
            let used = self.queues.entry(path.to_owned()).or_default();
            *used += size;
            let used = *used;
            if let Some(limit) = self.limits.get(path)
                && !used.fits_in(limit)
            {
                let text = format!("{container}: {path} uses {used} of at most {limit}");
                self.violated("Q4", text);
            }
        }
        *self
            .users
            .entry((queue.to_owned(), user.clone()))
            .or_default() += size;
        self.used += size;
        let held = Held {
            node: node.clone(),
            size,
            queue: queue.to_owned(),
            user,
            handed_over: false,
        };
        self.containers.insert(container, held);
    }

    fn reserve(&mut self, container: ContainerId, node: &NodeName) {
        if !self.apps.contains_key(&container.app) {
            self.violated(
                "U8",
                format!("{container} is reserved after its application ended"),
            );
        }
        let Some(entry) = self.nodes.get_mut(node) else {
            self.violated(
                "N4",
                format!("{container} is reserved on {node}, not a node"),
            );
            return;
        };
        let before = entry.reserved.replace(container);
        if let Some(owner) = before.filter(|owner| owner.app != container.app) {
            let text = format!("{node} is reserved for {owner} and again for {container}");
            self.violated("R1", text);
        } else if before.is_some_and(|owner| owner != container) {
            self.violated("N5", format!("{node} has two reservations"));
        }
        self.reserved.insert(container, node.clone());
    }

    /// Forgets a reservation; the node it was on.
    fn unreserve(&mut self, container: ContainerId) -> Option<NodeName> {
        let node = self.reserved.remove(&container)?;
        if let Some(entry) = self.nodes.get_mut(&node)
            && entry.reserved == Some(container)
        {
            entry.reserved = None;
        }
        Some(node)
    }

    fn released(&mut self, container: ContainerId) {
        let Some(held) = self.containers.remove(&container) else {
            if self.unreserve(container).is_none() {
                self.violated("K3", format!("{container} ends and is not live"));
            }
            return;
        };
        if let Some(entry) = self.nodes.get_mut(&held.node) {
            entry.used -= held.size;
        }
        for path in ancestors(&held.queue) {
            if let Some(used) = self.queues.get_mut(path) {
                *used -= held.size;
            }
        }
        if let Some(used) = self.users.get_mut(&(held.queue, held.user)) {
            *used -= held.size;
        }
        self.used -= held.size;
    }

    /// Compares a queue's use as the scheduler states it.
    pub fn queue_stated(&mut self, queue: &str, used: &ResourceVector) {
        let own = self.used_by(queue);
        if own != *used {
            self.violated(
                "Q1",
                format!("{queue} is stated to use {used}, the ledger has {own}"),
            );
        }
    }

    /// Compares a node's use as the scheduler states it.
    pub fn node_stated(&mut self, node: &NodeName, used: &ResourceVector) {
        let own = self
            .nodes
            .get(node)
            .map_or(ResourceVector::NONE, |entry| entry.used);
        if own != *used {
            self.violated(
                "N3",
                format!("{node} is stated to use {used}, the ledger has {own}"),
            );
        }
    }

    /// A full check when enough happened since the last one that its cost does not show.
    pub fn check_when_due(&mut self) {
        if self.unchecked >= self.containers.len().max(FULL_CHECK) {
            self.check();
        }
    }

    /// Adds everything up again from the live containers and compares.
    ///
    /// Not between a call that removes something and the events that tell of its end.
    pub fn check(&mut self) {
        let mut nodes: BTreeMap<&NodeName, ResourceVector> = BTreeMap::new();
        let mut queues: BTreeMap<&str, ResourceVector> = BTreeMap::new();
        let mut users: BTreeMap<(&str, &str), ResourceVector> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for (container, held) in &self.containers {
            *nodes.entry(&held.node).or_default() += held.size;
            for path in ancestors(&held.queue) {
                *queues.entry(path).or_default() += held.size;
            }
            *users.entry((&held.queue, &held.user)).or_default() += held.size;
            if !self.nodes.contains_key(&held.node) {
                found.insert((
                    "N4",
                    format!("{container} lives on {}, not a node", held.node),
                ));
            }
            if !self.apps.contains_key(&container.app) {
                found.insert(("U8", format!("{container} outlives its application")));
            }
        }
        for (name, entry) in &self.nodes {
            let sum = nodes.get(name).copied().unwrap_or_default();
            if sum != entry.used {
                found.insert((
                    "N3",
                    format!("{name} uses {}, its containers {sum}", entry.used),
                ));
            }
        }
        for (path, used) in &self.queues {
            let sum = queues.get(path.as_str()).copied().unwrap_or_default();
            if sum != *used {
                found.insert((
                    "Q1",
                    format!("{path} uses {used}, the containers below it {sum}"),
                ));
            }
        }
        for ((queue, user), used) in &self.users {
            let sum = users.get(&(queue.as_str(), user.as_str())).copied();
            if sum.unwrap_or_default() != *used {
                found.insert(("U1", format!("{user} uses {used} in {queue}, not the sum")));
            }
        }
        for (id, text) in &found {
            if !self.standing.contains(&(*id, text.clone())) {
                self.violated(id, text.clone());
            }
        }
        self.standing = found;
        self.unchecked = 0;
        self.users.retain(|_, used| !used.is_none());
    }

    fn violated(&mut self, id: &'static str, text: String) {
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
        self.queues.get(queue).copied().unwrap_or_default()
    }

    /// Use of all leaf queues that ever held a container.
    #[must_use]
    pub fn leaves(&self) -> BTreeMap<String, ResourceVector> {
        let of_leaf = |(path, used): (&String, &ResourceVector)| {
            self.leaves.contains(path).then(|| (path.clone(), *used))
        };
        self.queues.iter().filter_map(of_leaf).collect()
    }

    /// Use of all containers, and everything the registered nodes offer.
    #[must_use]
    pub const fn cluster(&self) -> (ResourceVector, ResourceVector) {
        (self.used, self.total)
    }

    /// Live containers.
    #[must_use]
    pub fn n_live(&self) -> usize {
        self.containers.len()
    }
}

/// A queue's path and those of its ancestors.
fn ancestors(queue: &str) -> impl Iterator<Item = &str> {
    let parents = queue.rmatch_indices('.').map(|(at, _)| &queue[..at]);
    std::iter::once(queue).chain(parents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Ask, Granted, ReleaseReason};

    const APP: ApplicationId = ApplicationId::new(1);

    fn id(number: u32) -> ContainerId {
        ContainerId { app: APP, number }
    }

    fn node(host: &str) -> NodeName {
        NodeName::new(host, 0).unwrap()
    }

    fn allocated(number: u32, host: &str, mib: i64) -> Event {
        Event::Allocated {
            container: id(number),
            node: node(host),
            size: ResourceVector::of(&[mib, 1]),
            queue: "root.a.b".into(),
            priority: 1,
            request_id: 0,
        }
    }

    fn released(number: u32) -> Event {
        Event::Released {
            container: id(number),
            reason: ReleaseReason::Finished,
        }
    }

    /// A ledger with two nodes of 10 MiB and an application that wants 9 containers.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        for host in ["n1", "n2"] {
            let total = ResourceVector::of(&[10, 10]);
            ledger.node_added(&NodeSpec::new(node(host), total));
        }
        ledger.submitted(APP, "u", false);
        let call = AskCall {
            asks: vec![Ask::anywhere(ResourceVector::of(&[1, 1]), 9)],
            ..AskCall::default()
        };
        ledger.asked(APP, &call);
        ledger
    }

    fn ids(ledger: &Ledger) -> Vec<&'static str> {
        ledger.violations().keys().copied().collect()
    }

    #[test]
    fn an_honest_run_has_no_violation_and_ends_at_zero() {
        let mut ledger = ledger();
        ledger.event(&allocated(1, "n1", 4));
        ledger.event(&allocated(2, "n2", 10));
        ledger.check();
        assert_eq!(ledger.used_by("root.a"), ResourceVector::of(&[14, 2]));
        ledger.event(&released(1));
        ledger.event(&released(2));
        ledger.app_ended(APP);
        ledger.check();
        assert_eq!(ids(&ledger), [""; 0]);
        assert_eq!(ledger.cluster().0, ResourceVector::NONE);
    }

    #[test]
    fn each_violation_is_found_under_its_id() {
        let expect = |events: &[Event], expected: &[&str]| {
            let mut ledger = ledger();
            ledger.limit("root.a", ResourceVector::of(&[15, 15]));
            for event in events {
                ledger.event(event);
            }
            ledger.check();
            assert_eq!(ids(&ledger), expected, "{:?}", ledger.findings());
        };
        expect(&[allocated(1, "n1", 11)], &["N1"]);
        expect(&[allocated(1, "n9", 1)], &["N4"]);
        expect(&[allocated(1, "n1", 8), allocated(2, "n2", 8)], &["Q4"]);
        expect(&[released(7)], &["K3"]);
        expect(
            &[allocated(1, "n1", 1), released(1), allocated(1, "n1", 1)],
            &["K1"],
        );
        let ten: Vec<Event> = (1..=10).map(|n| allocated(n, "n1", 1)).collect();
        expect(&ten, &["U7"]);
        let reserved = |number, host: &str| Event::Reserved {
            container: id(number),
            node: node(host),
            size: ResourceVector::of(&[1, 1]),
        };
        expect(&[reserved(1, "n1"), allocated(1, "n2", 1)], &["R3"]);
        expect(&[reserved(1, "n1"), reserved(2, "n1")], &["N5"]);
        expect(&[reserved(1, "n1"), released(1), reserved(2, "n1")], &[]);
        let moved = |number, from: &str, to: &str| Event::ReservationMoved {
            container: id(number),
            from: node(from),
            to: node(to),
            size: ResourceVector::of(&[1, 1]),
        };
        let follows = [
            reserved(1, "n1"),
            moved(1, "n1", "n2"),
            reserved(2, "n1"),
            allocated(1, "n2", 1),
        ];
        expect(&follows, &[]);
        expect(&[moved(1, "n1", "n2")], &["R1"]);
    }

    #[test]
    fn two_owners_of_a_reservation_are_found() {
        let mut ledger = ledger();
        ledger.submitted(ApplicationId::new(2), "v", false);
        for app in [APP, ApplicationId::new(2)] {
            ledger.event(&Event::Reserved {
                container: ContainerId { app, number: 1 },
                node: node("n1"),
                size: ResourceVector::of(&[1, 1]),
            });
        }
        assert_eq!(ids(&ledger), ["R1"]);
    }

    #[test]
    fn what_outlives_its_node_or_application_is_found() {
        let mut ledger = ledger();
        ledger.event(&allocated(1, "n1", 1));
        ledger.node_removed(&node("n1"));
        ledger.app_ended(APP);
        ledger.check();
        assert_eq!(ids(&ledger), ["N4", "U8"]);
    }

    #[test]
    fn handing_over_twice_or_negative_headroom_is_found() {
        let mut ledger = ledger();
        ledger.event(&allocated(1, "n1", 4));
        let mut reply = AskReply {
            allocated: vec![Granted {
                container: id(1),
                node: node("n1"),
                size: ResourceVector::of(&[4, 1]),
                priority: 1,
                request_id: 0,
            }],
            ..AskReply::default()
        };
        ledger.replied(APP, &reply);
        assert_eq!(ids(&ledger), [""; 0]);
        reply.headroom = ResourceVector::of(&[-1, 0]);
        ledger.replied(APP, &reply);
        assert_eq!(ids(&ledger), ["K6", "U6"]);
    }

    #[test]
    fn what_the_scheduler_states_is_compared() {
        let mut ledger = ledger();
        ledger.event(&allocated(1, "n1", 4));
        ledger.queue_stated("root.a", &ResourceVector::of(&[4, 1]));
        ledger.node_stated(&node("n1"), &ResourceVector::of(&[4, 1]));
        assert_eq!(ids(&ledger), [""; 0]);
        ledger.queue_stated("root", &ResourceVector::of(&[5, 1]));
        ledger.node_stated(&node("n2"), &ResourceVector::of(&[5, 1]));
        assert_eq!(ids(&ledger), ["N3", "Q1"]);
    }
}
