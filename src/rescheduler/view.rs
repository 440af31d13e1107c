//! What a round reads: plain figures of queues, users, applications, nodes and containers.
//!
//! Everything refers to everything else by its position in the lists of the [`RoundInput`].

use crate::id::{ApplicationId, ContainerId, NodeSlot, QueuePath, SchedulerKey};
use crate::resource::{Calculator, ResourceVector};

/// The cluster as one round sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundInput {
    /// How resources are compared.
    pub calculator: Calculator,
    /// Sum of the totals of all nodes.
    pub cluster: ResourceVector,
    /// Smallest allocation.
    pub minimum: ResourceVector,
    /// Totals of the partitions: the default one first, the others by name.
    pub partitions: Vec<ResourceVector>,
    /// Queues: root first, parents before their children, in list order.
    pub queues: Vec<RoundQueue>,
    /// Users' records in leaves.
    pub users: Vec<RoundUser>,
    /// Applications by id; ended ones too while a leaf lists them or their containers take space.
    pub apps: Vec<RoundApp>,
    /// Nodes in order of registration.
    pub nodes: Vec<RoundNode>,
    /// Live containers, reservations, and ended containers whose space is still taken.
    pub containers: Vec<RoundContainer>,
}

impl RoundInput {
    /// Whether every position points at something and every queue but the first hangs below an
    /// earlier one. A view of a live state always is; one put together elsewhere may miss an
    /// ancestor or a queue.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let known = |list: &[usize], len: usize| list.iter().all(|&at| at < len);
        let (queues, containers) = (self.queues.len(), self.containers.len());
        let parts = self.partitions.len();
        let tree = self.queues.iter().enumerate().all(|(at, queue)| {
            let leaf = queue.leaf.iter();
            let apps =
                leaf.flat_map(|leaf| leaf.active.iter().chain(&leaf.waiting).chain(&leaf.apps));
            let hangs = match queue.parent {
                Some(parent) => parent < at,
                None => at == 0,
            };
            let mut below = queue.children.iter();
            hangs
                && queue.parts.len() == parts
                && below.all(|&child| child < queues && self.queues[child].parent == Some(at))
                && apps.copied().all(|app| app < self.apps.len())
        });
        let apps = self.apps.iter().all(|app| {
            app.queue < queues
                && app.user < self.users.len()
                && app.used.len() == parts
                && app.pending.len() == parts
                && app.master_partition.is_none_or(|part| part < parts)
                && known(&app.live, containers)
                && known(&app.reserved, containers)
        });
        let nodes = self.nodes.iter().all(|node| {
            node.partition < parts
                && known(&node.running, containers)
                && node.reserved.is_none_or(|held| held < containers)
        });
        let held = self.containers.iter().all(|container| {
            container.app < self.apps.len()
                && container.node < self.nodes.len()
                && container
                    .requested_partition
                    .is_none_or(|part| part < parts)
        });
        let users = self.users.iter().all(|user| user.used.len() == parts);
        queues > 0 && parts > 0 && tree && apps && nodes && held && users
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundQueue {
    /// Full path.
    pub path: QueuePath,
    /// The queue above; nothing for root.
    pub parent: Option<usize>,
    /// The queues below, in list order.
    pub children: Vec<usize>,
    /// Priority among siblings; 0 where the parent does not serve by priority.
    pub priority: i32,
    /// Whether other queues may not take from it.
    pub preemption_disabled: bool,
    /// Whether its own applications may not take from each other.
    pub intra_queue_disabled: bool,
    /// Figures by partition.
    pub parts: Vec<RoundQueuePart>,
    /// What only leaves have.
    pub leaf: Option<RoundLeaf>,
}

/// Figures of a queue on one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundQueuePart {
    /// Containers and reservations.
    pub used: ResourceVector,
    /// Reservations.
    pub reserved: ResourceVector,
    /// Guaranteed resources.
    pub guaranteed: ResourceVector,
    /// Most that it may use.
    pub maximum: ResourceVector,
    /// Containers that may be killed.
    pub killable: ResourceVector,
    /// Demand of active applications as far as user limits let them grow; parents: the sum of
    /// their children's.
    pub pending: ResourceVector,
    /// The same with reservations left out of the demand.
    pub pending_without_reserved: ResourceVector,
    /// Capacity as a fraction of the partition.
    pub absolute_capacity: f32,
    /// Used resources as a fraction of the guarantee.
    pub used_capacity: f32,
}

/// What only leaves have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundLeaf {
    /// Active applications in the order in which they are served.
    pub active: Vec<usize>,
    /// Applications that wait for room for their master.
    pub waiting: Vec<usize>,
    /// All applications with containers here.
    pub apps: Vec<usize>,
    /// Whether applications are served by the fair policy.
    pub fair: bool,
    /// Share of the guarantee for application masters on the default partition.
    pub masters: ResourceVector,
}

/// A user's record in a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundUser {
    /// Containers and reservations by partition.
    pub used: Vec<ResourceVector>,
}

/// An application.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundApp {
    /// Its number.
    pub id: ApplicationId,
    /// Its leaf.
    pub queue: usize,
    /// Its user's record.
    pub user: usize,
    /// Larger is more important.
    pub priority: i32,
    /// Size of the master's container.
    pub master_size: ResourceVector,
    /// Partition that the master counts on; nothing when it is not in the view.
    pub master_partition: Option<usize>,
    /// Whether the master runs, or there is none to wait for.
    pub started: bool,
    /// Containers by partition.
    pub used: Vec<ResourceVector>,
    /// Outstanding asks by partition.
    pub pending: Vec<ResourceVector>,
    /// Magnitude in the fair order and position among the starts of attempts.
    pub fair_key: (f64, u64),
    /// Live containers by number.
    pub live: Vec<usize>,
    /// Reservations by number.
    pub reserved: Vec<usize>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundNode {
    /// Its place in the ledger.
    pub slot: NodeSlot,
    /// `NodeId.hashCode` of its name.
    pub java_hash: i32,
    /// Its partition.
    pub partition: usize,
    /// Everything it offers.
    pub total: ResourceVector,
    /// Sum of the containers whose space is taken.
    pub allocated: ResourceVector,
    /// Sum of the containers that may be killed.
    pub killable: ResourceVector,
    /// Containers whose space is taken, in order of placement.
    pub running: Vec<usize>,
    /// The reservation on it.
    pub reserved: Option<usize>,
}

/// A container, or a reservation of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundContainer {
    /// Application and number.
    pub id: ContainerId,
    /// Its application.
    pub app: usize,
    /// The key it was asked under.
    pub key: SchedulerKey,
    /// Its size.
    pub size: ResourceVector,
    /// Its node.
    pub node: usize,
    /// Partition of the request that it serves; nothing when it is not in the view.
    pub requested_partition: Option<usize>,
    /// Whether it is a reservation.
    pub reserved: bool,
    /// Whether the application's master runs in it.
    pub master: bool,
    /// Whether it may be killed already.
    pub killable: bool,
    /// Whether its key may be served on another node.
    pub may_move: bool,
    /// Position in the order of creation.
    pub stamp: u64,
    /// Time of its creation in ms.
    pub created_ms: u64,
}

/// Limits that a round asks for only where it needs them: computing one is remembered.
pub trait LimitLookup {
    /// The limit of a user among all users of a leaf, on a partition.
    // As UsersManager.getComputedResourceLimitForAllUsers.
    fn among_all(&mut self, queue: usize, user: usize, partition: usize) -> ResourceVector;
}
