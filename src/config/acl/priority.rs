//! Bounds on the priority of applications, by leaf and user.

use super::caller::Caller;
use crate::queue::{PriorityAccess, PriorityRefusal};

/// The priority of an application: the one asked for, else the default of the user's group, else
/// `queue_default`; capped to the cluster's maximum. `groups` are those of the leaf, or none when
/// access is not checked or the leaf does not exist yet.
///
/// # Errors
///
/// When the leaf has groups and none of the user reaches up to the priority, or the user's group
/// has no default where one is needed.
// As CapacityScheduler.checkAndGetApplicationPriority and AppPriorityACLsManager.
pub fn effective_priority(
    groups: &[PriorityAccess],
    caller: &Caller<'_>,
    asked: Option<i32>,
    queue_default: i32,
    cluster_maximum: i32,
) -> Result<i32, PriorityRefusal> {
    let of_caller = || groups.iter().filter(|group| caller.is_in(&group.who));
    // The group with the smallest maximum stands for the user, of equal ones the last: the list is
    // sorted by priority, of which the reference takes larger numbers first.
    let own_default = || of_caller().rev().min_by_key(|group| group.maximum);
    let wanted = match asked {
        Some(asked) => asked,
        None => match own_default() {
            Some(group) => group.default.ok_or(PriorityRefusal::NoDefault)?,
            None => queue_default,
        },
    };
    let priority = wanted.min(cluster_maximum);
    if groups.is_empty() || of_caller().any(|group| priority <= group.maximum) {
        Ok(priority)
    } else {
        Err(PriorityRefusal::TooHigh { priority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::access::priorities;

    fn effective(
        text: &str,
        user: &str,
        groups: &[&str],
        asked: Option<i32>,
    ) -> Result<i32, PriorityRefusal> {
        let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
        let caller = Caller {
            user,
            groups: &groups,
            real_user: None,
        };
        let groups = priorities(text, 10).unwrap();
        effective_priority(&groups, &caller, asked, 1, 10)
    }

    const fn too_high(priority: i32) -> Result<i32, PriorityRefusal> {
        Err(PriorityRefusal::TooHigh { priority })
    }

    #[test]
    fn groups_bound_and_default_the_priority() {
        let two =
            "[user=ann group=ops max_priority=7 default_priority=4] [user=cid max_priority=3]";
        for (user, groups, asked, want) in [
            ("ann", &[][..], None, Ok(4)),
            ("ann", &[], Some(0), Ok(0)),
            ("ann", &[], Some(7), Ok(7)),
            ("ann", &[], Some(8), too_high(8)),
            ("ann", &[], Some(12), too_high(10)),
            ("bob", &["ops"], None, Ok(4)),
            ("bob", &["ops"], Some(8), too_high(8)),
            ("cid", &[], Some(3), Ok(3)),
            ("cid", &[], Some(4), too_high(4)),
            ("cid", &[], None, Err(PriorityRefusal::NoDefault)),
            ("dan", &[], None, too_high(1)),
            ("dan", &[], Some(0), too_high(0)),
        ] {
            let found = effective(two, user, groups, asked);
            assert_eq!(found, want, "{user} {groups:?} {asked:?}");
        }
    }

    /// Groups, user, the user's group, priority asked for, and the answer.
    type Case = (
        &'static str,
        &'static str,
        &'static str,
        Option<i32>,
        Result<i32, PriorityRefusal>,
    );

    const FORMS: &[Case] = &[
        ("", "dan", "", None, Ok(1)),
        ("", "dan", "", Some(12), Ok(10)),
        ("*", "dan", "", Some(5), Ok(5)),
        (
            "[user=* max_priority=5 default_priority=2]",
            "dan",
            "",
            None,
            Ok(2),
        ),
        (
            "[user=* max_priority=5 default_priority=2]",
            "dan",
            "",
            Some(6),
            too_high(6),
        ),
        ("[user=x group=* max_priority=5]", "dan", "", Some(5), Ok(5)),
        ("[user=ann max_priority=99]", "ann", "", Some(10), Ok(10)),
        (
            "[user=ann max_priority=3 default_priority=-2]",
            "ann",
            "",
            None,
            Ok(0),
        ),
        (
            "[user=ann max_priority=3 default_priority=5]",
            "ann",
            "",
            None,
            too_high(5),
        ),
        (
            "[user=a,b max_priority=3][user=c MAX_PRIORITY=4]",
            "c",
            "",
            Some(4),
            Ok(4),
        ),
        ("[user=a max_priority=3", "a", "", Some(3), Ok(3)),
        (
            "[] [ ] [user=a stray max_priority=3]",
            "a",
            "",
            Some(3),
            Ok(3),
        ),
        ("[group=ops max_priority=3]", "ops", "", Some(3), Ok(3)),
        (
            "[group=ops max_priority=3]",
            "bob",
            "ops",
            Some(3),
            too_high(3),
        ),
    ];

    #[test]
    fn every_form_of_the_text_is_read() {
        for (text, user, group, asked, want) in FORMS {
            let found = effective(text, user, &[group], *asked);
            assert_eq!(found, *want, "{text} {user} {group} {asked:?}");
        }
    }

    #[test]
    fn a_user_in_several_groups_reaches_up_to_the_best_and_has_the_default_of_the_least() {
        let text = "[user=ann max_priority=9 default_priority=8][group=x,user=y max_priority=1]\
                    [user=* max_priority=2 default_priority=1]";
        assert_eq!(effective(text, "ann", &[], Some(9)), Ok(9));
        assert_eq!(effective(text, "ann", &[], None), Ok(1));
        assert_eq!(effective(text, "bob", &[], None), Ok(1));
        // The least group has no default, whatever stands in the other one, in either order.
        for text in [
            "[user=ann max_priority=3][user=ann max_priority=9 default_priority=4]",
            "[user=ann max_priority=9 default_priority=4][user=ann max_priority=3]",
        ] {
            let found = effective(text, "ann", &[], None);
            assert_eq!(found, Err(PriorityRefusal::NoDefault), "{text}");
        }
        let equal = "[user=ann max_priority=5][user=ann max_priority=5 default_priority=4]";
        assert_eq!(effective(equal, "ann", &[], None), Ok(4));
    }
}
