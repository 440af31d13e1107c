//! The proposer: a pure walk over a state that finds the next container to place.
//!
//! # Invariants
//!
//! * Nothing here writes to the state, reads a clock, draws a random number or counts anything.
//!   What the reference changes while it looks is added to the caller's [`Observation`]s, to be
//!   applied with the proposal or, when nothing came of the pass, on their own.
//! * One pass proposes at most one container.
//! * A [`Watch`] hears of the steps of a pass; no decision depends on whether there is one.

mod allocator;
mod assignment;
mod bulk_placement;
mod candidates;
mod fit;
mod headroom_fast_path;
mod leaf;
mod order;
mod simple_ask;
mod skippable_head;
mod walk;
mod watch;

pub use assignment::{
    Alternate, Growth, Observation, Outcome, Proposal, ProposalKind, Release, SkipReason,
};
pub use bulk_placement::{Next, next_in_wave};
pub use candidates::{Candidates, has_room, sort_nodes, use_key};
pub use fit::FitIndex;
pub use order::NodeOrder;
pub use simple_ask::second_node;
pub(crate) use skippable_head::{is_idle, may_join};
pub use walk::{propose, propose_reserved, propose_watched};
pub use watch::{Step, Watch};
