//! The keys at which the settings of one queue are looked for.

use crate::config::load::Loaded;
use crate::config::number;
use crate::config::prefix::PREFIX;
use crate::queue::{CreationScheme, QueueKind, QueueSettings, SchedulerSettings};

use super::Origin;
use super::reach::Reach;

/// Settings that the scheduler sets on every leaf that it creates flexibly.
const FORCED: [&str; 2] = ["user-limit-factor", "maximum-am-resource-percent"];

/// One queue and what its settings are read from.
pub(super) struct OriginLookup<'a> {
    loaded: &'a Loaded,
    pub(super) queue: &'a QueueSettings,
    /// Scheme and path of the parent that creates the queue.
    created: Option<(CreationScheme, &'a str)>,
}

type Found = (Origin, Option<String>);

impl<'a> OriginLookup<'a> {
    pub(super) fn new(loaded: &'a Loaded, queue: &'a QueueSettings) -> Self {
        let parent = queue.parent_path().filter(|_| queue.dynamic);
        let created = parent.map(|path| {
            let mut queues = loaded.settings.queues.iter();
            let managed =
                queues.any(|other| &*other.path == path && other.kind == QueueKind::ManagedParent);
            let scheme = if managed {
                CreationScheme::Managed
            } else {
                CreationScheme::Flexible
            };
            (scheme, path)
        });
        Self {
            loaded,
            queue,
            created,
        }
    }

    pub(super) fn scheduler(&self) -> &SchedulerSettings {
        &self.loaded.settings.scheduler
    }

    /// The value of a key with its variables replaced.
    fn text(&self, key: &str) -> Option<String> {
        self.loaded.properties.text(key).ok().flatten()
    }

    fn key_at(path: &str, name: &str) -> String {
        format!("{PREFIX}{path}.{name}")
    }

    /// The queues above, the nearest first.
    fn ancestors(&self) -> impl Iterator<Item = &'a str> {
        let path: &'a str = &self.queue.path;
        path.rmatch_indices('.').map(move |(dot, _)| &path[..dot])
    }

    /// Whether the nearest ancestor with a state is stopped.
    pub(super) fn stopped_above(&self) -> bool {
        let mut states = self
            .ancestors()
            .filter_map(|path| self.text(&Self::key_at(path, "state")));
        states
            .next()
            .is_some_and(|state| state.eq_ignore_ascii_case("stopped"))
    }

    /// A capacity as it is written; created queues without one have a weight of 1.
    pub(super) fn capacity(&self, name: &str) -> String {
        if self.queue.parent_path().is_none() {
            return "100".to_owned();
        }
        let written = self.own(name).and_then(|(_, key)| self.text(&key?));
        written.unwrap_or_else(|| match (name, self.created) {
            ("capacity", Some((CreationScheme::Flexible, _))) => "1w".to_owned(),
            ("capacity", _) => "0".to_owned(),
            _ => "100".to_owned(),
        })
    }

    /// Where the value of a setting comes from.
    pub(super) fn origin(&self, name: &str, reach: Reach) -> Found {
        let fixed = ["capacity", "maximum-capacity", "accessible-node-labels"];
        if self.queue.parent_path().is_none() && fixed.contains(&name) {
            return (Origin::Default, None);
        }
        if let Reach::Protection(switch) = reach
            && self.text(switch).and_then(|text| number::boolean(&text)) != Some(true)
        {
            return self.global(switch);
        }
        if let Reach::Allocation(index) = reach {
            return self.allocation(name, index);
        }
        if let Some(found) = self.own(name) {
            return found;
        }
        match reach {
            Reach::Own | Reach::Protection(_) if self.is_created_without(name) => {
                (Origin::Derived, None)
            }
            Reach::Own => (Origin::Default, None),
            Reach::Scheduler => self.global(&format!("{PREFIX}{name}")),
            Reach::ParentsInherit if self.queue.kind == QueueKind::Leaf => (Origin::Default, None),
            Reach::DefaultLabel if self.queue.default_partition.is_none() => {
                (Origin::Default, None)
            }
            Reach::Lifetime => self.lifetime(name),
            Reach::Applications => self.applications(),
            _ => self.inherited(name).unwrap_or((Origin::Default, None)),
        }
    }

    fn is_created_without(&self, name: &str) -> bool {
        self.created.is_some() && name == "capacity"
    }

    /// A key of the queue or of the templates that made it, where it has a value that counts.
    pub(super) fn own(&self, name: &str) -> Option<Found> {
        let own = Self::key_at(&self.queue.path, name);
        let own = self
            .counts(&own, name)
            .then_some((Origin::Queue, Some(own)));
        match self.created {
            None => own,
            Some((CreationScheme::Managed, parent)) => {
                let template = Self::key_at(parent, &format!("leaf-queue-template.{name}"));
                let made = self.counts(&template, name);
                made.then_some((Origin::TemplateV1, Some(template))).or(own)
            }
            Some((CreationScheme::Flexible, parent)) => {
                let leaf = self.queue.kind == QueueKind::Leaf;
                let template = self.template(parent, name, leaf);
                let forced = (leaf && FORCED.contains(&name)).then_some((Origin::Derived, None));
                own.or(template).or(forced)
            }
        }
    }

    /// The key of a flexible template, the most explicit first.
    // As AutoCreatedQueueTemplate.setTemplateEntriesForChild.
    fn template(&self, parent: &str, name: &str, leaf: bool) -> Option<Found> {
        let own = if leaf {
            "leaf-template"
        } else {
            "parent-template"
        };
        let mut parts: Vec<&str> = parent.split('.').collect();
        let mut levels = vec![parts.join(".")];
        for at in (1..parts.len()).rev() {
            parts[at] = "*";
            levels.push(parts.join("."));
        }
        levels.truncate(self.depth(parent).saturating_add(1));
        let kinds = [own, "template"].into_iter();
        let keys = kinds.flat_map(|kind| {
            let name = format!("auto-queue-creation-v2.{kind}.{name}");
            levels.iter().map(move |path| Self::key_at(path, &name))
        });
        let mut keys: Vec<String> = keys.collect();
        keys.retain(|key| self.counts(key, name));
        let key = keys.into_iter().next()?;
        Some((Origin::TemplateV2, Some(key)))
    }

    /// Levels that templates of a parent are looked for above it.
    fn depth(&self, parent: &str) -> usize {
        let mut queues = self.loaded.settings.queues.iter();
        let parent = queues.find(|queue| &*queue.path == parent);
        let creation = parent.and_then(|parent| parent.creation.as_ref());
        creation.map_or(usize::MAX, |creation| creation.maximum_depth)
    }

    /// Whether a key is set to a value that is not passed over.
    fn counts(&self, key: &str, name: &str) -> bool {
        let Some(text) = self.text(key) else {
            return false;
        };
        match name {
            "maximum-applications"
            | "maximum-application-lifetime"
            | "default-application-lifetime" => {
                number::integer::<i64>(&text).is_some_and(|value| value >= 0)
            }
            "disable_preemption" | "intra-queue-preemption.disable_preemption" => {
                number::boolean(&text).is_some()
            }
            "maximum-allocation-mb" | "maximum-allocation-vcores" => text.trim() != "-1",
            _ => true,
        }
    }

    fn global(&self, key: &str) -> Found {
        match self.text(key) {
            Some(_) => (Origin::Global, Some(key.to_owned())),
            None => (Origin::Default, None),
        }
    }

    fn inherited(&self, name: &str) -> Option<Found> {
        let keys = self.ancestors().map(|path| Self::key_at(path, name));
        let mut keys = keys.filter(|key| self.counts(key, name));
        keys.next().map(|key| (Origin::Parent, Some(key)))
    }

    /// The largest allocation: that of the queue as a whole or by type, of an ancestor, of the site.
    fn allocation(&self, name: &str, index: usize) -> Found {
        let whole = "maximum-allocation";
        for path in std::iter::once(&*self.queue.path).chain(self.ancestors()) {
            let origin = if path == &*self.queue.path {
                Origin::Queue
            } else {
                Origin::Parent
            };
            let key = Self::key_at(path, whole);
            if self.text(&key).is_some_and(|text| !text.is_empty()) {
                return (origin, Some(key));
            }
            let key = Self::key_at(path, name);
            if self.counts(&key, name) {
                return (origin, Some(key));
            }
        }
        let site = ["mb", "vcores"][index.min(1)];
        self.global(&format!("yarn.scheduler.maximum-allocation-{site}"))
    }

    fn lifetime(&self, name: &str) -> Found {
        let lifetime = &self.queue.lifetime;
        let above = self.inherited(name).filter(|(_, key)| {
            let text = key.as_deref().and_then(|key| self.text(key));
            text.and_then(|text| number::integer::<i64>(&text)) == Some(lifetime.default_s)
        });
        match above {
            Some(found) => found,
            None if lifetime.default_s == -1 => (Origin::Default, None),
            None => (Origin::Derived, None),
        }
    }

    fn applications(&self) -> Found {
        let general = "global-queue-max-application";
        match self.scheduler().global_queue_maximum_applications {
            Some(_) => self.global(&format!("{PREFIX}{general}")),
            None => (Origin::Derived, None),
        }
    }
}
