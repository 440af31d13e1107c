//! Findings as SARIF 2.1.0, which code hosts and editors show at their lines.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use capsched::config::{self, Diagnostic, Severity, Span};
use serde_json::{Value, json};

use crate::check::Checked;
use crate::check::shown::Places;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One run with the findings of all files.
pub(in crate::check) fn sarif(results: &[Checked<'_>]) -> Value {
    let reports = results.iter().filter_map(|one| one.report.as_ref().ok());
    let codes: BTreeSet<&str> = reports
        .clone()
        .flat_map(|report| report.diagnostics.iter().map(|finding| finding.code))
        .collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    let found: Vec<Value> = reports
        .flat_map(|report| {
            let places = Places::of(report);
            let all = report.diagnostics.iter();
            all.map(|finding| result(finding, &places, &codes))
                .collect::<Vec<Value>>()
        })
        .collect();
    let unread: Vec<Value> = results
        .iter()
        .filter_map(|one| one.report.as_ref().err())
        .map(|message| json!({"level": "error", "message": {"text": message}}))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "capsched",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": codes.iter().map(|code| rule(code)).collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": unread.is_empty(),
                "toolExecutionNotifications": unread,
            }],
            "results": found,
        }],
    })
}

fn rule(code: &str) -> Value {
    let text = config::explain_code(code).unwrap_or_default();
    let short = text.split_once(". ").map_or(text, |(first, _)| first);
    let short = short.trim_end_matches('.');
    json!({
        "id": code,
        "shortDescription": {"text": format!("{short}.")},
        "fullDescription": {"text": text},
        "helpUri": format!(
            "{}/blob/main/docs/reference/codes/{code}.md",
            env!("CARGO_PKG_REPOSITORY")
        ),
        "defaultConfiguration": {"level": level(config::code_severity(code))},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    }
}

fn result(finding: &Diagnostic, places: &Places<'_>, codes: &[&str]) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let own = finding.span.as_ref().and_then(|span| place(span, places));
    let labels = finding.labels.iter().enumerate();
    let related = labels.filter_map(|(id, label)| {
        let mut place = place(&label.span, places)?;
        place["id"] = id.into();
        place["message"] = json!({"text": label.text});
        Some(place)
    });
    json!({
        "ruleId": finding.code,
        "ruleIndex": codes.iter().position(|code| *code == finding.code),
        "level": level(finding.severity),
        "message": {"text": text},
        "locations": own.into_iter().collect::<Vec<Value>>(),
        "relatedLocations": related.collect::<Vec<Value>>(),
    })
}

fn place(span: &Span, places: &Places<'_>) -> Option<Value> {
    let (file, line, column) = places.find(span)?;
    let end = Span {
        file: span.file,
        bytes: span.bytes.end..span.bytes.end,
    };
    let (_, end_line, end_column) = places.find(&end)?;
    Some(json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(file)},
        "region": {
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        },
    }}))
}

/// A path as a URI: absolute ones as files, others relative to where the command runs.
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("conf/a b.xml"), "conf/a%20b.xml");
        assert_eq!(uri("/etc/x.xml"), "file:///etc/x.xml");
    }
}
