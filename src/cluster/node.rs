//! A node: its resources, its reservation, and what may be killed on it.

use std::sync::Arc;

use super::attributes::Attributes;
use crate::id::{
    AppSlot, ApplicationId, ContainerId, NameId, NodeName, PartitionId, QueueSlot, SchedulerKey,
};
use crate::resource::{PackedVector, ResourceVector};

/// One machine of the cluster.
///
/// What decisions read stands in front.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Node {
    /// The host, as asks name it.
    pub host: NameId,
    /// The rack, as asks name it.
    pub rack: NameId,
    /// Counts the registrations of this slot; a proposal names the one that it saw.
    pub incarnation: u32,
    /// Where the node's resources count.
    pub partition: PartitionId,
    /// Whether containers may be placed.
    pub state: NodeState,
    /// `total - allocated`.
    pub free: PackedVector,
    /// Sum of the containers whose space is not free again.
    pub allocated: PackedVector,
    /// Everything the node offers.
    pub total: PackedVector,
    /// Number of containers whose space is not free again.
    pub containers: u32,
    /// The container that waits for room here.
    pub reserved: Option<Reservation>,
    /// Host and port.
    pub name: NodeName,
    /// `NodeId.hashCode` of the name.
    pub java_hash: i32,
    /// Containers that may be killed when their place is needed, in order of marking.
    pub killable: Vec<Killable>,
    /// Attributes by `prefix/name`, and their values; 1,000 at most, which copies of the row share.
    pub attributes: Arc<Attributes>,
    /// Allocation tags of the containers whose space is taken.
    pub tags: Vec<TagCount>,
    /// Whether containers beyond the total are ended.
    pub enforced: bool,
    /// Whether the node was ever given a label, even an empty one.
    pub labelled: bool,
    /// Whether the node was ever put into the list of the default partition. The reference does so at its
    /// registration and at changes of its total, and not when it loses its label.
    // As CapacityScheduler.refreshLabelToNodeCache, which knows no empty label.
    pub default_listed: bool,
}

impl Node {
    /// Whether multi-node placement does not find the node: the list of its partition lacks it.
    #[inline]
    #[must_use]
    pub fn is_unlisted(&self) -> bool {
        self.partition == PartitionId::DEFAULT && !self.default_listed
    }

    /// Whether new containers may be placed here, as far as the life of the node decides.
    #[inline]
    #[must_use]
    pub fn takes_containers(&self) -> bool {
        self.state == NodeState::Running
    }

    /// Sum of the containers that may be killed.
    #[must_use]
    pub fn killable_total(&self) -> ResourceVector {
        self.killable
            .iter()
            .fold(ResourceVector::NONE, |sum, killable| sum + killable.size)
    }

    /// Sets the size of a container where it is killable.
    pub fn resize_killable(&mut self, container: ContainerId, size: ResourceVector) {
        let found = self.killable.iter_mut();
        for killable in found.filter(|killable| killable.container == container) {
            killable.size = size;
        }
    }
}

/// Life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Takes containers.
    Running,
    /// Takes no new ones; its total follows what is left.
    Decommissioning,
    /// Gone; the slot may be taken again.
    Lost,
    /// Takes new containers of one gang alone, for which it is held for a bounded time.
    Held,
}

/// A container that waits for room on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The application that reserved.
    pub app: AppSlot,
    /// The key it was asked under.
    pub key: SchedulerKey,
    /// Number of the container within its application.
    pub number: u32,
    /// Size of the container.
    pub size: ResourceVector,
}

/// A container that may be killed when its place is needed (lazy preemption).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killable {
    /// The container.
    pub container: ContainerId,
    /// Its application.
    pub app: AppSlot,
    /// The leaf that pays for it.
    pub leaf: QueueSlot,
    /// Its size.
    pub size: ResourceVector,
    /// Whether it ended already and only its space is still taken.
    pub ended: bool,
}

/// How many containers of an application with a tag take space on a node, or did when they ended
/// before they were fetched. It may outlive the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagCount {
    /// The application.
    pub app: ApplicationId,
    /// The application's own tags.
    pub app_tags: std::sync::Arc<[std::sync::Arc<str>]>,
    /// The tag.
    pub tag: std::sync::Arc<str>,
    /// Containers that carry it.
    pub count: u32,
}
