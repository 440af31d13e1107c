//! The loom models, one file per protocol, and the runner that kills the mutants.

#![cfg(capsched_loom)]

mod end_to_end;
mod gangs;
mod handoff;
mod inbox;
mod latencies;
mod litmus;
mod mutants;
mod parking;
mod proposer_status;
mod publish;
mod ring;
mod shutdown;
