//! The prefix of the keys of the Capacity Scheduler.

/// Prefix of the keys of the Capacity Scheduler.
pub(super) const PREFIX: &str = "yarn.scheduler.capacity.";
