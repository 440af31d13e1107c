//! All containers of a ledger, and the lists that name them: of applications, of nodes, of ends.
//!
//! # Invariants
//!
//! * A container whose `on_node` is set stands in the list of its node and counts among the spaces of its
//!   application.
//! * The due reports of a node name containers of its list alone.
//! * A slot is used again once its container ended and left its node, at the end of the step.
//!
//! Tests: `tests/commit/property.rs`.

mod lists;
mod node_changes;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

use smallvec::SmallVec;

use self::lists::{COMPARED, emptied, list, place_in};
use super::container::{Container, ContainerState};
use super::live_lists::LiveLists;
use super::slab::Slab;
use super::unfetched::Unfetched;
use super::updates::{ChangedContainer, GrantedUpdate, GrantedUpdates};
use crate::commit::containers::slot::ContainerSlot;
use crate::id::{AppSlot, ContainerId, NodeSlot};
use crate::queue::{AskReply, EndCause, FinishedContainer};
use crate::resource::ResourceVector;

/// Containers of which the records are read before they are needed.
pub(in crate::commit) const READ_AHEAD: usize = 16;

/// Containers and reservations by slot, and who has them.
#[derive(Clone, Debug, Default)]
pub(in crate::commit) struct Containers {
    records: Slab<Container>,
    free: Vec<u32>,
    /// Ended containers that may leave at the end of the step.
    ended: Vec<ContainerSlot>,
    /// Containers created so far, in order of creation.
    created: u64,
    live: LiveLists,
    by_app: Vec<OfApp>,
    by_node: Vec<OfNode>,
    /// Those that were changed. Few are, and records of all others stay small.
    changed: BTreeMap<ContainerSlot, ChangedContainer>,
    /// Nodes that have something to report since the list was last taken, where that is noted.
    newly_due: Option<Vec<NodeSlot>>,
}

/// Containers of one application.
#[derive(Clone, Debug, Default)]
struct OfApp {
    /// Those that the application has not fetched yet.
    unfetched: Unfetched,
    /// Changes of containers that the application has not fetched yet. Rare, so a row holds no more than a pointer.
    updates: Option<Box<GrantedUpdates>>,
    /// How many take space on nodes.
    spaces: u32,
    /// Numbers of ended ones that the next answer lists, and why they ended.
    finished: Vec<FinishedContainer>,
    /// Numbers of those that the next answer asks to give back.
    asked_back: BTreeSet<u32>,
}

/// Containers on one node. What a placement writes stands in front.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct OfNode {
    /// Those whose space is taken.
    placed: Vec<ContainerSlot>,
    /// How often something changed that copies of the node show, but for launches.
    changes: u32,
    /// How many containers were launched; counts around.
    launches: u32,
    /// The one that waits.
    reserved: Option<ContainerSlot>,
    /// Those that are launched at the node's next report.
    to_launch: Vec<ContainerSlot>,
    /// Those that are stopped at the node's next report.
    to_stop: Vec<ContainerSlot>,
}

impl Containers {
    /// Gives a new application its lists.
    pub(in crate::commit) fn add_app(&mut self) {
        self.by_app.push(OfApp::default());
        self.live.add_app();
    }

    /// Gives a new node its lists.
    pub(in crate::commit) fn add_node(&mut self) {
        self.by_node.push(OfNode::default());
    }

    /// A container.
    #[inline]
    pub(in crate::commit) fn get(&self, slot: ContainerSlot) -> &Container {
        &self.records[slot.0 as usize]
    }

    /// A container, to be written.
    #[inline]
    pub(in crate::commit) fn get_mut(&mut self, slot: ContainerSlot) -> &mut Container {
        &mut self.records[slot.0 as usize]
    }

    /// What changes have made of a container so far.
    pub(in crate::commit) fn changed(&self, slot: ContainerSlot) -> ChangedContainer {
        self.changed.get(&slot).cloned().unwrap_or_default()
    }

    /// Sets what changes have made of a container.
    pub(in crate::commit) fn set_changed(
        &mut self,
        slot: ContainerSlot,
        changed: ChangedContainer,
    ) {
        self.changed.insert(slot, changed);
    }

    /// Counts a change of a container; its version from now on. `opportunistic`: as in [`ChangedContainer`].
    pub(in crate::commit) fn count_change(
        &mut self,
        slot: ContainerSlot,
        opportunistic: Option<ResourceVector>,
    ) -> u32 {
        let app = self.records[slot.0 as usize].app;
        self.live.note_change(app);
        self.note_rewritten(slot);
        let changed = self.changed.entry(slot).or_default();
        changed.version = changed.version.saturating_add(1);
        changed.opportunistic = opportunistic;
        changed.version
    }

    /// Whether a container is opportunistic.
    pub(in crate::commit) fn is_opportunistic(&self, slot: ContainerSlot) -> bool {
        let changed = self.changed.get(&slot);
        changed.is_some_and(|changed| changed.opportunistic.is_some())
    }

    /// What a container runs with: its charged size, or that of an opportunistic container.
    pub(in crate::commit) fn full_size(&self, slot: ContainerSlot) -> ResourceVector {
        let opportunistic = self.changed(slot).opportunistic;
        opportunistic.unwrap_or_else(|| self.get(slot).size.get())
    }

    /// Position of the next container in the order of creation, which is used up by that.
    #[inline]
    pub(in crate::commit) fn next_stamp(&mut self) -> u64 {
        self.created += 1;
        self.created
    }

    /// Adds a container, made where it stays.
    #[inline(always)]
    pub(in crate::commit) fn store(
        &mut self,
        container: impl FnOnce() -> Container,
    ) -> ContainerSlot {
        if let Some(free) = self.free.pop() {
            self.records[free as usize] = container();
            return ContainerSlot(free);
        }
        let index = self.records.push_with(container);
        ContainerSlot(u32::try_from(index).expect("fewer than 2^32 containers"))
    }

    /// Makes free slots until there are so many, `most` at most; how many it made.
    pub(in crate::commit) fn make_room(&mut self, slots: usize, most: usize) -> usize {
        let missing = slots.saturating_sub(self.free.len()).min(most);
        for _ in 0..missing {
            let index = self.records.push_with(Container::gone);
            let index = u32::try_from(index).expect("fewer than 2^32 containers");
            self.free.push(index);
        }
        missing
    }

    /// Lists a placed container at its application and its node.
    #[inline(always)]
    pub(in crate::commit) fn list_placed(
        &mut self,
        slot: ContainerSlot,
        app: AppSlot,
        number: u32,
        node: NodeSlot,
    ) {
        self.live.changed(app).insert(number, slot);
        let of_app = &mut self.by_app[app.index()];
        let order = of_app.unfetched.push(slot);
        of_app.spaces += 1;
        self.records[slot.0 as usize].fetch_order = order;
        self.by_node[node.index()].push(slot);
    }

    /// Lists an auxiliary container at its application and its node, with the change that it stands for.
    pub(in crate::commit) fn list_update(&mut self, app: AppSlot, update: GrantedUpdate) {
        let (slot, of_app) = (update.auxiliary, &mut self.by_app[app.index()]);
        let container = &self.records[slot.0 as usize];
        let live = self.live.changed(app);
        live.insert(container.id.number, slot);
        of_app.spaces += 1;
        of_app.updates.get_or_insert_default().push(update);
        self.by_node[container.node.index()].push(slot);
    }

    /// Whether an application has changes of containers to fetch.
    pub(in crate::commit) fn has_updates(&self, app: AppSlot) -> bool {
        let updates = &self.by_app[app.index()].updates;
        updates.as_ref().is_some_and(|updates| !updates.is_empty())
    }

    /// Whether an application has a change of a container to fetch, by the container's number.
    pub(in crate::commit) fn has_update(&self, app: AppSlot, number: u32) -> bool {
        let updates = &self.by_app[app.index()].updates;
        updates.as_ref().is_some_and(|updates| updates.has(number))
    }

    /// Takes changes that an application has not fetched yet, at most so many. `id`: of a container by number.
    pub(in crate::commit) fn take_updates(
        &mut self,
        app: AppSlot,
        most: usize,
        id: impl Fn(u32) -> ContainerId,
    ) -> Vec<GrantedUpdate> {
        let updates = self.by_app[app.index()].updates.as_mut();
        updates.map_or_else(Vec::new, |updates| updates.take(most, id))
    }

    /// Lists a container that runs already at its application and its node.
    pub(in crate::commit) fn list_running(&mut self, slot: ContainerSlot) {
        let container = &self.records[slot.0 as usize];
        let (app, number, node) = (container.app, container.id.number, container.node);
        self.live.changed(app).insert(number, slot);
        self.by_app[app.index()].spaces += 1;
        self.by_node[node.index()].push(slot);
    }

    /// A live container of an application by number.
    #[inline]
    pub(in crate::commit) fn live(&self, app: AppSlot, number: u32) -> Option<ContainerSlot> {
        self.live.of(app).get(number)
    }

    /// Reads what stands of containers of applications by number, of [`READ_AHEAD`] at most. The caller needs it next.
    ///
    /// Containers that end were placed long ago, so that it is in no cache. Here no read depends on the one before, and
    /// the processor waits for many at once.
    pub(in crate::commit) fn read_ahead(&self, containers: impl Iterator<Item = (AppSlot, u32)>) {
        let live = |(app, number): (AppSlot, u32)| self.live.of(app).get(number);
        let slots: SmallVec<[ContainerSlot; READ_AHEAD]> =
            containers.take(READ_AHEAD).filter_map(live).collect();
        let read = |slot: &ContainerSlot| {
            let container = &self.records[slot.0 as usize];
            // Of both cache lines of a record.
            black_box((container.is_auxiliary(), container.stamp));
            container.node
        };
        let nodes: SmallVec<[NodeSlot; READ_AHEAD]> = slots.iter().map(read).collect();
        for node in nodes {
            let here = &self.by_node[node.index()];
            black_box((here.placed.first(), here.to_launch.first()));
        }
    }

    /// The lists of live containers.
    pub(in crate::commit) fn live_lists(&self) -> &LiveLists {
        &self.live
    }

    /// Live containers of an application by number.
    pub(in crate::commit) fn live_of(
        &self,
        app: AppSlot,
    ) -> impl Iterator<Item = ContainerSlot> + '_ {
        self.live.of(app).values()
    }

    /// Takes an ended container off the live ones of its application; whether it was one of them.
    pub(in crate::commit) fn end_live(&mut self, slot: ContainerSlot) -> bool {
        let container = &self.records[slot.0 as usize];
        let (number, before) = (container.id.number, container.state);
        let (order, increases) = (container.fetch_order, container.key.increases());
        let (app, live) = (container.app, &mut self.live);
        if live.of(app).get(number) != Some(slot) {
            return false;
        }
        live.changed(app).remove(number);
        let of_app = &mut self.by_app[app.index()];
        if before == ContainerState::Allocated {
            of_app.unfetched.remove(order, slot);
            if let (Some(of), Some(updates)) = (increases, &mut of_app.updates) {
                updates.remove(of, slot);
            }
        }
        of_app.asked_back.remove(&number);
        true
    }

    /// Takes a container whose space is free off its node; whether it was there.
    pub(in crate::commit) fn leave_node(&mut self, slot: ContainerSlot) -> bool {
        let container = &mut self.records[slot.0 as usize];
        if !std::mem::take(&mut container.on_node) {
            return false;
        }
        let here = &mut self.by_node[container.node.index()];
        if let Some(at) = place_in(&here.placed, slot) {
            // Whoever needs an order of the containers of a node sorts them.
            here.placed.swap_remove(at);
            here.note_change();
        }
        if container.to_launch || container.to_stop {
            list(&mut here.to_launch, slot, true, false);
            list(&mut here.to_stop, slot, true, false);
        }
        self.by_app[container.app.index()].spaces -= 1;
        self.ended.push(slot);
        true
    }

    /// Notes that a container or a reservation ended.
    pub(in crate::commit) fn note_ended(&mut self, slot: ContainerSlot) {
        self.ended.push(slot);
    }

    /// Whether containers ended since their slots were last freed.
    #[inline]
    pub(in crate::commit) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Frees the slots of ended containers that take no space.
    pub(in crate::commit) fn drop_ended(&mut self) {
        if self.ended.is_empty() {
            return;
        }
        let mut ended = std::mem::take(&mut self.ended);
        for slot in ended.drain(..) {
            let container = self.get_mut(slot);
            if container.state == ContainerState::Done && !container.on_node {
                container.state = ContainerState::Gone;
                self.free.push(slot.0);
                if !self.changed.is_empty() {
                    self.changed.remove(&slot);
                }
            }
        }
        self.ended = emptied(ended);
    }

    /// Whether containers of an application take space on nodes.
    pub(in crate::commit) fn take_space(&self, app: AppSlot) -> bool {
        self.by_app[app.index()].spaces > 0
    }

    /// Containers whose space on a node is taken.
    pub(in crate::commit) fn placed_on(&self, node: NodeSlot) -> &[ContainerSlot] {
        &self.by_node[node.index()].placed
    }

    /// Some containers by id.
    pub(in crate::commit) fn by_id(&self, containers: &[ContainerSlot]) -> Vec<ContainerSlot> {
        if containers.len() <= COMPARED {
            let mut containers = containers.to_vec();
            containers.sort_unstable_by_key(|&slot| self.get(slot).id);
            return containers;
        }
        // Records are far away: each is read once.
        let named = containers.iter().map(|&slot| (self.get(slot).id, slot));
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        named.into_iter().map(|(_, slot)| slot).collect()
    }

    /// The container that waits on a node.
    #[inline]
    pub(in crate::commit) fn reserved_on(&self, node: NodeSlot) -> Option<ContainerSlot> {
        self.by_node[node.index()].reserved
    }

    /// Sets the container that waits on a node.
    pub(in crate::commit) fn set_reserved(&mut self, node: NodeSlot, slot: Option<ContainerSlot>) {
        let here = &mut self.by_node[node.index()];
        here.reserved = slot;
        here.note_change();
    }

    /// Whether a node has nothing to report of its containers.
    #[inline]
    pub(in crate::commit) fn is_nothing_due(&self, node: NodeSlot) -> bool {
        let here = &self.by_node[node.index()];
        here.to_launch.is_empty() && here.to_stop.is_empty()
    }

    /// Containers that a node launches at its next report, and those that it stops.
    #[inline]
    pub(in crate::commit) fn due(&self, node: NodeSlot) -> (&[ContainerSlot], &[ContainerSlot]) {
        let here = &self.by_node[node.index()];
        (&here.to_launch, &here.to_stop)
    }

    /// Whether it is noted from now on which nodes have something to report.
    pub(in crate::commit) fn note_due_nodes(&mut self, noted: bool) {
        self.newly_due = noted.then(Vec::new);
    }

    /// Takes the nodes that have something to report since this was last asked; some may come twice.
    pub(in crate::commit) fn take_due_nodes(&mut self) -> Vec<NodeSlot> {
        self.newly_due
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Sets what a container's node reports of it next.
    pub(in crate::commit) fn set_due(
        &mut self,
        slot: ContainerSlot,
        to_launch: bool,
        to_stop: bool,
    ) {
        let container = &mut self.records[slot.0 as usize];
        let before = (container.to_launch, container.to_stop);
        container.to_launch = to_launch;
        container.to_stop = to_stop;
        if container.on_node {
            if let Some(newly_due) = &mut self.newly_due
                && (to_launch || to_stop)
            {
                newly_due.push(container.node);
            }
            let here = &mut self.by_node[container.node.index()];
            list(&mut here.to_launch, slot, before.0, to_launch);
            list(&mut here.to_stop, slot, before.1, to_stop);
        }
    }

    /// The containers that an application has not fetched yet, in the order of their placement.
    pub(in crate::commit) fn unfetched(
        &self,
        app: AppSlot,
    ) -> impl Iterator<Item = ContainerSlot> + '_ {
        self.by_app[app.index()].unfetched.iter()
    }

    /// Takes a container off those that its application has not fetched.
    pub(in crate::commit) fn take_off_unfetched(&mut self, slot: ContainerSlot) {
        let container = &self.records[slot.0 as usize];
        let (app, order) = (container.app, container.fetch_order);
        self.by_app[app.index()].unfetched.remove(order, slot);
    }

    /// Most containers that an application may have yet to fetch.
    pub(in crate::commit) fn unfetched_at_most(&self, app: AppSlot) -> usize {
        self.by_app[app.index()].unfetched.places()
    }

    /// Takes the next container that an application has not fetched yet.
    pub(in crate::commit) fn next_unfetched(&mut self, app: AppSlot) -> Option<ContainerSlot> {
        self.by_app[app.index()].unfetched.pop()
    }

    /// The next answer to an application lists the end of a container.
    pub(in crate::commit) fn note_finished(&mut self, app: AppSlot, number: u32, cause: EndCause) {
        self.by_app[app.index()]
            .finished
            .push(FinishedContainer::new(number, cause));
    }

    /// Forgets ends that an application was not answered.
    pub(in crate::commit) fn clear_finished(&mut self, app: AppSlot) {
        self.by_app[app.index()].finished.clear();
    }

    /// Moves ended containers into an answer, ascending by number.
    pub(in crate::commit) fn move_finished(&mut self, app: AppSlot, answer: &mut AskReply) {
        let mut finished = std::mem::take(&mut self.by_app[app.index()].finished);
        finished.sort_unstable();
        finished.dedup_by_key(|one| one.number);
        answer.finished.extend_from_slice(&finished);
        self.by_app[app.index()].finished = emptied(finished);
    }

    /// The next answer to an application asks it to give back a container.
    pub(in crate::commit) fn ask_back(&mut self, app: AppSlot, number: u32) {
        self.by_app[app.index()].asked_back.insert(number);
    }

    /// Takes the numbers of containers that an application is asked to give back, ascending.
    pub(in crate::commit) fn take_asked_back(&mut self, app: AppSlot) -> BTreeSet<u32> {
        std::mem::take(&mut self.by_app[app.index()].asked_back)
    }
}
