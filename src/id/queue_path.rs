//! The full path of a queue.
//!
//! What: each distinct path is kept once, until the process ends. A [`QueuePath`] refers to it.
//!
//! Why: each event of a container has the path of its queue. The committer makes events, and another thread drops
//! them. With a count of references both would write the same counter, and its cache line would move between their
//! cores with each container.
//!
//! Cost: making one from text takes a lock and a look into a table of all paths. A path of a queue that was removed
//! stays in memory. So text of a caller is compared with paths, and only what names a queue becomes one.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use internment::Intern;
use serde::ser::{Serialize, Serializer};

/// Full path of a queue, from `root`. It is ordered and hashed as its text. The text stays in memory until the process
/// ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePath(Intern<str>);

// `Borrow<str>` demands the hash of the text; that of `Intern` is of the address.
impl Hash for QueuePath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Deref for QueuePath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for QueuePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for QueuePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for QueuePath {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

impl From<String> for QueuePath {
    fn from(path: String) -> Self {
        Self(path.as_str().into())
    }
}

impl From<QueuePath> for Arc<str> {
    fn from(path: QueuePath) -> Self {
        (*path).into()
    }
}

impl PartialEq<str> for QueuePath {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for QueuePath {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for QueuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for QueuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for QueuePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;
    use crate::id::Map;

    #[test]
    fn paths_are_equal_and_ordered_as_their_text() {
        let texts = ["root.b", "root", "root.a.b", "root.a"];
        let mut paths = texts.map(QueuePath::from);
        paths.sort();
        assert_eq!(paths, ["root", "root.a", "root.a.b", "root.b"]);
        let again = QueuePath::from("root.a".to_owned());
        assert_eq!(again, paths[1]);
        assert!(std::ptr::eq(&*again, &*paths[1]), "each path is kept once");
    }

    #[test]
    fn a_map_of_paths_is_searched_by_text() {
        let path = QueuePath::from("root.a");
        let known: Map<_, _> = [(path.clone(), 1)].into_iter().collect();
        assert_eq!(known.get("root.a"), Some(&1));
        let hasher = known.hasher();
        assert_eq!(hasher.hash_one(&path), hasher.hash_one("root.a"));
    }
}
