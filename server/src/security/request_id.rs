//! The id of a request: the caller's own, where it has a harmless form, or a new one.

use std::fmt;

use axum::http::HeaderValue;
use capsched::sync::{AtomicU64, Ordering};

/// Header of the id, in requests and answers.
pub(super) const HEADER: &str = "x-request-id";

/// Longest id of a caller, in bytes.
const LONGEST: usize = 64;

/// The id of a request, in logs and in its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// The caller's own id if it has letters, digits, `-`, `_` and `.` alone; else a new one.
    pub(super) fn of(given: Option<&HeaderValue>, source: &RequestIds) -> Self {
        let text = given.and_then(|given| given.to_str().ok());
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
        let fits =
            |text: &&str| !text.is_empty() && text.len() <= LONGEST && text.bytes().all(plain);
        match text.filter(fits) {
            Some(text) => Self(text.to_owned()),
            None => source.next(),
        }
    }

    pub(super) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives out ids: the start of the server and a number.
#[derive(Debug)]
pub(super) struct RequestIds {
    start: u64,
    next: AtomicU64,
}

impl RequestIds {
    pub(super) fn since(start_ms: u64) -> Self {
        Self {
            start: start_ms,
            next: AtomicU64::new(1),
        }
    }

    fn next(&self) -> RequestId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        RequestId(format!("{:x}-{number:x}", self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_callers_are_kept_unless_they_could_spoil_a_log() {
        let source = RequestIds::since(255);
        let of = |text: &str| {
            let value = HeaderValue::from_str(text).unwrap();
            RequestId::of(Some(&value), &source).to_string()
        };
        assert_eq!(of("a-B_3.x"), "a-B_3.x");
        assert_eq!(of(&"x".repeat(64)).len(), 64);
        for text in ["a b", "a\"b", "", &"x".repeat(65)] {
            assert!(of(text).starts_with("ff-"), "{text}");
        }
        assert_ne!(RequestId::of(None, &source), RequestId::of(None, &source));
    }
}
