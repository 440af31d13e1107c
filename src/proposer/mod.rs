//! The proposer: a pure walk over a state that finds the next container to place.
//!
//! # Invariants
//!
//! * Nothing here writes to the state, reads a clock, draws a random number or counts anything.
//!   What the reference changes while it looks is returned as [`Observation`]s, to be applied
//!   with the proposal or, when nothing came of the pass, on their own.
//! * One pass proposes at most one container.

mod allocator;
mod assignment;
mod candidates;
mod leaf;
mod walk;

pub use assignment::{
    Assignment, Observation, Outcome, Proposal, ProposalKind, Release, SkipReason,
};
pub use candidates::{Candidates, sort_nodes};
pub use walk::{propose, propose_reserved};
