//! Playing a trace on an engine in one mode: cluster, trace, rows of the comparison, outcome.

mod backlog;
mod cluster;
mod costs;
mod course;
mod figures;
mod files;
mod left;
mod measured;
mod nodes;
mod observe;
mod origin;
mod outcome;
#[cfg(feature = "parquet")]
mod parquet_jobs;
mod phases;
mod preemption;
mod recorder;
mod run;
mod saturated;
mod table;
mod trace;
mod tried;
mod usage;
mod verdict;

pub(crate) use cluster::{
    Cluster, for_trace, from_sources, on_site_of, refused, sources_of, types_of, types_source,
};
pub(crate) use costs::NamedCosts;
pub(crate) use figures::{grouped, time, virtual_time};
pub(crate) use files::{RunFolder, machine};
pub(crate) use left::{block, pointer, wrapped, wrapped_to};
pub(crate) use nodes::{NodeSource, listed, node_source};
pub(crate) use observe::{CallRefused, Editor, Onlooker, Watched};
pub(crate) use origin::{Origin, ServedPlaces, SettingPlace, SettingSource};
pub(crate) use outcome::Outcome;
pub(crate) use preemption::Preemption;
pub(crate) use run::{Row, Scene, Timing, progress};
pub(crate) use saturated::{Saturated, saturated_table};
pub(crate) use table::table;
pub(crate) use trace::{Trace, TraceArgs, TraceFile, explain};
pub(crate) use tried::{step_json, step_text};
pub(crate) use verdict::{Column, spread, spread_json, verdict};
