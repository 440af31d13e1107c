//! The loom models, one file per protocol, and the runner that kills the mutants.

#![cfg(capsched_loom)]

mod inbox;
mod litmus;
mod mutants;
mod parking;
mod publish;
mod ring;
mod shutdown;
