//! Results on standard output, which whoever reads them may close at any time.

use std::fmt;
use std::io::{self, ErrorKind, Write};

/// Writes a line of results; ends the process when nobody reads them any more, and with an error
/// when they cannot be written.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(closed) if closed.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: standard output: {error}");
            std::process::exit(1);
        }
    }
}

/// Writes a line for whoever watches; results stand elsewhere, so that nothing is lost where nobody does.
pub(crate) fn beside(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints a line beside the results, as `eprintln!`, through [`beside()`].
macro_rules! aside {
    ($($text:tt)*) => {
        $crate::output::beside(format_args!($($text)*))
    };
}
pub(crate) use aside;

/// Prints a line of results, as `println!`, through [`line()`].
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::line(format_args!($($text)*))
    };
}
pub(crate) use say;
