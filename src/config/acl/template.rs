//! Access lists in the templates of queues that submissions create.

use super::caller::Caller;
use super::permission::QueuePermission;
use crate::config::access::access_list;
use crate::config::number;
use crate::config::prefix::PREFIX;
use crate::config::source::PropertySource;

/// Whether a template of one of the queues from below `parent` down to `path` admits the caller.
// As CapacitySchedulerQueueManager.getPermissionsForDynamicQueue.
pub(super) fn admits(
    source: &impl PropertySource,
    caller: &Caller<'_>,
    path: &str,
    parent: &str,
) -> bool {
    let managed = source.flag(
        &format!("{PREFIX}{parent}.auto-create-child-queue.enabled"),
        false,
    );
    let admitted =
        |list: Option<String>| list.is_some_and(|text| caller.is_in(&access_list(&text)));
    let mut queue = path;
    while queue.len() > parent.len() {
        let Some((above, _)) = queue.rsplit_once('.') else {
            return false;
        };
        let permissions = [QueuePermission::Submit, QueuePermission::Administer];
        let found = permissions.into_iter().any(|permission| {
            admitted(if managed {
                source.filled(&format!(
                    "{PREFIX}{above}.leaf-queue-template.{}",
                    permission.key()
                ))
            } else {
                flexible(source, above, queue == path, permission)
            })
        });
        if found {
            return true;
        }
        queue = above;
    }
    false
}

/// The list in the templates of flexible creation below `parent`: templates of the kind of queue
/// before common ones, and for each of them the explicit path before wildcards.
// As AutoCreatedQueueTemplate.
fn flexible(
    source: &impl PropertySource,
    parent: &str,
    leaf: bool,
    permission: QueuePermission,
) -> Option<String> {
    let own = if leaf {
        "leaf-template"
    } else {
        "parent-template"
    };
    let paths = with_wildcards(source, parent);
    [own, "template"].into_iter().find_map(|kind| {
        paths.iter().find_map(|path| {
            let key = permission.key();
            source.filled(&format!(
                "{PREFIX}{path}.auto-queue-creation-v2.{kind}.{key}"
            ))
        })
    })
}

/// How many levels of queues may be created below a queue of the configuration.
// As CapacitySchedulerConfiguration.getMaximumAutoCreatedQueueDepth.
pub(in crate::config) fn creation_depth(source: &impl PropertySource, path: &str) -> usize {
    let read = |prefix: &str| {
        let key = format!("{prefix}.maximum-queue-depth");
        number::integer::<i32>(&source.get(&key)?)
    };
    let own = read(&format!("{PREFIX}{path}.auto-queue-creation-v2"));
    let depth = own.or_else(|| read(&format!("{PREFIX}auto-queue-creation-v2")));
    usize::try_from(depth.unwrap_or(2)).unwrap_or(0)
}

/// The path itself, then with its last part as a wildcard, then its last two, as many as queues
/// may be created deep. Empty parts at the end do not count, and a single part but `root` has none.
// As AutoCreatedQueueTemplate.setTemplateConfigEntries.
fn with_wildcards(source: &impl PropertySource, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.trim_end_matches('.').split('.').collect();
    if parts.len() == 1 && path != "root" {
        return Vec::new();
    }
    let wildcards = creation_depth(source, path).min(parts.len() - 1);
    let with = |stars: usize| {
        let fixed = parts[..parts.len() - stars].iter().copied();
        let parts: Vec<&str> = fixed.chain(std::iter::repeat_n("*", stars)).collect();
        parts.join(".")
    };
    (0..=wildcards).map(with).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_depth_is_read_as_the_scheduler_reads_it() {
        for (own, general, want) in [
            (None, None, 2),
            (None, Some("0x4"), 4),
            (Some(" 3 "), Some("4"), 3),
            (Some("-1"), Some("4"), 0),
        ] {
            let keys = ["root.u.auto-queue-creation-v2", "auto-queue-creation-v2"];
            let values = keys.into_iter().zip([own, general]);
            let source: BTreeMap<_, _> = values
                .filter_map(|(key, value)| {
                    let key = format!("{PREFIX}{key}.maximum-queue-depth");
                    Some((key, value?.to_owned()))
                })
                .collect();
            assert_eq!(creation_depth(&source, "root.u"), want);
        }
    }

    fn admitted(entries: &[(&str, &str)], path: &str, parent: &str) -> bool {
        let entries = entries.iter();
        let source: BTreeMap<String, String> = entries
            .map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned()))
            .collect();
        let caller = Caller {
            user: "bob",
            groups: &[],
            real_user: None,
        };
        admits(&source, &caller, path, parent)
    }

    /// Template, its value, queue to be created, existing parent, and whether `bob` may. `V` and
    /// `S` stand for the words of the keys.
    const TEMPLATES: &[(&str, &str, &str, &str, bool)] = &[
        ("root.u.V.template.S", "bob", "root.u.x", "root.u", true),
        ("root.u.V.template.S", "ann", "root.u.x", "root.u", false),
        (
            "root.u.V.leaf-template.S",
            "bob",
            "root.u.x",
            "root.u",
            true,
        ),
        (
            "root.u.V.leaf-template.A",
            "bob",
            "root.u.x",
            "root.u",
            true,
        ),
        (
            "root.u.V.leaf-template.S",
            "bob",
            "root.u.g.x",
            "root.u",
            false,
        ),
        (
            "root.u.V.parent-template.S",
            "bob",
            "root.u.g.x",
            "root.u",
            true,
        ),
        (
            "root.u.V.parent-template.S",
            "bob",
            "root.u.x",
            "root.u",
            false,
        ),
        ("root.*.V.template.S", "bob", "root.u.x", "root.u", true),
        (
            "root.*.*.V.template.S",
            "bob",
            "root.u.g.x",
            "root.u.g",
            true,
        ),
        (
            "root.*.V.template.S",
            "bob",
            "root.u.g.x",
            "root.u.g",
            false,
        ),
        (
            "root.*.*.*.V.template.S",
            "bob",
            "root.u.g.h.x",
            "root.u.g.h",
            false,
        ),
        ("root.v.V.template.S", "bob", "root.u.x", "root.u", false),
        (
            "root.u.leaf-queue-template.S",
            "bob",
            "root.u.x",
            "root.u",
            false,
        ),
    ];

    #[test]
    fn each_template_counts_for_the_queues_it_is_meant_for() {
        for (key, value, path, parent, want) in TEMPLATES {
            let key = key.replace(".V.", ".auto-queue-creation-v2.");
            let key = key.replace(".S", ".acl_submit_applications");
            let key = key.replace(".A", ".acl_administer_queue");
            let found = admitted(&[(&key, value)], path, parent);
            assert_eq!(found, *want, "{key} {path}");
        }
    }

    #[test]
    fn managed_parents_have_a_template_of_their_own() {
        let template = ("root.u.leaf-queue-template.acl_submit_applications", "bob");
        let managed = ("root.u.auto-create-child-queue.enabled", "true");
        assert!(admitted(&[template, managed], "root.u.x", "root.u"));
    }

    #[test]
    fn empty_parts_at_the_end_of_a_path_are_no_level() {
        let wild = "root.*.auto-queue-creation-v2.parent-template.acl_submit_applications";
        let deep = "root.u.*.auto-queue-creation-v2.parent-template.acl_submit_applications";
        let own = "root.u.auto-queue-creation-v2.parent-template.acl_submit_applications";
        for (key, path, parent, want) in [
            (wild, "root.u.g.x", "root.u", true),
            (wild, "root..x.y", "root", false),
            (wild, "root.u..x.y", "root.u", true),
            (deep, "root.u..x.y", "root.u", false),
            (own, "root.u..x.y", "root.u", true),
        ] {
            assert_eq!(
                admitted(&[(key, "bob")], path, parent),
                want,
                "{key} {path}"
            );
        }
    }

    #[test]
    fn the_more_specific_template_is_the_one_that_counts() {
        let leaf = "root.u.auto-queue-creation-v2.leaf-template.acl_submit_applications";
        let common = "root.u.auto-queue-creation-v2.template.acl_submit_applications";
        let wild = "root.*.auto-queue-creation-v2.template.acl_submit_applications";
        assert!(!admitted(
            &[(leaf, "ann"), (common, "bob")],
            "root.u.x",
            "root.u"
        ));
        assert!(!admitted(
            &[(common, "ann"), (wild, "bob")],
            "root.u.x",
            "root.u"
        ));
        assert!(admitted(
            &[(common, "bob"), (wild, "ann")],
            "root.u.x",
            "root.u"
        ));
    }
}
