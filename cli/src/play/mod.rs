//! Playing a trace on an engine in one mode: cluster, trace, rows of the comparison, outcome.

mod cluster;
mod files;
mod measured;
mod outcome;
mod preemption;
mod recorder;
mod run;
mod table;
mod trace;

pub(crate) use cluster::{Cluster, for_trace, from_sources, load, types_of};
pub(crate) use files::{RunFolder, machine};
pub(crate) use outcome::Outcome;
pub(crate) use preemption::Preemption;
pub(crate) use run::{Row, Timing, progress};
pub(crate) use table::{grouped, table};
pub(crate) use trace::{Trace, TraceArgs, explain, nodes};
