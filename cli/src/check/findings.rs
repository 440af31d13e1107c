//! Findings of files as documents for programs: our JSON, SARIF 2.1.0, and the answer of the
//! reference's validation.

mod issues;
mod sarif;

use capsched::config::{Diagnostic, Label, Report, Severity, Span};
use serde_json::{Value, json};

use super::Checked;
use super::cluster::Tree;
use super::shown::Places;

pub(super) use issues::issues;
pub(super) use sarif::sarif;

/// Number of errors, warnings and hints, listed or not.
pub(super) fn counts(report: &Report) -> [usize; 3] {
    [Severity::Error, Severity::Warning, Severity::Hint].map(|severity| report.count(severity))
}

/// Our own document.
pub(super) fn json(results: &[Checked<'_>], strict: bool) -> Value {
    let all: Vec<Value> = results.iter().map(|one| of_file(one, strict)).collect();
    json!({ "files": all })
}

fn of_file(checked: &Checked<'_>, strict: bool) -> Value {
    let file = checked.path.display().to_string();
    let report = match &checked.report {
        Ok(report) => report,
        Err(message) => return json!({ "file": file, "unreadable": message }),
    };
    let [errors, warnings, hints] = counts(report);
    let places = Places::of(report);
    let all = report.diagnostics.iter();
    let findings: Vec<Value> = all.map(|one| finding(one, &places)).collect();
    let mut document = json!({
        "file": file,
        "accepted": !report.refuses(strict),
        "errors": errors,
        "warnings": warnings,
        "hints": hints,
        "findings": findings,
    });
    if !report.further.is_empty() {
        let of_kind = |(&(severity, code), &count): (&(Severity, &str), &usize)| json!({"code": code, "severity": severity.word(), "count": count});
        // What the list leaves out of kinds that repeat without end.
        document["further"] = report.further.iter().map(of_kind).collect();
    }
    if let Some(tree) = &checked.tree {
        document["cluster"] = tree_json(tree, &places);
    }
    document
}

fn tree_json(tree: &Tree, places: &Places<'_>) -> Value {
    tree.to_json(|span| at(places, span))
}

fn finding(finding: &Diagnostic, places: &Places<'_>) -> Value {
    let label = |label: &Label| json!({"text": label.text, "at": at(places, &label.span)});
    let labels: Vec<Value> = finding.labels.iter().map(label).collect();
    json!({
        "code": finding.code,
        // What the recordings of the reference call it.
        "word": finding.word(),
        "severity": finding.severity.word(),
        "message": finding.message,
        "at": finding.span.as_ref().map(|span| at(places, span)),
        "labels": labels,
        "help": finding.help,
    })
}

fn at(places: &Places<'_>, span: &Span) -> Value {
    let Some((file, line, column)) = places.find(span) else {
        return Value::Null;
    };
    json!({
        "file": file,
        "line": line,
        "column": column,
        "start": span.bytes.start,
        "end": span.bytes.end,
    })
}
