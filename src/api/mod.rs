//! The promise to outsiders: engines, requests, events, views.

mod view;

pub use crate::commit::{
    AppError, AskError, Conflict, Ending, Event, HeartbeatReply, NodeError, PartitionSpec,
    RefreshError, SubmitError, Submitted, UnreserveReason,
};
pub use crate::mode::{Attempt, Sequential};
pub use crate::policy::Locality;
pub use crate::proposer::ProposalKind;
pub use crate::queue::{
    AppSpec, AppStage, Ask, AskCall, AskReply, ConstrainedAsk, Granted, NodeReport, NodeSpec,
    TreeSettings,
};
pub use view::{AppView, Fraction, NodeView, PartitionView, QueueView, StateView, UserView};
