//! The keys that the scheduler knows, and near misses of them.

/// Keys of the whole scheduler, after the prefix.
pub(super) const GLOBAL: &[&str] = &[
    "application.fail-fast",
    "auto-queue-creation-v2.maximum-queue-depth",
    "auto-queue-creation-v2.queue-expiration-time",
    "global-queue-max-application",
    "lazy-preemption-enabled",
    "legacy-queue-mode.enabled",
    "mapping-rule-format",
    "mapping-rule-json",
    "mapping-rule-json-file",
    "max-parallel-apps",
    "maximum-am-resource-percent",
    "maximum-applications",
    "minimum-user-limit-percent",
    "multi-node-placement-enabled",
    "multi-node-sorting.policy",
    "multi-node-sorting.policy.names",
    "node-locality-delay",
    "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
    "ordering-policy.priority-utilization.underutilized-preemption.enabled",
    "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms",
    "per-node-heartbeat.maximum-container-assignments",
    "per-node-heartbeat.maximum-offswitch-assignments",
    "per-node-heartbeat.multiple-assignments-enabled",
    "queue-mappings",
    "queue-mappings-override.enable",
    "queue.auto.refresh.monitoring-interval",
    "rack-locality-additional-delay",
    "rack-locality-full-reset",
    "reservations-continue-look-all-nodes",
    "resource-calculator",
    "schedule-asynchronously.enable",
    "schedule-asynchronously.maximum-pending-backlogs",
    "schedule-asynchronously.maximum-threads",
    "schedule-asynchronously.scheduling-interval-ms",
    "skip-allocate-on-nodes-with-reserved-containers",
    "user-limit-factor",
    "user-metrics.enable",
    "user.max-parallel-apps",
    "workflow-priority-mappings",
    "workflow-priority-mappings-override.enable",
];

/// Keys of a queue, after its path, that any queue uses.
const QUEUE: &[&str] = &[
    "accessible-node-labels",
    "acl_administer_queue",
    "acl_administer_reservations",
    "acl_list_reservations",
    "acl_submit_applications",
    "acl_submit_reservations",
    "auto-create-child-queue.enabled",
    "auto-create-child-queue.fail-on-exceeding-parent-capacity",
    "auto-create-child-queue.management-policy",
    "auto-create-child-queue.max-queues",
    "auto-queue-creation-v2.enabled",
    "auto-queue-creation-v2.max-queues",
    "auto-queue-creation-v2.maximum-queue-depth",
    "auto-queue-creation-v2.queue-auto-removal.enable",
    "average-capacity",
    "capacity",
    "default-application-lifetime",
    "default-node-label-expression",
    "disable_preemption",
    "instantaneous-max-capacity",
    "intra-queue-preemption.disable_preemption",
    "max-parallel-apps",
    "maximum-allocation",
    "maximum-allocation-mb",
    "maximum-allocation-vcores",
    "maximum-am-resource-percent",
    "maximum-application-lifetime",
    "maximum-capacity",
    "multi-node-sorting.policy",
    "ordering-policy",
    "priority",
    "queues",
    "reservable",
    "reservation-agent",
    "reservation-enforcement-window",
    "reservation-move-on-expiry",
    "reservation-planner",
    "reservation-policy",
    "reservation-window",
    "show-reservations-as-queues",
    "state",
];

/// Keys that have an effect on leaves only.
pub(super) const LEAF: &[&str] = &[
    "acl_application_max_priority",
    "default-application-priority",
    "maximum-applications",
    "minimum-user-limit-percent",
    "user-limit-factor",
];

/// Keys that have an effect on parents only.
pub(super) const PARENT: &[&str] = &["allow-zero-capacity-sum"];

/// Keys of a queue on one label.
const LABEL: &[&str] = &[
    "capacity",
    "maximum-capacity",
    "maximum-am-resource-percent",
];

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
    GLOBAL.contains(&key)
        || user.is_some_and(|rest| rest.ends_with(".max-parallel-apps"))
        || policy
            .is_some_and(|rest| rest.ends_with(".class") || rest.ends_with(".sorting-interval.ms"))
}

/// Whether a key of a queue, after its path, has a meaning.
pub(super) fn is_queue(key: &str) -> bool {
    let inner = TEMPLATES.iter().find_map(|start| key.strip_prefix(start));
    let key = inner.unwrap_or(key);
    if [QUEUE, LEAF, PARENT].iter().any(|list| list.contains(&key)) {
        return true;
    }
    let label = key.strip_prefix("accessible-node-labels.");
    let label = label.and_then(|rest| rest.split_once('.'));
    let weight = key.strip_prefix("user-settings.");
    label.is_some_and(|(_, name)| LABEL.contains(&name))
        || weight.is_some_and(|rest| rest.ends_with(".weight"))
        || key.starts_with("ordering-policy.")
}

/// The known key of a queue that is most like `key`.
pub(super) fn nearest_queue(key: &str) -> Option<&'static str> {
    nearest(key, QUEUE.iter().chain(LEAF).chain(PARENT))
}

/// The known key of the scheduler that is most like `key`.
pub(super) fn nearest_global(key: &str) -> Option<&'static str> {
    nearest(key, GLOBAL.iter())
}

fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a &'static str>) -> Option<&'static str> {
    let key: Vec<char> = key.to_lowercase().chars().collect();
    if key.len() > 128 {
        return None;
    }
    let most = (key.len() / 4).clamp(1, 4);
    known
        .map(|name| (distance(&key, name), *name))
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
