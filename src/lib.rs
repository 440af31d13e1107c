//! YARN's Capacity Scheduler rebuilt as a lock-free scheduling engine.
//!
//! The floors below are listed lowest first; a floor may use only floors above it in this list,
//! by the edges of the table in `tests/tidy.rs`. The promise to outsiders is `api`, `config` and
//! `simulator`; the other floors are public for the packages of this repository.

pub mod fast_path;

pub mod id;
pub mod time;

pub mod sync;

pub mod metrics;
pub mod resource;

pub mod cluster;
pub mod queue;
pub mod snapshot;

pub mod policy;

pub mod accounting;
pub mod proposer;

pub mod commit;
pub mod runtime;

pub mod rescheduler;

pub mod config;
pub mod explain;

pub mod api;
pub mod simulator;
