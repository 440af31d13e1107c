//! The stable codes of findings, each with its explanation.

mod errors;
mod warnings;

use super::severity::Severity;
use errors::ERRORS;
use warnings::WARNINGS;

/// What a code means.
struct CodeEntry {
    code: &'static str,
    /// The word of the reference's recordings, where it is another one.
    word: Option<&'static str>,
    text: &'static str,
}

const fn entry(code: &'static str, text: &'static str) -> CodeEntry {
    CodeEntry {
        code,
        word: None,
        text,
    }
}

const fn finer(word: &'static str, code: &'static str, text: &'static str) -> CodeEntry {
    CodeEntry {
        code,
        word: Some(word),
        text,
    }
}

/// All codes: errors, then warnings and hints.
fn table() -> impl Iterator<Item = &'static CodeEntry> {
    ERRORS.iter().chain(WARNINGS)
}

/// The word of the reference's recordings for a code: the code itself, except for finer codes and
/// for those that it has no word of its own for.
#[must_use]
pub fn word(code: &'static str) -> &'static str {
    let found = table().find(|entry| entry.code == code);
    found.and_then(|entry| entry.word).unwrap_or(code)
}

/// Explains a code: what it means, why it is so, and what to do. Nothing for an unknown code.
///
/// ```
/// let text = capsched::config::explain_code("capacity_sum").expect("a known code");
/// assert!(text.contains("sum to 100"));
/// ```
#[must_use]
pub fn explain_code(code: &str) -> Option<&'static str> {
    let found = table().find(|entry| entry.code.eq_ignore_ascii_case(code));
    found.map(|entry| entry.text)
}

/// All codes, in the order of their table.
pub fn codes() -> impl Iterator<Item = &'static str> {
    table().map(|entry| entry.code)
}

/// The severity of the findings of a code, which its first letters say.
///
/// ```
/// use capsched::config::{Severity, code_severity};
/// assert_eq!(code_severity("capacity_sum"), Severity::Error);
/// assert_eq!(code_severity("W_FINAL"), Severity::Warning);
/// ```
#[must_use]
pub fn code_severity(code: &str) -> Severity {
    match code.get(..2) {
        Some("W_") => Severity::Warning,
        Some("H_") => Severity::Hint,
        _ => Severity::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_once_and_is_explained() {
        let all: std::collections::BTreeSet<&str> = codes().collect();
        assert_eq!(all.len(), table().count());
        assert!(all.iter().all(|code| explain_code(code).is_some()));
        assert_eq!(explain_code("nonsense"), None);
    }

    #[test]
    fn finer_codes_have_the_word_of_the_recordings() {
        assert_eq!(word("E_XML_UNCLOSED"), "xml_syntax");
        assert_eq!(word("E_XML_INCLUDE"), "xml_include");
        assert_eq!(word("capacity_sum"), "capacity_sum");
    }
}
