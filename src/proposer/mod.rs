//! The proposer: a pure walk over a state that finds the next container to place, and the working copy
//! that a proposer walks over.
//!
//! # Invariants
//!
//! * Nothing here reads a clock, draws a random number or counts anything.
//! * A pass writes nothing. What the reference changes while it looks is added to the caller's
//!   [`Observation`]s, to be applied with the proposal or, when the pass finds nothing, on their own.
//! * [`apply_to_copy`], [`observe_on_copy`] and [`place_in_bulk`] write the copy that the caller owns, and
//!   nothing else.
//! * One pass proposes at most one container.
//! * A [`Watch`] observes the steps of a pass; no decision depends on whether there is one.

mod allocator;
mod assignment;
mod bulk_placement;
mod candidates;
mod fit;
mod head_comparison;
mod headroom_fast_path;
mod key_visit;
mod leaf;
mod leaf_visit;
mod next_in_bulk;
mod node_walk;
mod observed;
mod order;
mod room;
mod simple_ask;
mod skippable_head;
mod standstill;
mod walk;
mod watch;
mod working_copy;

pub use assignment::{
    Alternate, Observation, Outcome, Proposal, ProposalKind, Release, SkipReason,
};
pub use bulk_placement::{BulkExtent, place_in_bulk};
pub use candidates::{Candidates, has_room, policies_of, sort_nodes, use_key};
pub use fit::FitIndex;
pub(crate) use observed::{note_cached_limit, note_counters, publish_limit};
pub use order::NodeOrder;
pub use simple_ask::second_node;
pub use standstill::{
    CounterMove, Fruitless, LimitWrite, Moved, Prospect, Visited, is_still, keeps_quietly,
    may_starve_later, moved_by, prospect, reservation_of,
};
pub use walk::{propose, propose_reserved, propose_watched};
pub use watch::{Step, Watch};
pub use working_copy::{OverlayResult, apply_to_copy, observe_on_copy};
