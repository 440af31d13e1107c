//! The queues as a configuration declares them, without a scheduler behind.

use std::collections::BTreeMap;

use super::PREFIX;
use super::directory::{Found, QueueDirectory, QueueEntry, QueueEntryKind};
use crate::config::source::{PropertySource, entries};

/// A directory of the declared queues, and of those that submissions created since.
///
/// It judges configurations for which no scheduler is running.
#[derive(Clone, Debug)]
pub struct DeclaredQueues {
    by_path: BTreeMap<String, QueueEntryKind>,
    by_name: BTreeMap<String, Vec<String>>,
}

impl DeclaredQueues {
    /// Reads the lists of children, from `root` down.
    #[must_use]
    pub fn read(source: &impl PropertySource) -> Self {
        let mut queues = Self {
            by_path: BTreeMap::new(),
            by_name: BTreeMap::new(),
        };
        let mut open = vec!["root".to_owned()];
        while let Some(path) = open.pop() {
            let list = source.get(&format!("{PREFIX}{path}.queues"));
            let list = list.unwrap_or_default();
            let children = entries(&list);
            let flag = |key: &str| source.flag(&format!("{PREFIX}{path}.{key}"), false);
            let kind = if flag("auto-queue-creation-v2.enabled") {
                QueueEntryKind::CreatingParent
            } else if !children.is_empty() || flag("reservable") {
                QueueEntryKind::Parent
            } else if flag("auto-create-child-queue.enabled") {
                QueueEntryKind::ManagedParent
            } else {
                QueueEntryKind::Leaf
            };
            // A name with a dot would be a path; the check of the queue tree refuses it.
            let children = children.iter().filter(|name| !name.contains('.'));
            open.extend(children.map(|name| format!("{path}.{name}")));
            queues.add(path, kind);
        }
        queues
    }

    /// Notes a leaf that a submission created, and the parents that were created with it.
    pub fn created(&mut self, path: &str) {
        for (dot, _) in path.match_indices('.') {
            let parent = &path[..dot];
            if !self.by_path.contains_key(parent) {
                self.add(parent.to_owned(), QueueEntryKind::CreatingParent);
            }
        }
        if !self.by_path.contains_key(path) {
            self.add(path.to_owned(), QueueEntryKind::Leaf);
        }
    }

    fn add(&mut self, path: String, kind: QueueEntryKind) {
        if self.by_path.insert(path.clone(), kind).is_none() {
            let name = path.rsplit('.').next().unwrap_or(&path).to_owned();
            self.by_name.entry(name).or_default().push(path);
        }
    }
}

impl QueueDirectory for DeclaredQueues {
    fn find(&self, name: &str) -> Found {
        let entry = |path: &str| {
            let kind = self.by_path.get(path).copied();
            kind.map_or(Found::Missing, |kind| {
                Found::Queue(QueueEntry {
                    path: path.to_owned(),
                    kind,
                })
            })
        };
        match self.by_name.get(name).map(Vec::as_slice) {
            Some([path]) if !self.by_path.contains_key(name) => entry(path),
            Some([_, _, ..]) if !self.by_path.contains_key(name) => Found::Ambiguous,
            _ => entry(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_kinds_and_created_queues_are_found() {
        let source: BTreeMap<String, String> = [
            ("root.queues", " a, b ,v1,v2,odd.name"),
            ("root.a.queues", "x"),
            ("root.b.queues", "x,y"),
            ("root.v1.auto-create-child-queue.enabled", "true"),
            ("root.v2.auto-queue-creation-v2.enabled", "true"),
        ]
        .map(|(key, value)| (format!("{PREFIX}{key}"), value.to_owned()))
        .into();
        let mut queues = DeclaredQueues::read(&source);
        queues.created("root.v2.g.u");
        let kind = |name: &str| {
            queues
                .find(name)
                .queue()
                .map(|entry| (entry.path, entry.kind))
        };
        for (name, path, want) in [
            ("root", "root", QueueEntryKind::Parent),
            ("a", "root.a", QueueEntryKind::Parent),
            ("y", "root.b.y", QueueEntryKind::Leaf),
            ("root.a.x", "root.a.x", QueueEntryKind::Leaf),
            ("v1", "root.v1", QueueEntryKind::ManagedParent),
            ("v2", "root.v2", QueueEntryKind::CreatingParent),
            ("g", "root.v2.g", QueueEntryKind::CreatingParent),
            ("u", "root.v2.g.u", QueueEntryKind::Leaf),
        ] {
            assert_eq!(kind(name), Some((path.to_owned(), want)), "{name}");
        }
        assert_eq!(queues.find("x"), Found::Ambiguous);
        assert_eq!(queues.find("a.x"), Found::Missing);
        assert_eq!(queues.find("name"), Found::Missing);
    }
}
