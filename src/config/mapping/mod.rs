//! Queue mappings: the rules that choose the queue of an application.
//!
//! [`PlacementRules`] are read from legacy strings or from JSON, their targets are
//! [validated](PlacementRules::validate) once against a [directory](QueueDirectory) of the queues,
//! and each submission is [placed](PlacementRules::place) by the first rule that has an answer.
//! [`TagUserOverride`] chooses the user that the rules see, [`WorkflowPriorities`] the priority of
//! applications that belong to a workflow.

mod declared;
mod directory;
mod error;
mod json;
mod legacy;
mod placement;
mod query;
mod rule;
mod target;
mod user;
mod validate;
mod variables;
mod workflow;

pub use declared::DeclaredQueues;
pub use directory::{QueueDirectory, QueueEntry, QueueEntryKind, QueueMatch};
pub use error::MappingError;
pub use placement::{Decision, PlacedLeaf, PlacementRules};
pub use query::PlacementQuery;
pub use target::TargetProblem;
pub use user::TagUserOverride;
pub use workflow::WorkflowPriorities;
