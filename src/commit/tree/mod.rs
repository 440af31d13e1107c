//! The tree of queues: building, capacities, refreshes and usage.

pub(super) mod build;
pub(super) mod capacity;
pub(super) mod managed;
pub(super) mod refresh;
pub(super) mod refresh_checks;
pub(super) mod refresh_error;
pub(super) mod usage;
pub(super) mod vector_capacities;
