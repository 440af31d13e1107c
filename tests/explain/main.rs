//! Explanations: one test for each reason, sums over random runs, copies for trials.
#![expect(clippy::unwrap_used, reason = "test code")]

mod cluster;
mod from_snapshot;
mod gangs;
mod limits;
mod nodes;
mod refusals;
mod snapshots;
mod sums;
mod trial;
