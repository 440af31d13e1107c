//! The driver: nodes, applications and their containers against a scheduler, in virtual time.
//!
//! Events are taken from a heap by time and order of entry; nothing depends on a clock, a thread or
//! the order of a hash map, so that a workload and settings name one run.

mod agenda;
mod beats;
mod costs;
mod follow;
mod jobs;
mod left;
mod measure;
mod modes;
mod pace;
mod patience;
mod queues;
mod quiet;
mod record;
mod refusal;
mod run;
mod run_figures;
mod running;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

pub use costs::{CommitOverlap, CostPoint, Costs, CostsError};
pub use jobs::{JobLine, JobOutcome};
pub use left::LeftJob;
pub use modes::{RunNodes, among_all_nodes, fitted_to};
pub use pace::SchedulerLoad;
pub use patience::{rounds_for_opportunities, rounds_for_reservations};
pub use record::{Delays, JsonLog, LocalityCounts, RunWatch, Sample, Waits};
pub use refusal::Refusal;
pub use run::Driver;
pub use settings::{DriverSettings, RunCounts, RunReport};
