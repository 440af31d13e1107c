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
    entry(
        "E_PREEMPTION",
        "A key of preemption has a value that the policy cannot work with: a time or a share below \
         0, a share that is no number, an interval of 0, or an unknown order. It is refused only \
         while the monitor is on; otherwise nothing reads it.",
    ),
    entry(
        "W_PREEMPTION",
        "A key of preemption has no effect, or another key takes its effect: the monitor is off, \
         no queue serves by priority, nothing may be asked back, or containers are forgotten \
         before their wait is over.",
    ),
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
