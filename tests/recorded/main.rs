//! Recordings of the real Capacity Scheduler, against the engine and the reference.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/configurations.rs"]
mod configurations;
#[path = "../reference/mod.rs"]
mod reference;

mod acls;
mod configuration;
mod mappings;
mod reference_scheduler;
