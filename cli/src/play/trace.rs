//! The trace of a run: its files, how rows become jobs, and the account of it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use capsched::simulator::import::{
    DeclaredTypes, Format, ImportOptions, MAX_INFLATED, Source, declared_types, merged, ordered,
    types_in_head,
};
use capsched::simulator::{
    Duplicates, Job, MapRules, MappingReport, NodeLine, OrderSettings, ResourceTypes, Sorting,
    TraceError, TraceErrorKind, Workload,
};
use rayon::prelude::*;
use tempfile::NamedTempFile;

use super::nodes::{listed, some};
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

    /// A file that can be read again. A pipe is played through first, so that what is no trace ends early.
    pub(crate) fn keep(&self, path: &Path) -> Result<TraceFile> {
        let (file, source) = TraceFile::open(path).map_err(explain)?;
        if file.kept.is_some() {
            let options = self.options(ResourceTypes::default());
            let jobs = ordered(source, self.format, &options, &self.order()).map_err(explain)?;
            for job in jobs {
                job.map_err(explain)?;
            }
        }
        Ok(file)
    }

    /// Opens files for a run, and finds the resource types that they name.
    pub(crate) fn look(&self, files: &[PathBuf]) -> Result<Looked> {
        let mut looked = Looked::default();
        for path in files {
            let (file, mut source) = TraceFile::open(path).map_err(explain)?;
            let types = if file.kept.is_some() {
                types_in_head(&mut source, self.format)
            } else {
                let again = file.again().map_err(explain)?;
                declared_types(again, self.format)
            };
            looked.types.merge(&types.map_err(explain)?);
            looked.files.push((file, source));
        }
        Ok(looked)
    }

    /// Looks through files, to be played as often as wanted. A pipe is kept in a temporary file.
    pub(crate) fn scan(&self, looked: Looked, types: &ResourceTypes) -> Result<Trace> {
        let (format, options, order) = (self.format, self.options(types.clone()), self.order());
        let part = move |source: Source| ordered(source, format, &options, &order);
        let scanned = looked
            .files
            .into_par_iter()
            .map(|(file, source)| Ok((file, Facts::of(part(source)?)?)));
        // The first file with an error names it, whatever thread met one first.
        let scanned: Vec<Result<(TraceFile, Facts), TraceError>> = scanned.collect();
        let scanned: Result<Vec<_>, TraceError> = scanned.into_iter().collect();
        let (files, facts): (Vec<_>, Vec<_>) = scanned.map_err(explain)?.into_iter().unzip();
        let files = Arc::new(files);
        let own = Arc::clone(&files);
        let mut trace = Trace::new(facts, move || {
            let parts = own.iter().map(|file| part(file.again()?));
            let parts: Result<Vec<_>, TraceError> = parts.collect();
            Ok(merged(parts?))
        })?;
        trace.files = files;
        Ok(trace)
    }
}

/// Files of a trace before they are read.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Resource types that they name.
    pub(crate) types: DeclaredTypes,
    files: Vec<(TraceFile, Source)>,
}

/// A file of a trace, or what was read from a pipe.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    /// The bytes of a pipe, for the second time they are wanted.
    kept: Option<NamedTempFile>,
}

impl TraceFile {
    /// Opens a file for the first time.
    fn open(path: &Path) -> Result<(Self, Source), TraceError> {
        let own = |kept| Self {
            path: path.to_owned(),
            kept,
        };
        if is_pipe(path) {
            let name = shown(path);
            let fail = |error: std::io::Error| TraceError::io(&(*name).into(), 0, &error);
            let kept = NamedTempFile::new().map_err(fail)?;
            let pipe = Kept {
                from: open_pipe(path).map_err(fail)?,
                into: BufWriter::new(kept.reopen().map_err(fail)?),
            };
            let source = Source::of(&name, Box::new(pipe), MAX_INFLATED)?;
            return Ok((own(Some(kept)), source));
        }
        Ok((own(None), Source::open(path)?))
    }

    /// Opens it from its start.
    pub(crate) fn again(&self) -> Result<Source, TraceError> {
        let Some(kept) = &self.kept else {
            return Source::open(&self.path);
        };
        let name = shown(&self.path);
        let file = kept.reopen();
        let file = file.map_err(|error| TraceError::io(&(*name).into(), 0, &error))?;
        Source::of(&name, Box::new(file), MAX_INFLATED)
    }
}

/// Whether a path can be read only once.
fn is_pipe(path: &Path) -> bool {
    let about = std::fs::metadata(path);
    path == Path::new("-") || about.is_ok_and(|about| !about.is_file() && !about.is_dir())
}

fn open_pipe(path: &Path) -> std::io::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    Ok(Box::new(File::open(path)?))
}

/// A path for messages.
fn shown(path: &Path) -> Cow<'_, str> {
    if path == Path::new("-") {
        return "standard input".into();
    }
    path.to_string_lossy()
}

/// A pipe whose bytes are kept while they are read.
struct Kept {
    from: Box<dyn Read + Send>,
    into: BufWriter<File>,
}

impl Read for Kept {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let n = self.from.read(bytes)?;
        self.into.write_all(&bytes[..n])?;
        if n == 0 {
            self.into.flush()?;
        }
        Ok(n)
    }
}

/// What is known of the jobs of a trace before they are played: bounded by what differs, not by how
/// many there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Number of jobs.
    pub(crate) jobs: u64,
    /// Queues that they name.
    pub(crate) queues: BTreeSet<String>,
    /// The last submission, in virtual ms.
    pub(crate) last_ms: u64,
    /// When the last container ends if nothing ever waits, in virtual ms.
    pub(crate) end_ms: u64,
    /// How they were made.
    pub(crate) mapping: MappingReport,
}

impl Facts {
    /// Reads a workload to its end.
    fn of(mut workload: Box<dyn Workload + Send>) -> Result<Self, TraceError> {
        let mut facts = Self::default();
        for job in workload.by_ref() {
            facts.add(&job?);
        }
        facts.mapping = workload.report();
        Ok(facts)
    }

    fn add(&mut self, job: &Job) {
        self.jobs += 1;
        self.last_ms = self.last_ms.max(job.at_ms);
        let runs = job.tasks.iter().filter_map(|group| group.run.of(0));
        let end_ms = job.at_ms.saturating_add(runs.max().unwrap_or(0));
        self.end_ms = self.end_ms.max(end_ms);
        if !self.queues.contains(&job.queue) {
            self.queues.insert(job.queue.clone());
        }
    }

    fn join(&mut self, other: Self) {
        self.jobs += other.jobs;
        self.last_ms = self.last_ms.max(other.last_ms);
        self.end_ms = self.end_ms.max(other.end_ms);
        self.queues.extend(other.queues);
        self.mapping.add(&other.mapping);
    }
}

/// What gives the jobs of a trace from the first one on.
type Opener = dyn Fn() -> Result<Box<dyn Workload + Send>, TraceError> + Send + Sync;

/// A trace that is read anew by each run, so that only jobs that live are in memory.
#[derive(Clone)]
pub(crate) struct Trace {
    /// What is known of its jobs.
    pub(crate) facts: Facts,
    files: Arc<Vec<TraceFile>>,
    open: Arc<Opener>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace({:?})", self.facts)
    }
}

impl Trace {
    /// A trace of some parts, which `open` gives as one workload.
    fn new(
        parts: Vec<Facts>,
        open: impl Fn() -> Result<Box<dyn Workload + Send>, TraceError> + Send + Sync + 'static,
    ) -> Result<Self> {
        let mut parts = parts.into_iter();
        let mut facts = parts.next().unwrap_or_default();
        let several = parts.len() > 0;
        parts.for_each(|part| facts.join(part));
        if several {
            facts.mapping.format = "merged".to_owned();
        }
        if facts.jobs == 0 {
            return Err(anyhow::Error::new(Nothing(facts.mapping)));
        }
        Ok(Self {
            facts,
            files: Arc::default(),
            open: Arc::new(open),
        })
    }

    /// A trace that is made in memory.
    pub(crate) fn made(
        open: impl Fn() -> Result<Box<dyn Workload + Send>, TraceError> + Send + Sync + 'static,
    ) -> Result<Self> {
        let facts = Facts::of(open().map_err(explain)?).map_err(explain)?;
        Self::new(vec![facts], open)
    }

    /// The nodes that its files list.
    pub(crate) fn nodes(
        &self,
        account: &mut MappingReport,
        options: &ImportOptions,
    ) -> Result<Vec<NodeLine>> {
        let sources = self.files.iter().map(TraceFile::again);
        let sources: Result<Vec<Source>, TraceError> = sources.collect();
        let nodes = listed(sources.map_err(explain)?, account, options)?;
        let first = self.files.first();
        some(nodes, &first.map_or("".into(), |file| shown(&file.path)))
    }

    /// The jobs by time, from the first one on.
    pub(crate) fn jobs(&self) -> Result<Box<dyn Workload + Send>> {
        (self.open)().map_err(explain)
    }
}

/// An error of a trace with what to do about it.
pub(crate) fn explain(error: TraceError) -> anyhow::Error {
    let says = |text: &str| error.message.contains(text);
    let advice = match error.kind {
        TraceErrorKind::BadRow if says("appears twice") => {
            "--rename-duplicates gives such rows a suffix"
        }
        TraceErrorKind::BadRow if says("queue.name is missing") => {
            "--map gives rows a queue, as in `user=*:root.users`"
        }
        TraceErrorKind::BadRow => "`--skip-bad N` leaves out up to N such rows",
        TraceErrorKind::BadFile if says("JSON array") => {
            "`jq -c '.[]' FILE` writes the objects one after the other"
        }
        TraceErrorKind::BadFile if says("format is not recognised") => {
            "say --format; `capsched traces` lists the formats"
        }
        TraceErrorKind::BadFile if says("sort the whole trace") => {
            "say --sort to read everything before sorting"
        }
        TraceErrorKind::BadFile if says("--map names a field") => {
            "`capsched traces` lists the fields"
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
