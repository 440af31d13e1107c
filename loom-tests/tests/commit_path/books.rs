//! The oracle: books kept from events and answers alone, and held against the final state.

use std::collections::{BTreeMap, BTreeSet};

use capsched::api::{
    ApplicationId, ContainerId, Decision, Ending, Fate, NodeName, ResourceVector, Threaded,
};
use capsched::cluster::Node;
use capsched::id::PartitionId;
use capsched::snapshot::Snapshot;
use shuttle::thread::{self, ThreadId};

/// What the books know of an application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) leaf: &'static str,
    pub(crate) user: &'static str,
    /// Size of each container that it asks for.
    pub(crate) size: ResourceVector,
    /// The most that its user may have in its leaf, where something is.
    pub(crate) most: Option<ResourceVector>,
    /// Whether it ends before the others.
    pub(crate) is_short: bool,
}

pub(crate) type Apps = BTreeMap<ApplicationId, Known>;

/// Sums by name.
type Sums<K> = BTreeMap<K, ResourceVector>;

/// What happened so far.
#[derive(Debug, Default)]
pub(crate) struct Books {
    total: ResourceVector,
    apps: Apps,
    live: BTreeMap<ContainerId, (NodeName, ResourceVector)>,
    ended: BTreeSet<ContainerId>,
    reserved: BTreeMap<NodeName, (ContainerId, ResourceVector)>,
    /// Containers on each node, in sum.
    on_node: Sums<NodeName>,
    pub(crate) placed: u64,
    pub(crate) reservations: u64,
    pub(crate) fulfilled: u64,
    pub(crate) refused: u64,
    /// Containers killed of applications that stay, as by a lost node, and of the one that ends.
    pub(crate) killed: u64,
    pub(crate) ended_with_app: u64,
    /// Looks at the ledger that the committer took on this thread.
    pub(crate) lent: u64,
}

impl Books {
    /// Books of a cluster none of whose nodes is larger than `total`.
    pub(crate) fn new(total: ResourceVector, apps: Apps) -> Self {
        Self {
            total,
            apps,
            ..Self::default()
        }
    }

    /// Writes down one event, and panics when it cannot follow those before.
    pub(crate) fn hear(&mut self, event: &Decision) {
        match event {
            Decision::Allocated {
                container,
                node,
                size,
                queue,
                from_reservation,
                ..
            } => {
                self.placed += 1;
                let known = self.apps[&container.app];
                assert_eq!(known.leaf, &**queue, "{container} is of another queue");
                assert_eq!(known.size, *size, "{container} was not asked for");
                if *from_reservation {
                    self.fulfilled += 1;
                    let held = self.reserved.remove(node);
                    assert_eq!(
                        held,
                        Some((*container, *size)),
                        "another reservation on {node}"
                    );
                }
                assert!(
                    !self.ended.contains(container),
                    "{container} was used before"
                );
                let before = self.live.insert(*container, (node.clone(), *size));
                assert_eq!(before, None, "{container} was placed twice");
                let sum = self.on_node.entry(node.clone()).or_default();
                *sum = *sum + *size;
                assert!(sum.fits_in(&self.total), "{node} holds {sum:?}");
                self.check_user(known);
            }
            Decision::Ended {
                container,
                node,
                size,
                ending,
            } => {
                let killed = u64::from(*ending == Ending::Killed);
                if self.apps[&container.app].is_short {
                    self.ended_with_app += killed;
                } else {
                    self.killed += killed;
                }
                let live = self.live.remove(container);
                assert_eq!(
                    live,
                    Some((node.clone(), *size)),
                    "{container} was not there"
                );
                assert!(self.ended.insert(*container), "{container} ended twice");
                let sum = self.on_node.entry(node.clone()).or_default();
                *sum = *sum - *size;
            }
            Decision::Reserved {
                container,
                node,
                size,
                again,
                ..
            } => {
                assert!(!again, "a reservation that is kept is not told");
                self.reservations += 1;
                self.reserve(node, *container, *size);
                self.check_user(self.apps[&container.app]);
            }
            Decision::Unreserved {
                container,
                node,
                size,
                ..
            } => self.unreserve(node, *container, *size),
            Decision::ReservationMoved { container, .. } => {
                panic!("{container} was moved, which only preemption does")
            }
            Decision::Rejected { .. } => self.refused += 1,
            Decision::MasterStarted { .. } => {}
            Decision::MasterLost { app } => panic!("{app} has no master to lose"),
        }
    }

    fn reserve(&mut self, node: &NodeName, container: ContainerId, size: ResourceVector) {
        let before = self.reserved.insert(node.clone(), (container, size));
        assert_eq!(before, None, "{node} was reserved twice");
    }

    fn unreserve(&mut self, node: &NodeName, container: ContainerId, size: ResourceVector) {
        let held = self.reserved.remove(node);
        assert_eq!(held, Some((container, size)), "{node} was not reserved so");
    }

    /// No commit brings a user above the most that it may have.
    fn check_user(&self, known: Known) {
        let Some(most) = known.most else {
            return;
        };
        let same = |app: ApplicationId| {
            let other = self.apps[&app];
            (other.leaf, other.user) == (known.leaf, known.user)
        };
        let sizes = self.charged().filter(|(app, _)| same(*app));
        let used = sizes.fold(ResourceVector::NONE, |sum, (_, size)| sum + size);
        assert!(used.fits_in(&most), "{known:?} has {used:?}");
    }

    /// Whether nothing lives or waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.reserved.is_empty()
    }

    /// Containers and reservations with their applications.
    fn charged(&self) -> impl Iterator<Item = (ApplicationId, ResourceVector)> {
        let live = self.live.iter().map(|(id, (_, size))| (id.app, *size));
        let reserved = self.reserved.values().map(|(id, size)| (id.app, *size));
        live.chain(reserved)
    }

    /// What each queue must have charged: its own applications' use, or that of all below it.
    fn by_queue(&self) -> Sums<String> {
        let mut sums = Sums::new();
        for (app, size) in self.charged() {
            let mut path = self.apps[&app].leaf;
            loop {
                let sum = sums.entry(path.to_owned()).or_insert(ResourceVector::NONE);
                *sum = *sum + size;
                let Some((parent, _)) = path.rsplit_once('.') else {
                    break;
                };
                path = parent;
            }
        }
        sums
    }

    fn by_user(&self) -> Sums<(String, String)> {
        let mut sums = Sums::new();
        for (app, size) in self.charged() {
            let Known { leaf, user, .. } = self.apps[&app];
            let sum = sums.entry((leaf.to_owned(), user.to_owned()));
            let sum = sum.or_insert(ResourceVector::NONE);
            *sum = *sum + size;
        }
        sums
    }

    /// Holds the ledger of an engine at rest, whose nodes all have reported, against the books.
    pub(crate) fn compare(&mut self, engine: &Threaded, limits: &[(&str, ResourceVector)]) {
        let seen = Seen::of(engine);
        self.lent += u64::from(seen.thread == thread::current().id());
        assert_eq!(seen.nodes, non_zero(&self.on_node), "use of nodes");
        let reserved: Sums<NodeName> = self
            .reserved
            .iter()
            .map(|(n, (_, s))| (n.clone(), *s))
            .collect();
        assert_eq!(seen.reserved, reserved, "reservations on nodes");
        let by_queue = self.by_queue();
        assert_eq!(seen.queues, by_queue, "use of queues");
        assert_eq!(seen.users, self.by_user(), "use of users");
        let sum = |sums: &mut dyn Iterator<Item = &ResourceVector>| {
            sums.fold(ResourceVector::NONE, |sum, one| sum + *one)
        };
        let nodes = sum(&mut seen.nodes.values()) + sum(&mut seen.reserved.values());
        assert_eq!(nodes, sum(&mut seen.users.values()), "nodes against users");
        let root = seen.queues.get("root").copied();
        assert_eq!(
            nodes,
            root.unwrap_or(ResourceVector::NONE),
            "nodes against root"
        );
        for (queue, limit) in limits {
            let used = by_queue
                .get(*queue)
                .copied()
                .unwrap_or(ResourceVector::NONE);
            assert!(used.fits_in(limit), "{queue} uses {used:?}");
        }
    }

    /// Each decision that the committer took or made has one outcome, and each refusal is told once. Only
    /// without applications is there nothing to decide, and the counts stand still.
    pub(crate) fn outcomes(&self, engine: &Threaded) {
        let (fates, snapshot) = (engine.fates(), engine.snapshot());
        let committed = fates.get(Fate::Committed) + fates.get(Fate::CommittedElsewhere);
        let refused = fates.total() - committed;
        assert_eq!(refused, self.refused, "refusals counted and told");
        let by_decider: u64 = snapshot.refused.iter().sum::<u64>() + snapshot.served_refused;
        assert_eq!(refused, by_decider, "refusals by reason and by who decided");
        let taken: u64 = snapshot.taken.iter().sum::<u64>() + snapshot.served;
        assert!(committed + refused <= taken, "{fates} of {taken} decisions");
        let told = self.placed + self.reservations;
        assert!(told <= committed, "{told} of {committed} were told");
    }
}

/// Holds the parts of a state against each other: leaves and users against the root, and each node
/// against its size.
pub(crate) fn add_up(state: &Snapshot) {
    let sum = |sum: ResourceVector, one: ResourceVector| sum + one;
    let root = state.queues.iter().find(|queue| queue.parent.is_none());
    let root = root.map(|queue| queue.part(PartitionId::DEFAULT).used.get());
    let leaves = state.queues.iter().filter(|queue| queue.leaf.is_some());
    let leaves = leaves.map(|leaf| leaf.part(PartitionId::DEFAULT).used.get());
    assert_eq!(Some(leaves.fold(ResourceVector::NONE, sum)), root, "leaves");
    let users = state.users.iter().filter(|user| !user.removed);
    let users = users.map(|user| user.part(PartitionId::DEFAULT).used.get());
    assert_eq!(Some(users.fold(ResourceVector::NONE, sum)), root, "users");
    for node in state.nodes.iter() {
        allocated_within(node);
    }
}

/// What a node has allocated: the rest of its size is free. A reservation is for no more than it has.
fn allocated_within(node: &Node) -> ResourceVector {
    let [total, allocated, free] = [&node.total, &node.allocated, &node.free].map(|one| one.get());
    assert_eq!(free, total - allocated, "{}", node.name);
    assert!(allocated.fits_in(&total), "{}", node.name);
    let reserved = node.reserved.map(|held| held.size);
    let ever = reserved.is_none_or(|size| size.fits_in(&total));
    assert!(ever, "{} is reserved for {reserved:?}", node.name);
    allocated
}

fn non_zero<K: Ord + Clone>(sums: &Sums<K>) -> Sums<K> {
    let some = sums.iter().filter(|(_, sum)| !sum.is_none());
    some.map(|(key, sum)| (key.clone(), *sum)).collect()
}

/// What the ledger shows, without rows that use nothing.
#[derive(Debug)]
struct Seen {
    nodes: Sums<NodeName>,
    reserved: Sums<NodeName>,
    queues: Sums<String>,
    users: Sums<(String, String)>,
    /// Where the committer took the look.
    thread: ThreadId,
}

impl Seen {
    fn of(engine: &Threaded) -> Self {
        let look = engine.inspect(|ledger| {
            let state = ledger.state();
            let (mut nodes, mut reserved) = (Sums::new(), Sums::new());
            for (name, slot) in ledger.nodes_by_name() {
                let row = &state.nodes[slot];
                nodes.insert(name.clone(), allocated_within(row));
                if let Some(held) = row.reserved {
                    reserved.insert(name.clone(), held.size);
                }
            }
            let part = |queue: &capsched::queue::Queue| queue.part(PartitionId::DEFAULT).used.get();
            let queues = state.queues.iter().filter(|queue| !queue.removed);
            let queues = queues.map(|queue| (queue.settings.path.to_string(), part(queue)));
            let users = state.users.iter().filter(|user| !user.removed);
            let users = users.map(|user| {
                let leaf = state.queues[user.leaf].settings.path.to_string();
                (
                    (leaf, user.name.to_string()),
                    user.part(PartitionId::DEFAULT).used.get(),
                )
            });
            Self {
                nodes: non_zero(&nodes),
                reserved,
                queues: non_zero(&queues.collect()),
                users: non_zero(&users.collect()),
                thread: thread::current().id(),
            }
        });
        look.unwrap()
    }
}
