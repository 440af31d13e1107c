//! Snapshots in files: lines of JSON, compressed, with a version in front and an account at the end.

use std::io::{BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::head::SnapshotHead;
use super::journaled::Journaled;
use super::snapshot_error::{SnapshotError, VERSION};
use crate::api::{Rebuild, StateView, Stepped};

/// Longest line that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Most bytes that a file may inflate to.
const INFLATED: u64 = 4 << 30;

/// Most calls of a file, which bounds the memory that short lines take.
const MOST_CALLS: usize = 1 << 25;

/// What a state that is built anew leaves out of preemption.
const PREEMPTION: &str =
    "what rounds of preemption remember: containers that were asked back are asked back anew";

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

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    capsched: String,
    version: u32,
    head: SnapshotHead,
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

    /// The state of a scheduler that runs, as calls that take over what lives there. The rest is listed in the head.
    ///
    /// Cost: that of making the calls.
    ///
    /// # Errors
    ///
    /// When the head makes no engine.
    pub fn rebuilt(mut head: SnapshotHead, rebuild: &Rebuild) -> Result<Self, SnapshotError> {
        head.recovers = true;
        head.at_ms = rebuild.now_ms();
        let mut engine = Journaled::new(head.engine()?);
        head.left_out = rebuild.make(&mut engine);
        head.left_out
            .extend(head.preemption.map(|_| PREEMPTION.to_owned()));
        head.left_out.extend(rebuild.left_out());
        Ok(Self {
            head,
            calls: engine.take_calls(),
            state: Self::fingerprint(engine.scheduler()),
        })
    }

    /// Writes the snapshot.
    ///
    /// # Errors
    ///
    /// When writing fails, or the calls are more than can be read again.
    pub fn write<W: Write>(&self, into: W) -> std::io::Result<W> {
        if self.calls.len() > MOST_CALLS {
            let what = format!("more than {MOST_CALLS} calls; save an earlier moment");
            return Err(std::io::Error::other(what));
        }
        let mut into = zstd::Encoder::new(into, 3)?;
        // A flipped bit would be another snapshot.
        into.include_checksum(true)?;
        let first = First {
            capsched: "snapshot".to_owned(),
            version: if self.head.recovers { VERSION } else { 1 },
            head: self.head.clone(),
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
        let packed =
            zstd::Decoder::new(from).map_err(|error| SnapshotError::Io(error.to_string()))?;
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
            if calls.len() == MOST_CALLS {
                let what = format!("it holds more than {MOST_CALLS} calls");
                return Err(SnapshotError::TooLarge(what));
            }
            let call: Call = lines.parsed(&line)?;
            let wrong = |what: String| SnapshotError::line(lines.number, &what);
            call.check().map_err(wrong)?;
            calls.push(call);
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
    let about: serde_json::Value = serde_json::from_str(line).map_err(|error| {
        let shown = SnapshotError::json(1, &error).to_string();
        SnapshotError::Foreign(format!("its first line is no JSON ({shown})"))
    })?;
    if about["capsched"] != "snapshot" {
        let what = "its first line does not say so".to_owned();
        return Err(SnapshotError::Foreign(what));
    }
    match about["version"].as_u64() {
        Some(version) if version > u64::from(VERSION) => return Err(SnapshotError::Newer(version)),
        Some(0) => return Err(SnapshotError::Head("there is no version 0".to_owned())),
        _ => {}
    }
    // serde takes a list for a struct.
    if !about["head"].is_object() {
        let what = "head is missing, or no object".to_owned();
        return Err(SnapshotError::Head(what));
    }
    let first: First =
        serde_json::from_str(line).map_err(|error| SnapshotError::json(1, &error))?;
    Ok(first.head)
}

/// Lines of bounded length, counted.
struct SnapshotLines<R> {
    from: BufReader<std::io::Take<R>>,
    number: usize,
}

impl<R: Read> SnapshotLines<R> {
    /// The next line; nothing at the end. `calls`: how many were read, for a file that is cut off.
    fn next(&mut self, calls: usize) -> Result<Option<String>, SnapshotError> {
        let mut line = Vec::new();
        let mut within = (&mut self.from).take(LONGEST);
        let read = within.read_until(b'\n', &mut line);
        let read = read.map_err(|error| self.unread(&error, calls))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.pop() != Some(b'\n') {
            return Err(self.unended(read, calls));
        }
        let text = String::from_utf8(line);
        let wrong = |error: std::string::FromUtf8Error| SnapshotError::Line {
            line: self.number,
            column: Some(error.utf8_error().valid_up_to() + 1),
            what: "it is no UTF-8".to_owned(),
        };
        text.map(Some).map_err(wrong)
    }

    /// Why nothing more could be read.
    fn unread(&self, error: &std::io::Error, calls: usize) -> SnapshotError {
        if error.raw_os_error().is_some() {
            return SnapshotError::Io(error.to_string());
        }
        match (self.number, error.kind()) {
            (_, std::io::ErrorKind::UnexpectedEof) => SnapshotError::Truncated(calls),
            (0, _) => {
                let what = format!("it is not compressed with zstd ({error})");
                SnapshotError::Foreign(what)
            }
            _ => SnapshotError::Broken(calls, error.to_string()),
        }
    }

    /// Why a line of so many bytes has no end.
    fn unended(&self, bytes: usize, calls: usize) -> SnapshotError {
        if self.from.get_ref().limit() == 0 {
            let what = format!("it inflates to more than {INFLATED} bytes");
            return SnapshotError::TooLarge(what);
        }
        if u64::try_from(bytes).is_ok_and(|bytes| bytes == LONGEST) {
            let what = format!("it is longer than {LONGEST} bytes");
            return SnapshotError::line(self.number, &what);
        }
        SnapshotError::Truncated(calls)
    }

    fn parsed<T: for<'de> Deserialize<'de>>(&self, line: &str) -> Result<T, SnapshotError> {
        // serde takes a list for a struct.
        if !line.trim_start().starts_with('{') {
            return Err(SnapshotError::line(self.number, "it is no JSON object"));
        }
        serde_json::from_str(line).map_err(|error| SnapshotError::json(self.number, &error))
    }

    /// The fingerprint of the last line, behind which nothing follows.
    fn end(&mut self, line: &str, calls: usize) -> Result<u64, SnapshotError> {
        let last: Last = self.parsed(line)?;
        let wrong = |what: &str| SnapshotError::line(self.number, what);
        if last.end != calls {
            return Err(wrong("the number of calls is another one"));
        }
        let digits = last.state.bytes().all(|byte| byte.is_ascii_hexdigit());
        let state = u64::from_str_radix(&last.state, 16).ok().filter(|_| digits);
        let state = state.ok_or_else(|| wrong("state is no hexadecimal number"))?;
        match self.next(calls)? {
            None => Ok(state),
            Some(_) => Err(SnapshotError::line(
                self.number,
                "something follows the end",
            )),
        }
    }
}
