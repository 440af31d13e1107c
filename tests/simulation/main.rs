//! The simulator: seeds with faults, replays, and traces in every format.

mod replay;
mod seeds;
mod traces;
