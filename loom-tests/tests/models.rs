//! The loom models, one file per protocol, and the runner that kills the mutants.

#![cfg(capsched_loom)]

mod baton;
mod end_to_end;
mod inbox;
mod latencies;
mod litmus;
mod mutants;
mod parking;
mod publish;
mod ring;
mod shutdown;
mod standing;
