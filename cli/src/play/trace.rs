//! The trace of a run: its files, how rows become jobs, and the account of it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use capsched::simulator::import::{Format, ImportOptions, open};
use capsched::simulator::{
    Duplicates, Job, MapRules, MappingReport, OrderSettings, ResourceTypes, Sorting, TraceError,
    TraceErrorKind, Workload,
};

use crate::output::{Nothing, Problem};

/// Arguments about a trace.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct TraceArgs {
    /// Format of the trace; recognised by content when left out (`capsched traces` lists them).
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Queue and user by fields of the trace: `qos=LS:root.prod,user=*:root.users@%value`.
    #[arg(long, value_name = "RULES", value_parser = MapRules::parse)]
    pub(crate) map: Option<MapRules>,
    /// Leave out up to this many rows that cannot be read.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip_bad: u64,
    /// Give rows whose name appears twice a suffix instead of refusing them.
    #[arg(long)]
    pub(crate) rename_duplicates: bool,
    /// Read everything before sorting by time, for traces that are far out of order.
    #[arg(long)]
    pub(crate) sort: bool,
    /// Divide submission times by this; run times stay.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) compress: u64,
    /// Let every container run for ever: how full does the cluster get?
    #[arg(long)]
    pub(crate) hold: bool,
}

/// A trace in memory.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// The jobs by time.
    pub(crate) jobs: Vec<Job>,
    /// How they were made.
    pub(crate) mapping: MappingReport,
}

impl TraceArgs {
    /// How rows become jobs.
    pub(crate) fn options(&self, types: ResourceTypes) -> ImportOptions {
        ImportOptions {
            types,
            map: self.map.clone().unwrap_or_default(),
            ..ImportOptions::default()
        }
    }

    /// How jobs are ordered.
    pub(crate) fn order(&self) -> OrderSettings {
        OrderSettings {
            sorting: if self.sort {
                Sorting::Full
            } else {
                OrderSettings::default().sorting
            },
            duplicates: if self.rename_duplicates {
                Duplicates::Suffix
            } else {
                Duplicates::Refuse
            },
            skip_bad: self.skip_bad,
            compress: self.compress,
            hold: self.hold,
        }
    }

    /// Opens files as one stream of jobs.
    pub(crate) fn open(
        &self,
        files: &[PathBuf],
        types: ResourceTypes,
    ) -> Result<Box<dyn Workload>> {
        open(files, self.format, &self.options(types), &self.order()).map_err(explain)
    }
}

impl Trace {
    /// Reads a workload to its end.
    pub(crate) fn read(mut workload: Box<dyn Workload>) -> Result<Self> {
        let mut jobs = Vec::new();
        for job in workload.by_ref() {
            jobs.push(job.map_err(explain)?);
        }
        let mapping = workload.report();
        if jobs.is_empty() {
            return Err(anyhow::Error::new(Nothing(mapping)));
        }
        Ok(Self { jobs, mapping })
    }

    /// When the last container ends if nothing ever waits, in virtual ms.
    pub(crate) fn end_ms(&self) -> u64 {
        let of_job = |job: &Job| {
            let runs = job.tasks.iter().filter_map(|group| group.run.of(0));
            job.at_ms.saturating_add(runs.max().unwrap_or(0))
        };
        self.jobs.iter().map(of_job).max().unwrap_or(0)
    }
}

/// An error of a trace with what to do about it.
pub(crate) fn explain(error: TraceError) -> anyhow::Error {
    let advice = match error.kind {
        TraceErrorKind::BadRow => "`--skip-bad N` leaves out up to N such rows",
        TraceErrorKind::BadFile if error.message.contains("format is not recognised") => {
            "say --format; `capsched traces` lists the formats"
        }
        TraceErrorKind::BadFile if error.message.contains("sort the whole trace") => {
            "say --sort to read everything before sorting"
        }
        TraceErrorKind::BadFile => "the file cannot be read further",
        TraceErrorKind::NoInput => "check the path",
        TraceErrorKind::Permission | TraceErrorKind::Io => "check the file's permissions and disk",
    };
    match error.kind {
        TraceErrorKind::BadRow | TraceErrorKind::BadFile => {
            anyhow::Error::new(Problem(format!("{error} ({advice})")))
        }
        _ => anyhow::Error::new(error).context(advice),
    }
}

/// The nodes that a file describes.
pub(crate) fn nodes(
    path: &std::path::Path,
    options: &ImportOptions,
) -> Result<Vec<capsched::simulator::NodeLine>> {
    let source = capsched::simulator::import::Source::open(path)
        .map_err(explain)
        .context("the list of nodes cannot be opened")?;
    capsched::simulator::import::nodes(source, options).map_err(|error| {
        let problem = Problem(format!("{error}; name a file with nodes by --nodes FILE"));
        anyhow::Error::new(problem)
    })
}
