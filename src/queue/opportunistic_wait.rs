//! Why opportunistic containers wait: those that no node takes yet, and those that wait on their nodes.

use crate::id::AppSlot;
use crate::resource::ResourceVector;

/// Opportunistic containers of an application that wait, of one size and one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingOpportunistic {
    /// The application.
    pub app: AppSlot,
    /// Request priority that they were asked under.
    pub priority: i32,
    /// How many.
    pub containers: u64,
    /// Size of one.
    pub size: ResourceVector,
    /// Where they wait, and what for.
    pub wait: OpportunisticWait,
}

/// Where opportunistic containers wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpportunisticWait {
    /// They have no node yet.
    Placing(OpportunisticNodes),
    /// They are in the queues of their nodes, and start once those have room.
    OnNodes {
        /// How many nodes.
        nodes: usize,
        /// One of those nodes as `host:port`, the one with the fewest containers ahead.
        first: String,
        /// Containers ahead there.
        ahead: usize,
    },
}

/// The nodes that an ask may use, by what each does with a container of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpportunisticNodes {
    /// Nodes that start it at once, or have it wait.
    pub open: usize,
    /// Nodes without room, whose queues have no place either.
    pub full: usize,
    /// Nodes that are smaller than the container.
    pub small: usize,
    /// Nodes that take no containers: they are decommissioned, or held for a gang.
    pub closed: usize,
    /// Nodes that the application excludes.
    pub excluded: usize,
}
