//! The queues of a live scheduler, as placement rules look them up.

use super::directory::{Found, QueueDirectory, QueueEntry, QueueEntryKind};
use crate::commit::Ledger;
use crate::queue::{CreationScheme, QueueKind, QueueSettings};

/// A directory of the queues that exist now, those that submissions created included.
#[derive(Clone, Copy, Debug)]
pub struct LiveQueues<'a>(pub &'a Ledger);

impl QueueDirectory for LiveQueues<'_> {
    fn find(&self, name: &str) -> Found {
        match self.0.queue(name) {
            Some(slot) => {
                let settings = &self.0.state().queues[slot].settings;
                Found::Queue(QueueEntry {
                    path: settings.path.to_string(),
                    kind: kind(settings),
                })
            }
            None if self.0.is_ambiguous(name) => Found::Ambiguous,
            None => Found::Missing,
        }
    }
}

/// What a queue holds, from its settings.
pub(super) fn kind(queue: &QueueSettings) -> QueueEntryKind {
    let scheme = queue.creation.as_ref().map(|creation| creation.scheme);
    match (queue.kind, scheme) {
        (QueueKind::Leaf, _) => QueueEntryKind::Leaf,
        (QueueKind::ManagedParent, _) => QueueEntryKind::ManagedParent,
        (QueueKind::Parent, Some(CreationScheme::Flexible)) => QueueEntryKind::CreatingParent,
        (QueueKind::Parent | QueueKind::Plan, _) => QueueEntryKind::Parent,
    }
}
