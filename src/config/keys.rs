//! Whether a key is known, and near misses of known keys.

use super::key_table::{KeyScope, has, keys_of};

/// Scopes of the keys that stand after the path of a queue.
const OF_QUEUES: [KeyScope; 3] = [KeyScope::Queue, KeyScope::Leaf, KeyScope::Parent];

/// Prefixes below a queue that hold keys of the queues it creates.
const TEMPLATES: &[&str] = &[
    "leaf-queue-template.",
    "auto-queue-creation-v2.template.",
    "auto-queue-creation-v2.leaf-template.",
    "auto-queue-creation-v2.parent-template.",
];

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

/// The known key of a queue that is most like `key`.
pub(super) fn nearest_queue(key: &str) -> Option<&'static str> {
    nearest(key, &OF_QUEUES)
}

/// The known key of the scheduler that is most like `key`.
pub(super) fn nearest_global(key: &str) -> Option<&'static str> {
    nearest(key, &[KeyScope::Scheduler])
}

fn nearest(key: &str, scopes: &[KeyScope]) -> Option<&'static str> {
    let key: Vec<char> = key.to_lowercase().chars().collect();
    if key.len() > 128 {
        return None;
    }
    let most = (key.len() / 4).clamp(1, 4);
    let known = scopes.iter().flat_map(|&scope| keys_of(scope));
    known
        .filter(|known| !known.name.contains('*'))
        .map(|known| (distance(&key, known.name), known.name))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name)
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
        assert_eq!(nearest_queue("capactiy"), Some("capacity"));
        assert_eq!(nearest_queue("Capacity"), Some("capacity"));
        assert_eq!(nearest_queue("user-limit"), None);
        assert_eq!(
            nearest_global("maximum-application"),
            Some("maximum-applications")
        );
        assert_eq!(nearest_queue("something-else"), None);
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
