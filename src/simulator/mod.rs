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
mod error;
pub mod faults;
pub mod import;
mod maprules;
mod ordered;
mod random;
mod report;
mod stat;
mod synthetic;
mod tally;
mod workload;

pub use audit::Ledger;
pub use driver::{Driver, DriverSettings, JsonLog, RunCounts, RunReport, Sample, Waits, Watch};
pub use error::{TraceError, TraceErrorKind};
pub use maprules::{MapRuleError, MapRules};
pub use ordered::{Duplicates, InOrder, OrderSettings, Sorting};
pub use random::Random;
pub use report::MappingReport;
pub use stat::{Spread, TraceStat};
pub use synthetic::{Archetype, Share, Synthetic, SyntheticSettings, equal_nodes};
pub use workload::{Job, Merged, NodeLine, Ready, ResourceTypes, Run, TaskGroup, Workload};
