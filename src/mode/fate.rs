//! Fates: what becomes of each proposal, counted by the committer.

use crate::commit::Conflict;

/// What became of proposals: applied, or refused by one [`Conflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Applied.
    Committed,
    /// Applied on the alternate node.
    CommittedElsewhere,
    /// The application ended.
    AppGone,
    /// The node left.
    NodeGone,
    /// The node takes no containers.
    NodeState,
    /// Nothing is outstanding any more.
    AskGone,
    /// The reservation on the node is another one.
    ReservationChanged,
    /// The reservation to give up is gone.
    ExchangeGone,
    /// A container to kill is gone.
    VictimGone,
    /// The container does not fit.
    DoesNotFit,
    /// The user is over the limit.
    OverUserLimit,
    /// A queue would be over its maximum.
    OverQueueLimit,
    /// The placement constraint does not hold.
    Constraint,
}

crate::closed_enum!(Fate {
    Committed => "committed",
    CommittedElsewhere => "committed-elsewhere",
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

impl Fate {
    /// Whether the proposal was refused.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        !matches!(self, Self::Committed | Self::CommittedElsewhere)
    }
}

impl From<Conflict> for Fate {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::AppGone => Self::AppGone,
            Conflict::NodeGone => Self::NodeGone,
            Conflict::NodeState => Self::NodeState,
            Conflict::AskGone => Self::AskGone,
            Conflict::ReservationChanged => Self::ReservationChanged,
            Conflict::ExchangeGone => Self::ExchangeGone,
            Conflict::VictimGone => Self::VictimGone,
            Conflict::DoesNotFit => Self::DoesNotFit,
            Conflict::OverUserLimit => Self::OverUserLimit,
            Conflict::OverQueueLimit => Self::OverQueueLimit,
            Conflict::Constraint => Self::Constraint,
        }
    }
}
