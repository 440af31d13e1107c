//! Findings by queue and property, as the reference's validation answers.

use std::collections::BTreeSet;

use serde::Serialize;

use super::diagnostic::{Diagnostic, Report, SourceFile};
use super::document::{Document, DocumentLimits};
use super::key_table::{KeyScope, known_keys};
use super::prefix::PREFIX;
use super::severity::Severity;
use super::xml;

/// What is wrong with a queue or one of its properties. Serialized with the field names of the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Issue {
    /// Full path of the queue; `root` for what belongs to no queue.
    pub queue_path: String,
    /// Full name of the property, where it is one.
    pub property_key: Option<String>,
    /// Stable code.
    pub rule_id: &'static str,
    /// `error`, `warning` or `hint`.
    pub severity: &'static str,
    /// What is wrong, with the offending value.
    pub message: String,
}

impl Issue {
    /// An error of the whole configuration.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            queue_path: "root".to_owned(),
            property_key: None,
            rule_id: code,
            severity: Severity::Error.word(),
            message: message.into(),
        }
    }
}

/// The findings of a report by queue and property, in its order. Properties are known where the configuration came
/// from files.
///
/// Cost: reads the files again.
///
/// ```
/// use capsched::config::{self, ConfigSource, Layer, Options};
/// let text = "<configuration><property><name>yarn.scheduler.capacity.root.queues</name>\
///     <value>a</value></property><property><name>yarn.scheduler.capacity.root.a.capacity</name>\
///     <value>x</value></property></configuration>";
/// let file = ConfigSource { name: "cs.xml".into(), bytes: text.into(), layer: Layer::Scheduler };
/// let issues = config::issues(&config::check(&[file], &Options::default()));
/// assert_eq!(issues[0].queue_path, "root.a");
/// assert_eq!(issues[0].property_key.as_deref(), Some("yarn.scheduler.capacity.root.a.capacity"));
/// ```
#[must_use]
pub fn issues(report: &Report) -> Vec<Issue> {
    let owners = Owners::of(report);
    let issue = |finding: &Diagnostic| {
        let key = owners.key(finding);
        Issue {
            queue_path: key.map_or("root", |key| owners.queue(key)).to_owned(),
            property_key: key.map(str::to_owned),
            rule_id: finding.code,
            severity: finding.severity.word(),
            message: finding.message.clone(),
        }
    };
    report.diagnostics.iter().map(issue).collect()
}

/// The properties of the files by place, and the paths of the queues that lists name.
struct Owners {
    documents: Vec<Document>,
    queues: BTreeSet<String>,
}

impl Owners {
    fn of(report: &Report) -> Self {
        let limits = DocumentLimits::default();
        let read = |(at, file): (usize, &SourceFile)| {
            xml::read(file.text.as_bytes(), at, &limits).unwrap_or_default()
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
    let mut keys = known_keys();
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
