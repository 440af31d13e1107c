//! Why a configuration of placement rules is refused.

use std::fmt;

use super::target::TargetProblem;

/// One fault of the placement rules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappingError {
    /// `mapping-rule-format` is neither `legacy` nor `json`.
    Format {
        /// The value.
        value: String,
    },
    /// An entry of a legacy list is malformed.
    Syntax {
        /// The property.
        key: String,
        /// The entry.
        entry: String,
    },
    /// The JSON rules cannot be used.
    Json {
        /// The property or file.
        place: String,
        /// Position of the rule, from 1; nothing when the document as a whole is at fault.
        rule: Option<usize>,
        /// What is wrong, with the offending value.
        detail: String,
    },
    /// The `create` of a JSON rule is a whole number of more than 64 bits, or `-0`. The reference
    /// takes these for true and for false.
    Create {
        /// The property or file.
        place: String,
        /// Position of the rule, from 1.
        rule: usize,
        /// The value, as it was understood.
        value: String,
    },
    /// The file of JSON rules cannot be read.
    File {
        /// Its name.
        path: String,
        /// The answer of the operating system.
        detail: String,
    },
    /// No application can ever be placed where a rule points to.
    Target {
        /// The rule.
        rule: String,
        /// Its target, as written.
        target: String,
        /// What is wrong with its target.
        problem: TargetProblem,
    },
    /// An entry of the workflow priorities is malformed.
    Workflow {
        /// The entry.
        entry: String,
    },
}

impl MappingError {
    /// A stable word for the kind of fault.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Format { .. } => "mapping_format",
            Self::Syntax { .. } => "mapping_syntax",
            Self::Json { .. } => "mapping_json",
            Self::Create { .. } => "E_MAPPING_CREATE",
            Self::File { .. } => "mapping_file",
            Self::Target { .. } => "mapping_target",
            Self::Workflow { .. } => "workflow_mapping",
        }
    }
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { value } => {
                write!(f, "mapping-rule-format is legacy or json, not `{value}`")
            }
            Self::Syntax { key, entry } => write!(f, "{key}: `{entry}` is not a queue mapping"),
            Self::Json {
                place,
                rule: Some(rule),
                detail,
            } => write!(f, "{place}, rule {rule}: {detail}"),
            Self::Json { place, detail, .. } => write!(f, "{place}: {detail}"),
            Self::Create { place, rule, value } => {
                write!(
                    f,
                    "{place}, rule {rule}: create `{value}` is not true or false"
                )
            }
            Self::File { path, detail } => write!(f, "mapping rules in `{path}`: {detail}"),
            Self::Target { rule, problem, .. } => write!(f, "mapping rule `{rule}`: {problem}"),
            Self::Workflow { entry } => write!(
                f,
                "workflow-priority-mappings: `{entry}` is not workflow:queue:priority"
            ),
        }
    }
}

impl std::error::Error for MappingError {}
