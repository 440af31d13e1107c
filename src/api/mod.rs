//! The promise to outsiders: the scheduler as a trait, and the plain data it takes and gives.

mod scheduler;

pub use crate::id::{ApplicationId, ContainerId, NodeName};
pub use crate::queue::{AppSpec, Ask, AskCall, AskReply, Granted, NodeReport, NodeSpec};
pub use crate::resource::{MAX_TYPES, MAX_VALUE, ResourceVector};
pub use scheduler::{
    AppError, AskError, ContainerError, Event, HeartbeatReply, NodeError, ReleaseReason, Scheduler,
    SubmitError, Submitted,
};
