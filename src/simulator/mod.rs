//! Workloads in virtual time: importers of traces, a seeded generator, the driver and its auditor.
//!
//! # Invariants
//!
//! * Nothing here reads a clock or a random source: a workload, a seed and the settings decide
//!   every call, so that the same run gives the same decisions, printed as a hash.
//! * Traces are read as streams with bounded memory, and every row that is dropped, clamped or
//!   guessed is counted in a [`MappingReport`].
//! * A scheduler is driven through [`crate::api::Scheduler`] alone.

mod audit;
pub mod driver;
pub mod faults;
#[cfg(feature = "files")]
pub mod import;
pub mod journal;
mod statistics;
mod workload;

pub use audit::AuditBooks;
pub use driver::{
    CommitOverlap, CostPoint, Costs, CostsError, Delays, Driver, DriverSettings, JobLine,
    JobOutcome, JsonLog, LeftJob, LocalityCounts, Refusal, RunCounts, RunNodes, RunReport,
    RunWatch, Sample, SchedulerLoad, Waits, among_all_nodes, fitted_to, rounds_for_opportunities,
    rounds_for_reservations,
};
pub use statistics::Random;
pub use workload::{
    Archetype, Duplicates, GangTerms, InOrder, Job, MapRuleError, MapRules, MappingReport, Merged,
    NodeLine, OrderSettings, Ready, ResourceTypes, RuleUse, Run, Share, Sorting, Spread, Synthetic,
    SyntheticSettings, TaskGroup, TraceError, TraceErrorKind, TraceStat, Workload, equal_nodes,
    json_fault, largest_beside_services,
};
