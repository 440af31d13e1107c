//! What every command shares: results on standard output, failures on standard error, exit codes.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use capsched::simulator::MappingReport;

/// A problem was found in what was given: violations, a refused configuration, a broken trace.
pub(crate) const PROBLEM: u8 = 1;

/// The command could not be carried out as it was given.
pub(crate) const USAGE: u8 = 2;

/// A problem found in the data, as against a command that cannot be carried out.
#[derive(Debug)]
pub(crate) struct Problem(pub(crate) String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

/// There is nothing to do, which is no failure: a trace without a job, and the account of it.
#[derive(Debug)]
pub(crate) struct Nothing(pub(crate) MappingReport);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the trace holds no job\n{}", self.0)
    }
}

impl std::error::Error for Nothing {}

/// Writes a result. Ends the process when nobody reads it any more, and with an error when it
/// cannot be written.
pub(crate) fn put(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: standard output: {error}");
            std::process::exit(i32::from(USAGE));
        }
    }
}

/// Writes a line of results, as [`put`].
pub(crate) fn line(text: impl fmt::Display) {
    put(&format!("{text}\n"));
}

/// Tells something beside the results.
pub(crate) fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells why a command failed; its exit code.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    if let Some(nothing) = error.chain().find(|cause| cause.is::<Nothing>()) {
        note(format_args!("warning: {nothing}"));
        return ExitCode::SUCCESS;
    }
    note(format_args!("error: {error:#}"));
    let problem = error.chain().any(|cause| cause.is::<Problem>());
    ExitCode::from(if problem { PROBLEM } else { USAGE })
}
