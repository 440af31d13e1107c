//! Hadoop configuration as the Capacity Scheduler reads it.

mod access;
mod advice;
mod amount;
mod codes;
mod diagnostic;
mod keys;
mod load;
mod number;
mod properties;
mod queue;
mod queue_capacity;
mod queue_leaf;
mod scheduler;
mod settings_json;
mod templates;
mod tree;
mod xml;
mod xml_text;

pub use access::access_text;
pub use codes::{codes, explain_code};
pub use diagnostic::{Diagnostic, Label, Report, Severity, SourceFile, Span};
pub use load::{
    Layer, Loaded, MappingStrings, Options, Source, check, from_pairs, load, read_source,
};
pub use properties::Properties;
pub use settings_json::{float, queue_json, scheduler_json};
pub use xml::{Document, Limits, Property, read};
