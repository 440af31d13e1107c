//! What may be read of a ledger while charges and notices of its batches wait.
//!
//! Rows of nodes, applications and partitions never wait. Of queues and users the view shows figures that include
//! what waits, and no others: not used shares, not the order of children, not noted user limits.
//!
//! Tests: `tests/commit/deferred_charges.rs`.

use crate::accounting::DeferredAncestorCharges;
use crate::cluster::{Node, Partition};
use crate::commit::containers::container::Container;
use crate::commit::ledger::Ledger;
use crate::id::{AppSlot, ApplicationId, NodeName, NodeSlot, PartitionId, QueueSlot};
use crate::queue::{App, QueuePart, QueueSettings, SchedulerSettings, User};
use crate::resource::ResourceVector;
use crate::snapshot::{State, Table};

/// A ledger between two commits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct UnsettledView<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) charges: &'a DeferredAncestorCharges,
}

impl<'a> UnsettledView<'a> {
    fn state(self) -> &'a State {
        self.ledger.state()
    }

    /// Settings of the whole scheduler.
    #[must_use]
    pub fn settings(self) -> &'a SchedulerSettings {
        &self.state().settings
    }

    /// Sum of the totals of all nodes.
    #[must_use]
    pub fn cluster(self) -> ResourceVector {
        self.state().cluster
    }

    /// Number of registered nodes.
    #[must_use]
    pub fn node_count(self) -> usize {
        self.state().node_count
    }

    /// Partitions; the default one first.
    #[must_use]
    pub fn partitions(self) -> &'a Table<PartitionId, Partition> {
        &self.state().partitions
    }

    /// Every partition that a name was ever known of.
    pub fn partition_ids(self) -> impl Iterator<Item = PartitionId> {
        self.state().partition_ids()
    }

    /// Nodes by slot, also those that left.
    #[must_use]
    pub fn nodes(self) -> &'a Table<NodeSlot, Node> {
        &self.state().nodes
    }

    /// Applications by slot, also those that ended.
    #[must_use]
    pub fn apps(self) -> &'a Table<AppSlot, App> {
        &self.state().apps
    }

    /// As [`Ledger::node`].
    #[must_use]
    pub fn node(self, name: &NodeName) -> Option<NodeSlot> {
        self.ledger.node(name)
    }

    /// As [`Ledger::apps_by_id`].
    #[must_use]
    pub fn apps_by_id(self) -> Vec<(ApplicationId, AppSlot)> {
        self.ledger.apps_by_id()
    }

    /// As [`Ledger::live_containers`].
    pub fn live_containers(self, app: AppSlot) -> impl Iterator<Item = &'a Container> {
        self.ledger.live_containers(app)
    }

    /// Queues by slot, also removed ones; root first.
    pub fn queues(self) -> impl Iterator<Item = UnsettledQueue<'a>> {
        let slots = (0..self.state().queues.len()).map(QueueSlot::at);
        slots.map(move |queue| self.queue(queue))
    }

    /// One queue.
    #[must_use]
    pub fn queue(self, queue: QueueSlot) -> UnsettledQueue<'a> {
        UnsettledQueue { view: self, queue }
    }

    /// Records of users by slot, also removed ones.
    pub fn users(self) -> impl Iterator<Item = UnsettledUser<'a>> {
        self.state().users.iter().map(UnsettledUser)
    }
}

/// A queue of a ledger of which charges may wait.
#[derive(Clone, Copy, Debug)]
pub struct UnsettledQueue<'a> {
    view: UnsettledView<'a>,
    queue: QueueSlot,
}

impl<'a> UnsettledQueue<'a> {
    fn part(self, partition: PartitionId) -> &'a QueuePart {
        self.view.state().queues[self.queue].part(partition)
    }

    /// Its settings.
    #[must_use]
    pub fn settings(self) -> &'a QueueSettings {
        &self.view.state().queues[self.queue].settings
    }

    /// Whether it was removed.
    #[must_use]
    pub fn is_removed(self) -> bool {
        self.view.state().queues[self.queue].removed
    }

    /// Whether it has no children.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        self.view.state().queues[self.queue].children.is_empty()
    }

    /// What it uses on a partition, with all charges that wait.
    ///
    /// Cost: a walk up the tree for each leaf of which the ancestors are not charged yet.
    #[must_use]
    pub fn used(self, partition: PartitionId) -> ResourceVector {
        let state = self.view.state();
        self.view.charges.use_of(state, self.queue, partition)
    }

    /// Outstanding asks on a partition, without all that waiting charges served.
    ///
    /// Cost: as [`Self::used`].
    #[must_use]
    pub fn pending(self, partition: PartitionId) -> ResourceVector {
        let state = self.view.state();
        self.view.charges.pending_of(state, self.queue, partition)
    }

    /// What it was charged with on a partition: without the charges that wait.
    #[must_use]
    pub fn charged(self, partition: PartitionId) -> ResourceVector {
        self.part(partition).used.get()
    }

    /// Its reservations on a partition.
    #[must_use]
    pub fn reserved(self, partition: PartitionId) -> ResourceVector {
        self.part(partition).reserved.get()
    }

    /// Reservations of the applications that it has now.
    #[must_use]
    pub fn reserved_by_present(self) -> ResourceVector {
        let row = &self.view.state().queues[self.queue];
        row.reserved_by_present.get()
    }

    /// Application masters that count against the limit for masters.
    #[must_use]
    pub fn master_used(self, partition: PartitionId) -> ResourceVector {
        self.part(partition).master_used.get()
    }

    /// Most that it may use on a partition.
    #[must_use]
    pub fn limit(self, partition: PartitionId) -> ResourceVector {
        self.part(partition).limit.get()
    }

    /// Capacity and maximum on a partition as fractions of the parent's, and its weight.
    #[must_use]
    pub fn shares(self, partition: PartitionId) -> (f32, f32, f32) {
        let part = self.part(partition);
        (part.capacity, part.maximum_capacity, part.weight)
    }

    /// Capacity and maximum on a partition as fractions of the partition.
    #[must_use]
    pub fn absolute_shares(self, partition: PartitionId) -> (f32, f32) {
        let part = self.part(partition);
        (part.absolute_capacity, part.absolute_maximum)
    }
}

/// A user's record in a leaf, of which the notice of a limit may wait.
#[derive(Clone, Copy, Debug)]
pub struct UnsettledUser<'a>(&'a User);

impl<'a> UnsettledUser<'a> {
    /// The leaf.
    #[must_use]
    pub fn leaf(self) -> QueueSlot {
        self.0.leaf
    }

    /// Name of the user.
    #[must_use]
    pub fn name(self) -> &'a str {
        &self.0.name
    }

    /// Counts the records of its slot.
    #[must_use]
    pub fn generation(self) -> u32 {
        self.0.generation
    }

    /// Whether the record was removed.
    #[must_use]
    pub fn is_removed(self) -> bool {
        self.0.removed
    }

    /// Whether the user's use counts as that of an active user.
    #[must_use]
    pub fn is_active(self) -> bool {
        self.0.active
    }

    /// Active applications.
    #[must_use]
    pub fn active_apps(self) -> i32 {
        self.0.active_apps
    }

    /// Applications with outstanding asks.
    #[must_use]
    pub fn asking_apps(self) -> i32 {
        self.0.asking_apps
    }

    /// What the user's containers and reservations use on a partition.
    #[must_use]
    pub fn used(self, partition: PartitionId) -> ResourceVector {
        self.0.parts[partition].used.get()
    }

    /// What the user's masters use of the limit for masters on a partition.
    #[must_use]
    pub fn master_used(self, partition: PartitionId) -> ResourceVector {
        self.0.parts[partition].master_used.get()
    }
}
