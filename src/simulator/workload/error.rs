//! What is wrong with a trace, and exactly where.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Class of a [`TraceError`]; a command maps it to its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceErrorKind {
    /// The content of one row is wrong; the rows after it can still be read.
    BadRow,
    /// The file cannot be read any further: broken compression, a missing column, a limit.
    BadFile,
    /// The file does not exist or is not a file.
    NoInput,
    /// The file may not be read.
    Permission,
    /// Reading failed.
    Io,
}

/// A row or file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Class of the error.
    pub kind: TraceErrorKind,
    /// The file as it was named.
    pub file: Arc<str>,
    /// Line, from 1; 0 when no line applies.
    pub line: u64,
    /// Column in bytes, from 1, where it is known.
    pub column: Option<u64>,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// The offending value, cut to 64 characters with control characters escaped.
    pub value: Option<String>,
}

impl TraceError {
    /// An error without a value.
    #[must_use]
    pub fn new(
        kind: TraceErrorKind,
        file: &Arc<str>,
        line: u64,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            file: Arc::clone(file),
            line,
            column: None,
            message: message.into(),
            value: None,
        }
    }

    /// A failure of the operating system or of a decompressor.
    #[must_use]
    pub fn io(file: &Arc<str>, line: u64, error: &io::Error) -> Self {
        let (kind, message) = match error.kind() {
            io::ErrorKind::NotFound => (TraceErrorKind::NoInput, "no such file".to_owned()),
            io::ErrorKind::IsADirectory => {
                (TraceErrorKind::NoInput, "this is a directory".to_owned())
            }
            io::ErrorKind::PermissionDenied => {
                (TraceErrorKind::Permission, "may not be read".to_owned())
            }
            io::ErrorKind::UnexpectedEof => (
                TraceErrorKind::BadFile,
                "the compressed data end early; everything up to the last whole line was read"
                    .to_owned(),
            ),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
                (TraceErrorKind::BadFile, error.to_string())
            }
            _ => (TraceErrorKind::Io, error.to_string()),
        };
        Self::new(kind, file, line, message)
    }

    /// What is wrong with a JSON text that starts on a line, placed by line and column once.
    #[must_use]
    pub(in crate::simulator) fn json(
        kind: TraceErrorKind,
        file: &Arc<str>,
        start: u64,
        (error, said): (&serde_json::Error, &str),
    ) -> Self {
        let within = u64::try_from(error.line()).unwrap_or(1).saturating_sub(1);
        let placed = Self::new(kind, file, start + within, cut(said));
        match u64::try_from(error.column()) {
            Ok(column) if column > 0 => placed.at_column(column),
            _ => placed,
        }
    }

    /// The same error with the offending value.
    #[must_use]
    pub fn with_value(mut self, value: &str) -> Self {
        self.value = Some(clip(value));
        self
    }

    /// The same error with a column.
    #[must_use]
    pub const fn at_column(mut self, column: u64) -> Self {
        self.column = Some(column);
        self
    }

    /// Whether the rows after this one can still be read.
    #[must_use]
    pub fn is_one_row(&self) -> bool {
        self.kind == TraceErrorKind::BadRow
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": {}", self.message)?;
        match &self.value {
            Some(value) => write!(f, ": `{value}`"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TraceError {}

/// Characters of a library's message that are kept.
const MESSAGE: usize = 240;

/// A message that quotes input: without its end when it is long, control characters escaped.
fn cut(text: &str) -> String {
    let mut letters = text.chars();
    let kept = letters.by_ref().take(MESSAGE);
    let mut out: String = kept
        .flat_map(|c| {
            match c {
                '\'' | '"' | '\\' => c.to_string(),
                c => c.escape_debug().to_string(),
            }
            .chars()
            .collect::<Vec<_>>()
        })
        .collect();
    if letters.next().is_some() {
        out.push('\u{2026}');
    }
    out
}

/// A value for a message: at most 64 characters, control characters escaped.
pub(in crate::simulator) fn clip(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_message_and_value_are_shown() {
        let file: Arc<str> = "a.csv".into();
        let error = TraceError::new(TraceErrorKind::BadRow, &file, 3, "`x` is not a number")
            .at_column(7)
            .with_value("a\u{0}b");
        assert_eq!(error.to_string(), "a.csv:3:7: `x` is not a number: `a\\0b`");
        assert!(error.is_one_row());
    }
}
