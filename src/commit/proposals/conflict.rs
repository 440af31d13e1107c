//! Why proposals are refused.
//!
//! Tests: `tests/commit/bad_proposals.rs`.

use std::fmt;

use crate::metrics::Closed;

/// Why a proposal was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Conflict {
    /// The application ended.
    AppGone,
    /// The node left, or came back as another one.
    NodeGone,
    /// The node takes no containers, or none on borrowed capacity.
    NodeState,
    /// Nothing is outstanding under the key at the level used.
    AskGone,
    /// The reservation on the node is not the expected one.
    ReservationChanged,
    /// The reservation to give up is gone.
    ExchangeGone,
    /// A container to kill is gone, or not free to be killed any more.
    VictimGone,
    /// The container does not fit on the node.
    DoesNotFit,
    /// The user is over the limit.
    OverUserLimit,
    /// A queue would be over its maximum.
    OverQueueLimit,
    /// The placement constraint does not hold any more.
    Constraint,
}

impl Conflict {
    /// Whether it is about the node, so that another one may do.
    #[must_use]
    pub const fn is_of_node(self) -> bool {
        matches!(
            self,
            Self::NodeGone | Self::NodeState | Self::ReservationChanged | Self::DoesNotFit
        )
    }
}

crate::closed_enum!(Conflict {
    AppGone => "app-gone",
    NodeGone => "node-gone",
    NodeState => "node-state",
    AskGone => "ask-gone",
    ReservationChanged => "reservation-changed",
    ExchangeGone => "exchange-gone",
    VictimGone => "victim-gone",
    DoesNotFit => "does-not-fit",
    OverUserLimit => "over-user-limit",
    OverQueueLimit => "over-queue-limit",
    Constraint => "constraint",
});

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
