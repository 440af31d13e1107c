//! The administrators of the cluster, and what they and others may do with applications.

use super::caller::Caller;
use crate::config::access::access_list;
use crate::config::source::PropertySource;
use crate::queue::AccessList;

/// Whether access is checked at all, and who administers the cluster.
// As AdminACLsManager and ApplicationACLsManager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminAccess {
    enabled: bool,
    admins: AccessList,
    daemon: String,
}

impl AdminAccess {
    /// Reads `yarn.acl.enable` and `yarn.admin.acl`; `daemon` is the user that the scheduler runs
    /// as, who always administers the cluster.
    #[must_use]
    pub fn read(source: &impl PropertySource, daemon: &str) -> Self {
        let admins = source.filled("yarn.admin.acl");
        Self {
            enabled: source.flag("yarn.acl.enable", false),
            admins: access_list(admins.as_deref().unwrap_or("*")),
            daemon: daemon.to_owned(),
        }
    }

    /// Whether submissions and changes of applications are checked.
    #[must_use]
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// Whether the caller administers the cluster.
    #[must_use]
    pub fn is_admin(&self, caller: &Caller<'_>) -> bool {
        caller.user == self.daemon || caller.is_in(&self.admins)
    }

    /// Whether the caller may kill or move an application of `owner`. `administers` decides whether
    /// the caller administers the application's queue. The daemon's user has no privilege here.
    #[must_use]
    pub fn may_modify(&self, caller: &Caller<'_>, owner: &str, administers: bool) -> bool {
        !self.enabled || caller.user == owner || caller.is_in(&self.admins) || administers
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn access(enabled: &str, admins: Option<&str>) -> AdminAccess {
        let mut source = BTreeMap::from([("yarn.acl.enable".to_owned(), enabled.to_owned())]);
        if let Some(admins) = admins {
            source.insert("yarn.admin.acl".to_owned(), admins.to_owned());
        }
        AdminAccess::read(&source, "yarn")
    }

    fn caller(user: &str) -> Caller<'_> {
        Caller {
            user,
            groups: &[],
            real_user: None,
        }
    }

    #[test]
    fn everybody_administers_unless_the_list_says_otherwise() {
        for (admins, user, want) in [
            (None, "ann", true),
            (Some(""), "ann", true),
            (Some("*"), "ann", true),
            (Some(" "), "ann", false),
            (Some(" "), "yarn", true),
            (Some("adm"), "adm", true),
            (Some("adm"), "ann", false),
        ] {
            let found = access("true", admins).is_admin(&caller(user));
            assert_eq!(found, want, "{admins:?} {user}");
        }
    }

    #[test]
    fn owners_admins_and_administrators_of_the_queue_may_modify() {
        for (enabled, user, administers, want) in [
            ("true", "ann", false, true),
            ("true", "bob", false, false),
            ("true", "bob", true, true),
            ("true", "adm", false, true),
            ("true", "yarn", false, false),
            ("false", "bob", false, true),
        ] {
            let access = access(enabled, Some("adm"));
            let found = access.may_modify(&caller(user), "ann", administers);
            assert_eq!(found, want, "{enabled} {user} {administers}");
        }
    }
}
