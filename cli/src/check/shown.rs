//! A finding as text: the lines that it points at, the labels below them, and the help.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use capsched::config::{Diagnostic, Report, Severity, Span};

use crate::excerpt::{Excerpt, Lines};
use crate::output::{escaped, printable};

/// The renderer of findings, with or without colours.
pub(super) fn renderer(colour: bool) -> Renderer {
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.decor_style(DecorStyle::Unicode)
}

/// The files of a report with their lines.
pub(super) struct Places<'a> {
    report: &'a Report,
    lines: Vec<Lines<'a>>,
}

impl<'a> Places<'a> {
    /// Cost: one pass over all files.
    pub(super) fn of(report: &'a Report) -> Self {
        let files = report.files.iter();
        Self {
            report,
            lines: files.map(|file| Lines::of(&file.text)).collect(),
        }
    }

    /// Name of the file, line and column of a span.
    pub(super) fn find(&self, span: &Span) -> Option<(&'a str, usize, usize)> {
        let (line, column) = self.lines.get(span.file)?.position(span.bytes.start);
        Some((&self.report.files[span.file].name, line, column))
    }

    /// The excerpt of a finding: its own place first, then the labels in the same file.
    fn excerpt(&self, finding: &Diagnostic) -> Option<Excerpt> {
        let span = finding.span.as_ref()?;
        let labels = finding.labels.iter().map(|label| &label.span);
        let here = labels.filter(|label| label.file == span.file);
        let places: Vec<_> = [span]
            .into_iter()
            .chain(here)
            .map(|s| s.bytes.clone())
            .collect();
        Excerpt::of(self.lines.get(span.file)?, &places)
    }
}

/// Renders one finding; everything in it that comes from input is cut and escaped.
pub(super) fn rendered(renderer: &Renderer, finding: &Diagnostic, places: &Places<'_>) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::NOTE.with_name("hint"),
    };
    let mut help: Vec<String> = finding.help.iter().map(|help| printable(help)).collect();
    let mut group = level
        .primary_title(printable(&finding.message))
        .id(finding.code)
        .elements([] as [Element<'_>; 0]);
    if let Some((name, line, column)) = finding.span.as_ref().and_then(|span| places.find(span)) {
        group = group.element(Origin::path(escaped(name)).line(line).char_column(column));
    }
    let excerpt = places.excerpt(finding);
    if let Some(excerpt) = &excerpt {
        group = group.element(snippet(excerpt, finding));
    }
    help.extend(elsewhere(finding, excerpt.as_ref(), places));
    for text in help {
        group = group.element(Level::HELP.message(text));
    }
    renderer.render(&[group])
}

/// The lines of an excerpt with the marks below them.
fn snippet<'a>(
    excerpt: &'a Excerpt,
    finding: &Diagnostic,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let file = finding.span.as_ref().map(|span| span.file);
    let here = finding
        .labels
        .iter()
        .filter(|label| Some(label.span.file) == file);
    let beside = here.enumerate().filter_map(|(i, label)| {
        let range = excerpt.place(i + 1)?;
        Some(
            AnnotationKind::Context
                .span(range)
                .label(printable(&label.text)),
        )
    });
    let own = excerpt
        .place(0)
        .map(|range| AnnotationKind::Primary.span(range));
    Snippet::source(excerpt.text())
        .line_start(excerpt.first_line())
        .annotations(own.into_iter().chain(beside))
}

/// The labels that have no place in the excerpt, each with where it stands.
fn elsewhere(finding: &Diagnostic, excerpt: Option<&Excerpt>, places: &Places<'_>) -> Vec<String> {
    let file = finding.span.as_ref().map(|span| span.file);
    let mut at = 0;
    let labels = finding.labels.iter().filter(|label| {
        if Some(label.span.file) != file {
            return true;
        }
        at += 1;
        excerpt.is_none_or(|excerpt| excerpt.place(at).is_none())
    });
    let texts = labels.filter_map(|label| {
        let (name, line, column) = places.find(&label.span)?;
        Some(printable(&format!(
            "{} ({name}:{line}:{column})",
            label.text
        )))
    });
    texts.collect()
}
