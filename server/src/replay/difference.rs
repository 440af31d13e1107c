//! Where an answer differs.

use std::fmt;

/// One place of an answer that differs from the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Path of names from the root of the answer; `status` and `content-type` stand for themselves.
    pub place: String,
    /// What was recorded.
    pub recorded: String,
    /// What was answered.
    pub answered: String,
}

impl Difference {
    pub(super) fn new(
        place: impl Into<String>,
        recorded: impl fmt::Display,
        answered: impl fmt::Display,
    ) -> Self {
        Self {
            place: place.into(),
            recorded: clip(&recorded.to_string()),
            answered: clip(&answered.to_string()),
        }
    }
}

fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(200).collect();
    if clipped.len() < text.len() {
        clipped.push_str("...");
    }
    clipped
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: recorded {}, answered {}",
            self.place, self.recorded, self.answered
        )
    }
}
