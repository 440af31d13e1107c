//! Workloads: jobs and nodes as plain data, their order, rules for queue and user, and the account.
//!
//! A [`Workload`] is a stream of [`Job`]s in virtual time together with a [`MappingReport`]. It
//! comes from an importer, from [`Synthetic`], or from memory ([`Ready`]).

mod error;
mod job;
mod json_fault;
mod maprules;
mod ordered;
mod report;
mod rule_use;
mod stat;
mod synthetic;

pub(super) use error::clip;
pub use error::{TraceError, TraceErrorKind};
pub(super) use job::FileName;
pub use job::{GangTerms, Job, Merged, NodeLine, Ready, ResourceTypes, Run, TaskGroup, Workload};
pub use json_fault::json_fault;
pub(in crate::simulator) use json_fault::member_fault;
pub use maprules::{MapRuleError, MapRules};
pub use ordered::{Duplicates, InOrder, OrderSettings, Sorting};
pub use report::MappingReport;
pub use rule_use::RuleUse;
pub use stat::{Spread, TraceStat};
pub use synthetic::{
    Archetype, Share, Synthetic, SyntheticSettings, equal_nodes, largest_beside_services,
};
