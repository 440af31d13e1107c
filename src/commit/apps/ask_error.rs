//! Why calls of applications are refused.
//!
//! Tests: `tests/inputs/requests.rs`.

use std::fmt;

use crate::id::ApplicationId;
use crate::resource::ResourceVector;

/// Most containers of one ask.
pub(super) const MAX_COUNT: i32 = 1_000_000;

/// Most asks of one call, and most keys of one application.
pub(super) const MAX_ASKS: usize = 100_000;

/// Why a call was refused; nothing of it was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskError {
    /// The engine has shut down.
    Closed,
    /// The call came from inside a closure that looks at the ledger.
    Reentrant,
    /// No live application has the number.
    UnknownApplication(ApplicationId),
    /// The application's master has no container yet.
    MasterNotRunning(ApplicationId),
    /// A size is negative or above the maximum allocation.
    OutOfRange(Box<OutOfRange>),
    /// The name of a host or rack is empty, too long, or holds control characters.
    Place(String),
    /// A label stands on an ask for a host or rack.
    LabelOnPlace(String),
    /// A label expression names more than one label.
    LabelExpression(String),
    /// The queue may not use the label, or the cluster does not know it.
    LabelAccess(String),
    /// The number of containers is negative or beyond the bound, or their sum is.
    Count(i64),
    /// The call has more asks than the bound.
    TooManyAsks(usize),
    /// A scheduling request changes what its key fixed, or is not well formed.
    Constrained(String),
    /// A gang is out of range, or its key is in use.
    Gang(String),
    /// Opportunistic containers are not enabled, or too many of them are asked for.
    Opportunistic(String),
}

/// A size and the most that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfRange {
    /// The request.
    pub size: ResourceVector,
    /// The most that is allowed.
    pub largest: ResourceVector,
}

impl AskError {
    /// A stable word for the reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reentrant => "reentrant",
            Self::UnknownApplication(_) => "unknown_application",
            Self::MasterNotRunning(_) => "master_not_running",
            Self::OutOfRange(_) => "resource_out_of_range",
            Self::Place(_) => "place",
            Self::LabelOnPlace(_) => "label_on_location",
            Self::LabelExpression(_) => "label_expression",
            Self::LabelAccess(_) => "label_access",
            Self::Count(_) => "container_count",
            Self::TooManyAsks(_) => "too_many_asks",
            Self::Constrained(_) => "scheduling_request",
            Self::Gang(_) => "gang",
            Self::Opportunistic(_) => "opportunistic",
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the engine has shut down"),
            Self::Reentrant => f.write_str("a call from inside a closure that looks at the ledger"),
            Self::UnknownApplication(id) => write!(f, "there is no live application {id}"),
            Self::MasterNotRunning(id) => write!(f, "the master of {id} has no container yet"),
            Self::OutOfRange(bounds) => {
                let OutOfRange { size, largest } = **bounds;
                write!(f, "{size} is not between nothing and {largest}")
            }
            Self::Place(place) => write!(f, "`{place}` is not the name of a host or rack"),
            Self::LabelOnPlace(label) => {
                write!(
                    f,
                    "label `{label}` on an ask for a host or rack; name it on `*`"
                )
            }
            Self::LabelExpression(label) => write!(f, "`{label}` names more than one label"),
            Self::LabelAccess(label) => {
                write!(
                    f,
                    "label `{label}` is unknown or not accessible to the queue"
                )
            }
            Self::Count(count) => write!(f, "{count} containers are out of range"),
            Self::TooManyAsks(count) => write!(f, "{count} asks are more than {MAX_ASKS}"),
            Self::Constrained(reason) => write!(f, "scheduling request: {reason}"),
            Self::Gang(reason) => write!(f, "gang: {reason}"),
            Self::Opportunistic(reason) => write!(f, "opportunistic containers: {reason}"),
        }
    }
}

impl std::error::Error for AskError {}
