//! Opportunistic containers: placed on the least loaded nodes outside of queue limits, queued there, started as room comes,
//! ended where guaranteed containers need it, promoted and demoted.
#![expect(clippy::unwrap_used, reason = "test code")]

mod asks;
mod changes;
mod cluster;
mod node_queues;
mod placement;
mod random;
