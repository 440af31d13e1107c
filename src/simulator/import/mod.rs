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

use std::path::PathBuf;

pub use context::ImportOptions;
pub use dynoyarn::dynoyarn;
pub use format::Format;
pub use lines::MAX_LINE;
pub use native::{NativeWriter, native};
pub use nodes::nodes;
pub use objects::MAX_OBJECT;
pub use openb::openb;
pub use rumen::rumen;
pub use sls::sls;
pub use source::{MAX_INFLATED, Source};
pub use swf::swf;
pub use swim::swim;
pub use synth::synth;

use super::workload::TraceError;
use super::workload::{InOrder, OrderSettings};
use super::workload::{Merged, Workload};

/// A source as a workload in its own order, with its own times.
///
/// # Errors
///
/// When the head of the file is not that of the format.
pub fn read(
    source: Source,
    format: Format,
    options: &ImportOptions,
) -> Result<Box<dyn Workload>, TraceError> {
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
) -> Result<Box<dyn Workload>, TraceError> {
    let mut parts: Vec<Box<dyn Workload>> = Vec::with_capacity(paths.len());
    for path in paths {
        let mut source = Source::open(path)?;
        let format = match format {
            Some(format) => format,
            None => Format::detect(&mut source)?,
        };
        let name = path.to_string_lossy();
        let raw = read(source, format, options)?;
        parts.push(Box::new(InOrder::new(raw, &name, order.clone())));
    }
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    Ok(Box::new(Merged::new(parts)))
}
