//! Why calls about nodes are refused.
//!
//! Tests: `tests/commit/operations.rs`.

use std::fmt;

use crate::cluster::AttributeError;
use crate::id::{NodeName, NodeNameError};
use crate::resource::ResourceVector;

/// Why a call about a node was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeError {
    /// The engine has shut down.
    Closed,
    /// The call came from inside a closure that looks at the ledger.
    Reentrant,
    /// The name is not one of a node.
    Name(NodeNameError),
    /// A node of that name is registered.
    Duplicate(NodeName),
    /// No node of that name is registered.
    Unknown(NodeName),
    /// The total is negative or above the bound of one value, or the cluster's would be.
    Total(ResourceVector),
    /// The cluster does not know the label.
    Label(String),
    /// A part of an attribute is malformed.
    Attribute(AttributeError),
    /// The rack's name is empty, too long, holds control characters, or is `*`, which means
    /// anywhere.
    Rack(String),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the engine has shut down"),
            Self::Reentrant => f.write_str("a call from inside a closure that looks at the ledger"),
            Self::Name(error) => error.fmt(f),
            Self::Duplicate(name) => write!(f, "node {name} is registered already"),
            Self::Unknown(name) => write!(f, "there is no node {name}"),
            Self::Total(total) => write!(f, "{total} cannot be the total of a node"),
            Self::Label(label) => write!(f, "the cluster does not know the label `{label}`"),
            Self::Attribute(error) => error.fmt(f),
            Self::Rack(rack) => write!(f, "`{rack}` is not the name of a rack"),
        }
    }
}

impl std::error::Error for NodeError {}
