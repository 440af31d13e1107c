//! Hadoop configuration as the Capacity Scheduler reads it.

mod codes;
mod diagnostic;
mod number;
mod properties;
mod xml;

pub use codes::{codes, explain_code};
pub use diagnostic::{Diagnostic, Label, Report, Severity, SourceFile, Span};
pub use properties::Properties;
pub use xml::{Document, Limits, Property, read};
