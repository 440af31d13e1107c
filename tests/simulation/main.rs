//! The simulator: seeds with faults, replays, and traces in every format.

mod cases;
#[cfg(debug_assertions)]
mod fast_paths;
mod gangs;
mod liveness;
mod registration;
mod replay;
mod seeds;
mod skipping;
mod traces;
