//! Settings of opportunistic containers: which nodes are looked at, and how long the queue of a node may be.

/// How opportunistic containers are placed on nodes and wait there.
///
/// ```
/// use capsched::api::OpportunisticSettings;
///
/// let settings = OpportunisticSettings { queue_capacity: 15, ..OpportunisticSettings::default() };
/// assert_eq!((settings.nodes_used, settings.shortest_limit, settings.longest_limit), (10, 5, 15));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpportunisticSettings {
    /// Nodes that are looked at for one container, the least loaded first; at least 1
    /// (`yarn.resourcemanager.opportunistic-container-allocation.nodes-used`).
    pub nodes_used: usize,
    /// Containers that may wait on one node; with 0 a container is placed only where it starts at once
    /// (`yarn.nodemanager.opportunistic-containers-max-queue-length`).
    pub queue_capacity: u32,
    /// Standard deviations above the mean length, in thousandths, from which a queue is too long
    /// (`yarn.resourcemanager.nm-container-queuing.queue-limit-stdev`).
    pub deviations_milli: u32,
    /// The limit of queues is never below this
    /// (`yarn.resourcemanager.nm-container-queuing.min-queue-length`).
    pub shortest_limit: u32,
    /// The limit of queues is never above this
    /// (`yarn.resourcemanager.nm-container-queuing.max-queue-length`).
    pub longest_limit: u32,
}

impl OpportunisticSettings {
    /// The largest number that each of the settings may be.
    pub const MOST: u32 = 100_000;
}

/// As YarnConfiguration; nothing waits on nodes by default.
impl Default for OpportunisticSettings {
    fn default() -> Self {
        Self {
            nodes_used: 10,
            queue_capacity: 0,
            deviations_milli: 1000,
            shortest_limit: 5,
            longest_limit: 15,
        }
    }
}
