//! The queue tree, its users and applications, and what they use.

mod request;
mod settings;

pub use request::{AppSpec, Ask, AskCall, AskReply, ConstrainedAsk, Granted, NodeReport, NodeSpec};
pub use settings::{
    AccessList, Accessible, AppOrder, AsynchronousSettings, CapacitySetting, ChildOrder,
    ConfiguredState, ConstraintHandler, CreationScheme, CreationSettings, HeartbeatSettings,
    LeafSettings, LegacyCapacity, LifetimeSettings, MultiNodeSettings, NodePolicy,
    NodePolicySettings, PartitionSettings, PriorityAccess, QueueAccess, QueueKind, QueueSettings,
    SchedulerSettings, Templates, TreeSettings, UserParallelSettings, VectorEntry,
};
