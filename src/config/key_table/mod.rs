//! The table of all known keys, with default and meaning. The page of settings is generated from it.

mod queue;
mod scheduler;
mod site;
#[cfg(test)]
mod tests;

use super::prefix::PREFIX;

/// A key that the scheduler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownKey {
    /// Where the key stands.
    pub scope: KeyScope,
    /// Name after the prefix of the scope; `*` stands for a name of the cluster.
    pub name: &'static str,
    /// Value when the key is not set.
    pub default: &'static str,
    /// What the value means, with unit and range.
    pub about: &'static str,
    /// Whether the value is read; other keys are accepted, as YARN accepts them, and have no effect here.
    pub is_read: bool,
}

/// Where a key stands, which says its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KeyScope {
    /// Keys of the whole scheduler.
    Scheduler,
    /// Keys of any queue.
    Queue,
    /// Keys of a leaf.
    Leaf,
    /// Keys of a queue with children.
    Parent,
    /// Keys of a queue on a node label.
    Label,
    /// Keys of preemption.
    Preemption,
    /// Keys of `yarn-site.xml` and `resource-types.xml`.
    Site,
}

impl KeyScope {
    /// All scopes, in the order of the page.
    pub const ALL: [Self; 7] = [
        Self::Scheduler,
        Self::Queue,
        Self::Leaf,
        Self::Parent,
        Self::Label,
        Self::Preemption,
        Self::Site,
    ];

    /// What stands before the name; `*` stands for a name of the cluster.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Scheduler => PREFIX,
            Self::Queue | Self::Leaf | Self::Parent => "yarn.scheduler.capacity.*.",
            Self::Label => "yarn.scheduler.capacity.*.accessible-node-labels.*.",
            Self::Preemption => "yarn.resourcemanager.monitor.capacity.preemption.",
            Self::Site => "",
        }
    }
}

/// All known keys, by scope. Below `leaf-queue-template.` and the templates of
/// `auto-queue-creation-v2`, a queue has the keys of the queues that it creates.
///
/// ```
/// let capacity = capsched::config::known_keys().find(|key| key.name == "capacity");
/// assert!(capacity.is_some_and(|key| key.is_read));
/// ```
pub fn known_keys() -> impl Iterator<Item = &'static KnownKey> {
    KEYS.iter().flat_map(|keys| keys.iter())
}

/// The known keys of a scope.
pub(super) fn keys_of(scope: KeyScope) -> impl Iterator<Item = &'static KnownKey> {
    known_keys().filter(move |key| key.scope == scope)
}

/// Whether a scope has a key of this very name.
pub(super) fn has(scope: KeyScope, name: &str) -> bool {
    keys_of(scope).any(|key| key.name == name)
}

const fn key(
    scope: KeyScope,
    name: &'static str,
    default: &'static str,
    about: &'static str,
) -> KnownKey {
    KnownKey {
        scope,
        name,
        default,
        about,
        is_read: true,
    }
}

const fn ignored(scope: KeyScope, name: &'static str, about: &'static str) -> KnownKey {
    KnownKey {
        scope,
        name,
        default: "",
        about,
        is_read: false,
    }
}

const KEYS: [&[KnownKey]; 4] = [scheduler::KEYS, queue::KEYS, site::PREEMPTION, site::KEYS];
