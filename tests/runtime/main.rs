//! Engines with threads and pipelines without: what callers, proposers and the committer do together.

#[path = "../common/clocks.rs"]
mod clocks;
#[path = "../common/engines.rs"]
mod engines;
#[path = "../common/trees.rs"]
mod trees;

mod alternates;
mod async_calls;
mod caller_runs;
mod callers;
mod deliveries;
mod examples;
mod fetches;
mod following;
mod front_door;
mod gang_turns;
mod hand_out;
mod key_turns;
mod label_turns;
mod looks;
mod move_turns;
mod node_turns;
mod panics;
mod place_turns;
mod preemption_turns;
mod recovery_turns;
mod refresh_turns;
mod refusals;
mod reports;
mod reservation_turns;
mod threads;
mod turns;
mod whole_state;
