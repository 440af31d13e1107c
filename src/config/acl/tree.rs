//! The access lists of queues.

use std::collections::BTreeMap;

use super::caller::Caller;
use super::permission::QueuePermission;
use super::template;
use crate::config::source::PropertySource;
use crate::id::QueuePath;
use crate::queue::{PriorityAccess, QueueAccess, QueueSettings};

/// The access lists of all queues, by full path.
// As ConfiguredYarnAuthorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessTree {
    lists: BTreeMap<QueuePath, QueueAccess>,
}

impl AccessTree {
    /// The lists of these queues.
    #[must_use]
    pub fn of<'a>(queues: impl IntoIterator<Item = &'a QueueSettings>) -> Self {
        let lists = queues.into_iter();
        let lists = lists.map(|queue| (queue.path.clone(), queue.access.clone()));
        Self {
            lists: lists.collect(),
        }
    }

    /// Adds the lists of a queue that a submission created. Only lists that the configuration has
    /// for the path itself count; those of templates do not become lists of the queue.
    pub fn add(&mut self, path: QueuePath, access: QueueAccess) {
        self.lists.insert(path, access);
    }

    /// Forgets a queue that was removed.
    pub fn remove(&mut self, path: &str) {
        self.lists.remove(path);
    }

    /// The priority groups of a leaf; none where everybody may have any priority.
    #[must_use]
    pub fn priorities(&self, path: &str) -> &[PriorityAccess] {
        let access = self.lists.get(path);
        access.map_or(&[], |access| &access.priorities)
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
            if list.is_some_and(|list| caller.is_in(list)) {
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
    use crate::config::access::access_list;
    use crate::config::prefix::PREFIX;

    /// A tree from paths, submit lists and administer lists.
    fn tree(lists: &[(&str, &str, &str)]) -> AccessTree {
        let mut tree = AccessTree::default();
        for (path, submit, administer) in lists {
            let access = QueueAccess {
                submit: access_list(submit),
                administer: access_list(administer),
                priorities: Vec::new(),
            };
            tree.add((*path).into(), access);
        }
        tree
    }

    fn caller(user: &str) -> Caller<'_> {
        Caller {
            user,
            groups: &[],
            real_user: None,
        }
    }

    #[test]
    fn a_grant_of_an_ancestor_holds_and_a_child_only_adds() {
        let tree = tree(&[
            ("root", " ", " "),
            ("root.a", "ann", "cid"),
            ("root.a.x", "bob", " "),
            ("root.b", " ", " "),
        ]);
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
            let found = tree.grants(&caller(user), permission, path);
            assert_eq!(found, want, "{user} {permission:?} {path}");
        }
        assert!(tree.may_submit(&caller("cid"), "root.a.x"));
        assert!(!tree.may_submit(&caller("cid"), "root.b"));
    }

    #[test]
    fn an_open_root_opens_every_queue() {
        let tree = tree(&[("root", "*", "*"), ("root.a", " ", " ")]);
        for permission in [QueuePermission::Submit, QueuePermission::Administer] {
            assert!(tree.grants(&caller("ann"), permission, "root.a"));
        }
    }

    #[test]
    fn a_removed_queue_grants_nothing() {
        let mut tree = tree(&[("root", " ", " "), ("root.a", "ann", " ")]);
        tree.remove("root.a");
        assert!(!tree.grants(&caller("ann"), QueuePermission::Submit, "root.a.x"));
    }

    #[test]
    fn templates_open_a_queue_only_for_its_creation() {
        let key = "root.a.auto-queue-creation-v2.template.acl_submit_applications";
        let source = BTreeMap::from([(format!("{PREFIX}{key}"), "bob".to_owned())]);
        let mut tree = tree(&[("root", " ", " "), ("root.a", " ", " ")]);
        let (bob, path) = (caller("bob"), "root.a.bob");
        assert!(!tree.may_submit(&bob, path));
        assert!(tree.may_create(&source, &bob, path, "root.a"));
        tree.add(path.into(), QueueAccess::default());
        assert!(!tree.may_submit(&bob, path));
    }
}
