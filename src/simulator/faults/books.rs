//! The books: what must follow from the outputs of the engine, kept without its help.
//!
//! Plain maps over names. Each violation is reported with the id of its invariant:
//!
//! | id | what must hold |
//! | --- | --- |
//! | N1 | a container is placed only where the node has room |
//! | N4 | containers and reservations are on registered nodes |
//! | N5 | at most one reservation per node |
//! | Q4 | no allocation takes a queue or a queue above it beyond its maximum |
//! | U2 | no new container is for a user who is beyond the limit |
//! | U7 | never more containers than asked for under a key |
//! | U8 | an ended application gets nothing and keeps nothing |
//! | K1 | a container's number is given once |
//! | K3 | what ends was live, where it was placed |
//! | K6 | what is handed to an application was placed, and is handed over once |
//! | R1 | a reservation is kept, fulfilled or given up by its owner, on its node, before which nobody goes |

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::configured::Configured;
use super::{Violation, fault};
use crate::api::{
    ApplicationId, AskReply, ContainerId, Ending, Event, HeartbeatReply, NodeName, ResourceVector,
    UnreserveReason,
};

/// Key of the ask for an application master: priority and request id.
const MASTER: (i32, i64) = (0, -1);

/// What the outputs reported so far.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) nodes: BTreeMap<NodeName, NodeBook>,
    pub(super) apps: BTreeMap<ApplicationId, AppBook>,
    pub(super) live: BTreeMap<ContainerId, BookedContainer>,
    pub(super) reserved: BTreeMap<ContainerId, BookedContainer>,
    /// Ended containers whose node has not said that their space is free.
    exiting: BTreeMap<ContainerId, (NodeName, ResourceVector)>,
    /// What is configured of the queues below root, by path.
    pub(super) configured: BTreeMap<String, Configured>,
    /// Twice the weight of users that do not weigh 1.
    pub(super) halves_of_weight: BTreeMap<String, i64>,
    /// Resource types that count.
    pub(super) types: usize,
    /// Whether an application moved that had reservations.
    pub(super) reservations_moved: bool,
    /// Registrations so far, over all nodes.
    registrations: u64,
    /// Partition of the reservation that the next allocation gave up.
    exchanged: Option<Option<&'static str>>,
    pub(super) allocated: u64,
    pub(super) kept: u64,
}

#[derive(Debug)]
pub(super) struct NodeBook {
    pub(super) total: ResourceVector,
    pub(super) space: ResourceVector,
    pub(super) label: &'static str,
    pub(super) reserved: Option<ContainerId>,
    pub(super) leaving: bool,
    /// Which registration of all this is.
    pub(super) registration: u64,
}

#[derive(Debug)]
pub(super) struct AppBook {
    pub(super) user: String,
    pub(super) leaf: String,
    /// Containers that may still be placed, by key.
    wanted: BTreeMap<(i32, i64), i64>,
    numbers: BTreeSet<u32>,
    /// Sizes that were ever asked under a key.
    sizes: BTreeMap<(i32, i64), BTreeSet<ResourceVector>>,
}

#[derive(Clone, Debug)]
pub(super) struct BookedContainer {
    pub(super) node: NodeName,
    pub(super) size: ResourceVector,
    key: (i32, i64),
    fetched: bool,
    launched: bool,
}

pub(super) type Checked = Result<(), Violation>;

impl Books {
    /// Empty books over a tree of queues, where so many resource types count.
    pub(super) fn new(
        configured: BTreeMap<String, Configured>,
        halves_of_weight: BTreeMap<String, i64>,
        types: usize,
    ) -> Self {
        Self {
            nodes: BTreeMap::new(),
            apps: BTreeMap::new(),
            live: BTreeMap::new(),
            reserved: BTreeMap::new(),
            exiting: BTreeMap::new(),
            configured,
            halves_of_weight,
            types,
            reservations_moved: false,
            registrations: 0,
            exchanged: None,
            allocated: 0,
            kept: 0,
        }
    }

    pub(super) fn node_added(
        &mut self,
        name: NodeName,
        total: ResourceVector,
        label: &'static str,
    ) {
        self.registrations += 1;
        let book = NodeBook {
            total,
            space: ResourceVector::NONE,
            label,
            reserved: None,
            leaving: false,
            registration: self.registrations,
        };
        self.nodes.insert(name, book);
    }

    /// A node was lost: the engine has delivered the ends of everything on it.
    pub(super) fn node_removed(&mut self, name: &NodeName) -> Checked {
        self.exiting.retain(|_, (node, _)| node != name);
        let on_it = |held: &BookedContainer| held.node == *name;
        if let Some((id, _)) = self.live.iter().find(|(_, held)| on_it(held)) {
            return fault("N4", format!("{id} lives on {name}, which is lost"));
        }
        if let Some((id, _)) = self.reserved.iter().find(|(_, held)| on_it(held)) {
            return fault("N4", format!("{id} waits on {name}, which is lost"));
        }
        self.nodes.remove(name);
        Ok(())
    }

    pub(super) fn submitted(
        &mut self,
        app: ApplicationId,
        user: String,
        leaf: String,
        master: bool,
    ) {
        let wanted = master.then_some((MASTER, 1));
        let book = AppBook {
            user,
            leaf,
            wanted: wanted.into_iter().collect(),
            numbers: BTreeSet::new(),
            sizes: BTreeMap::new(),
        };
        self.apps.insert(app, book);
    }

    pub(super) fn asked(
        &mut self,
        app: ApplicationId,
        key: (i32, i64),
        count: i64,
        size: ResourceVector,
    ) {
        if let Some(book) = self.apps.get_mut(&app) {
            book.wanted.insert(key, count);
            let rounded = (size.memory() + 1023) / 1024 * 1024;
            let size = ResourceVector::build(|i| if i == 0 { rounded } else { size[i] });
            book.sizes.entry(key).or_default().insert(size);
        }
    }

    /// What an application's call was answered.
    pub(super) fn replied(&mut self, app: ApplicationId, reply: &AskReply) -> Checked {
        for granted in &reply.allocated {
            let id = granted.container;
            let Some(held) = self.live.get_mut(&id) else {
                return fault("K6", format!("{id} is handed over and does not live"));
            };
            let same = id.app == app && held.size == granted.size && held.node == granted.node;
            if !same || std::mem::replace(&mut held.fetched, true) {
                return fault("K6", format!("{id} is handed over twice or as another one"));
            }
        }
        let own = all_of(app);
        if let Some((id, _)) = self.live.range(own).find(|(_, held)| !held.fetched) {
            return fault("K6", format!("{id} is not handed over"));
        }
        if reply.headroom.memory() < 0 {
            return fault(
                "U6",
                format!("{app} is reported a headroom of {}", reply.headroom),
            );
        }
        Ok(())
    }

    /// What a node's report was answered.
    pub(super) fn reported(&mut self, name: &NodeName, reply: &HeartbeatReply) -> Checked {
        for id in &reply.launched {
            match self.live.get_mut(id) {
                Some(held) if held.node == *name && held.fetched => held.launched = true,
                _ => return fault("K3", format!("{id} is launched on {name} and is not there")),
            }
        }
        for id in &reply.exited {
            let Some((node, size)) = self.exiting.remove(id) else {
                return fault("K3", format!("{id} leaves {name} and was not on its way"));
            };
            if let Some(book) = self.nodes.get_mut(&node) {
                book.space -= size;
            }
        }
        if let Some(book) = self.nodes.get_mut(name).filter(|book| book.leaving) {
            book.total = book.space;
        }
        Ok(())
    }

    pub(super) fn app_moved(&mut self, app: ApplicationId, leaf: String) {
        let moves = self.reserved_by(app).next().is_some();
        self.reservations_moved |= moves;
        if let Some(book) = self.apps.get_mut(&app) {
            book.leaf = leaf;
        }
    }

    pub(super) fn app_ended(&mut self, app: ApplicationId) -> Checked {
        self.apps.remove(&app);
        let own = all_of(app);
        let mut left = self.live.range(own.clone()).chain(self.reserved.range(own));
        match left.next() {
            Some((id, _)) => fault("U8", format!("{id} outlives its application")),
            None => Ok(()),
        }
    }

    /// Something that the engine did.
    pub(super) fn record(&mut self, decision: &Event) -> Checked {
        match decision {
            Event::Allocated {
                container,
                node,
                size,
                key,
                borrowed,
                from_reservation,
                ..
            } => {
                let held = BookedContainer::new(node, *size, (key.priority, key.request_id));
                self.allocated(*container, held, *borrowed, *from_reservation)
            }
            Event::Reserved {
                container,
                node,
                size,
                key,
                borrowed,
                again,
                ..
            } => {
                let held = BookedContainer::new(node, *size, (key.priority, key.request_id));
                self.reserve(*container, held, *borrowed, *again)
            }
            Event::Unreserved {
                container,
                node,
                reason,
                ..
            } => {
                let exchanged = *reason == UnreserveReason::Exchange;
                self.exchanged = exchanged.then(|| self.nodes.get(node).map(|book| book.label));
                self.unreserve(*container, node).map(|_| ())
            }
            Event::ReservationMoved {
                container,
                from,
                to,
                ..
            } => {
                let held = self.unreserve(*container, from)?;
                let node = to.clone();
                self.wait_on(*container, BookedContainer { node, ..held })
            }
            Event::Ended {
                container,
                node,
                ending,
                ..
            } => self.ended(*container, node, *ending),
            Event::MasterStarted { container, .. } => {
                let Some(id) = container else { return Ok(()) };
                match self.live.get_mut(id) {
                    Some(held) => held.fetched = true,
                    None => return fault("K6", format!("the master {id} does not live")),
                }
                Ok(())
            }
            Event::MasterLost { app } | Event::AppEnded { app, .. } => {
                self.apps.remove(app);
                Ok(())
            }
            Event::Rejected { .. } | Event::Gang(_) | Event::Opportunistic(_) => Ok(()),
            Event::Updated { .. } | Event::AttemptEnded { .. } | Event::Lost { .. } => Ok(()),
        }
    }

    fn allocated(
        &mut self,
        id: ContainerId,
        held: BookedContainer,
        borrowed: bool,
        waited: bool,
    ) -> Checked {
        self.allocated += 1;
        if waited {
            let before = self.unreserve(id, &held.node)?;
            if (before.key, before.size) != (held.key, held.size) {
                return fault(
                    "R1",
                    format!("{id} is fulfilled as another one: {before:?}"),
                );
            }
        } else if let Some(first) = self.nodes.get(&held.node).and_then(|node| node.reserved) {
            return fault("R1", format!("{id} goes before {first} on {}", held.node));
        }
        self.granted(id, !waited)?;
        let app = self.apps.get_mut(&id.app).expect("granted looked it up");
        // A reservation is fulfilled with its old size when the size that its key asks by now at
        // that place fits, as in the reference; its node may be overfull then.
        let asked = app.sizes.get(&held.key);
        let may_overfill = waited && asked.is_some_and(|sizes| sizes.len() > 1);
        let wanted = app.wanted.entry(held.key).or_default();
        *wanted -= 1;
        if *wanted < 0 {
            return fault("U7", format!("{id} was not asked for under {:?}", held.key));
        }
        let types = self.types;
        let Some(node) = self.nodes.get_mut(&held.node) else {
            return fault(
                "N4",
                format!("{id} is placed on {}, which is not there", held.node),
            );
        };
        node.space += held.size;
        let grows = |i: usize| held.size[i] > 0 && node.space[i] > node.total[i];
        if (0..types).any(grows) && !may_overfill {
            let (space, total) = (node.space, node.total);
            let text = format!(
                "{id} of {} under {:?} on {}: {space} of {total}, waited: {waited}",
                held.size, held.key, held.node
            );
            return fault("N1", text);
        }
        let node = held.node.clone();
        self.live.insert(id, held.clone());
        // A reservation that was given up on another partition counts against the maximum of this
        // one, as in the reference.
        let label = self.nodes.get(&node).map(|book| book.label);
        let elsewhere = self.exchanged.take().is_some_and(|from| from != label);
        if borrowed || waited || elsewhere {
            return Ok(());
        }
        self.within_user_limit(id, &held)?;
        self.within_maxima(id, &node)
    }

    fn reserve(
        &mut self,
        id: ContainerId,
        held: BookedContainer,
        borrowed: bool,
        again: bool,
    ) -> Checked {
        self.kept += 1;
        if again {
            let same = |before: &BookedContainer| before.node == held.node;
            return match self.reserved.get(&id).is_some_and(same) {
                true if self.apps.contains_key(&id.app) => Ok(()),
                true => fault("U8", format!("{id} waits for an ended application")),
                false => fault("R1", format!("{id} does not wait on {}", held.node)),
            };
        }
        self.granted(id, true)?;
        let node = held.node.clone();
        self.wait_on(id, held.clone())?;
        if borrowed {
            return Ok(());
        }
        self.within_user_limit(id, &held)?;
        self.within_maxima(id, &node)
    }

    /// Whether an application may get a container of this number.
    fn granted(&mut self, id: ContainerId, new: bool) -> Checked {
        let Some(app) = self.apps.get_mut(&id.app) else {
            return fault("U8", format!("{id} comes after its application ended"));
        };
        if app.numbers.insert(id.number) != new {
            return fault("K1", format!("the number of {id} is not the right one"));
        }
        Ok(())
    }

    fn wait_on(&mut self, id: ContainerId, held: BookedContainer) -> Checked {
        let Some(node) = self.nodes.get_mut(&held.node) else {
            return fault(
                "N4",
                format!("{id} waits on {}, which is not there", held.node),
            );
        };
        if let Some(other) = node.reserved.replace(id) {
            return fault("N5", format!("{id} waits on {} beside {other}", held.node));
        }
        self.reserved.insert(id, held);
        Ok(())
    }

    fn unreserve(
        &mut self,
        id: ContainerId,
        node: &NodeName,
    ) -> Result<BookedContainer, Violation> {
        let Some(held) = self.reserved.remove(&id).filter(|held| held.node == *node) else {
            return fault("R1", format!("{id} does not wait on {node}"));
        };
        if let Some(book) = self.nodes.get_mut(node) {
            book.reserved = None;
        }
        Ok(held)
    }

    fn ended(&mut self, id: ContainerId, node: &NodeName, ending: Ending) -> Checked {
        let Some(held) = self.live.remove(&id).filter(|held| held.node == *node) else {
            return fault("K3", format!("{id} ends on {node} and does not live there"));
        };
        if held.launched && ending != Ending::Finished {
            self.exiting.insert(id, (held.node, held.size));
        } else if let Some(book) = self.nodes.get_mut(node) {
            book.space -= held.size;
        }
        // What was lost or given back before the application was handed it is asked again.
        if !held.fetched
            && ending != Ending::Finished
            && let Some(app) = self.apps.get_mut(&id.app)
        {
            *app.wanted.entry(held.key).or_default() += 1;
        }
        Ok(())
    }

    /// Live containers of some kind.
    pub(super) fn live_where(
        &self,
        wanted: impl Fn(&BookedContainer) -> bool,
    ) -> impl Iterator<Item = ContainerId> {
        let all = self.live.iter();
        all.filter_map(move |(id, held)| wanted(held).then_some(*id))
    }

    /// Containers that ended and still take space on a node.
    pub(super) fn exiting_on(&self, name: &NodeName) -> Vec<ContainerId> {
        let all = self.exiting.iter();
        let on_it = all.filter(|(_, (node, _))| node == name);
        on_it.map(|(id, _)| *id).collect()
    }

    /// Whether nothing is left of anything.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
            && self.reserved.is_empty()
            && self.exiting.is_empty()
            && self.apps.is_empty()
    }
}

/// Every id that a container of an application may have.
pub(super) fn all_of(app: ApplicationId) -> RangeInclusive<ContainerId> {
    let (first, mut last) = (ContainerId::new(app, 0), ContainerId::new(app, u32::MAX));
    last.attempt = u32::MAX;
    first..=last
}

impl BookedContainer {
    fn new(node: &NodeName, size: ResourceVector, key: (i32, i64)) -> Self {
        Self {
            node: node.clone(),
            size,
            key,
            fetched: false,
            launched: false,
        }
    }
}
