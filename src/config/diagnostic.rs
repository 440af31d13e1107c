//! What is wrong with a configuration, where, and what helps.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::codes;
use super::severity::Severity;

/// A byte range of one of the files of a [`Report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index into the files of the report.
    pub file: usize,
    /// Bytes of that file, counted before any conversion.
    pub bytes: Range<usize>,
}

/// A second place that belongs to a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What it has to do with the finding.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Stable code, explained by [`explain_code`](super::explain_code).
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, with the offending value.
    pub message: String,
    /// Where, when the value stands in a file.
    pub span: Option<Span>,
    /// Further places.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A finding without a place.
    #[must_use]
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            span: None,
            labels: Vec::new(),
            help: None,
        }
    }

    /// An error without a place.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message)
    }

    /// A warning without a place.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message)
    }

    /// The same finding at a place.
    #[must_use]
    pub fn at(mut self, span: Option<Span>) -> Self {
        self.span = span;
        self
    }

    /// The same finding with a second place, when it is known.
    #[must_use]
    pub fn also(mut self, span: Option<Span>, text: impl Into<String>) -> Self {
        if let Some(span) = span {
            let text = text.into();
            self.labels.push(Label { span, text });
        }
        self
    }

    /// The same finding with an advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The word of the reference's recordings for this refusal: the code itself, except for the
    /// finer codes of broken XML.
    #[must_use]
    pub fn word(&self) -> &'static str {
        codes::word(self.code)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}

/// A file that was read, for messages that point into it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SourceFile {
    /// Path or another name of the text.
    pub name: String,
    /// The text; bytes that are no UTF-8 stand as `?` each.
    pub text: String,
}

impl SourceFile {
    /// Line and column (in characters) of a byte, both counted from 1.
    #[must_use]
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let mut end = byte.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// Everything that was found in a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The files, in the order in which they were given.
    pub files: Vec<SourceFile>,
    /// Findings: errors in the order in which the reference would meet them, then the others.
    /// At most 100 errors, 1,000 warnings of a kind and 10 hints of a kind.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there are of each kind, by severity and code.
    pub further: BTreeMap<(Severity, &'static str), usize>,
}

impl Report {
    /// The errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let error = |d: &&Diagnostic| d.severity == Severity::Error;
        self.diagnostics.iter().filter(error)
    }

    /// The error that decides.
    #[must_use]
    pub fn first_error(&self) -> Option<&Diagnostic> {
        self.errors().next()
    }

    /// How many findings there are of a severity, listed or not.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        let listed = self.diagnostics.iter();
        let listed = listed
            .filter(|finding| finding.severity == severity)
            .count();
        let further = self.further.iter().filter(|((of, _), _)| *of == severity);
        listed + further.map(|(_, count)| count).sum::<usize>()
    }

    /// The first findings of each kind, at most `most` of them, in their order. Beside them how many
    /// more there are of each kind that has more.
    #[must_use]
    pub fn first_of_each_kind(
        &self,
        most: usize,
    ) -> (Vec<&Diagnostic>, BTreeMap<(Severity, &'static str), usize>) {
        let mut seen = BTreeMap::new();
        let (first, rest): (Vec<_>, Vec<_>) = self.diagnostics.iter().partition(|finding| {
            let seen: &mut usize = seen.entry((finding.severity, finding.code)).or_default();
            *seen += 1;
            *seen <= most
        });
        let mut more = self.further.clone();
        for finding in rest {
            *more.entry((finding.severity, finding.code)).or_default() += 1;
        }
        (first, more)
    }

    /// Whether the configuration is refused; `strict` refuses warnings too.
    #[must_use]
    pub fn refuses(&self, strict: bool) -> bool {
        self.diagnostics.iter().any(|d| match d.severity {
            Severity::Error => true,
            Severity::Warning => strict,
            Severity::Hint => false,
        })
    }
}

impl fmt::Display for Report {
    /// One finding per line: `file:line:column: message [code]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.diagnostics.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            let place = finding.span.as_ref().and_then(|span| {
                let file = self.files.get(span.file)?;
                Some((&file.name, file.position(span.bytes.start)))
            });
            if let Some((name, (line, column))) = place {
                write!(f, "{name}:{line}:{column}: ")?;
            }
            write!(f, "{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

impl std::error::Error for Report {}

/// An offending value for a message: at most 64 characters, control characters escaped.
pub(super) fn clip(text: &str) -> String {
    cut(text, 64)
}

/// A key or a class for a message: at most 160 characters, since its end is what differs.
pub(super) fn clip_key(text: &str) -> String {
    cut(text, 160)
}

/// The message of a library, which may repeat a part of the input: at most 240 characters.
pub(super) fn clip_message(text: &str) -> String {
    cut(text, 240)
}

fn cut(text: &str, most: usize) -> String {
    let mut out: String = text
        .chars()
        .take(most)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let file = SourceFile {
            name: "f".into(),
            text: "ab\né=x".into(),
        };
        assert_eq!(file.position(0), (1, 1));
        assert_eq!(file.position(3), (2, 1));
        assert_eq!(file.position(6), (2, 3));
        assert_eq!(file.position(99), (2, 4));
    }

    #[test]
    fn the_first_of_each_kind_leave_a_count_of_the_others() {
        let warning = |code, i: usize| Diagnostic::warning(code, format!("{code} {i}"));
        let mut report = Report::default();
        for i in 0..5 {
            report.diagnostics.push(warning("W_QUEUE_UNLISTED", i));
        }
        report.diagnostics.push(warning("W_KEY_UNKNOWN", 0));
        let unlisted = (Severity::Warning, "W_QUEUE_UNLISTED");
        report.further.insert(unlisted, 95);
        let (first, more) = report.first_of_each_kind(2);
        let messages: Vec<&str> = first.iter().map(|finding| &*finding.message).collect();
        let expected = [
            "W_QUEUE_UNLISTED 0",
            "W_QUEUE_UNLISTED 1",
            "W_KEY_UNKNOWN 0",
        ];
        assert_eq!(messages, expected);
        assert_eq!(more.into_iter().collect::<Vec<_>>(), [(unlisted, 98)]);
        assert_eq!(report.count(Severity::Warning), 101);
        assert_eq!(report.count(Severity::Error), 0);
    }

    #[test]
    fn strict_reports_refuse_warnings() {
        let mut report = Report::default();
        report
            .diagnostics
            .push(Diagnostic::warning("W_KEY_UNKNOWN", "x"));
        assert!(!report.refuses(false));
        assert!(report.refuses(true));
        assert_eq!(report.first_error(), None);
        assert_eq!(report.to_string(), "x [W_KEY_UNKNOWN]");
    }

    #[test]
    fn offending_values_are_cut_and_escaped() {
        assert_eq!(clip("a\u{1b}\n"), "a\\u{1b}\\n");
        assert_eq!(clip(&"x".repeat(65)).chars().count(), 65);
    }
}
