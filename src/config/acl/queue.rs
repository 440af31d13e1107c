//! The access lists of queues.

use std::collections::BTreeMap;

use super::PREFIX;
use super::list::{AccessList, Caller};
use super::template;
use crate::config::source::PropertySource;

/// What a queue's access lists grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueuePermission {
    /// Submit applications.
    Submit,
    /// Change and kill applications; includes submitting them.
    Administer,
}

impl QueuePermission {
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Submit => "acl_submit_applications",
            Self::Administer => "acl_administer_queue",
        }
    }
}

/// The access lists of all queues, by full path.
// As ConfiguredYarnAuthorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueAccess {
    lists: BTreeMap<String, Lists>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lists {
    submit: AccessList,
    administer: AccessList,
}

impl QueueAccess {
    /// Reads the lists of the queues at these paths.
    #[must_use]
    pub fn read<'a>(
        source: &impl PropertySource,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut access = Self::default();
        for path in paths {
            access.add(source, path);
        }
        access
    }

    /// Reads the lists of one more queue, such as one that a submission created. Lists of
    /// templates do not become those of the queue.
    pub fn add(&mut self, source: &impl PropertySource, path: &str) {
        let list = |permission: QueuePermission| {
            let key = format!("{PREFIX}{path}.{}", permission.key());
            match source.filled(&key) {
                Some(text) => AccessList::parse(&text),
                None if path == "root" => AccessList::everybody(),
                None => AccessList::nobody(),
            }
        };
        let lists = Lists {
            submit: list(QueuePermission::Submit),
            administer: list(QueuePermission::Administer),
        };
        self.lists.insert(path.to_owned(), lists);
    }

    /// Forgets a queue that was removed.
    pub fn remove(&mut self, path: &str) {
        self.lists.remove(path);
    }

    /// Whether the lists of the queue at a full path or of an ancestor grant this one permission.
    /// For a queue that does not exist the nearest ancestor that does decides.
    #[must_use]
    pub fn grants(&self, caller: &Caller<'_>, permission: QueuePermission, path: &str) -> bool {
        let mut path = path;
        loop {
            let list = self.lists.get(path).map(|lists| match permission {
                QueuePermission::Submit => &lists.submit,
                QueuePermission::Administer => &lists.administer,
            });
            if list.is_some_and(|list| list.admits(caller)) {
                return true;
            }
            match path.rsplit_once('.') {
                Some((parent, _)) => path = parent,
                None => return false,
            }
        }
    }

    /// Whether the caller may submit to the queue at a full path: by the right to submit or to
    /// administer.
    #[must_use]
    pub fn may_submit(&self, caller: &Caller<'_>, path: &str) -> bool {
        self.grants(caller, QueuePermission::Submit, path)
            || self.grants(caller, QueuePermission::Administer, path)
    }

    /// Whether the caller may make the submission that creates the queue at `path` below the
    /// existing queue `parent`: as [`may_submit`](Self::may_submit), or by the lists in the
    /// templates of the queues to be created.
    #[must_use]
    pub fn may_create(
        &self,
        source: &impl PropertySource,
        caller: &Caller<'_>,
        path: &str,
        parent: &str,
    ) -> bool {
        self.may_submit(caller, path) || template::admits(source, caller, path, parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 4] = ["root", "root.a", "root.a.x", "root.b"];

    fn source(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        let entries = entries.iter();
        entries
            .map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned()))
            .collect()
    }

    fn caller(user: &str) -> Caller<'_> {
        Caller {
            user,
            groups: &[],
            real_user: None,
        }
    }

    #[test]
    fn without_lists_everybody_may_do_everything() {
        for empty in [source(&[]), source(&[("root.acl_submit_applications", "")])] {
            let access = QueueAccess::read(&empty, PATHS);
            for permission in [QueuePermission::Submit, QueuePermission::Administer] {
                assert!(access.grants(&caller("ann"), permission, "root.a.x"));
            }
        }
    }

    #[test]
    fn a_grant_of_an_ancestor_holds_and_a_child_only_adds() {
        let source = source(&[
            ("root.acl_submit_applications", " "),
            ("root.acl_administer_queue", " "),
            ("root.a.acl_submit_applications", "ann"),
            ("root.a.x.acl_submit_applications", "bob"),
            ("root.a.acl_administer_queue", "cid"),
        ]);
        let access = QueueAccess::read(&source, PATHS);
        let submit = QueuePermission::Submit;
        let administer = QueuePermission::Administer;
        for (user, permission, path, want) in [
            ("ann", submit, "root", false),
            ("ann", submit, "root.a", true),
            ("ann", submit, "root.a.x", true),
            ("ann", submit, "root.b", false),
            ("bob", submit, "root.a", false),
            ("bob", submit, "root.a.x", true),
            ("cid", submit, "root.a.x", false),
            ("cid", administer, "root.a.x", true),
            ("ann", administer, "root.a.x", false),
            ("ann", submit, "root.a.new", true),
            ("ann", submit, "root.a.x.deep.er", true),
            ("ann", submit, "root.nowhere", false),
            ("ann", submit, "nowhere", false),
        ] {
            let found = access.grants(&caller(user), permission, path);
            assert_eq!(found, want, "{user} {permission:?} {path}");
        }
        assert!(access.may_submit(&caller("cid"), "root.a.x"));
        assert!(!access.may_submit(&caller("cid"), "root.b"));
    }

    #[test]
    fn a_removed_queue_grants_nothing() {
        let source = source(&[
            ("root.acl_submit_applications", " "),
            ("root.a.acl_submit_applications", "ann"),
        ]);
        let mut access = QueueAccess::read(&source, PATHS);
        access.remove("root.a");
        assert!(!access.grants(&caller("ann"), QueuePermission::Submit, "root.a.x"));
    }

    #[test]
    fn templates_open_a_queue_only_for_its_creation() {
        let source = source(&[
            ("root.acl_submit_applications", " "),
            ("root.acl_administer_queue", " "),
            (
                "root.a.auto-queue-creation-v2.template.acl_submit_applications",
                "bob",
            ),
        ]);
        let mut access = QueueAccess::read(&source, ["root", "root.a"]);
        let (bob, path) = (caller("bob"), "root.a.bob");
        assert!(!access.may_submit(&bob, path));
        assert!(access.may_create(&source, &bob, path, "root.a"));
        access.add(&source, path);
        assert!(!access.may_submit(&bob, path));
    }
}
