//! The source of one property that an explanation names, whether its queue is declared or created.

use crate::queue::QueueSettings;

use super::Origin;
use super::lookup::OriginLookup;
use super::rules::RULES;
use crate::config::load::Loaded;
use crate::config::prefix::PREFIX;

/// Where the value of a property comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueSource {
    /// Where it comes from.
    pub origin: Origin,
    /// Full key that was read; nothing for defaults and derived values.
    pub property: Option<String>,
    /// The value of that key with its variables replaced.
    pub value: Option<String>,
}

/// Settings with a dot in their name.
const DOTTED: [&str; 2] = [
    "multi-node-sorting.policy",
    "intra-queue-preemption.disable_preemption",
];

/// Where the value of `property` comes from. `leaf` is the leaf queue that is explained: created queues above it are
/// parents.
///
/// Cost: for a created queue, its settings from the templates; then as [`super::effective_values`] for one setting.
///
/// ```
/// use std::collections::BTreeMap;
/// use capsched::config::{self, Origin};
/// let key = |name: &str| format!("yarn.scheduler.capacity.{name}");
/// let pairs = [
///     ("root.queues", "a"),
///     ("root.a.capacity", "1w"),
///     ("root.a.auto-queue-creation-v2.enabled", "true"),
///     ("root.a.auto-queue-creation-v2.leaf-template.max-parallel-apps", "3"),
/// ];
/// let pairs: BTreeMap<_, _> =
///     pairs.iter().map(|(name, value)| (key(name), (*value).to_owned())).collect();
/// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
/// let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types)?;
/// let found = config::value_source(&loaded, &key("root.a.new.max-parallel-apps"), "root.a.new");
/// assert_eq!((found.origin, found.value.as_deref()), (Origin::TemplateV2, Some("3")));
/// # Ok::<(), config::Report>(())
/// ```
#[must_use]
pub fn value_source(loaded: &Loaded, property: &str, leaf: &str) -> ValueSource {
    let (origin, property) = found(loaded, property, leaf);
    let text = |key: &String| loaded.properties.text(key).ok().flatten();
    ValueSource {
        value: property.as_ref().and_then(text),
        origin,
        property,
    }
}

fn found(loaded: &Loaded, property: &str, leaf: &str) -> (Origin, Option<String>) {
    let of_queue = property.strip_prefix(PREFIX).and_then(split);
    let known = of_queue.and_then(|(path, name)| Some((queue_of(loaded, path, leaf)?, name)));
    let Some((queue, name)) = known else {
        let is_set = loaded.properties.raw(property).is_some();
        return match is_set {
            true => (Origin::Global, Some(property.to_owned())),
            false => (Origin::Default, None),
        };
    };
    let lookup = OriginLookup::new(loaded, &queue);
    match RULES.iter().find(|rule| rule.name == name) {
        Some(rule) => lookup.origin(rule.name, rule.reach),
        None => lookup.own(name).unwrap_or((Origin::Default, None)),
    }
}

/// The path of a queue and the name of its setting; nothing for settings of the scheduler.
fn split(key: &str) -> Option<(&str, &str)> {
    if !key.starts_with("root.") {
        return None;
    }
    let dotted = DOTTED.iter().find_map(|name| {
        let path = key.strip_suffix(name)?.strip_suffix('.')?;
        Some(path.len())
    });
    let at = key.find(".accessible-node-labels.");
    let at = at.or(dotted).or_else(|| key.rfind('.'))?;
    Some((&key[..at], &key[at + 1..]))
}

/// The settings of a queue: as declared, or as the templates of its parents make it.
fn queue_of(loaded: &Loaded, path: &str, leaf: &str) -> Option<QueueSettings> {
    let mut declared = loaded.settings.queues.iter();
    if let Some(queue) = declared.find(|queue| &*queue.path == path) {
        return Some(queue.clone());
    }
    let (above, name) = path.rsplit_once('.')?;
    let parent = queue_of(loaded, above, leaf)?;
    let below = leaf.strip_prefix(path);
    let is_parent = below.is_some_and(|below| below.starts_with('.'));
    let templates = &loaded.settings.templates;
    templates.dynamic(&parent, name, !is_parent).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::from_pairs;

    fn key(name: &str) -> String {
        format!("{PREFIX}{name}")
    }

    const TREE: &[(&str, &str)] = &[
        ("root.queues", "a,m,d"),
        ("root.a.capacity", "1w"),
        ("root.a.auto-queue-creation-v2.enabled", "true"),
        (
            "root.a.auto-queue-creation-v2.leaf-template.user-limit-factor",
            "3",
        ),
        (
            "root.a.auto-queue-creation-v2.parent-template.max-parallel-apps",
            "5",
        ),
        (
            "root.a.auto-queue-creation-v2.template.accessible-node-labels.gpu.maximum-capacity",
            "40",
        ),
        ("root.a.maximum-allocation-mb", "2048"),
        ("root.a.accessible-node-labels", "gpu"),
        ("root.m.capacity", "1w"),
        ("root.m.auto-create-child-queue.enabled", "true"),
        ("root.m.leaf-queue-template.user-limit-factor", "4"),
        ("root.d.capacity", "1w"),
        ("root.d.user-limit-factor", "2"),
        ("max-parallel-apps", "9"),
        ("maximum-applications", "70"),
    ];

    fn source(property: &str, leaf: &str) -> (Origin, String, String) {
        let pairs: BTreeMap<_, _> = TREE
            .iter()
            .map(|(name, value)| (key(name), (*value).to_owned()))
            .collect();
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        let loaded = from_pairs(&BTreeMap::new(), &pairs, &types).unwrap();
        let found = value_source(&loaded, &key(property), leaf);
        let read = found.property.unwrap_or_default();
        let read = read.strip_prefix(PREFIX).unwrap_or(&read).to_owned();
        (found.origin, read, found.value.unwrap_or_default())
    }

    const V2: &str = "root.a.auto-queue-creation-v2";

    /// Property, leaf that is explained, origin, key that was read, value.
    const SOURCES: &[(&str, &str, Origin, &str, &str)] = &[
        (
            "root.d.user-limit-factor",
            "root.d",
            Origin::Queue,
            "root.d.user-limit-factor",
            "2",
        ),
        (
            "root.a.n.user-limit-factor",
            "root.a.n",
            Origin::TemplateV2,
            "V2.leaf-template.user-limit-factor",
            "3",
        ),
        (
            "root.a.n.maximum-am-resource-percent",
            "root.a.n",
            Origin::Derived,
            "",
            "",
        ),
        (
            "root.a.n.maximum-allocation-mb",
            "root.a.n",
            Origin::Parent,
            "root.a.maximum-allocation-mb",
            "2048",
        ),
        (
            "root.a.n.accessible-node-labels",
            "root.a.n",
            Origin::Parent,
            "root.a.accessible-node-labels",
            "gpu",
        ),
        (
            "root.a.n.max-parallel-apps",
            "root.a.n",
            Origin::Global,
            "max-parallel-apps",
            "9",
        ),
        (
            "root.a.n.max-parallel-apps",
            "root.a.n.x",
            Origin::TemplateV2,
            "V2.parent-template.max-parallel-apps",
            "5",
        ),
        (
            "root.a.n.maximum-capacity",
            "root.a.n",
            Origin::Default,
            "",
            "",
        ),
        (
            "root.a.n.accessible-node-labels.gpu.maximum-capacity",
            "root.a.n",
            Origin::TemplateV2,
            "V2.template.accessible-node-labels.gpu.maximum-capacity",
            "40",
        ),
        (
            "root.m.n.user-limit-factor",
            "root.m.n",
            Origin::TemplateV1,
            "root.m.leaf-queue-template.user-limit-factor",
            "4",
        ),
        (
            "maximum-applications",
            "root.d",
            Origin::Global,
            "maximum-applications",
            "70",
        ),
        (
            "user.ann.max-parallel-apps",
            "root.d",
            Origin::Default,
            "",
            "",
        ),
    ];

    #[test]
    fn each_origin_is_found_for_declared_and_created_queues() {
        for (property, leaf, origin, key, value) in SOURCES {
            let wanted = (*origin, key.replace("V2", V2), (*value).to_owned());
            assert_eq!(source(property, leaf), wanted, "{property} for {leaf}");
        }
    }

    #[test]
    fn settings_with_dots_are_distinguished_from_queues() {
        assert_eq!(split("root.a.b.capacity"), Some(("root.a.b", "capacity")));
        assert_eq!(split("maximum-applications"), None);
        let policy = "root.a.multi-node-sorting.policy";
        assert_eq!(split(policy), Some(("root.a", "multi-node-sorting.policy")));
        let label = "root.a.accessible-node-labels.x.capacity";
        assert_eq!(
            split(label),
            Some(("root.a", "accessible-node-labels.x.capacity"))
        );
    }
}
