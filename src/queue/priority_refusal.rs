//! Why a user may not have a priority.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a submission is refused for its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PriorityRefusal {
    /// No group of the user reaches up to this priority.
    TooHigh {
        /// The priority that was asked for or is the default, capped to the cluster's maximum.
        priority: i32,
    },
    /// The submission names no priority, and the user's group has no default.
    NoDefault,
}

impl PriorityRefusal {
    /// A stable word for the refusal.
    #[must_use]
    pub const fn code(self) -> &'static str {
        "priority_acl"
    }
}

impl fmt::Display for PriorityRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooHigh { priority } => {
                write!(f, "the user has no permission for priority {priority}")
            }
            Self::NoDefault => {
                f.write_str("no priority is asked for, and the user's group has no default")
            }
        }
    }
}

impl std::error::Error for PriorityRefusal {}
