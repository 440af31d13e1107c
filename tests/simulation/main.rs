//! The simulator: seeds with faults, replays, and traces in every format.

#[cfg(debug_assertions)]
mod fast_paths;
mod replay;
mod seeds;
mod skipping;
mod traces;
