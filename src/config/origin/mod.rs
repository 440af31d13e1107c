//! Where the effective settings of a queue come from: its own key, a template, an ancestor, the
//! scheduler, a default, or other settings.

mod lookup;
mod property;
mod reach;
mod rules;

use crate::queue::{QueueKind, QueueSettings};

use super::load::Loaded;
use lookup::OriginLookup;
pub use property::{ValueSource, value_source};
use rules::RULES;

/// Where a value comes from, in the words of the reference's `explain` answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A key of the queue itself.
    Queue,
    /// A template of `auto-queue-creation-v2`.
    TemplateV2,
    /// The `leaf-queue-template` of a managed parent.
    TemplateV1,
    /// A key of an ancestor.
    Parent,
    /// A key of the whole scheduler or of the site.
    Global,
    /// No key: the value of an empty configuration.
    Default,
    /// Worked out from other settings.
    Derived,
}

impl Origin {
    /// The word of the reference.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Queue => "QUEUE",
            Self::TemplateV2 => "TEMPLATE_V2",
            Self::TemplateV1 => "TEMPLATE_V1",
            Self::Parent => "PARENT",
            Self::Global => "GLOBAL",
            Self::Default => "DEFAULT",
            Self::Derived => "DERIVED",
        }
    }
}

/// One setting of a queue with its value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EffectiveValue {
    /// Name of the key below the queue.
    pub name: &'static str,
    /// The value that holds.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Full key that was read; nothing for defaults and derived values.
    pub property: Option<String>,
}

/// The effective settings of a queue, each with its origin. The queue is one of the configuration,
/// or one that the templates made.
///
/// Cost: a few look-ups for each ancestor and setting.
///
/// ```
/// use std::collections::BTreeMap;
/// use capsched::config::{self, Origin};
/// let key = |name: &str| format!("yarn.scheduler.capacity.{name}");
/// let pairs = [("root.queues", "a"), ("root.a.capacity", "100"), ("user-limit-factor", "2")];
/// let pairs: BTreeMap<_, _> =
///     pairs.iter().map(|(name, value)| (key(name), (*value).to_owned())).collect();
/// let types = ["memory-mb".to_owned(), "vcores".to_owned()];
/// let loaded = config::from_pairs(&BTreeMap::new(), &pairs, &types)?;
/// let values = config::effective_values(&loaded, &loaded.settings.queues[1]);
/// let factor = values.iter().find(|one| one.name == "user-limit-factor").expect("a leaf has it");
/// assert_eq!((factor.value.as_str(), factor.origin), ("2", Origin::Global));
/// # Ok::<(), config::Report>(())
/// ```
#[must_use]
pub fn effective_values(loaded: &Loaded, queue: &QueueSettings) -> Vec<EffectiveValue> {
    let lookup = OriginLookup::new(loaded, queue);
    let leaf = queue.kind == QueueKind::Leaf;
    let rules = RULES.iter().filter(|rule| rule.holds_for.covers(leaf));
    rules
        .map(|rule| {
            let (origin, property) = lookup.origin(rule.name, rule.reach);
            EffectiveValue {
                name: rule.name,
                value: (rule.value)(&lookup),
                origin,
                property,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::from_pairs;

    fn pairs(own: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pair = |(name, value): &(&str, &str)| {
            (
                format!("yarn.scheduler.capacity.{name}"),
                (*value).to_owned(),
            )
        };
        own.iter().map(pair).collect()
    }

    fn load(pairs: &BTreeMap<String, String>) -> Loaded {
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        from_pairs(&BTreeMap::new(), pairs, &types).unwrap()
    }

    fn value(loaded: &Loaded, path: &str, name: &str) -> EffectiveValue {
        let mut queues = loaded.settings.queues.iter();
        let queue = queues.find(|queue| &*queue.path == path).unwrap();
        let all = effective_values(loaded, queue);
        all.into_iter().find(|one| one.name == name).unwrap()
    }

    const TREE: &[(&str, &str)] = &[
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.a.queues", "x,y"),
        ("root.a.x.capacity", "50"),
        ("root.a.y.capacity", "50"),
        ("root.b.capacity", "40"),
        ("root.a.maximum-application-lifetime", "600"),
        ("root.a.maximum-allocation-mb", "4096"),
        ("root.a.x.maximum-allocation-vcores", "2"),
        ("root.a.ordering-policy", "priority-utilization"),
        ("root.a.x.ordering-policy", "fair"),
        ("maximum-am-resource-percent", "0.5"),
        ("root.b.maximum-am-resource-percent", "0.2"),
        ("root.b.minimum-user-limit-percent", "25"),
        ("root.b.maximum-applications", "70"),
        ("max-parallel-apps", "9"),
        ("root.a.y.max-parallel-apps", "3"),
        ("root.b.priority", "4"),
    ];

    /// Queue, setting, value, origin, property.
    const ORIGINS: &[(&str, &str, &str, Origin, &str)] = &[
        ("root.a", "capacity", "60", Origin::Queue, "root.a.capacity"),
        ("root.a.x", "maximum-capacity", "100", Origin::Default, ""),
        (
            "root.a.x",
            "maximum-application-lifetime",
            "600",
            Origin::Parent,
            "root.a.maximum-application-lifetime",
        ),
        (
            "root.a.x",
            "default-application-lifetime",
            "600",
            Origin::Derived,
            "",
        ),
        (
            "root.a.x",
            "maximum-allocation-mb",
            "4096",
            Origin::Parent,
            "root.a.maximum-allocation-mb",
        ),
        (
            "root.a.x",
            "maximum-allocation-vcores",
            "2",
            Origin::Queue,
            "root.a.x.maximum-allocation-vcores",
        ),
        (
            "root.b",
            "maximum-allocation-vcores",
            "4",
            Origin::Default,
            "",
        ),
        (
            "root.a.x",
            "ordering-policy",
            "fair",
            Origin::Queue,
            "root.a.x.ordering-policy",
        ),
        ("root.a.y", "ordering-policy", "fifo", Origin::Default, ""),
        (
            "root.a.x",
            "maximum-am-resource-percent",
            "0.5",
            Origin::Global,
            "maximum-am-resource-percent",
        ),
        (
            "root.b",
            "maximum-am-resource-percent",
            "0.2",
            Origin::Queue,
            "root.b.maximum-am-resource-percent",
        ),
        ("root.b", "user-limit-factor", "1", Origin::Default, ""),
        (
            "root.b",
            "maximum-applications",
            "70",
            Origin::Queue,
            "root.b.maximum-applications",
        ),
        (
            "root.a.x",
            "maximum-applications",
            "share of maximum-applications",
            Origin::Derived,
            "",
        ),
        (
            "root.b",
            "max-parallel-apps",
            "9",
            Origin::Global,
            "max-parallel-apps",
        ),
    ];

    #[test]
    fn each_value_has_the_place_that_it_was_read_from() {
        let loaded = load(&pairs(TREE));
        for &(path, name, text, origin, property) in ORIGINS {
            let found = value(&loaded, path, name);
            let key = found.property.unwrap_or_default();
            let key = key.strip_prefix("yarn.scheduler.capacity.").unwrap_or(&key);
            assert_eq!(
                (found.value.as_str(), found.origin, key),
                (text, origin, property),
                "{path} {name}"
            );
        }
    }

    /// The key that is named is the one that counts: another value there is another effective value.
    #[test]
    fn a_change_at_the_named_key_changes_the_value() {
        let before = load(&pairs(TREE));
        let mut seen = 0;
        for queue in &before.settings.queues {
            for one in effective_values(&before, queue) {
                let Some(property) = &one.property else {
                    continue;
                };
                let old = before.properties.raw(property).unwrap();
                let Ok(number) = old.parse::<i32>() else {
                    continue;
                };
                if one.name == "capacity" {
                    continue;
                }
                let mut changed = pairs(TREE);
                changed.insert(property.clone(), (number - 1).to_string());
                let after = value(&load(&changed), &queue.path, one.name);
                assert_ne!(after.value, one.value, "{} {}", queue.path, one.name);
                assert_eq!(
                    after.property.as_ref(),
                    Some(property),
                    "{} {}",
                    queue.path,
                    one.name
                );
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen}");
    }

    #[test]
    fn created_queues_name_their_templates() {
        let loaded = load(&pairs(&[
            ("root.queues", "a,m"),
            ("root.a.capacity", "1w"),
            ("root.m.capacity", "1w"),
            ("root.a.auto-queue-creation-v2.enabled", "true"),
            ("root.a.auto-queue-creation-v2.leaf-template.capacity", "5w"),
            ("root.m.auto-create-child-queue.enabled", "true"),
            ("root.m.leaf-queue-template.capacity", "20"),
            ("root.m.leaf-queue-template.user-limit-factor", "4"),
        ]));
        let of = |parent: usize, name: &str| {
            let templates = &loaded.settings.templates;
            let parent = &loaded.settings.queues[parent];
            let queue = templates.dynamic(parent, "new", true).unwrap();
            let all = effective_values(&loaded, &queue);
            all.into_iter().find(|one| one.name == name).unwrap()
        };
        let flexible = of(1, "capacity");
        assert_eq!(
            (flexible.value.as_str(), flexible.origin),
            ("5w", Origin::TemplateV2)
        );
        assert!(
            flexible
                .property
                .unwrap()
                .ends_with("leaf-template.capacity")
        );
        let forced = of(1, "user-limit-factor");
        assert_eq!(
            (forced.value.as_str(), forced.origin),
            ("-1", Origin::Derived)
        );
        let managed = of(2, "user-limit-factor");
        assert_eq!(
            (managed.value.as_str(), managed.origin),
            ("4", Origin::TemplateV1)
        );
    }
}
