//! Snapshots in files: lines of JSON, compressed, with a version in front and an account at the end.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::head::SnapshotHead;
use crate::api::{StateView, Stepped};

/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

/// Longest line that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Most bytes that a file may inflate to.
const INFLATED: u64 = 16 << 30;

/// A state as the calls that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSnapshot {
    /// What the calls depend on.
    pub head: SnapshotHead,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// FNV-1a of the view of the state, as [`StateSnapshot::fingerprint`] computes it.
    pub state: u64,
}

/// Why a file is no snapshot that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Reading failed.
    Io(String),
    /// The file is something else.
    Foreign(String),
    /// The file was written by a newer version.
    Newer(u32),
    /// The head is wrong.
    Head(String),
    /// A line is wrong, counted from 1.
    Line(usize, String),
    /// The file ends after so many calls without its end.
    Truncated(usize),
    /// The calls lead to another state than the one that was saved.
    OtherState,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => f.write_str(error),
            Self::Foreign(what) => write!(f, "it is no snapshot of capsched: {what}"),
            Self::Newer(version) => write!(
                f,
                "it has version {version}, and this program reads up to {VERSION}; use a newer capsched"
            ),
            Self::Head(what) => write!(f, "line 1: {what}"),
            Self::Line(line, what) => write!(f, "line {line}: {what}"),
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

/// The first line.
#[derive(Serialize, Deserialize)]
struct First {
    capsched: String,
    version: u32,
    #[serde(default)]
    head: Option<SnapshotHead>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    end: usize,
    state: String,
}

impl StateSnapshot {
    /// A number that is equal for equal states: of everything that a view shows.
    ///
    /// Cost: proportional to everything in the state.
    #[must_use]
    pub fn fingerprint(engine: &Stepped) -> u64 {
        let view = StateView::of(engine.engine().ledger());
        let text = serde_json::to_vec(&view).unwrap_or_default();
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        text.iter().fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// Writes the snapshot.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn write<W: Write>(&self, into: W) -> std::io::Result<W> {
        let mut into = zstd::Encoder::new(into, 3)?;
        let first = First {
            capsched: "snapshot".to_owned(),
            version: VERSION,
            head: Some(self.head.clone()),
        };
        writeln!(into, "{}", serde_json::to_string(&first)?)?;
        for call in &self.calls {
            writeln!(into, "{}", serde_json::to_string(call)?)?;
        }
        let last = Last {
            end: self.calls.len(),
            state: format!("{:016x}", self.state),
        };
        writeln!(into, "{}", serde_json::to_string(&last)?)?;
        into.finish()
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    ///
    /// As [`SnapshotError`].
    pub fn read(from: impl Read) -> Result<Self, SnapshotError> {
        let foreign = |error: std::io::Error| SnapshotError::Foreign(error.to_string());
        let packed = zstd::Decoder::new(from).map_err(foreign)?;
        let mut lines = SnapshotLines {
            from: BufReader::new(packed.take(INFLATED)),
            number: 0,
        };
        let head = head_of(lines.next(0)?.as_deref())?;
        let mut calls = Vec::new();
        loop {
            let Some(line) = lines.next(calls.len())? else {
                return Err(SnapshotError::Truncated(calls.len()));
            };
            if line.starts_with("{\"end\":") {
                let state = lines.end(&line, calls.len())?;
                return Ok(Self { head, calls, state });
            }
            calls.push(lines.parsed(&line)?);
        }
    }

    /// Makes the calls on an engine before the first one.
    ///
    /// # Errors
    ///
    /// When they lead to another state.
    pub fn replay(&self, engine: &mut Stepped) -> Result<(), SnapshotError> {
        for call in &self.calls {
            call.make(engine);
        }
        if Self::fingerprint(engine) == self.state {
            Ok(())
        } else {
            Err(SnapshotError::OtherState)
        }
    }
}

/// The head of the first line.
fn head_of(line: Option<&str>) -> Result<SnapshotHead, SnapshotError> {
    let Some(line) = line else {
        return Err(SnapshotError::Foreign("it is empty".to_owned()));
    };
    let about: serde_json::Value = serde_json::from_str(line)
        .map_err(|error| SnapshotError::Foreign(format!("line 1: {error}")))?;
    if about["capsched"] != "snapshot" {
        let what = "line 1 does not say so".to_owned();
        return Err(SnapshotError::Foreign(what));
    }
    let version = about["version"].as_u64().unwrap_or(0);
    if version > u64::from(VERSION) {
        return Err(SnapshotError::Newer(
            u32::try_from(version).unwrap_or(u32::MAX),
        ));
    }
    let first: First =
        serde_json::from_value(about).map_err(|error| SnapshotError::Head(error.to_string()))?;
    let missing = || SnapshotError::Head("head is missing".to_owned());
    first.head.ok_or_else(missing)
}

/// SnapshotLines of bounded length, counted.
struct SnapshotLines<R> {
    from: R,
    number: usize,
}

impl<R: BufRead> SnapshotLines<R> {
    /// The next line; nothing at the end. `calls`: how many were read, for a file that is cut off.
    fn next(&mut self, calls: usize) -> Result<Option<String>, SnapshotError> {
        let mut line = Vec::new();
        let mut within = (&mut self.from).take(LONGEST);
        let read = within.read_until(b'\n', &mut line);
        let read = read.map_err(|error| match (self.number, error.kind()) {
            (_, std::io::ErrorKind::UnexpectedEof) => SnapshotError::Truncated(calls),
            (0, _) => SnapshotError::Foreign(error.to_string()),
            _ => SnapshotError::Io(format!("line {}: {error}", self.number + 1)),
        })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.pop() != Some(b'\n') {
            return Err(SnapshotError::Truncated(calls));
        }
        let text = String::from_utf8(line);
        text.map(Some)
            .map_err(|_| SnapshotError::Line(self.number, "it is no UTF-8".to_owned()))
    }

    fn parsed<T: for<'de> Deserialize<'de>>(&self, line: &str) -> Result<T, SnapshotError> {
        serde_json::from_str(line)
            .map_err(|error| SnapshotError::Line(self.number, error.to_string()))
    }

    /// The fingerprint of the last line, behind which nothing follows.
    fn end(&mut self, line: &str, calls: usize) -> Result<u64, SnapshotError> {
        let last: Last = self.parsed(line)?;
        let wrong = |what: &str| SnapshotError::Line(self.number, what.to_owned());
        if last.end != calls {
            return Err(wrong("the number of calls is another one"));
        }
        let state = u64::from_str_radix(&last.state, 16);
        let state = state.map_err(|_| wrong("state is no hexadecimal number"))?;
        match self.next(calls)? {
            None => Ok(state),
            Some(_) => Err(SnapshotError::Line(
                self.number,
                "something follows the end".to_owned(),
            )),
        }
    }
}
