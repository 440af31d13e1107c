//! Why a file is no snapshot that can be read.

use std::fmt;

use crate::simulator::json_fault;

/// The newest version that is read. The first one has every call from the start.
pub(super) const VERSION: u32 = 2;

/// Characters of an input's own words in a message.
pub(super) const SHOWN: usize = 300;

/// Why a file is no snapshot that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Reading failed.
    Io(String),
    /// The file is something else.
    Foreign(String),
    /// The file was written by a newer version.
    Newer(u64),
    /// The head is wrong.
    Head(String),
    /// A line is wrong.
    Line {
        /// From 1.
        line: usize,
        /// The byte within the line, from 1, where it is known.
        column: Option<usize>,
        /// What is wrong.
        what: String,
    },
    /// The compressed bytes are broken behind so many calls.
    Broken(usize, String),
    /// The file ends after so many calls without its end.
    Truncated(usize),
    /// The file holds more than is read of any.
    TooLarge(String),
    /// The calls lead to another state than the one that was saved.
    OtherState,
}

impl SnapshotError {
    /// Line and column from 1, where the error has a place.
    #[must_use]
    pub const fn place(&self) -> Option<(usize, Option<usize>)> {
        match self {
            Self::Head(_) => Some((1, None)),
            Self::Line { line, column, .. } => Some((*line, *column)),
            _ => None,
        }
    }

    /// What serde found wrong with a line.
    pub(super) fn json(line: usize, error: &serde_json::Error) -> Self {
        let what = json_fault(error);
        Self::Line {
            line,
            column: Some(error.column()).filter(|&column| column > 0),
            what: what.chars().take(SHOWN).collect(),
        }
    }

    pub(super) fn line(line: usize, what: &str) -> Self {
        Self::Line {
            line,
            column: None,
            what: what.to_owned(),
        }
    }
}

/// What is wrong, without the [place](SnapshotError::place).
impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(what) | Self::Head(what) | Self::Line { what, .. } | Self::TooLarge(what) => {
                f.write_str(what)
            }
            Self::Foreign(what) => write!(f, "it is no snapshot of capsched: {what}"),
            Self::Newer(version) => write!(
                f,
                "it has version {version}, and this program reads up to {VERSION}; use a newer capsched"
            ),
            Self::Broken(calls, what) => write!(
                f,
                "its compressed bytes are broken after {calls} calls ({what}); save it again"
            ),
            Self::Truncated(calls) => {
                write!(f, "it is cut off after {calls} calls; save it again")
            }
            Self::OtherState => f.write_str(
                "its calls lead to another state than the one that was saved, as those of another build may",
            ),
        }
    }
}

impl std::error::Error for SnapshotError {}
