//! Whether a key is known, and near misses of known keys.

use super::key_table::{KeyScope, has, keys_of};
use super::prefix::PREFIX;

/// Scopes of the keys that stand after the path of a queue.
const OF_QUEUES: [KeyScope; 3] = [KeyScope::Queue, KeyScope::Leaf, KeyScope::Parent];

/// Prefixes below a queue that hold keys of the queues it creates.
const TEMPLATES: &[&str] = &[
    "leaf-queue-template.",
    "auto-queue-creation-v2.template.",
    "auto-queue-creation-v2.leaf-template.",
    "auto-queue-creation-v2.parent-template.",
];

/// Keys of Hadoop that are like one that is read here and mean something else.
const OTHERS: &[&str] = &[
    "yarn.scheduler.increment-allocation-mb",
    "yarn.scheduler.increment-allocation-vcores",
];

/// How the keys of flexible creation start, after the path of a queue.
pub(super) const CREATION_V2: &str = "auto-queue-creation-v2.";

/// Keys of the scheduler that Hadoop ships without a value: an empty list or path is what they
/// have without the key.
const EMPTY: &[&str] = &[
    "mapping-rule-json",
    "mapping-rule-json-file",
    "multi-node-sorting.policy",
    "multi-node-sorting.policy.names",
    "queue-mappings",
    "workflow-priority-mappings",
];

/// Whether an empty value of a key is no oddity: outside the scheduler's keys, and where empty is
/// the default.
pub(super) fn may_be_empty(key: &str) -> bool {
    let own = key.strip_prefix(PREFIX);
    own.is_none_or(|name| EMPTY.contains(&name)) && key.contains('.')
}

/// Whether a key of the scheduler, after the prefix, has a meaning.
pub(super) fn is_global(key: &str) -> bool {
    let user = key.strip_prefix("user.");
    let policy = key.strip_prefix("multi-node-sorting.policy.");
    has(KeyScope::Scheduler, key)
        || user.is_some_and(|rest| rest.ends_with(".max-parallel-apps"))
        || policy
            .is_some_and(|rest| rest.ends_with(".class") || rest.ends_with(".sorting-interval.ms"))
}

/// Whether a key of a queue, after its path, has a meaning.
pub(super) fn is_queue(key: &str) -> bool {
    let inner = TEMPLATES.iter().find_map(|start| key.strip_prefix(start));
    let key = inner.unwrap_or(key);
    if OF_QUEUES.into_iter().any(|scope| has(scope, key)) {
        return true;
    }
    let label = key.strip_prefix("accessible-node-labels.");
    let label = label.and_then(|rest| rest.split_once('.'));
    let weight = key.strip_prefix("user-settings.");
    label.is_some_and(|(_, name)| has(KeyScope::Label, name))
        || weight.is_some_and(|rest| rest.ends_with(".weight"))
        || key.starts_with("ordering-policy.")
}

/// The known key of a queue that is most like `key`, in a template or on a label too.
pub(super) fn nearest_queue(key: &str) -> Option<String> {
    if let Some(start) = TEMPLATES.iter().find(|start| key.starts_with(**start)) {
        let near = nearest_queue(&key[start.len()..])?;
        return Some(format!("{start}{near}"));
    }
    let label = key.strip_prefix("accessible-node-labels.");
    if let Some((label, name)) = label.and_then(|rest| rest.split_once('.')) {
        let near = nearest(name, &[KeyScope::Label])?;
        return Some(format!("accessible-node-labels.{label}.{near}"));
    }
    nearest(key, &OF_QUEUES).map(str::to_owned)
}

/// The known key of the scheduler that is most like `key`.
pub(super) fn nearest_global(key: &str) -> Option<String> {
    nearest(key, &[KeyScope::Scheduler]).map(str::to_owned)
}

/// The key of the site, or the prefix of the scheduler's keys, that an unknown key is meant for.
/// Only what differs in a word or two letters counts: Hadoop has hundreds of keys that are alike.
pub(super) fn nearest_site(key: &str) -> Option<String> {
    if has(KeyScope::Site, key) || OTHERS.contains(&key) || key.len() > LONGEST {
        return None;
    }
    if let Some((head, rest)) = key.split_once(".root.") {
        let start: Vec<char> = canonical(head).chars().collect();
        let own = &PREFIX[..PREFIX.len() - 1];
        let near = key.starts_with(PREFIX) || distance(&start, own) > 4;
        return (!near).then(|| format!("{PREFIX}root.{rest}"));
    }
    let own: Vec<char> = canonical(key).chars().collect();
    let known = keys_of(KeyScope::Site).filter(|known| !known.name.contains('*'));
    let known = known.map(|known| (distance(&own, &canonical(known.name)), known.name));
    let near = known.filter(|(distance, _)| *distance <= 2).min();
    near.map(|(_, name)| name.to_owned())
}

fn nearest(key: &str, scopes: &[KeyScope]) -> Option<&'static str> {
    if key.len() > LONGEST {
        return None;
    }
    let key: Vec<char> = canonical(key).chars().collect();
    let most = (key.len() / 4).clamp(1, 4);
    let known = scopes.iter().flat_map(|&scope| keys_of(scope));
    known
        .filter(|known| !known.name.contains('*'))
        .map(|known| (distance(&key, &canonical(known.name)), known.name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
}

/// Bytes of a key that is compared with known ones.
const LONGEST: usize = 128;

/// A key with its words in one form: lower case, separated alike, abbreviations written out.
fn canonical(key: &str) -> String {
    let mut spaced = String::new();
    let mut before = None;
    for c in key.chars() {
        let humped = c.is_ascii_uppercase() && before.is_some_and(|b: char| b.is_ascii_lowercase());
        if humped {
            spaced.push('-');
        }
        spaced.extend(c.to_lowercase());
        before = Some(c);
    }
    let mut out = String::new();
    for part in spaced.split_inclusive(['.', '-', '_', ' ']) {
        let word = part.trim_end_matches(['.', '-', '_', ' ']);
        out.push_str(match word {
            "max" => "maximum",
            "min" => "minimum",
            "app" | "apps" | "application" => "applications",
            "pct" | "percentage" | "percents" => "percent",
            "enable" => "enabled",
            "acls" => "acl",
            "mem" | "memory" => "mb",
            "cores" | "vcore" | "cpu" => "vcores",
            other => other,
        });
        match &part[word.len()..] {
            "_" | " " => out.push('-'),
            end => out.push_str(end),
        }
    }
    out
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + differs).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_find_the_key() {
        for (typed, meant) in [
            ("capactiy", "capacity"),
            ("Capacity", "capacity"),
            ("max-capacity", "maximum-capacity"),
            ("maxCapacity", "maximum-capacity"),
            ("maximum_capacity", "maximum-capacity"),
            ("max-am-resource-percentage", "maximum-am-resource-percent"),
            (
                "accessible-node-labels.x.max-capacity",
                "accessible-node-labels.x.maximum-capacity",
            ),
            (
                "leaf-queue-template.max-capacity",
                "leaf-queue-template.maximum-capacity",
            ),
        ] {
            assert_eq!(nearest_queue(typed).as_deref(), Some(meant), "{typed}");
        }
        assert_eq!(nearest_queue("user-limit"), None);
        assert_eq!(nearest_queue("something-else"), None);
        let global = nearest_global("maximum-application");
        assert_eq!(global.as_deref(), Some("maximum-applications"));
    }

    #[test]
    fn near_misses_in_a_site_find_the_key() {
        for (typed, meant) in [
            ("yarn.acl.enabled", "yarn.acl.enable"),
            (
                "yarn.scheduler.min-allocation-mb",
                "yarn.scheduler.minimum-allocation-mb",
            ),
            (
                "yarn.scheduler.maximum-allocation-vcore",
                "yarn.scheduler.maximum-allocation-vcores",
            ),
            ("yarn.node-label.enabled", "yarn.node-labels.enabled"),
            (
                "yarn.scheduler.capacty.root.queues",
                "yarn.scheduler.capacity.root.queues",
            ),
        ] {
            assert_eq!(nearest_site(typed).as_deref(), Some(meant), "{typed}");
        }
        for other in [
            "yarn.acl.enable",
            "yarn.scheduler.increment-allocation-mb",
            "yarn.resourcemanager.hostname",
            "yarn.app.mapreduce.am.resource.mb",
        ] {
            assert_eq!(nearest_site(other), None, "{other}");
        }
    }

    #[test]
    fn keys_with_names_inside_are_known() {
        assert!(is_queue("accessible-node-labels.x.capacity"));
        assert!(!is_queue("accessible-node-labels.x.state"));
        assert!(is_queue("user-settings.ann.weight"));
        assert!(is_queue("leaf-queue-template.user-limit-factor"));
        assert!(is_global("user.ann.max-parallel-apps"));
        assert!(is_global("multi-node-sorting.policy.p.class"));
        assert!(!is_global("root.capacity"));
    }
}
