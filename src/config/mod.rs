//! Reads and validates what administrators write.

mod acl;
mod mapping;
mod source;

pub use acl::{
    AccessList, AdminAccess, Caller, PriorityAccess, PriorityAclError, PriorityRefusal,
    QueueAccess, QueuePermission,
};
pub use mapping::{
    Decision, DeclaredQueues, Found, MappingError, Placement, PlacementRules, QueueDirectory,
    QueueEntry, QueueEntryKind, Submission, TagUserOverride, TargetProblem, WorkflowPriorities,
};
pub use source::PropertySource;
