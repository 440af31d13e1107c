//! The queue tree, its users and applications, and what they use.

mod amounts;
mod app;
mod app_keys;
mod blacklist;
mod configured_amounts;
mod constraint;
mod demand;
mod end_cause;
mod gang;
mod key_asks;
mod key_reservations;
mod leaf;
mod master_moves;
mod mends;
mod multi_node;
mod opportunistic;
mod opportunistic_wait;
mod per_partition;
mod places;
mod priority_refusal;
mod ranks;
mod reference;
mod request;
mod restarts;
mod settings;
mod shared_tree;
mod tree;
mod tree_node;
mod update;
mod user;

pub use amounts::{Amounts, Excess};
pub use app::{App, AppPart, AppStage, HeadroomProvider, Submission, refresh_fair_figures};
pub use app_keys::{AppKeys, LeafGroup, OpenKeys};
pub use blacklist::Blacklist;
pub use configured_amounts::ConfiguredAmounts;
pub use constraint::{AttributeOp, Constraint, Namespace, Scope, SingleConstraint, Target};
pub use demand::{Demand, asks_on, demand_of};
pub use end_cause::EndCause;
pub use gang::{Closeness, GangAsk, GangWait};
pub use key_asks::{ConstrainedKey, KeyAsks};
pub use key_reservations::{KeyReservations, ReservedAt};
pub use leaf::{
    ApplicationRule, Bound, Exclusivity, Floor, Leaf, LeafPart, LimitKind, SkippableHead,
    UserBounds,
};
pub use master_moves::MasterMoves;
pub use mends::Mends;
pub use multi_node::{MultiNodeSettings, NodePolicy, NodePolicySettings};
pub use opportunistic::OpportunisticSettings;
pub use opportunistic_wait::{OpportunisticNodes, OpportunisticWait, WaitingOpportunistic};
pub use per_partition::{Blank, PerPartition};

pub use places::{PlaceAsk, PlaceSum, Places};
pub use priority_refusal::PriorityRefusal;
pub use ranks::{ChildClaim, ChildUse, Ranks};
pub use reference::{Reference, ReferenceRules, UnknownReference};
pub use request::{
    AppSpec, Ask, AskCall, AskReply, ConstrainedAsk, FinishedContainer, Granted, NodeReport,
    NodeSpec, RunningContainer,
};
pub use restarts::Restarts;
pub use settings::{
    AccessList, Accessible, AppOrder, AsynchronousSettings, CapacitySetting, ChildOrder,
    ConfiguredState, ConstraintHandler, CreationScheme, CreationSettings, HeartbeatSettings,
    LeafSettings, LegacyCapacity, LifetimeSettings, PartitionSettings, PriorityAccess, QueueAccess,
    QueueKind, QueueSettings, SchedulerSettings, Templates, TreeSettings, UserParallelSettings,
    VectorEntry,
};
pub use shared_tree::{SharedTree, SharedTreeIter};
pub use tree::{CapacityMode, Divisors, Queue, QueuePart, QueueState, TemplatePart};
pub use tree_node::{TreeEntry, TreeSum};
pub use update::{
    ContainerChange, ContainerUpdate, UpdateError, UpdateKind, UpdateRefusal, UpdatedContainer,
};
pub use user::{CachedUserLimit, User, UserPart};
