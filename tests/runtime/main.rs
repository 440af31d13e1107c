//! Engines with threads and pipelines without: what callers, proposers and the committer do together.

#[path = "../common/engines.rs"]
mod engines;
#[path = "../common/trees.rs"]
mod trees;

mod alternates;
mod caller_runs;
mod callers;
mod deliveries;
mod following;
mod refusals;
mod reports;
mod threads;
