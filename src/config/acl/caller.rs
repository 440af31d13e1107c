//! Who asks for something, and whether a list admits them.

use crate::queue::AccessList;

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

impl Caller<'_> {
    /// Whether a list admits the caller.
    // As AccessControlList.isUserInList.
    #[must_use]
    pub fn is_in(&self, list: &AccessList) -> bool {
        let real = |name: &String| name.strip_prefix('~') == self.real_user;
        list.everybody
            || list.users.iter().any(|name| name == self.user)
            || self.groups.iter().any(|group| list.groups.contains(group))
            || (self.real_user.is_some() && list.users.iter().any(real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::access::access_list;

    fn admitted(text: &str, user: &str, groups: &[&str], real_user: Option<&str>) -> bool {
        let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        let caller = Caller {
            user,
            groups: &groups,
            real_user,
        };
        caller.is_in(&access_list(text))
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
