//! What every command shares: results on standard output, failures on standard error, exit codes.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use capsched::config::Severity;
use capsched::simulator::MappingReport;

/// A problem was found in what was given: violations, a refused configuration, a broken trace.
pub(crate) const PROBLEM: u8 = 1;

/// The command could not be carried out as it was given.
pub(crate) const USAGE: u8 = 2;

/// Findings of one kind that are shown as text; a generated file repeats its oddity.
pub(crate) const MOST_OF_A_KIND: usize = 20;

/// How many findings of a kind are not shown.
pub(crate) fn more_of_a_kind((severity, code): (Severity, &str), count: usize) -> String {
    format!("{}[{code}]: {count} more of this kind", severity.word())
}

/// A problem found in the data, as against a command that cannot be carried out.
#[derive(Debug)]
pub(crate) struct Problem(pub(crate) String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl Problem {
    /// What serde found wrong with a file whose text starts on a line, placed once.
    pub(crate) fn json(file: &str, start: usize, error: &serde_json::Error) -> Self {
        let line = start + error.line().saturating_sub(1);
        let message = capsched::simulator::json_fault(error);
        Self(format!("{file}:{line}:{}: {message}", error.column()))
    }
}

/// There is nothing to do, which is no failure: a trace without a job, and the account of it.
#[derive(Debug)]
pub(crate) struct Nothing(pub(crate) MappingReport);

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the trace holds no job\n{}", self.0)
    }
}

impl std::error::Error for Nothing {}

/// Writes a result, made [`harmless`]. Ends the process when nobody reads it any more, and with an
/// error when it cannot be written.
pub(crate) fn put(text: &str) {
    put_styled(&harmless(text));
}

/// A text without characters that a terminal acts on or that turn its direction: they are written as
/// in JSON, where they stand inside strings alone.
fn harmless(text: &str) -> Cow<'_, str> {
    let hurts = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(hurts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hurts(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The same of a text that was [`escaped`] where it comes from input, and that may have colours.
pub(crate) fn put_styled(text: &str) {
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

/// Writes something beside the results, made [`printable`].
pub(crate) fn note(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// Characters of a message's line that are shown.
const LINE: usize = 1_200;

/// Characters at the end of a line that is cut: libraries end their messages with the place.
const TAIL: usize = 200;

/// A message whose parts come from input: no control characters but line ends, and no line
/// without end.
pub(crate) fn printable(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line = escaped(line);
        let count = line.chars().count();
        if count <= LINE {
            return line;
        }
        let head = line.chars().take(LINE - TAIL);
        let tail = line.chars().skip(count - TAIL);
        head.chain(['…']).chain(tail).collect()
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// A text with the characters escaped that a terminal acts on or that nobody sees.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '\'' | '"' => out.push(c),
            c => out.extend(c.escape_debug()),
        }
    }
    out
}

/// What the standard library says of a value, and what is expected instead.
const EXPECTED: [(&str, &str); 6] = [
    (
        "invalid digit found in string",
        "it is no whole number from 0",
    ),
    (
        "cannot parse integer from empty string",
        "it is empty; a whole number is expected",
    ),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    ("invalid float literal", "it is no number such as 0.5"),
    (
        "invalid socket address syntax",
        "it is no address such as 127.0.0.1:8088",
    ),
    (
        "invalid IP address syntax",
        "it is no address such as 127.0.0.1",
    ),
];

/// A message with what is expected in place of what the standard library says at the end of its first line.
fn said(message: &str) -> String {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    let found = EXPECTED.iter().find_map(|(means, expected)| {
        let before = first.strip_suffix(means)?.strip_suffix(": ")?;
        Some(format!("{before}: {expected}\n{rest}"))
    });
    found.map_or_else(|| message.to_owned(), |text| text.trim_end().to_owned())
}

/// Shows why a command line is not understood, or the help that it asks for; its exit code.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Help and versions quote nothing.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    note(said(error.render().to_string().trim_end()));
    ExitCode::from(USAGE)
}

/// Prints why a command failed; its exit code.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    if let Some(nothing) = error.chain().find(|cause| cause.is::<Nothing>()) {
        note(format_args!("warning: {nothing}"));
        return ExitCode::SUCCESS;
    }
    note(format_args!("error: {error:#}"));
    let problem = error.chain().any(|cause| cause.is::<Problem>());
    ExitCode::from(if problem { PROBLEM } else { USAGE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_cannot_hurt_a_terminal_and_json_stays_json() {
        let name = "a\u{1b}[2J\u{9b}31m\u{202e}\u{85}\u{2028}\u{7f}\tb\n";
        let shown = harmless(name);
        assert_eq!(
            shown,
            "a\\u001b[2J\\u009b31m\\u202e\\u0085\\u2028\\u007f\tb\n"
        );
        let json = serde_json::json!({ name: [name] });
        let text = json.to_string();
        let read: serde_json::Value = serde_json::from_str(&harmless(&text)).unwrap_or_default();
        assert_eq!(read, json);
        assert!(matches!(harmless("plain \u{e9} text\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_value_that_is_refused_comes_with_what_is_expected() {
        let shown =
            said("error: invalid value 'x' for '--n <N>': invalid digit found in string\n\nMore");
        assert_eq!(
            shown,
            "error: invalid value 'x' for '--n <N>': it is no whole number from 0\n\nMore"
        );
        for (parsed, expected) in [
            ("".parse::<u64>().unwrap_err().to_string(), "it is empty"),
            (
                "9".repeat(99).parse::<u64>().unwrap_err().to_string(),
                "too large",
            ),
            ("x".parse::<f64>().unwrap_err().to_string(), "no number"),
            (
                "x".parse::<std::net::SocketAddr>().unwrap_err().to_string(),
                ":8088",
            ),
            (
                "x".parse::<std::net::IpAddr>().unwrap_err().to_string(),
                "no address",
            ),
        ] {
            assert!(
                said(&format!("error: x: {parsed}")).contains(expected),
                "{parsed}"
            );
        }
        assert_eq!(said("error: unknown"), "error: unknown");
    }

    #[test]
    fn messages_cannot_hurt_a_terminal() {
        let text = format!(
            "unknown field `\u{1b}[2J{}` at line 1 column 24\nnext",
            "x".repeat(99_999)
        );
        let shown = printable(&text);
        assert!(shown.starts_with("unknown field `\\u{1b}[2Jxxx"), "{shown}");
        assert!(shown.contains("at line 1 column 24\nnext") && shown.len() < 2_000);
        assert_eq!(printable("it's `é` \"here\" \\"), "it's `é` \"here\" \\");
    }
}
