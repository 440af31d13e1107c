//! The state: tables of partitions, queues, users, applications and nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::frozen::Frozen;
use super::table::{Ahead, Table};
use crate::cluster::{Node, Partition};
use crate::fast_path::{FastPath, PlantedFlaw, is_planted};
use crate::id::{AppSlot, NodeSlot, PartitionId, QueueSlot, UserSlot, Version};
use crate::queue::{
    App, Demand, Exclusivity, Queue, QueuePart, QueueState, SchedulerSettings, User, asks_on,
    demand_of,
};
use crate::resource::{Calculator, ResourceVector};

/// Everything that a decision reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State {
    /// Settings of the whole scheduler.
    pub settings: Arc<SchedulerSettings>,
    /// How resources are compared.
    pub calculator: Calculator,
    /// Smallest allocation and rounding step.
    pub minimum: ResourceVector,
    /// Sum of the totals of all nodes.
    pub cluster: ResourceVector,
    /// Number of registered nodes.
    pub node_count: usize,
    /// Counts what may change the order of children other than their use.
    pub epoch: u64,
    /// Counts changes of queues beside their figures: a state, or that a queue comes to have figures on a partition.
    /// Those that come with a new epoch need not count.
    pub outline: u64,
    /// Whether threads make passes on copies. Then a reservation is served only where the size that
    /// it holds fits, too; the reference looks only at what the key asks now, and a node gets too
    /// full when that shrank meanwhile. And the limits that users are handed are noted by the ledger when it
    /// validates or later, not by passes that look at them; limits of leaves are not noted.
    pub concurrent: bool,
    /// Whether this is a working copy, whose passes do not observe what they merely computed.
    pub copied: bool,
    /// Partitions; the default one first.
    pub partitions: Table<PartitionId, Partition>,
    /// Queues; root first.
    pub queues: Table<QueueSlot, Queue>,
    /// Users' records in leaves.
    pub users: Table<UserSlot, User>,
    /// Applications.
    pub apps: Table<AppSlot, App>,
    /// Where applications ask: what passes by one that asks elsewhere reads of it.
    pub demands: Table<AppSlot, Demand>,
    /// Nodes.
    pub nodes: Table<NodeSlot, Node>,
}

impl State {
    /// The root queue.
    pub const ROOT: QueueSlot = QueueSlot(0);

    /// An empty state under some settings.
    #[must_use]
    pub fn new(settings: Arc<SchedulerSettings>) -> Self {
        Self {
            calculator: settings.calculator,
            minimum: settings.calculator.known(&settings.minimum_allocation),
            settings,
            cluster: ResourceVector::NONE,
            node_count: 0,
            epoch: 1,
            outline: 0,
            concurrent: false,
            copied: false,
            partitions: Table::default(),
            queues: Table::default(),
            users: Table::default(),
            apps: Table::default(),
            demands: Table::default(),
            nodes: Table::default(),
        }
    }

    /// The figures of a queue on a partition, for one that use is about to move: from now on the queue has figures there.
    #[inline]
    pub fn counting(&mut self, queue: QueueSlot, partition: PartitionId) -> &mut QueuePart {
        let part = self.queues[queue].part_mut(partition);
        self.outline += u64::from(!part.counted);
        part.counted = true;
        part
    }

    /// A queue has capacity figures on a partition from now on, as whoever calls this notes in its row.
    #[inline]
    pub fn note_known(&mut self, queue: QueueSlot, partition: PartitionId) {
        self.outline += u64::from(!self.queues[queue].part(partition).known);
    }

    /// Changes the state of a queue.
    pub fn set_queue_state(&mut self, queue: QueueSlot, state: QueueState) {
        self.queues[queue].state = state;
        self.outline += 1;
    }

    /// Total of the active nodes of a partition.
    #[inline]
    #[must_use]
    pub fn total(&self, partition: PartitionId) -> ResourceVector {
        self.partitions[partition].total
    }

    /// All partitions, the default one first.
    pub fn partition_ids(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..self.partitions.len()).map(PartitionId::at)
    }

    /// The partition whose reservations may be exchanged for space on a partition.
    // The reference reads the default one, whatever the node's partition is (YARN-2695).
    #[inline]
    #[must_use]
    pub fn continue_looking_on(&self, partition: PartitionId) -> PartitionId {
        if self.settings.mends.labelled_continue_looking {
            partition
        } else {
            PartitionId::DEFAULT
        }
    }

    /// Most that a queue may use on a partition, on which it may be a borrower.
    // As AbstractCSQueue.getCurrentLimitResource; a borrower has no maximum there (YARN-11828).
    #[inline]
    #[must_use]
    pub fn most_of<const N: usize>(
        &self,
        queue: QueueSlot,
        partition: PartitionId,
        exclusivity: Exclusivity,
    ) -> ResourceVector<N> {
        match exclusivity {
            Exclusivity::Ignore if !self.settings.mends.shared_partition_maximum => {
                self.partitions[partition].total.narrow()
            }
            _ => self.queues[queue].part(partition).limit.narrow(),
        }
    }

    /// Whether an amount on a node has room for a container; by memory alone where the calculator
    /// knows no more and that is not mended (YARN-10848).
    #[inline]
    #[must_use]
    pub fn has_cores<const N: usize>(
        &self,
        size: &ResourceVector<N>,
        room: &ResourceVector<N>,
    ) -> bool {
        !self.settings.mends.memory_only_vcores || size[1] <= room[1]
    }

    /// How many of the first types decide whether a container fits on a node.
    #[must_use]
    pub fn fitting_types(&self) -> usize {
        let types = self.calculator.fitting_types();
        if self.settings.mends.memory_only_vcores {
            types.max(2)
        } else {
            types
        }
    }

    /// The queue and its ancestors, upwards.
    pub fn chain(&self, queue: QueueSlot) -> impl Iterator<Item = QueueSlot> + '_ {
        std::iter::successors(Some(queue), |&queue| self.queues[queue].parent)
    }

    /// The queue and everything below it, parents first, children in list order.
    #[must_use]
    pub fn subtree(&self, queue: QueueSlot) -> Vec<QueueSlot> {
        let mut found = Vec::new();
        let mut open = vec![queue];
        while let Some(next) = open.pop() {
            found.push(next);
            open.extend(self.queues[next].children.iter().rev());
        }
        found
    }

    /// The children of every parent by name, in the scheduler's order.
    #[must_use]
    pub fn child_order(&self) -> BTreeMap<String, Vec<String>> {
        let queues = self.subtree(State::ROOT);
        queues
            .into_iter()
            .map(|queue| &self.queues[queue])
            .filter(|queue| !queue.children.is_empty())
            .map(|queue| {
                let names = queue
                    .children
                    .iter()
                    .map(|&child| self.queues[child].settings.name().to_owned());
                (queue.settings.path.to_string(), names.collect())
            })
            .collect()
    }

    /// Whether a placement over several nodes finds a node: it takes containers, and the list of its
    /// partition has it ([`Node::is_unlisted`]).
    #[inline]
    #[must_use]
    pub fn is_candidate(&self, node: NodeSlot) -> bool {
        let row = &self.nodes[node];
        row.takes_containers() && !(row.is_unlisted() && self.settings.multi_node.enabled)
    }

    /// Whether passes publish the limits of the leaves that they serve. Where many threads pass by,
    /// whoever reads one computes it, unless that takes a look at all nodes.
    #[inline]
    #[must_use]
    pub fn updates_leaf_limits(&self) -> bool {
        !self.concurrent || self.settings.lazy_preemption
    }

    /// Follows what an application asks on a partition now.
    #[inline(always)]
    pub fn note_asks<const N: usize>(&mut self, app: AppSlot, partition: PartitionId) {
        self.note_demand(app, partition, asks_on::<N>(&self.apps[app], partition));
    }

    /// Notes whether an application asks something on a partition, as [`asks_on`] finds.
    #[inline]
    pub(crate) fn note_demand(&mut self, app: AppSlot, partition: PartitionId, asks: bool) {
        let known = self.demands[app];
        let demand = known.with(partition, asks);
        if demand != known && !is_planted(PlantedFlaw::DemandBitsMissNewAsk) {
            self.demands[app] = demand;
        }
    }

    /// Whether an application surely asks nothing on a partition.
    #[inline]
    #[must_use]
    pub fn asks_elsewhere(&self, app: AppSlot, partition: PartitionId) -> bool {
        // Must equal [`demand_of`].
        let elsewhere = FastPath::DemandBits.is_taken() && !self.demands[app].may_be_on(partition);
        debug_assert!(!elsewhere || !demand_of(&self.apps[app]).may_be_on(partition));
        elsewhere
    }

    /// Sum of the containers of a queue that may be killed on a partition.
    #[inline]
    #[must_use]
    pub fn killable(&self, queue: QueueSlot, partition: PartitionId) -> ResourceVector {
        if self.settings.lazy_preemption {
            self.sum_killable(queue, partition)
        } else {
            ResourceVector::NONE
        }
    }

    fn sum_killable(&self, queue: QueueSlot, partition: PartitionId) -> ResourceVector {
        let mut sum = ResourceVector::NONE;
        for &node in &self.partitions[partition].nodes {
            for killable in &self.nodes[node].killable {
                let mut above = self.chain(killable.leaf);
                if !killable.ended && above.any(|above| above == queue) {
                    sum += killable.size;
                }
            }
        }
        sum
    }

    /// How many rows of all tables were written since the last publication.
    #[must_use]
    pub fn rows_written(&self) -> usize {
        self.partitions.written()
            + self.queues.written()
            + self.users.written()
            + self.apps.written()
            + self.nodes.written()
    }

    /// How many rows of all tables the next publication will have to copy as things stand.
    #[must_use]
    pub fn rows_to_copy(&self) -> usize {
        self.partitions.uncopied()
            + self.queues.uncopied()
            + self.users.uncopied()
            + self.apps.uncopied()
            + self.demands.uncopied()
            + self.nodes.uncopied()
    }

    /// Copies rows ahead of the next publication, at most so many of all tables, and forgets about
    /// twice as many that earlier ones have replaced, in their logs and in their chunks.
    ///
    /// Cost: some 0.4 us for each row that is copied.
    pub fn copy_ahead(&mut self, most: usize) {
        let mut room = Ahead {
            to_copy: most,
            to_forget: most.saturating_mul(2),
        };
        self.nodes.go_ahead(&mut room);
        self.apps.go_ahead(&mut room);
        self.demands.go_ahead(&mut room);
        self.users.go_ahead(&mut room);
        self.partitions.go_ahead(&mut room);
        // What changes with every decision comes last: it is likely to change again.
        self.queues.go_ahead(&mut room);
    }

    /// Frees some memory of rows that no publication shows any more, where they are [large](super::FrozenRow).
    pub fn free_large(&mut self) {
        self.apps.free_large();
    }

    /// Makes every table remember what is written to it.
    pub fn track(&mut self) {
        self.partitions.track();
        self.queues.track();
        self.users.track();
        self.apps.track();
        self.demands.track();
        self.nodes.track();
    }
}

/// An immutable, numbered state, shared between its readers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// Number of the publication.
    pub version: Version,
    /// The last publication that changed more than how often waiting reservations were looked at:
    /// who found nothing to do in it need not look at this one.
    pub news: Version,
    /// How many decisions of each proposer the state has seen, accepted or refused.
    pub taken: Vec<u64>,
    /// How many of them were refused.
    pub refused: Vec<u64>,
    /// How many of all of them proposed nothing: they carry what was observed on the way, and have no
    /// outcome.
    pub skipped: u64,
    /// How many decisions the committer made by itself, accepted or refused.
    pub served: u64,
    /// How many of them were refused.
    pub served_refused: u64,
    /// Counts what changed the state other than accepted proposals: commands, refusals, time.
    pub outside: u64,
    /// Counts what changed the state at all: commands, time, accepted proposals.
    pub changes: u64,
    /// Settings of the whole scheduler.
    pub settings: Arc<SchedulerSettings>,
    /// Sum of the totals of all nodes.
    pub cluster: ResourceVector,
    /// Number of registered nodes.
    pub node_count: usize,
    /// Counts what may change the order of children other than their use.
    pub epoch: u64,
    /// As [`State::concurrent`].
    pub concurrent: bool,
    /// Partitions.
    pub partitions: Frozen<Partition>,
    /// Queues.
    pub queues: Frozen<Queue>,
    /// Users' records.
    pub users: Frozen<User>,
    /// Applications.
    pub apps: Frozen<App>,
    /// Where applications ask.
    pub demands: Frozen<Demand>,
    /// Nodes.
    pub nodes: Frozen<Node>,
}

impl Snapshot {
    /// The snapshot before the first publication of a tracked state.
    #[must_use]
    pub fn empty(settings: Arc<SchedulerSettings>) -> Self {
        Self {
            version: Version(0),
            news: Version(0),
            taken: Vec::new(),
            served: 0,
            served_refused: 0,
            refused: Vec::new(),
            skipped: 0,
            outside: 0,
            changes: 0,
            settings,
            cluster: ResourceVector::NONE,
            node_count: 0,
            epoch: 0,
            concurrent: false,
            partitions: Frozen::default(),
            queues: Frozen::default(),
            users: Frozen::default(),
            apps: Frozen::default(),
            demands: Frozen::default(),
            nodes: Frozen::default(),
        }
    }

    /// The next snapshot: copies what was written to `state` since this one, shares the rest.
    #[must_use]
    pub fn next(&self, state: &mut State) -> Self {
        let mut next = self.clone();
        next.version = Version(self.version.0 + 1);
        next.news = next.version;
        next.settings = Arc::clone(&state.settings);
        next.cluster = state.cluster;
        next.node_count = state.node_count;
        next.epoch = state.epoch;
        next.concurrent = state.concurrent;
        next.partitions.publish(&mut state.partitions);
        next.queues.publish(&mut state.queues);
        next.users.publish(&mut state.users);
        next.apps.publish(&mut state.apps);
        next.demands.publish(&mut state.demands);
        next.nodes.publish(&mut state.nodes);
        next
    }

    /// A state that shows the same, for whoever reads a state.
    ///
    /// Cost: a copy of every row.
    #[must_use]
    pub fn to_state(&self) -> State {
        let mut state = State::new(Arc::clone(&self.settings));
        let empty = Self::empty(Arc::clone(&self.settings));
        state.refresh(&empty, self, |_| {});
        state
    }

    /// Frees what nobody else reads of it, as [`Frozen::forget`] does.
    pub fn forget(self, mut did: impl FnMut(usize)) {
        let Self {
            partitions,
            queues,
            users,
            apps,
            demands,
            nodes,
            ..
        } = self;
        partitions.forget(&mut did);
        queues.forget(&mut did);
        users.forget(&mut did);
        apps.forget(&mut did);
        demands.forget(&mut did);
        nodes.forget(&mut did);
    }
}

impl State {
    /// Makes a working copy equal to `newer`; `older` is the snapshot it was last equal to.
    /// `changed` is called with the nodes that may differ from what they were.
    pub fn refresh(
        &mut self,
        older: &Snapshot,
        newer: &Snapshot,
        mut changed: impl FnMut(NodeSlot),
    ) {
        self.settings = Arc::clone(&newer.settings);
        self.calculator = newer.settings.calculator;
        self.minimum = self.calculator.known(&newer.settings.minimum_allocation);
        self.cluster = newer.cluster;
        self.node_count = newer.node_count;
        self.epoch = newer.epoch;
        self.concurrent = newer.concurrent;
        self.copied = true;
        self.partitions
            .refresh(&older.partitions, &newer.partitions, |_| {});
        self.queues.refresh(&older.queues, &newer.queues, |_| {});
        self.users.refresh(&older.users, &newer.users, |_| {});
        self.apps.refresh(&older.apps, &newer.apps, |_| {});
        self.demands.refresh(&older.demands, &newer.demands, |_| {});
        let changed = |index| changed(NodeSlot::at(index));
        self.nodes.refresh(&older.nodes, &newer.nodes, changed);
    }
}
