//! Fault injection, and the same engine without threads, driven step by step.

pub(super) mod accounts;
pub(super) mod clock_fault;
pub(super) mod desk;
mod failing_clock;
pub(super) mod fault_injection;
#[cfg(all(test, not(any(capsched_loom, capsched_shuttle))))]
pub(super) mod fixtures;
pub(super) mod pipeline;
