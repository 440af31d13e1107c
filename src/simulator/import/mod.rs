//! Importers: traces of other systems and of our own as streams of jobs, and their lists of nodes.
//!
//! Every importer reads its source once, holds at most one row or object (1 MiB for text, 64 MiB
//! for a JSON object) beside a window for sorting, and accounts for every row in a
//! [`MappingReport`](super::MappingReport). Queue and user come from [`MapRules`](super::MapRules)
//! first, from the trace second; what neither gives is guessed by a rule of the format and counted.

mod context;
mod dynoyarn;
mod format;
mod lines;
mod native;
mod nodes;
mod objects;
mod openb;
mod rumen;
mod sls;
mod source;
mod swf;
mod swim;
mod synth;
mod synth_keys;
mod types;

use std::path::PathBuf;
use std::sync::Arc;

pub use context::ImportOptions;
pub use dynoyarn::dynoyarn;
pub use format::Format;
pub use lines::MAX_LINE;
pub use native::{NativeWriter, native};
pub use nodes::{node_list, node_lists, nodes};
pub use objects::MAX_OBJECT;
pub use openb::openb;
pub use rumen::rumen;
pub use sls::sls;
pub use source::{MAX_INFLATED, Source};
pub use swf::swf;
pub use swim::swim;
pub use synth::synth;
pub use types::{DeclaredTypes, declared_types, types_in_head};

use super::workload::TraceError;
use super::workload::{InOrder, OrderSettings, TraceErrorKind};
use super::workload::{Merged, Workload};

/// A source as a workload in its own order, with its own times.
///
/// # Errors
///
/// When the head of the file is not that of the format, or a rule names a field that it lacks.
pub fn read(
    source: Source,
    format: Format,
    options: &ImportOptions,
) -> Result<Box<dyn Workload + Send>, TraceError> {
    if let Some(field) = options.map.unknown_field(format.map_fields()) {
        let known = format.map_fields().join(", ");
        let message = format!("--map names a field that {format} does not have; it has {known}");
        let error = TraceError::new(TraceErrorKind::BadFile, &source.name, 0, message);
        return Err(error.with_value(field));
    }
    Ok(match format {
        Format::Openb => Box::new(openb(source, options)?),
        Format::Sls => Box::new(sls(source, options)),
        Format::Synth => Box::new(synth(source, options)?),
        Format::Rumen => Box::new(rumen(source, options)),
        Format::Swim => Box::new(swim(source, options)),
        Format::Swf => Box::new(swf(source, options)),
        Format::Dynoyarn => Box::new(dynoyarn(source, options)),
        Format::Native => Box::new(native(source, options)?),
    })
}

/// Files as one workload in order of time, from 0 ms; several files are merged by time.
///
/// Without a format each file's content decides it.
///
/// # Errors
///
/// When a file cannot be opened, its format is not recognised, or its head is broken.
pub fn open(
    paths: &[PathBuf],
    format: Option<Format>,
    options: &ImportOptions,
    order: &OrderSettings,
) -> Result<Box<dyn Workload + Send>, TraceError> {
    let sources = paths.iter().map(|path| Source::open(path));
    let part = |source| ordered(source?, format, options, order);
    let parts: Result<Vec<_>, TraceError> = sources.map(part).collect();
    Ok(merged(parts?))
}

/// A source as a workload in order of time, from 0 ms. Without a format its content decides it.
///
/// # Errors
///
/// When the format is not recognised, or the head of the source is broken.
pub fn ordered(
    mut source: Source,
    format: Option<Format>,
    options: &ImportOptions,
    order: &OrderSettings,
) -> Result<Box<dyn Workload + Send>, TraceError> {
    let format = match format {
        Some(format) => format,
        None => Format::detect(&mut source)?,
    };
    let name = Arc::clone(&source.name);
    let raw = read(source, format, options)?;
    Ok(Box::new(InOrder::new(raw, &name, order.clone())))
}

/// Workloads merged by time; a single one stays as it is.
#[must_use]
pub fn merged(mut parts: Vec<Box<dyn Workload + Send>>) -> Box<dyn Workload + Send> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    Box::new(Merged::new(parts))
}
