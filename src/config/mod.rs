//! Hadoop configuration as the Capacity Scheduler of 3.4.2 reads it.
//!
//! [`load`] reads `capacity-scheduler.xml` and the files below it, [`from_pairs`] takes key-value
//! pairs; both give the [`TreeSettings`](crate::queue::TreeSettings) of a scheduler or a
//! [`Report`] of everything that is wrong. [`check`] is the report alone, that of the placement rules
//! included.
//!
//! # Invariants
//!
//! * A configuration is refused exactly when the reference refuses it, except for the cases of
//!   `docs/DIFFERENCES.md`; the first error carries the reference's word for the reason.
//! * Reading never panics, opens no connection, and is bounded by [`DocumentLimits`]. [`load`] opens no other
//!   file; [`check`] and [`Admission`] open the one that `mapping-rule-json-file` names.
//! * Start and refresh use the same function; only the calculator is kept by a refresh.
//!
//! ```
//! use capsched::config::{self, Layer, Options, ConfigSource};
//! let text = r#"<configuration>
//!   <property name="yarn.scheduler.capacity.root.queues" value="prod,dev"/>
//!   <property name="yarn.scheduler.capacity.root.prod.capacity" value="70"/>
//!   <property name="yarn.scheduler.capacity.root.dev.capacity" value="40"/>
//! </configuration>"#;
//! let file = ConfigSource {
//!     name: "capacity-scheduler.xml".into(),
//!     bytes: text.into(),
//!     layer: Layer::Scheduler,
//! };
//! let report = config::check(&[file], &Options::default());
//! assert_eq!(report.first_error().map(|e| e.code), Some("capacity_sum"));
//! ```

mod access;
mod acl;
mod admission;
mod advice;
mod amount;
mod codes;
mod creation;
mod diagnostic;
mod document;
mod effects;
mod encoding;
mod issues;
mod judge;
mod key_table;
mod keys;
mod line_kinds;
mod load;
mod mapping;
mod number;
mod opportunistic;
mod origin;
mod other_files;
mod preemption;
mod prefix;
mod properties;
mod queue;
mod queue_capacity;
mod queue_leaf;
mod resource_types;
mod scheduler;
mod settings_json;
mod severity;
mod source;
mod templates;
mod tree;
mod upgrade;
mod xml;
mod xml_names;
mod xml_text;

pub use access::access_text;

pub use crate::queue::PriorityRefusal;
pub use acl::{AccessTree, AdminAccess, Caller, QueuePermission, effective_priority};
pub use admission::{Admission, AdmissionRefusal, Admitted, Wish};
pub use codes::{code_severity, codes, explain_code, word};
pub use diagnostic::{Diagnostic, Label, Report, SourceFile, Span};
pub use document::{Document, DocumentLimits, Property};
pub use issues::{Issue, issues};
pub use judge::{check, placement_faults};
pub use key_table::{KeyScope, KnownKey, known_keys};
pub use load::{
    ConfigSource, Layer, Loaded, MappingStrings, Options, from_pairs, load, load_pairs,
    read_source, with_changes,
};
pub use mapping::{
    Decision, DeclaredQueues, MappingError, PlacedLeaf, PlacementQuery, PlacementRules,
    QueueDirectory, QueueEntry, QueueEntryKind, QueueMatch, TagUserOverride, TargetProblem,
    WorkflowPriorities,
};
pub use origin::{EffectiveValue, Origin, ValueSource, effective_values, value_source};
pub use properties::Properties;
pub use resource_types::is_type_name;
pub use settings_json::{float, queue_json, scheduler_json};
pub use severity::Severity;
pub use source::PropertySource;
pub use xml::read;
