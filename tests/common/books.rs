//! The oracle of engines with threads: books kept from events and answers alone, against which a
//! state is held.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    ApplicationId, CommitOutcome, ContainerId, Ending, Event, NodeName, ResourceVector,
};
use capsched::cluster::{Node, NodeState};
use capsched::commit::Ledger;
use capsched::id::PartitionId;
use capsched::metrics::{Closed, Counts};
use capsched::queue::{App, Queue, User};
use capsched::snapshot::Snapshot;

/// What the books know of an application: its leaf and its user.
pub(crate) type Apps = BTreeMap<ApplicationId, (&'static str, &'static str)>;

/// Containers with their nodes and sizes.
pub(crate) type Containers = BTreeMap<ContainerId, (NodeName, ResourceVector)>;

/// Sums by name.
type Sums<K> = BTreeMap<K, ResourceVector>;

/// Whether a state may have more space taken than what lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Every node has reported since its containers ended.
    Exact,
    /// Nodes may hold the space of containers that ended and whose nodes have not said so.
    Held,
}

/// What no decision may exceed, whatever nodes there are.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Sizes that nodes may have.
    pub(crate) nodes: Vec<ResourceVector>,
    /// The most that a queue may use.
    pub(crate) queues: BTreeMap<&'static str, ResourceVector>,
    /// The most that a user may have in a leaf, by leaf and user.
    pub(crate) users: BTreeMap<(&'static str, &'static str), ResourceVector>,
    /// Size of each container of the applications that ask for one size only.
    pub(crate) sizes: BTreeMap<ApplicationId, ResourceVector>,
}

/// What happened so far.
#[derive(Debug)]
pub(crate) struct Books {
    limits: Limits,
    apps: Apps,
    live: Containers,
    ended: BTreeSet<ContainerId>,
    reserved: BTreeMap<NodeName, (ContainerId, ResourceVector)>,
    /// Containers on each node, in sum.
    on_node: Sums<NodeName>,
    /// Containers and reservations of each queue with all below it, in sum.
    by_queue: Sums<String>,
    /// The same of each user in each leaf.
    by_user: Sums<(String, String)>,
    pub(crate) placed: u64,
    pub(crate) reservations: u64,
    pub(crate) moved: u64,
    pub(crate) fulfilled: u64,
    /// Containers killed, by application: whether by a lost node or by the end of an application is
    /// not reported.
    pub(crate) killed: BTreeMap<ApplicationId, u64>,
    /// Refusals, by the outcome that they are counted as.
    refused: BTreeMap<usize, u64>,
}

impl Books {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            apps: Apps::new(),
            live: Containers::new(),
            ended: BTreeSet::new(),
            reserved: BTreeMap::new(),
            on_node: Sums::new(),
            by_queue: Sums::new(),
            by_user: Sums::new(),
            placed: 0,
            reservations: 0,
            moved: 0,
            fulfilled: 0,
            killed: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Takes note of applications; before their events are recorded.
    pub(crate) fn know(&mut self, apps: Apps) {
        self.apps.extend(apps);
    }

    /// All refusals.
    pub(crate) fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Writes down one event, and panics when it cannot follow those before.
    pub(crate) fn receive(&mut self, event: &Event) {
        match event {
            Event::Allocated {
                container,
                node,
                size,
                queue,
                from_reservation,
                ..
            } => {
                let known = self.apps.get(&container.app).map(|(leaf, _)| *leaf);
                assert_eq!(known, Some(&**queue), "{container} is of another queue");
                if *from_reservation {
                    self.fulfilled += 1;
                    self.unreserve(node, *container, *size);
                }
                self.place(node, *container, *size);
            }
            Event::Ended {
                container,
                node,
                size,
                ending,
                ..
            } => {
                if *ending == Ending::Killed {
                    *self.killed.entry(container.app).or_default() += 1;
                }
                self.end(node, *container, *size);
            }
            Event::Reserved {
                container,
                node,
                size,
                again,
                ..
            } => {
                assert!(!again, "a reservation that is kept is not reported");
                self.reservations += 1;
                self.reserve(node, *container, *size);
            }
            Event::Unreserved {
                container,
                node,
                size,
                ..
            } => self.unreserve(node, *container, *size),
            Event::ReservationMoved {
                container,
                from,
                to,
                size,
            } => {
                self.moved += 1;
                self.unreserve(from, *container, *size);
                self.reserve(to, *container, *size);
            }
            Event::Rejected { conflict, .. } => {
                let outcome = CommitOutcome::from(*conflict).index();
                *self.refused.entry(outcome).or_default() += 1;
            }
            Event::MasterStarted { container, .. } => {
                assert_eq!(*container, None, "nobody has a master");
            }
            Event::MasterLost { app } => panic!("{app} has no master to lose"),
            Event::AppEnded { app, .. } => panic!("{app} has no limit of its lifetime"),
            Event::Updated { container, .. } => panic!("{container} was not to change"),
            Event::Gang(gang) => panic!("{} asks for no gang", gang.app),
            Event::Opportunistic(of) => panic!("{} is not asked for", of.container),
            other => panic!("nobody asked for that: {other:?}"),
        }
    }

    fn place(&mut self, node: &NodeName, container: ContainerId, size: ResourceVector) {
        self.placed += 1;
        assert!(
            !self.ended.contains(&container),
            "{container} was used before"
        );
        let before = self.live.insert(container, (node.clone(), size));
        assert_eq!(before, None, "{container} was placed twice");
        let sum = self.on_node.entry(node.clone()).or_default();
        *sum += size;
        let within = self.limits.nodes.iter().any(|total| sum.fits_in(total));
        assert!(within, "{node} holds {sum:?}");
        self.was_asked_for(container, size);
        self.charge(container.app, size);
    }

    fn end(&mut self, node: &NodeName, container: ContainerId, size: ResourceVector) {
        let live = self.live.remove(&container);
        let there = Some((node.clone(), size));
        assert_eq!(live, there, "{container} was not there");
        assert!(self.ended.insert(container), "{container} ended twice");
        *self.on_node.entry(node.clone()).or_default() -= size;
        self.charge(container.app, -size);
    }

    fn reserve(&mut self, node: &NodeName, container: ContainerId, size: ResourceVector) {
        let before = self.reserved.insert(node.clone(), (container, size));
        assert_eq!(before, None, "{node} was reserved twice");
        self.was_asked_for(container, size);
        self.charge(container.app, size);
    }

    fn unreserve(&mut self, node: &NodeName, container: ContainerId, size: ResourceVector) {
        let held = self.reserved.remove(node);
        assert_eq!(held, Some((container, size)), "{node} was not reserved so");
        self.charge(container.app, -size);
    }

    /// A container has the size that its application asks for, where that is one size only.
    fn was_asked_for(&self, container: ContainerId, size: ResourceVector) {
        let asked = self.limits.sizes.get(&container.app);
        let right = asked.is_none_or(|asked| *asked == size);
        assert!(right, "{container} has {size:?} instead of {asked:?}");
    }

    /// Charges the user of an application, its leaf and all queues above, and looks at their limits.
    fn charge(&mut self, app: ApplicationId, size: ResourceVector) {
        let (leaf, user) = self.apps[&app];
        let sum = self.by_user.entry((leaf.to_owned(), user.to_owned()));
        let sum = sum.or_default();
        *sum += size;
        let most = self.limits.users.get(&(leaf, user));
        let within = most.is_none_or(|most| sum.fits_in(most));
        assert!(within, "{user} has {sum:?} of {most:?} in {leaf}");
        let mut path = leaf;
        loop {
            let sum = self.by_queue.entry(path.to_owned()).or_default();
            *sum += size;
            let most = self.limits.queues.get(path);
            let within = most.is_none_or(|most| sum.fits_in(most));
            assert!(within, "{path} uses {sum:?} of {most:?}");
            let Some((parent, _)) = path.rsplit_once('.') else {
                return;
            };
            path = parent;
        }
    }

    /// Whether nothing lives or waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.reserved.is_empty()
    }

    /// Containers that live.
    pub(crate) fn live(&self) -> &Containers {
        &self.live
    }

    /// Holds a state against the books.
    pub(crate) fn compare(&self, seen: &Seen, space: Space) {
        for (name, node) in &seen.nodes {
            let known = self.limits.nodes.contains(&node.total);
            assert!(known, "{name} has another size: {node:?}");
            node.adds_up(name);
            let live = self.on_node.get(name).copied().unwrap_or_default();
            let count = self.live.values().filter(|(on, _)| on == name).count();
            match space {
                Space::Exact => assert_eq!((node.allocated, node.containers), (live, count)),
                Space::Held => {
                    assert!(live.fits_in(&node.allocated), "{name}: {live:?}, {node:?}");
                    assert!(count <= node.containers, "{name}: {count}, {node:?}");
                }
            }
            let reserved = self.reserved.get(name).copied();
            assert_eq!(node.reserved, reserved, "reservation on {name}");
        }
        let live = self.live.values().map(|(node, _)| node);
        for node in live.chain(self.reserved.keys()) {
            assert!(seen.nodes.contains_key(node), "{node} is gone");
        }
        assert_eq!(seen.queues, non_zero(&self.by_queue), "use of queues");
        assert_eq!(seen.users, non_zero(&self.by_user), "use of users");
    }

    /// Every decision that the committer took or made has exactly one outcome, and each refusal is reported
    /// once. Once nothing changes any more: a proposer may go on looking whether its reservation
    /// waits.
    pub(crate) fn outcomes(&self, counts: &Counts<CommitOutcome>, shown: &Snapshot) {
        for (outcome, counted) in counts.iter().filter(|(outcome, _)| outcome.is_refused()) {
            let known = self.refused.get(&outcome.index()).copied().unwrap_or(0);
            assert_eq!(counted, known, "{} counted and reported", outcome.name());
        }
        let by_decider = shown.refused.iter().sum::<u64>() + shown.served_refused;
        assert_eq!(by_decider, self.refusals(), "refusals by who decided");
        let decided = shown.taken.iter().sum::<u64>() + shown.served;
        let outcomes = counts.total() + shown.skipped;
        assert_eq!(decided, outcomes, "decisions and outcomes: {counts}");
        let committed =
            counts.get(CommitOutcome::Committed) + counts.get(CommitOutcome::CommittedElsewhere);
        let known = self.placed + self.reservations + self.moved;
        // That a reservation is kept or given up is committed, too.
        assert!(
            known == committed || (known < committed && self.reservations > 0),
            "{known} of {committed} were reported"
        );
    }
}

fn non_zero<K: Ord + Clone>(sums: &Sums<K>) -> Sums<K> {
    let some = sums.iter().filter(|(_, sum)| !sum.is_none());
    some.map(|(key, sum)| (key.clone(), *sum)).collect()
}

/// Figures of a node.
#[derive(Clone, Debug, PartialEq)]
struct NodeSeen {
    total: ResourceVector,
    allocated: ResourceVector,
    free: ResourceVector,
    /// Containers that take space.
    containers: usize,
    reserved: Option<(ContainerId, ResourceVector)>,
}

impl NodeSeen {
    /// What is not allocated is free, and a reservation is for no more than the node has.
    fn adds_up(&self, name: &NodeName) {
        assert_eq!(self.free, self.total - self.allocated, "{name}");
        assert!(self.allocated.fits_in(&self.total), "{name}: {self:?}");
        let ever = self
            .reserved
            .is_none_or(|(_, size)| size.fits_in(&self.total));
        assert!(ever, "{name} is reserved for more than it has: {self:?}");
    }

    fn holds_nothing(&self) -> bool {
        self.allocated.is_none() && self.containers == 0 && self.reserved.is_none()
    }
}

/// What a state shows: registered nodes, applications that have not ended, and what queues and users
/// use, without those that use nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    nodes: BTreeMap<NodeName, NodeSeen>,
    /// Lost nodes that still hold something.
    leftover: Vec<(NodeName, NodeSeen)>,
    queues: Sums<String>,
    users: Sums<(String, String)>,
    pub(crate) apps: BTreeSet<ApplicationId>,
}

impl Seen {
    pub(crate) fn published(shown: &Snapshot) -> Self {
        let (queues, users) = (shown.queues.iter(), shown.users.iter());
        Self::of(queues, users, shown.nodes.iter(), shown.apps.iter())
    }

    pub(crate) fn live(ledger: &Ledger) -> Self {
        let state = ledger.state();
        let (queues, users) = (state.queues.iter(), state.users.iter());
        Self::of(queues, users, state.nodes.iter(), state.apps.iter())
    }

    fn of<'a>(
        queues: impl Iterator<Item = &'a Queue>,
        users: impl Iterator<Item = &'a User>,
        nodes: impl Iterator<Item = &'a Node>,
        apps: impl Iterator<Item = &'a App>,
    ) -> Self {
        let apps: Vec<_> = apps.collect();
        let (mut registered, mut leftover) = (BTreeMap::new(), Vec::new());
        for row in nodes {
            let reserved = row.reserved.map(|held| {
                let app = apps[held.app.index()];
                (app.container(held.number), held.size)
            });
            let seen = NodeSeen {
                total: row.total.get(),
                allocated: row.allocated.get(),
                free: row.free.get(),
                containers: row.containers as usize,
                reserved,
            };
            if row.state != NodeState::Lost {
                registered.insert(row.name.clone(), seen);
            } else if !seen.holds_nothing() {
                leftover.push((row.name.clone(), seen));
            }
        }
        let queues: Vec<_> = queues.collect();
        let path = |queue: &Queue| queue.settings.path.to_string();
        let users = users.filter(|user| !user.removed).map(|user| {
            let leaf = path(queues[user.leaf.index()]);
            let used = user.part(PartitionId::DEFAULT).used.get();
            ((leaf, user.name.to_string()), used)
        });
        let users = non_zero(&users.collect());
        let used = |queue: &Queue| queue.part(PartitionId::DEFAULT).used.get();
        let there = queues.iter().filter(|queue| !queue.removed);
        let queues = non_zero(&there.map(|queue| (path(queue), used(queue))).collect());
        let there = apps.iter().filter(|app| !app.stage.is_over());
        Self {
            nodes: registered,
            leftover,
            queues,
            users,
            apps: there.map(|app| app.id).collect(),
        }
    }

    /// Registered nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.nodes.keys()
    }

    /// Holds the parts of a state against each other: leaves and users against the root, and each node
    /// against its size; lost ones hold nothing.
    pub(crate) fn add_up(&self) {
        let root = self.queues.get("root").copied().unwrap_or_default();
        let sum = |sum: ResourceVector, one: &ResourceVector| sum + *one;
        let leaf = |path: &&String| {
            let below = format!("{path}.");
            !self.queues.keys().any(|other| other.starts_with(&below))
        };
        let leaves = self
            .queues
            .keys()
            .filter(leaf)
            .map(|path| &self.queues[path]);
        assert_eq!(leaves.fold(ResourceVector::NONE, sum), root, "leaves");
        let users = self.users.values().fold(ResourceVector::NONE, sum);
        assert_eq!(users, root, "users");
        for (name, node) in &self.nodes {
            node.adds_up(name);
        }
        assert_eq!(self.leftover, [], "on lost nodes");
    }
}

/// Containers that live by the ledger.
pub(crate) fn containers(ledger: &Ledger) -> Containers {
    let apps = ledger.apps_by_id();
    let nodes = &ledger.state().nodes;
    let live = apps
        .iter()
        .flat_map(|(_, app)| ledger.live_containers(*app));
    let live = live.map(|one| (one.id, (nodes[one.node].name.clone(), one.size.get())));
    live.collect()
}
