//! Where a trace is written: standard output, or a file that appears only when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capsched::simulator::import::NativeWriter;
use capsched::simulator::{NodeLine, ResourceTypes, Workload};
use indicatif::{ProgressBar, ProgressStyle};

use crate::aside::Aside;
use crate::play::explain;

/// Arguments about the file that is written.
#[derive(clap::Args, Debug)]
pub(crate) struct OutArgs {
    /// The file to write; packed when it ends in .zst; standard output when left out or `-`.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file when it exists.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

/// Text, or a packed form of it that has an end.
enum Form<W: Write> {
    Plain(W),
    Packed(zstd::Encoder<'static, W>),
}

impl<W: Write> Write for Form<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(into) => into.write(bytes),
            Self::Packed(into) => into.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(into) => into.flush(),
            Self::Packed(into) => into.flush(),
        }
    }
}

impl<W: Write> Form<W> {
    fn finish(self) -> io::Result<W> {
        let mut into = match self {
            Self::Plain(into) => into,
            Self::Packed(into) => into.finish()?,
        };
        into.flush()?;
        Ok(into)
    }
}

/// A count of jobs on standard error, for what has no known end; nothing unless that is a terminal.
pub(crate) fn counting(title: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {pos} jobs  {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(title.to_owned());
    bar
}

impl OutArgs {
    /// The file, unless standard output is meant.
    pub(crate) fn file(&self) -> Option<&Path> {
        let to_file = |path: &&Path| *path != Path::new("-");
        self.out.as_deref().filter(to_file)
    }

    /// Writes nodes and jobs in our own format as they come; the number of jobs.
    pub(crate) fn write(
        &self,
        types: &ResourceTypes,
        nodes: &[NodeLine],
        workload: &mut dyn Workload,
    ) -> Result<u64> {
        let Some(path) = self.file() else {
            let out = Form::Plain(BufWriter::new(io::stdout().lock()));
            let written = write(out, types, nodes, workload);
            let gone = |error: &anyhow::Error| {
                let cause = error.downcast_ref::<io::Error>();
                cause.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
            };
            return match written {
                // Nobody reads on, which is no failure.
                Err(error) if gone(&error) => std::process::exit(0),
                written => Ok(written.context("standard output")?.0),
            };
        };
        let shown = path.display();
        let about = std::fs::metadata(path);
        if about.is_ok_and(|about| !about.is_file()) {
            // A pipe or a device has a place of its own and cannot be moved to.
            let file = File::options().write(true).open(path);
            let file = file.with_context(|| format!("{shown} cannot be written"))?;
            let (jobs, _) = write(packed(path, BufWriter::new(file))?, types, nodes, workload)
                .with_context(|| shown.to_string())?;
            return Ok(jobs);
        }
        let file = Aside::create(path, self.force)?;
        let context = || shown.to_string();
        let (jobs, file) = packed(path, file)
            .and_then(|out| write(out, types, nodes, workload))
            .with_context(context)?;
        file.finish()?;
        Ok(jobs)
    }
}

/// Packed when the name says so.
fn packed<W: Write>(path: &Path, plain: W) -> Result<Form<W>> {
    Ok(if path.extension().is_some_and(|end| end == "zst") {
        Form::Packed(zstd::Encoder::new(plain, 3)?)
    } else {
        Form::Plain(plain)
    })
}

fn write<W: Write>(
    into: Form<W>,
    types: &ResourceTypes,
    nodes: &[NodeLine],
    workload: &mut dyn Workload,
) -> Result<(u64, W)> {
    let bar = counting("written");
    let mut writer = NativeWriter::new(into, types)?;
    for node in nodes {
        writer.node(node)?;
    }
    let mut jobs = 0;
    for job in workload {
        writer.job(&job.map_err(explain)?)?;
        jobs += 1;
        bar.inc(1);
    }
    let into = writer.into_inner().finish()?;
    bar.finish_and_clear();
    Ok((jobs, into))
}
