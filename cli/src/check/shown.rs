//! A finding as text: the lines that it points at, the labels below them, and the help.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};
use capsched::config::{Diagnostic, Report, Severity, SourceFile, Span};

/// The renderer of findings, with or without colours.
pub(super) fn renderer(colour: bool) -> Renderer {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.decor_style(DecorStyle::Unicode)
}

/// Renders one finding. Cost: the lines between the first and the last label.
pub(super) fn rendered(renderer: &Renderer, finding: &Diagnostic, report: &Report) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::NOTE.with_name("hint"),
    };
    let mut group = level
        .primary_title(finding.message.as_str())
        .id(finding.code)
        .elements(finding.span.as_ref().and_then(|span| {
            let file = report.files.get(span.file)?;
            Some(snippet(file, span, finding))
        }));
    for text in help(finding, report) {
        group = group.element(Level::HELP.message(text));
    }
    renderer.render(&[group])
}

/// The excerpt of the file of the finding, with all labels in that file.
fn snippet<'a>(
    file: &'a SourceFile,
    span: &Span,
    finding: &'a Diagnostic,
) -> Snippet<'a, Annotation<'a>> {
    let text = file.text.as_str();
    let beside = finding
        .labels
        .iter()
        .filter(|label| label.span.file == span.file)
        .map(|label| {
            let range = within(text, &label.span.bytes);
            (AnnotationKind::Context, range, Some(label.text.as_str()))
        });
    let primary = (AnnotationKind::Primary, within(text, &span.bytes), None);
    let marks: Vec<_> = std::iter::once(primary).chain(beside).collect();
    let first = marks.iter().map(|(_, range, _)| range.start).min();
    let last = marks.iter().map(|(_, range, _)| range.end).max();
    let lines = whole_lines(text, first.unwrap_or(0)..last.unwrap_or(0));
    let (line, _) = file.position(lines.start);
    let annotations = marks.into_iter().map(|(kind, range, label)| {
        kind.span(range.start - lines.start..range.end - lines.start)
            .label(label)
    });
    Snippet::source(&text[lines.clone()])
        .line_start(line)
        .path(file.name.as_str())
        .annotations(annotations)
}

/// The help of a finding, and the labels that stand in other files.
fn help(finding: &Diagnostic, report: &Report) -> Vec<String> {
    let file = finding.span.as_ref().map(|span| span.file);
    let elsewhere = finding
        .labels
        .iter()
        .filter(|label| Some(label.span.file) != file);
    let elsewhere = elsewhere.filter_map(|label| {
        let at = place(report, &label.span)?;
        Some(format!("{} ({at})", label.text))
    });
    finding.help.iter().cloned().chain(elsewhere).collect()
}

/// A range of bytes moved onto the borders of characters inside of a text.
fn within(text: &str, bytes: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(bytes.start);
    start..text.ceil_char_boundary(bytes.end).max(start)
}

/// The lines that hold a range, without the break after the last one.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..]
        .find('\n')
        .map_or(text.len(), |at| range.end + at);
    start..end
}

/// `file:line:column` of a span.
fn place(report: &Report, span: &Span) -> Option<String> {
    let file = report.files.get(span.file)?;
    let (line, column) = file.position(span.bytes.start);
    Some(format!("{}:{line}:{column}", file.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_inside_of_the_text_and_between_characters() {
        let text = "a\u{e4}b";
        assert_eq!(within(text, &(2..3)), 1..3);
        assert_eq!(within(text, &(4..9)), 4..4);
        assert_eq!(within(text, &(7..9)), 4..4);
        assert_eq!(within("", &(0..1)), 0..0);
    }

    #[test]
    fn an_excerpt_is_of_whole_lines() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(&text[whole_lines(text, 5..6)], "two");
        assert_eq!(&text[whole_lines(text, 2..5)], "one\ntwo");
        assert_eq!(&text[whole_lines(text, 14..14)], "");
        assert_eq!(&text[whole_lines(text, 0..0)], "one");
    }
}
