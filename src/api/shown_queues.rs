//! The queues that a snapshot shows, as placement rules look them up.

use crate::config::{QueueDirectory, QueueEntry, QueueMatch};
use crate::id::QueuePath;
use crate::queue::{Queue, QueueAccess};
use crate::snapshot::Snapshot;

/// A directory of the queues of a snapshot.
pub(super) struct ShownQueues<'a>(&'a Snapshot);

impl<'a> ShownQueues<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        Self(snapshot)
    }

    fn queues(&self) -> impl Iterator<Item = &'a Queue> {
        self.0
            .queues
            .iter()
            .filter(|queue| !queue.removed || queue.stray)
    }

    fn at(&self, path: &str) -> Option<&'a Queue> {
        self.queues().find(|queue| *queue.settings.path == *path)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    /// The path and the access lists of a queue.
    pub(super) fn access(&self, path: &str) -> Option<(QueuePath, QueueAccess)> {
        let settings = &self.at(path)?.settings;
        Some((settings.path.clone(), settings.access.clone()))
    }

    /// The priority of applications of a leaf that name none; 0 for one that does not exist.
    pub(super) fn default_priority(&self, path: &str) -> i32 {
        let leaf = self.find(path).queue();
        let leaf = leaf.and_then(|entry| self.at(&entry.path));
        leaf.filter(|queue| queue.is_leaf())
            .map_or(0, |queue| queue.settings.leaf.default_priority)
    }
}

impl QueueDirectory for ShownQueues<'_> {
    fn find(&self, name: &str) -> QueueMatch {
        if let Some(queue) = self.at(name) {
            return QueueMatch::Queue(QueueEntry::of(&queue.settings));
        }
        if name.contains('.') {
            return QueueMatch::Missing;
        }
        let mut named = self.queues().filter(|queue| queue.settings.name() == name);
        match (named.next(), named.next()) {
            (Some(only), None) => QueueMatch::Queue(QueueEntry::of(&only.settings)),
            (Some(_), Some(_)) => QueueMatch::Ambiguous,
            _ => QueueMatch::Missing,
        }
    }
}
