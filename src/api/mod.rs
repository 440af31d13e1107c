//! The promise to outsiders: engines, requests, events, views.

mod builder;
mod scheduler;
mod stepped;
mod user_limit;
mod view;

pub use crate::commit::{
    AppError, AskError, Conflict, Ending, Event as Decision, HeartbeatReply, NodeError,
    PartitionSpec, PreemptionRound, RefreshError, SubmitError, Submitted, UnreserveReason,
};
pub use crate::id::{ApplicationId, ContainerId, NodeName};
pub use crate::mode::{
    Accounts, Attempt, Fate, Intent, Mode, Pipeline, Sequential, StartError, Step, Threaded,
    TurnOutcome,
};
pub use crate::policy::Locality;
pub use crate::proposer::ProposalKind;
pub use crate::queue::{
    AppSpec, AppStage, Ask, AskCall, AskReply, ConstrainedAsk, Granted, NodeReport, NodeSpec,
    TreeSettings,
};
pub use crate::rescheduler::{Rescheduler, Settings as PreemptionSettings};
pub use crate::resource::{MAX_TYPES, MAX_VALUE, ResourceVector};
pub use builder::{Engine, EngineBuilder};
pub use scheduler::{ContainerError, Event, ReleaseReason, Scheduler};
pub use stepped::{ModeKind, Stepped};
pub use user_limit::UserLimits;
pub use view::{
    AppView, Fraction, LeafView, NodeView, PartitionView, QueueView, StateView, UserView,
};
