//! What is read of one configuration file, and the bounds on it.

use std::ops::Range;

use super::diagnostic::Diagnostic;
use super::other_files::{self, OtherFile};
use super::prefix::PREFIX;

/// Bounds on what one file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Bytes of one file.
    pub bytes: usize,
    /// Elements inside each other.
    pub depth: usize,
    /// Attributes of one tag.
    pub attributes: usize,
    /// Properties of one file.
    pub properties: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            depth: 32,
            attributes: 32,
            properties: 5_000_000,
        }
    }
}

/// One property as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name, trimmed; may be empty.
    pub name: String,
    /// The value as written; nothing when it is missing or empty.
    pub value: Option<String>,
    /// Whether `final` says exactly `true`.
    pub is_final: bool,
    /// Where the name stands.
    pub name_span: Range<usize>,
    /// Where the value stands; the whole element when there is none.
    pub value_span: Range<usize>,
}

/// The properties of a file, in order, and what was odd about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The properties.
    pub properties: Vec<Property>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// What the file is when its root element is that of another kind of file.
    pub(super) other: Option<OtherFile>,
}

impl Document {
    /// The same document, with what the file is where it says nothing of queues.
    pub(super) fn with_kind(mut self, text: &str) -> Self {
        let of_queues = |one: &Property| one.name.starts_with(PREFIX);
        if self.other.is_none() && !self.properties.iter().any(of_queues) {
            self.other = other_files::of_sound_text(text);
        }
        self
    }
}
