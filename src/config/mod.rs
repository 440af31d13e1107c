//! Hadoop configuration as the Capacity Scheduler reads it.

mod access;
mod acl;
mod advice;
mod amount;
mod codes;
mod diagnostic;
mod load;
mod mapping;
mod number;
mod preemption;
mod properties;
mod queue;
mod scheduler;
mod source;
mod templates;
mod tree;
mod xml;

pub use access::access_text;
pub use acl::{
    AccessList, AdminAccess, Caller, PriorityAccess, PriorityAclError, PriorityRefusal,
    QueueAccess, QueuePermission,
};
pub use codes::{codes, explain_code};
pub use diagnostic::{Diagnostic, Label, Report, Severity, SourceFile, Span};
pub use load::{
    Layer, Loaded, MappingStrings, Options, Source, check, from_pairs, load, read_source,
};
pub use mapping::{
    Decision, DeclaredQueues, Found, MappingError, Placement, PlacementRules, QueueDirectory,
    QueueEntry, QueueEntryKind, Submission, TagUserOverride, TargetProblem, WorkflowPriorities,
};
pub use properties::Properties;
pub use source::PropertySource;
pub use xml::{Document, Limits, Property, read};
