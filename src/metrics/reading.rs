//! Reading histogram logs, those of other tools included.

use std::fmt;
use std::time::Duration;

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use crate::metrics::Histogram;

/// An interval of a log, with the name that stands before it.
#[derive(Clone, Debug)]
pub struct TaggedInterval {
    /// Its tag; empty when it has none.
    pub tag: String,
    /// Its beginning, as the log gives it.
    pub start: Duration,
    /// How long it was.
    pub length: Duration,
    /// What was recorded in it, nanoseconds in logs of this crate.
    pub latencies: Histogram,
}

/// A log that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogError {
    /// A line is none of the format; counted among all entries from 1.
    Line(usize),
    /// The histogram of an entry cannot be decoded.
    Histogram {
        /// The entry, from 1.
        entry: usize,
        /// Why.
        why: String,
    },
    /// There is no interval.
    Empty,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(entry) => write!(f, "entry {entry} is not one of a histogram log"),
            Self::Histogram { entry, why } => write!(f, "histogram of entry {entry}: {why}"),
            Self::Empty => f.write_str("no interval in the log"),
        }
    }
}

impl std::error::Error for LogError {}

/// All intervals of a log, in its order.
///
/// # Errors
///
/// As [`LogError`].
pub fn read_hlog(text: &str) -> Result<Vec<TaggedInterval>, LogError> {
    let mut intervals = Vec::new();
    let mut deserializer = Deserializer::new();
    for (entry, found) in (1..).zip(IntervalLogIterator::new(text.as_bytes())) {
        let LogEntry::Interval(line) = found.map_err(|_| LogError::Line(entry))? else {
            continue;
        };
        let wrong = |why: String| LogError::Histogram { entry, why };
        let bytes = decode_base64(line.encoded_histogram())
            .ok_or_else(|| wrong("not in base 64".to_owned()))?;
        let theirs: hdrhistogram::Histogram<u64> = deserializer
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| wrong(error.to_string()))?;
        // Other tools have other bounds; what is read here can be merged.
        let mut latencies = Histogram::new();
        for bar in theirs.iter_recorded() {
            latencies.record_n(bar.value_iterated_to(), bar.count_at_value());
        }
        intervals.push(TaggedInterval {
            tag: line.tag().map_or("", |tag| tag.as_str()).to_owned(),
            start: line.start_timestamp(),
            length: line.duration(),
            latencies,
        });
    }
    if intervals.is_empty() {
        return Err(LogError::Empty);
    }
    Ok(intervals)
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut held, mut n_bits) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(digit);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push(u8::try_from((held >> n_bits) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_log_is_refused_with_its_place() {
        assert_eq!(read_hlog("").unwrap_err(), LogError::Empty);
        assert_eq!(read_hlog("not a log\n").unwrap_err(), LogError::Line(1));
        let broken = "0.1,1.0,2.0,HISTF????\n";
        let error = read_hlog(broken).unwrap_err().to_string();
        assert!(error.contains("entry 1"), "{error}");
    }

    #[test]
    fn base_64_is_decoded_with_and_without_padding() {
        assert_eq!(decode_base64("aGk="), Some(b"hi".to_vec()));
        assert_eq!(decode_base64("aGk"), Some(b"hi".to_vec()));
        assert_eq!(decode_base64("a-k"), None);
    }
}
