//! The driver: nodes, applications and their containers against a scheduler, in virtual time.
//!
//! Events are taken from a heap by time and order of entry; nothing depends on a clock, a thread or
//! the order of a hash map, so that a workload and settings name one run.

mod agenda;
mod beats;
mod follow;
mod jobs;
mod measure;
mod record;
mod run;
mod running;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use jobs::{JobLine, JobOutcome};
pub use record::{JsonLog, Sample, Waits, Watch};
pub use run::Driver;
pub use settings::{DriverSettings, RunCounts, RunReport};
