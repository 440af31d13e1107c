//! Lists of users and groups.

use std::collections::BTreeSet;

use crate::config::source::entries;

/// Who asks for something.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The user.
    pub user: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
    /// The user who acts in the name of `user`, if another one does.
    pub real_user: Option<&'a str>,
}

/// An access control list.
///
/// The text form is `users groups`: two comma lists separated by the first space. A part that is
/// `*` admits everybody; `~name` among the users admits whoever acts through the proxy user `name`.
// As AccessControlList.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessList {
    everybody: bool,
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl AccessList {
    /// The list that admits everybody.
    #[must_use]
    pub fn everybody() -> Self {
        Self {
            everybody: true,
            ..Self::default()
        }
    }

    /// The list that admits nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self::default()
    }

    /// Reads a list; every text is one. The text is not trimmed: a leading space means that there
    /// are no users. Third and later words belong to the groups.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (users, groups) = text.split_once(' ').unwrap_or((text, ""));
        if [users, groups].iter().any(|part| part.trim() == "*") {
            return Self::everybody();
        }
        let set = |list| entries(list).into_iter().map(str::to_owned).collect();
        Self {
            everybody: false,
            users: set(users),
            groups: set(groups),
        }
    }

    /// Whether the list admits the caller.
    #[must_use]
    pub fn admits(&self, caller: &Caller<'_>) -> bool {
        self.everybody
            || self.users.contains(caller.user)
            || caller
                .groups
                .iter()
                .any(|group| self.groups.contains(group))
            || caller
                .real_user
                .is_some_and(|real| self.users.contains(&format!("~{real}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(text: &str, user: &str, groups: &[&str], real_user: Option<&str>) -> bool {
        let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        AccessList::parse(text).admits(&Caller {
            user,
            groups: &groups,
            real_user,
        })
    }

    #[test]
    fn the_first_space_separates_users_from_groups() {
        for (text, user, groups, want) in [
            ("*", "ann", &[][..], true),
            (" ", "ann", &["dev"], false),
            ("", "ann", &["dev"], false),
            ("ann", "ann", &[], true),
            ("ann", "bob", &["ann"], false),
            ("ann,bob", "bob", &[], true),
            ("ann,,bob,", "bob", &[], true),
            (" dev", "dev", &[], false),
            (" dev", "ann", &["dev"], true),
            ("ann dev,ops", "bob", &["ops"], true),
            ("ann dev,ops", "bob", &["qa"], false),
            ("cid  dev", "ann", &["dev"], true),
            ("cid dev ops", "ann", &["dev"], false),
            ("cid dev ops", "ann", &["dev ops"], true),
            ("\n ann\n", "ann", &[], false),
            ("\n ann\n", "x", &["ann"], true),
            ("\tbob ops\n", "bob", &[], true),
            ("\tbob ops\n", "x", &["ops"], true),
            ("Ann", "ann", &[], false),
        ] {
            assert_eq!(
                admitted(text, user, groups, None),
                want,
                "{text:?} {user} {groups:?}"
            );
        }
    }

    #[test]
    fn a_star_admits_everybody_only_as_a_whole_part() {
        for (text, want) in [
            ("*", true),
            (" *", true),
            ("u *", true),
            ("* g", true),
            ("\t*\n", true),
            ("u,*", false),
            ("u g,*", false),
            ("u * g", false),
        ] {
            assert_eq!(admitted(text, "somebody", &["g1"], None), want, "{text:?}");
        }
        assert!(admitted("u,*", "*", &[], None), "a user of this name");
    }

    #[test]
    fn a_tilde_admits_those_who_act_through_a_proxy_user() {
        for (text, real, want) in [
            ("~oozie", Some("oozie"), true),
            ("~oozie", Some("hue"), false),
            ("~oozie", None, false),
            ("oozie", Some("oozie"), false),
        ] {
            assert_eq!(admitted(text, "ann", &[], real), want, "{text} {real:?}");
        }
    }
}
