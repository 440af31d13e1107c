//! The promise to outsiders: engines, requests, events, views.
//!
//! # What may grow
//!
//! Errors, events, reasons to wait, views and results are `#[non_exhaustive]`: a later version may add to them. What a decision
//! comes to is closed: [`Conflict`], [`CommitOutcome`], [`Ending`], [`UnreserveReason`] and [`PreemptionReason`]. Whoever
//! keeps books matches all of them, so that a new one stops the build instead of being missed.

mod builder;
mod calls;
mod container_error;
mod engine;
pub mod example;
mod explain;
mod ladder;
mod live_queues;
mod look_ups;
mod next_step;
mod rebuild;
mod scheduler;
mod settings_editor;
mod shown_queues;
mod stepped;
mod user_limit;
mod view;
mod viewer;
mod whole_state;

pub use crate::cluster::{AttributeError, AttributeMapping, Attributes, NodeState};
pub use crate::commit::{
    AppEnd, AppError, AskError, CommitOutcome, Conflict, Ending, Event, EventCounts, GangEvent,
    GangStep, HandOut, HeartbeatReply, MovedApps, NodeError, NodeQueue, OpportunisticEvent,
    OpportunisticStep, PartitionSpec, PreemptionReason, PreemptionRound, Recovered, RefreshError,
    SubmitError, Submitted, UnreserveReason, Unsettled, UnsettledQueue, UnsettledUser,
    UnsettledView, WaitingGang,
};
pub use crate::explain::{
    Evidence, Explanation, Finding, GangOfApp, Holder, KeyExplanation, KeyOnNode, NodeCheck,
    OrderList, Position, Reason, Timeline, UnderWay, WaitExplainer, WaitSpan, Waiting, amounts,
};
pub use crate::id::{ApplicationId, ContainerId, IdError, NodeName, NodeNameError, QueuePath};
pub use crate::policy::Locality;
pub use crate::proposer::ProposalKind;
pub use crate::queue::{
    AppSpec, AppStage, Ask, AskCall, AskReply, Closeness, ConstrainedAsk, ContainerChange,
    ContainerUpdate, EndCause, FinishedContainer, GangAsk, GangWait, Granted, NodeReport, NodeSpec,
    OpportunisticSettings, PriorityRefusal, Reference, ReferenceRules, Restarts, RunningContainer,
    TreeSettings, UnknownReference, UpdateError, UpdateKind, UpdateRefusal, UpdatedContainer,
};
pub use crate::rescheduler::{
    AppVerdict, AskedBack, Rescheduler, Settings as PreemptionSettings, Taken, WhyNot,
};
pub use crate::resource::{MAX_TYPES, MAX_VALUE, ResourceVector};
pub use crate::runtime::{
    Accounts, Attempt, Awaited, CallError, CommittedDecision, DeliveredEvents, EngineEnd,
    EventStream, Intent, Latencies, Mode, NodeSorting, PanicCause, Pipeline, Placement, Running,
    Sequential, StartError, StreamTimeout, Threaded, TurnOutcome, WorkerPanics,
};
#[doc(hidden)]
pub use crate::runtime::{BadProposals, Desk, DeskAnswer};
pub use builder::EngineBuilder;
pub use container_error::ContainerError;
pub use engine::{Engine, RefreshRefusal, SubmitAsError};
pub use explain::{
    explain, explain_all, refused_admission, refused_call, refused_submission, waiting, why_not,
};
pub use live_queues::LiveQueues;
pub use next_step::{
    NextStep, RefusedAdmission, next_steps, next_steps_of_refusal, next_steps_of_refused_admission,
    next_steps_of_refused_call, next_steps_while,
};
pub use rebuild::{Rebuild, RebuildSource};
pub use scheduler::{RoundPart, Scheduler};
pub use settings_editor::SettingsEditor;
pub use stepped::{ModeKind, Stepped};
pub use user_limit::UserLimits;
pub use view::{
    AppView, Fraction, LeafView, NodeQueueView, NodeView, PartitionView, QueueView, StateView,
    UserView,
};
