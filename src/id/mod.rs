//! Dense ids, outside names and the fixed-hasher collections.
//!
//! Outside, things have names: applications, containers, nodes, queue paths. Names are interned
//! once at the edge; inside, every thing is a dense `u32` slot into a table.

pub mod java_order;
mod names;
mod queue_path;
mod slots;

pub use names::{ApplicationId, ContainerId, IdError, NodeName, NodeNameError, SchedulerKey};
pub use queue_path::QueuePath;
pub use slots::{AppSlot, NameId, NodeSlot, PartitionId, QueueSlot, UserSlot, Version};

/// A hash map with a fixed hasher, so that runs repeat.
#[expect(clippy::disallowed_types, reason = "the alias that the lint points to")]
pub type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;

/// A hash set with a fixed hasher, so that runs repeat.
#[expect(clippy::disallowed_types, reason = "the alias that the lint points to")]
pub type Set<K> = std::collections::HashSet<K, foldhash::fast::FixedState>;
