//! What placement rules may know of the queues.

use crate::queue::{CreationScheme, QueueKind, QueueSettings};

/// The queues that exist at the moment, found by name.
pub trait QueueDirectory {
    /// Finds a queue by its full path, or by its last part when no other queue has the same.
    fn find(&self, name: &str) -> QueueMatch;
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueMatch {
    /// Nothing.
    Missing,
    /// Several queues with this last part.
    Ambiguous,
    /// One queue.
    Queue(QueueEntry),
}

impl QueueMatch {
    /// The queue, if there is exactly one.
    #[must_use]
    pub fn queue(self) -> Option<QueueEntry> {
        match self {
            Self::Queue(entry) => Some(entry),
            Self::Missing | Self::Ambiguous => None,
        }
    }
}

/// A queue that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// Full path, starting with `root`.
    pub path: String,
    /// Whether it takes applications or queues.
    pub kind: QueueEntryKind,
    /// Whether a submission created it.
    pub dynamic: bool,
}

impl QueueEntry {
    /// The entry of a queue with these settings.
    #[must_use]
    pub fn of(queue: &QueueSettings) -> Self {
        let scheme = queue.creation.as_ref().map(|creation| creation.scheme);
        let kind = match (queue.kind, scheme) {
            (QueueKind::Leaf, _) => QueueEntryKind::Leaf,
            (QueueKind::ManagedParent, _) => QueueEntryKind::ManagedParent,
            (QueueKind::Parent, Some(CreationScheme::Flexible)) => QueueEntryKind::CreatingParent,
            (QueueKind::Parent | QueueKind::Plan, _) => QueueEntryKind::Parent,
        };
        Self {
            path: queue.path.to_string(),
            kind,
            dynamic: queue.dynamic,
        }
    }
}

/// What a queue holds, as far as placement cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEntryKind {
    /// Applications, or nothing while it is stopped: a rule that places into a stopped queue is
    /// final.
    Leaf,
    /// Queues that the administrator declares.
    Parent,
    /// Queues that submissions may create too, one or two levels deep (flexible creation).
    CreatingParent,
    /// Leaves that submissions create (managed parent).
    ManagedParent,
}

impl QueueEntryKind {
    /// Whether submissions may create queues right below.
    #[must_use]
    pub const fn creates(self) -> bool {
        matches!(self, Self::CreatingParent | Self::ManagedParent)
    }
}
