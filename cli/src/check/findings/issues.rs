//! Findings in the form of the reference's validation of a configuration: issues by queue and
//! property.

use std::collections::BTreeSet;

use capsched::config::{self, Diagnostic, Document, DocumentLimits, KeyScope, Report};
use serde_json::{Value, json};

use crate::check::Checked;

use super::severity;

const PREFIX: &str = "yarn.scheduler.capacity.";

/// `{"valid": …, "issues": [{queuePath, propertyKey, ruleId, severity, message}]}`. What belongs to
/// no queue has `root`, what belongs to no property has a null key.
pub(in crate::check) fn issues(results: &[Checked<'_>], strict: bool) -> Value {
    let mut all = Vec::new();
    let mut valid = true;
    for checked in results {
        match &checked.report {
            Ok(report) => {
                valid &= !report.refuses(strict);
                let owners = Owners::of(report);
                all.extend(report.diagnostics.iter().map(|one| issue(one, &owners)));
            }
            Err(message) => {
                valid = false;
                all.push(json!({
                    "queuePath": "root", "propertyKey": null, "ruleId": "E_IO",
                    "severity": "error", "message": message,
                }));
            }
        }
    }
    json!({"valid": valid, "issues": all})
}

fn issue(finding: &Diagnostic, owners: &Owners) -> Value {
    let key = owners.key(finding);
    json!({
        "queuePath": key.map_or("root", |key| owners.queue(key)),
        "propertyKey": key,
        "ruleId": finding.code,
        "severity": severity(finding.severity),
        "message": finding.message,
    })
}

/// The properties of the files by place, and the paths of the queues that lists name.
struct Owners {
    documents: Vec<Document>,
    queues: BTreeSet<String>,
}

impl Owners {
    fn of(report: &Report) -> Self {
        let limits = DocumentLimits::default();
        let read = |(at, file): (usize, &config::SourceFile)| {
            config::read(file.text.as_bytes(), at, &limits).unwrap_or_default()
        };
        let documents: Vec<Document> = report.files.iter().enumerate().map(read).collect();
        let queues = listed(&documents);
        Self { documents, queues }
    }

    /// The property whose name or value holds the place of a finding.
    fn key(&self, finding: &Diagnostic) -> Option<&str> {
        let span = finding.span.as_ref()?;
        let mut properties = self.documents.get(span.file)?.properties.iter();
        let found = properties.find(|property| {
            let whole = property.name_span.start.min(property.value_span.start)
                ..property.name_span.end.max(property.value_span.end);
            whole.contains(&span.bytes.start) && span.bytes.end <= whole.end
        });
        found.map(|property| property.name.as_str())
    }

    /// The queue of a key: the longest listed path in front of it, or what stands before the name
    /// of a known key.
    fn queue<'a>(&self, key: &'a str) -> &'a str {
        let Some(rest) = key.strip_prefix(PREFIX) else {
            return "root";
        };
        if !rest.starts_with("root.") {
            return "root";
        }
        let dots: Vec<usize> = rest.match_indices('.').map(|(dot, _)| dot).collect();
        let listed = dots.iter().rev().map(|dot| &rest[..*dot]);
        let listed = listed.into_iter().find(|path| self.queues.contains(*path));
        let named = dots.iter().find(|dot| is_queue_key(&rest[**dot + 1..]));
        match (listed, named) {
            (_, Some(dot)) => &rest[..*dot],
            (Some(path), None) => path,
            (None, None) => "root",
        }
    }
}

/// Whether a name is a known key of a queue.
fn is_queue_key(name: &str) -> bool {
    let scopes = [KeyScope::Queue, KeyScope::Leaf, KeyScope::Parent];
    let mut keys = config::known_keys();
    let group = |key: &str| {
        key.split(['.', '*']).next().is_some_and(|first| {
            // `accessible-node-labels.x.capacity`, `user-settings.u.weight` and templates.
            key.contains('.') && name.split('.').next() == Some(first)
        })
    };
    name.starts_with("accessible-node-labels")
        || name.starts_with("leaf-queue-template.")
        || keys.any(|key| scopes.contains(&key.scope) && (key.name == name || group(key.name)))
}

/// The paths that the lists of the files name, `root` first.
fn listed(documents: &[Document]) -> BTreeSet<String> {
    let mut queues = BTreeSet::from(["root".to_owned()]);
    let mut open = vec!["root".to_owned()];
    while let Some(path) = open.pop() {
        let key = format!("{PREFIX}{path}.queues");
        let properties = documents.iter().flat_map(|document| &document.properties);
        let lists = properties.filter(|property| property.name == key);
        for name in lists
            .filter_map(|property| property.value.as_deref())
            .flat_map(|list| list.split(','))
        {
            let child = format!("{path}.{}", name.trim());
            if !name.trim().is_empty() && queues.insert(child.clone()) {
                open.push(child);
            }
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_the_queue_in_front_of_its_name() {
        let owners = Owners {
            documents: Vec::new(),
            queues: ["root", "root.a", "root.a.b"].map(str::to_owned).into(),
        };
        for (key, queue) in [
            ("yarn.scheduler.capacity.root.a.b.capacity", "root.a.b"),
            ("yarn.scheduler.capacity.root.a.queues", "root.a"),
            ("yarn.scheduler.capacity.root.new.capacity", "root.new"),
            ("yarn.scheduler.capacity.root.a.bogus", "root.a"),
            (
                "yarn.scheduler.capacity.root.a.accessible-node-labels.x.capacity",
                "root.a",
            ),
            ("yarn.scheduler.capacity.maximum-applications", "root"),
            ("yarn.acl.enable", "root"),
        ] {
            assert_eq!(owners.queue(key), queue, "{key}");
        }
    }
}
