//! The committer: validates proposals against the live state, applies or rejects them, and
//! carries out every other change, one at a time.
//!
//! # Invariants
//!
//! * Only the owner of the [`Ledger`] changes the live state; everything else reads.
//! * A proposal is applied as a whole or leaves no trace but its observations.
//! * Used of a queue is the sum of its children's, and of its containers and reservations; while
//!   others' decisions are committed, with what it was not charged with yet ([`Ledger::use_of`]).

mod activation;
mod answer;
mod apply;
mod arrears;
mod ask_error;
mod asks;
mod attempts;
mod capacity;
mod containers;
mod deferred;
mod event;
mod fair;
mod freed;
mod gates;
mod later;
mod ledger;
mod lifecycle;
mod lifetime;
mod live;
mod managed;
mod movement;
mod nodes;
mod observe;
mod overcommit;
mod overlay;
mod parallel;
mod plain;
mod preempt;
mod prefix;
mod refresh;
mod refresh_checks;
mod refresh_error;
mod scheduling_requests;
mod slab;
mod tree;
mod usage;
mod users;
mod validate;
mod vectors;
mod wave;

pub use apply::CommitOutcome;
pub use ask_error::{AskError, OutOfRange};
pub use containers::{Container, ContainerState};
pub use event::{Ending, Event, UnreserveReason};
pub use freed::Freed;
pub use ledger::{ContainerSlot, Ledger, PartitionSpec};
pub use lifecycle::{AppError, SubmitError, Submitted};
pub use lifetime::effective_lifetime;
pub use nodes::{HeartbeatReply, NodeError};
pub use overlay::{Followed, apply_to_copy, observe_on_copy};
pub use preempt::{PreemptionReason, PreemptionRound, Verdict, VerdictKind, Verdicts};
pub use refresh_error::RefreshError;
pub use validate::Conflict;
pub use wave::{Extent, place_wave};
