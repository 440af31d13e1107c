//! The queues as a configuration declares them, without a scheduler behind.

use std::collections::{BTreeMap, BTreeSet};

use super::directory::{QueueDirectory, QueueEntry, QueueEntryKind, QueueMatch};
use crate::queue::QueueSettings;

/// A directory of the declared queues, and of those that submissions created since.
///
/// It judges configurations for which no scheduler is running.
#[derive(Clone, Debug)]
pub struct DeclaredQueues {
    by_path: BTreeMap<String, QueueEntryKind>,
    by_name: BTreeMap<String, Vec<String>>,
    created: BTreeSet<String>,
}

impl DeclaredQueues {
    /// The queues of a configuration.
    #[must_use]
    pub fn of<'a>(queues: impl IntoIterator<Item = &'a QueueSettings>) -> Self {
        let entry = |queue: &'a QueueSettings| (&*queue.path, QueueEntry::of(queue).kind);
        queues.into_iter().map(entry).collect()
    }

    /// Notes a leaf that a submission created, and the parents that were created with it.
    pub fn created(&mut self, path: &str) {
        for (dot, _) in path.match_indices('.') {
            let parent = &path[..dot];
            if !self.by_path.contains_key(parent) {
                self.created.insert(parent.to_owned());
                self.add(parent.to_owned(), QueueEntryKind::CreatingParent);
            }
        }
        if !self.by_path.contains_key(path) {
            self.created.insert(path.to_owned());
            self.add(path.to_owned(), QueueEntryKind::Leaf);
        }
    }

    /// Notes a live queue that submissions created, where its parent is known.
    pub fn note_live(&mut self, queue: &QueueSettings) {
        let known = |path: &str| self.by_path.contains_key(path);
        if !known(&queue.path) && queue.parent_path().is_some_and(known) {
            self.created.insert(queue.path.to_string());
            self.add(queue.path.to_string(), QueueEntry::of(queue).kind);
        }
    }

    /// Full paths of all queues, ascending.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.by_path.keys().map(String::as_str)
    }

    fn add(&mut self, path: String, kind: QueueEntryKind) {
        if self.by_path.insert(path.clone(), kind).is_none() {
            let name = path.rsplit('.').next().unwrap_or(&path).to_owned();
            self.by_name.entry(name).or_default().push(path);
        }
    }
}

impl<'a> FromIterator<(&'a str, QueueEntryKind)> for DeclaredQueues {
    fn from_iter<I: IntoIterator<Item = (&'a str, QueueEntryKind)>>(entries: I) -> Self {
        let mut queues = Self {
            by_path: BTreeMap::new(),
            by_name: BTreeMap::new(),
            created: BTreeSet::new(),
        };
        for (path, kind) in entries {
            queues.add(path.to_owned(), kind);
        }
        queues
    }
}

impl QueueDirectory for DeclaredQueues {
    fn find(&self, name: &str) -> QueueMatch {
        let entry = |path: &str| {
            let kind = self.by_path.get(path).copied();
            kind.map_or(QueueMatch::Missing, |kind| {
                QueueMatch::Queue(QueueEntry {
                    path: path.to_owned(),
                    kind,
                    dynamic: self.created.contains(path),
                })
            })
        };
        match self.by_name.get(name).map(Vec::as_slice) {
            Some([path]) if !self.by_path.contains_key(name) => entry(path),
            Some([_, _, ..]) if !self.by_path.contains_key(name) => QueueMatch::Ambiguous,
            _ => entry(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_kinds_and_created_queues_are_found() {
        let mut queues: DeclaredQueues = [
            ("root", QueueEntryKind::Parent),
            ("root.a", QueueEntryKind::Parent),
            ("root.a.x", QueueEntryKind::Leaf),
            ("root.b", QueueEntryKind::Parent),
            ("root.b.x", QueueEntryKind::Leaf),
            ("root.b.y", QueueEntryKind::Leaf),
            ("root.v1", QueueEntryKind::ManagedParent),
            ("root.v2", QueueEntryKind::CreatingParent),
        ]
        .into_iter()
        .collect();
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
        assert_eq!(queues.find("x"), QueueMatch::Ambiguous);
        assert_eq!(queues.find("a.x"), QueueMatch::Missing);
        assert_eq!(queues.find("z"), QueueMatch::Missing);
    }
}
