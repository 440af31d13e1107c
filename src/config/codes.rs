//! The stable codes of findings, each with its explanation.

/// What a code means.
struct Entry {
    code: &'static str,
    /// The word of the reference's recordings, where it is another one.
    word: Option<&'static str>,
    text: &'static str,
}

const fn entry(code: &'static str, text: &'static str) -> Entry {
    Entry {
        code,
        word: None,
        text,
    }
}

const fn syntax(code: &'static str, text: &'static str) -> Entry {
    Entry {
        code,
        word: Some("xml_syntax"),
        text,
    }
}

const TABLE: &[Entry] = &[
    entry("E_LIMIT", "A limit was exceeded."),
    syntax("E_XML_SYNTAX", "Not well-formed."),
];

/// The word of the reference's recordings for a code.
pub(super) fn word(code: &'static str) -> &'static str {
    let found = TABLE.iter().find(|entry| entry.code == code);
    found.and_then(|entry| entry.word).unwrap_or(code)
}

/// Explains a code: what it means, why it is so, and what to do. Nothing for an unknown code.
#[must_use]
pub fn explain_code(code: &str) -> Option<&'static str> {
    let found = TABLE
        .iter()
        .find(|entry| entry.code.eq_ignore_ascii_case(code));
    found.map(|entry| entry.text)
}

/// All codes, in the order of their table.
pub fn codes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|entry| entry.code)
}
