//! The promise to outsiders: engines, requests, events, views.
//!
//! # What may grow
//!
//! Errors, reasons to wait, views and results are `#[non_exhaustive]`: a later version may add to them. What a decision comes to
//! is closed: [`Decision`], [`Conflict`], [`CommitOutcome`], [`Ending`], [`UnreserveReason`] and [`PreemptionReason`]. Whoever
//! keeps books matches all of them, so that a new one stops the build instead of being missed.

mod builder;
mod calls;
pub mod example;
mod explain;
mod ladder;
mod live_queues;
mod next_step;
mod scheduler;
mod stepped;
mod user_limit;
mod view;
mod viewer;

pub use crate::cluster::{AttributeError, AttributeMapping, Attributes};
pub use crate::commit::{
    AppError, AskError, CommitOutcome, Conflict, Ending, HeartbeatReply, LedgerEvent as Decision,
    NodeError, PartitionSpec, PreemptionReason, PreemptionRound, RefreshError, SubmitError,
    Submitted, UnreserveReason, Unsettled,
};
pub use crate::explain::{
    Evidence, Explanation, Finding, Holder, KeyExplanation, KeyOnNode, NodeCheck, OrderList,
    Position, Reason, Timeline, UnderWay, WaitExplainer, WaitSpan, Waiting, amounts,
};
pub use crate::id::{ApplicationId, ContainerId, NodeName};
pub use crate::policy::Locality;
pub use crate::proposer::ProposalKind;
pub use crate::queue::{
    AppSpec, AppStage, Ask, AskCall, AskReply, ConstrainedAsk, Granted, NodeReport, NodeSpec,
    Reference, ReferenceRules, TreeSettings, UnknownReference,
};
pub use crate::rescheduler::{
    AppVerdict, Rescheduler, Settings as PreemptionSettings, Taken, WhyNot,
};
pub use crate::resource::{MAX_TYPES, MAX_VALUE, ResourceVector};
#[doc(hidden)]
pub use crate::runtime::BadProposals;
pub use crate::runtime::{
    Accounts, Attempt, CommittedDecision, DeliveredEvents, Intent, Latencies, Mode, Pipeline,
    Placement, Running, Sequential, StartError, Threaded, TurnOutcome,
};
pub use builder::{Engine, EngineBuilder};
pub use explain::{
    explain, explain_all, refused_admission, refused_call, refused_submission, waiting, why_not,
};
pub use live_queues::LiveQueues;
pub use next_step::{NextStep, SettingsEditor, next_steps, next_steps_of_refusal};
pub use scheduler::{ContainerError, Event, ReleaseReason, RoundPart, Scheduler};
pub use stepped::{ModeKind, Stepped};
pub use user_limit::UserLimits;
pub use view::{
    AppView, Fraction, LeafView, NodeView, PartitionView, QueueView, StateView, UserView,
};
