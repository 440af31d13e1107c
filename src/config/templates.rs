//! Settings of queues that submissions create, from the templates of their parents.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::queue::{
    CapacitySetting, ConfiguredState, CreationScheme, CreationSettings, LegacyCapacity, QueueKind,
    QueueSettings, ReferenceRules, Templates, VectorEntry,
};
use crate::resource::{Calculator, ResourceVector};

use super::diagnostic::Diagnostic;
use super::prefix::PREFIX;
use super::properties::{Look, Properties};
use super::queue::{QueueContext, Read};
use super::severity::Severity;

/// Templates of a configuration.
#[derive(Debug)]
pub(super) struct ConfiguredTemplates {
    pub(super) properties: Arc<Properties>,
    pub(super) types: Vec<Arc<str>>,
    pub(super) calculator: Calculator,
    pub(super) legacy: bool,
    pub(super) largest: ResourceVector,
    pub(super) priority: i32,
    pub(super) rules: ReferenceRules,
}

impl Templates for ConfiguredTemplates {
    fn dynamic(
        &self,
        parent: &QueueSettings,
        name: &str,
        leaf: bool,
    ) -> Result<QueueSettings, &'static str> {
        let managed = parent.kind == QueueKind::ManagedParent;
        let path = format!("{}.{name}", parent.path);
        let overlay = if managed {
            self.managed_overlay(&parent.path, &path)
        } else {
            self.flexible_overlay(&parent.path, &path, leaf)
        };
        let look = Look::over(&self.properties, &overlay);
        let context = self.context(&look);
        let above = Read {
            settings: parent.clone(),
            partitions: BTreeMap::new(),
            state: ConfiguredState::Running,
        };
        let kind = if leaf {
            QueueKind::Leaf
        } else {
            QueueKind::Parent
        };
        let mut queue = context.read(&path, kind, Some(&above)).settings;
        queue.dynamic = true;
        if managed {
            queue.preemption_disabled = parent.preemption_disabled;
            queue.intra_queue_preemption_disabled = parent.intra_queue_preemption_disabled;
        } else {
            self.flexible(&mut queue, &context);
        }
        let findings = look.take();
        let wrong = |finding: &&Diagnostic| finding.severity == Severity::Error;
        match findings.iter().find(wrong) {
            Some(finding) => Err(finding.code),
            None => Ok(queue),
        }
    }
}

impl ConfiguredTemplates {
    /// What a created queue is read with.
    fn context<'a>(&'a self, look: &'a Look<'a>) -> QueueContext<'a> {
        QueueContext {
            look,
            types: &self.types,
            calculator: self.calculator,
            legacy: self.legacy,
            largest: self.largest,
            priority: self.priority,
            rules: self.rules,
        }
    }

    /// Keys below `leaf-queue-template`, which come before those that the path has itself.
    // As AbstractManagedParentQueue.initializeLeafQueueConfigs, ManagedParentQueue.setLeafQueueConfigs.
    fn managed_overlay(&self, parent: &str, path: &str) -> BTreeMap<String, String> {
        let prefix = format!("{PREFIX}{parent}.leaf-queue-template.");
        let keys = self.properties.keys_below(&prefix);
        let pair = |key: &str| {
            let value = self.properties.raw(key)?.to_owned();
            Some((format!("{PREFIX}{path}.{}", &key[prefix.len()..]), value))
        };
        keys.filter_map(pair).collect()
    }

    /// Keys of the templates; those that the path has itself come before them, except for the
    /// two that the original sets on every dynamic leaf.
    // As AutoCreatedQueueTemplate.setTemplateEntriesForChild.
    fn flexible_overlay(&self, parent: &str, path: &str, leaf: bool) -> BTreeMap<String, String> {
        let mut overlay = BTreeMap::new();
        if leaf {
            let forced = [
                ("user-limit-factor", "-1"),
                ("maximum-am-resource-percent", "1"),
            ];
            for (name, value) in forced {
                overlay.insert(format!("{PREFIX}{path}.{name}"), value.to_owned());
            }
        }
        let own = if leaf {
            "leaf-template"
        } else {
            "parent-template"
        };
        let depth = self.depth(parent);
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for kind in [own, "template"] {
            for (name, value) in template_entries(&self.properties, parent, kind, depth) {
                seen.entry(name).or_insert(value);
            }
        }
        for (name, value) in seen {
            let key = format!("{PREFIX}{path}.{name}");
            if self.properties.raw(&key).is_none() {
                overlay.insert(key, value);
            }
        }
        overlay
    }

    fn depth(&self, path: &str) -> i32 {
        let look = Look::new(&self.properties);
        self.context(&look).depth(path)
    }

    /// What holds for every dynamic queue, whatever its template says.
    fn flexible(&self, queue: &mut QueueSettings, context: &QueueContext<'_>) {
        let one = CapacitySetting {
            legacy: LegacyCapacity::Weight(1.0),
            vector: vec![VectorEntry::Weight(1.0); self.types.len()],
        };
        let path = queue.path.clone();
        for (label, partition) in &mut queue.partitions {
            if !context
                .look
                .has(&QueueContext::label_key(&path, label, "capacity"))
            {
                partition.capacity.legacy = one.legacy;
            }
            // As AbstractCSQueue.overrideCapacityVectorsForSpecialQueues.
            let mut entries = partition.capacity.vector.iter();
            if entries.all(|entry| *entry == VectorEntry::Unset) {
                partition.capacity.vector.clone_from(&one.vector);
                partition.maximum.vector = vec![VectorEntry::Percent(100.0); self.types.len()];
            }
        }
        if queue.kind == QueueKind::Parent {
            let key = format!("{PREFIX}{path}.auto-queue-creation-v2.max-queues");
            let most = context.look.int(&key, 1000).max(0);
            queue.creation = Some(CreationSettings {
                scheme: CreationScheme::Flexible,
                maximum_queues: usize::try_from(most).expect("at least 0"),
                maximum_depth: usize::try_from(context.depth(&path).max(0)).expect("at least 0"),
                fail_on_exceeding_parent: false,
                template: BTreeMap::new(),
            });
        }
    }
}

/// The entries of one kind of template of a parent: its own, then those of paths whose last
/// parts are `*`, at most `depth` of them.
// As AutoCreatedQueueTemplate.setTemplateConfigEntries.
pub(super) fn template_entries(
    properties: &Properties,
    parent: &str,
    kind: &str,
    depth: i32,
) -> BTreeMap<String, String> {
    let mut parts: Vec<&str> = parent.split('.').collect();
    let levels = usize::try_from(depth.max(0)).unwrap_or(0);
    let levels = levels.min(parts.len() - 1);
    let mut all = BTreeMap::new();
    for level in 0..=levels {
        if level > 0 {
            let at = parts.len() - level;
            parts[at] = "*";
        }
        let prefix = format!("{PREFIX}{}.auto-queue-creation-v2.{kind}.", parts.join("."));
        for key in properties.keys_below(&prefix) {
            let value = properties.raw(key).unwrap_or_default();
            let name = key[prefix.len()..].to_owned();
            all.entry(name).or_insert_with(|| value.to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::config::{Loaded, from_pairs};
    use crate::queue::{CreationScheme, LegacyCapacity, QueueKind, QueueSettings, VectorEntry};

    fn load(pairs: &[(&str, &str)]) -> Loaded {
        let key = |name: &str| format!("yarn.scheduler.capacity.{name}");
        let pair = |(name, value): &(&str, &str)| (key(name), (*value).to_owned());
        let pairs: BTreeMap<String, String> = pairs.iter().map(pair).collect();
        let types = ["memory-mb".to_owned(), "vcores".to_owned()];
        from_pairs(&BTreeMap::new(), &pairs, &types).unwrap()
    }

    fn queue<'a>(loaded: &'a Loaded, path: &str) -> &'a QueueSettings {
        let mut queues = loaded.settings.queues.iter();
        queues.find(|queue| &*queue.path == path).unwrap()
    }

    fn weight(queue: &QueueSettings) -> LegacyCapacity {
        queue.partitions[""].capacity.legacy
    }

    #[test]
    fn the_more_explicit_template_wins() {
        // policies D.17 example 7
        let loaded = load(&[
            ("root.queues", "a,z"),
            ("root.a.capacity", "1w"),
            ("root.z.capacity", "1w"),
            ("root.a.auto-queue-creation-v2.enabled", "true"),
            ("root.z.auto-queue-creation-v2.enabled", "true"),
            ("root.*.auto-queue-creation-v2.template.capacity", "2w"),
            ("root.a.auto-queue-creation-v2.leaf-template.capacity", "5w"),
            ("root.a.v.capacity", "7w"),
        ]);
        let templates = &loaded.settings.templates;
        let make = |parent: &str, name: &str| {
            weight(
                &templates
                    .dynamic(queue(&loaded, parent), name, true)
                    .unwrap(),
            )
        };
        assert_eq!(make("root.a", "u"), LegacyCapacity::Weight(5.0));
        assert_eq!(make("root.z", "u"), LegacyCapacity::Weight(2.0));
        assert_eq!(make("root.a", "v"), LegacyCapacity::Weight(7.0));
    }

    #[test]
    fn dynamic_queues_have_defaults_of_their_own() {
        let loaded = load(&[
            ("root.queues", "a"),
            ("root.a.capacity", "1w"),
            ("root.a.auto-queue-creation-v2.enabled", "true"),
            ("user-limit-factor", "3"),
        ]);
        let parent = queue(&loaded, "root.a");
        assert_eq!(parent.kind, QueueKind::Parent);
        let leaf = loaded
            .settings
            .templates
            .dynamic(parent, "u", true)
            .unwrap();
        assert!(leaf.dynamic);
        assert_eq!(weight(&leaf), LegacyCapacity::Weight(1.0));
        assert_eq!(
            leaf.partitions[""].capacity.vector,
            [VectorEntry::Weight(1.0); 2]
        );
        let factor = leaf.leaf.user_limit_factor;
        assert_eq!((factor, leaf.maximum_master_share), (-1.0, 1.0));
        let inner = loaded
            .settings
            .templates
            .dynamic(parent, "p", false)
            .unwrap();
        let creation = inner.creation.clone().unwrap();
        assert_eq!(creation.scheme, CreationScheme::Flexible);
        let below = loaded
            .settings
            .templates
            .dynamic(&inner, "u", true)
            .unwrap();
        assert_eq!(&*below.path, "root.a.p.u");
    }

    #[test]
    fn managed_leaves_see_their_template_before_all_else() {
        let loaded = load(&[
            ("root.queues", "m"),
            ("root.m.capacity", "100"),
            ("root.m.auto-create-child-queue.enabled", "true"),
            ("root.m.auto-create-child-queue.max-queues", "3"),
            ("root.m.leaf-queue-template.capacity", "20"),
            ("root.m.u.capacity", "30"),
            ("user-limit-factor", "3"),
        ]);
        let parent = queue(&loaded, "root.m");
        assert_eq!(parent.kind, QueueKind::ManagedParent);
        assert_eq!(parent.creation.as_ref().unwrap().maximum_queues, 3);
        let leaf = loaded
            .settings
            .templates
            .dynamic(parent, "u", true)
            .unwrap();
        assert_eq!(weight(&leaf), LegacyCapacity::Percent(20.0));
        assert_eq!(leaf.leaf.user_limit_factor.to_bits(), 3f32.to_bits());
    }
}
