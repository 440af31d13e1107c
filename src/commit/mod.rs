//! The committer: validates proposals against the live state, applies or rejects them, and
//! carries out every other change, one at a time.
//!
//! # Invariants
//!
//! * Only the owner of the [`Ledger`] changes the live state; everything else reads.
//! * A proposal is applied as a whole or leaves no trace but its observations.
//! * Used of a queue is the sum of its children's, and of its containers and reservations; while
//!   others' decisions are committed, with what it was not charged with yet ([`Ledger::use_of`]).

mod apps;
mod containers;
mod event;
mod follow_up_events;
mod ledger;
mod nodes;
mod proposals;
mod tree;
mod users;

pub use apps::ask_error::{AskError, OutOfRange};
pub use apps::lifecycle::{AppError, SubmitError, Submitted};
pub use apps::lifetime::effective_lifetime;
pub use containers::container::{Container, ContainerState};
pub use containers::preempt::{PreemptionReason, PreemptionRound, Verdict, VerdictKind, Verdicts};
pub use event::{Ending, Event, UnreserveReason};
pub use ledger::{ContainerSlot, Ledger, PartitionSpec};
pub use nodes::registration::{HeartbeatReply, NodeError};
pub use proposals::outcome::CommitOutcome;
pub use proposals::reclaimed_slots::Freed;
pub use proposals::validate::Conflict;
pub use tree::refresh_error::RefreshError;
