//! Creation of queues that can never happen.

use crate::queue::{
    CapacitySetting, ConfiguredState, CreationScheme, LegacyCapacity, QueueKind, QueueSettings,
    VectorEntry,
};

use super::{Effects, key};
use crate::config::diagnostic::{Diagnostic, clip, clip_key};
use crate::config::keys::CREATION_V2;
use crate::config::prefix::PREFIX;

/// The name of a queue that no file mentions, to ask what a template makes of it.
const SAMPLE: &str = "(created)";

impl Effects<'_> {
    /// Parents that are to create queues and never can.
    // As ParentQueue.addDynamicChildQueue, CapacitySchedulerQueueManager.determineMissingParents.
    pub(super) fn creations(&self) -> Vec<Diagnostic> {
        let queues = self.settings.queues.iter();
        queues
            .filter_map(|queue| {
                let (cause, help) = self.never(queue)?;
                let message = format!("`{}` never creates a queue: {cause}", clip(&queue.path));
                let own = if queue.kind == QueueKind::ManagedParent && !self.flag(&v2(queue)) {
                    key(&queue.path, "auto-create-child-queue.enabled")
                } else {
                    v2(queue)
                };
                Some(self.warning("W_CREATION_NEVER", &own, message, help))
            })
            .collect()
    }

    /// Templates of queues below which nothing is created.
    // As AbstractParentQueue.isEligibleForAutoQueueCreation and ParentQueue against ManagedParentQueue.
    pub(super) fn unused_templates(&self) -> Vec<Diagnostic> {
        let queues = self.settings.queues.iter();
        let idle = queues.filter(|queue| queue.creation.is_none());
        idle.filter_map(|queue| {
            let parts = [
                ("leaf-queue-template.", "auto-create-child-queue.enabled"),
                (
                    "auto-queue-creation-v2.template.",
                    "auto-queue-creation-v2.enabled",
                ),
                (
                    "auto-queue-creation-v2.leaf-template.",
                    "auto-queue-creation-v2.enabled",
                ),
                (
                    "auto-queue-creation-v2.parent-template.",
                    "auto-queue-creation-v2.enabled",
                ),
            ];
            parts.into_iter().find_map(|(template, switch)| {
                let below = key(&queue.path, template);
                let found = self.properties.keys_below(&below).next()?.to_owned();
                let message = format!(
                    "`{}` has no effect: nothing is created below `{}`",
                    clip(&found),
                    clip(&queue.path)
                );
                let switch = clip_key(&key(&queue.path, switch));
                let help = format!("set `{switch}` to true, or remove the template");
                Some(self.warning("W_KEY_NO_EFFECT", &found, message, help))
            })
        })
        .collect()
    }

    /// Why a parent never creates a queue, and what helps.
    fn never(&self, queue: &QueueSettings) -> Option<(String, String)> {
        let creation = queue.creation.as_ref()?;
        if creation.scheme == CreationScheme::Managed {
            return self
                .never_managed(queue, creation.maximum_queues)
                .or_else(|| self.never_by_template(queue));
        }
        if creation.maximum_depth == 0 {
            let limit = key(&queue.path, &format!("{CREATION_V2}maximum-queue-depth"));
            let cause = "`maximum-queue-depth` allows none below it".to_owned();
            return Some((cause, format!("set `{limit}` to 1 or more")));
        }
        let children = self.listed(queue);
        if children.len() >= creation.maximum_queues {
            let limit = key(&queue.path, &format!("{CREATION_V2}max-queues"));
            let count = children.len();
            let cause = format!("its {count} listed children count towards `max-queues`");
            return Some((cause, format!("set `{limit}` to {} or more", count + 1)));
        }
        self.without_weights(children)
            .or_else(|| self.never_by_template(queue))
    }

    /// Why no queue that the template describes comes into use.
    ///
    /// Says nothing where a file has a capacity for a queue that is yet to be created: such a
    /// queue follows its own keys.
    fn never_by_template(&self, queue: &QueueSettings) -> Option<(String, String)> {
        if self.has_own_capacities(queue) {
            return None;
        }
        let template = |name: &str| key(&queue.path, &format!("{}{name}", template_of(queue)));
        let leaf = match self.settings.templates.dynamic(queue, SAMPLE, true) {
            Ok(leaf) => leaf,
            Err(code) => {
                let cause = format!("its template is refused ({code})");
                let help = format!("correct the keys below `{}`", clip(&template("")));
                return Some((cause, help));
            }
        };
        if self.stops(queue, &leaf) {
            let cause = "its template stops the queue".to_owned();
            return Some((cause, format!("remove `{}`", clip(&template("state")))));
        }
        let share = leaf.partitions.get("").map(|part| &part.capacity)?;
        let capacity = template("capacity");
        if self.settings.scheduler.legacy_queue_mode && self.mixes(queue, share.legacy) {
            return Some(of_another_kind(queue, &capacity));
        }
        self.without_share(queue, &leaf, share).then(|| {
            let cause = "its share would be 0, and so its number of applications".to_owned();
            let most = template("maximum-applications");
            let help = "leave room beside the listed children, or set";
            (cause, format!("{help} `{}`", clip(&most)))
        })
    }

    /// Whether every leaf is created stopped: directly below, and below created parents.
    fn stops(&self, queue: &QueueSettings, leaf: &QueueSettings) -> bool {
        let stopped = |queue: &QueueSettings| queue.state == Some(ConfiguredState::Stopped);
        let deeper = queue.kind != QueueKind::ManagedParent
            && queue
                .creation
                .as_ref()
                .is_some_and(|of| of.maximum_depth > 1);
        let parent = || self.settings.templates.dynamic(queue, SAMPLE, false);
        stopped(leaf) && (!deeper || parent().is_ok_and(|parent| stopped(&parent)))
    }

    /// Whether a file has a capacity for a queue below, other than those that are listed.
    fn has_own_capacities(&self, queue: &QueueSettings) -> bool {
        let below = format!("{PREFIX}{}.", queue.path);
        let mut keys = self.properties.keys_below(&below);
        keys.any(|key| {
            let name = key[below.len()..].strip_suffix(".capacity");
            name.is_some_and(|name| {
                !name.contains('.')
                    && name != "leaf-queue-template"
                    && self.queue(&format!("{}.{name}", queue.path)).is_none()
            })
        })
    }

    /// Whether legacy mode refuses a created leaf beside the listed children, or alone.
    // As AbstractParentQueue.getCapacityConfigurationTypeForQueues; percentages need their sum.
    fn mixes(&self, queue: &QueueSettings, created: LegacyCapacity) -> bool {
        let listed = self.listed(queue);
        let is_weight = |capacity: LegacyCapacity| matches!(capacity, LegacyCapacity::Weight(_));
        if queue.kind == QueueKind::ManagedParent {
            let kinds = listed.iter().filter_map(|child| child.partitions.get(""));
            let mut weighs = kinds.map(|part| is_weight(part.capacity.legacy));
            return weighs.any(|weight| weight != is_weight(created));
        }
        let alone = listed.is_empty() && created == LegacyCapacity::Percent(100.0);
        !is_weight(created) && !alone
    }

    /// Whether a created leaf is guaranteed nothing, and admits no application for this reason.
    // As AbstractLeafQueue.getMaxApplications by the absolute capacity.
    fn without_share(
        &self,
        queue: &QueueSettings,
        leaf: &QueueSettings,
        share: &CapacitySetting,
    ) -> bool {
        let scheduler = &self.settings.scheduler;
        let own = leaf.leaf.maximum_applications.filter(|most| *most > 0);
        if queue.kind == QueueKind::ManagedParent
            || own
                .or(scheduler.global_queue_maximum_applications)
                .is_some()
        {
            return false;
        }
        if scheduler.legacy_queue_mode {
            return share.legacy == LegacyCapacity::Weight(0.0);
        }
        let listed = self.listed(queue);
        let nothing = |(i, entry): (usize, &VectorEntry)| match entry {
            VectorEntry::Weight(weight) => *weight == 0.0 || percents(listed, i) >= 100.0,
            _ => false,
        };
        share.vector.iter().enumerate().all(nothing)
    }

    fn listed(&self, queue: &QueueSettings) -> &[&QueueSettings] {
        let listed = self.children.get(&*queue.path);
        listed.map_or(&[][..], Vec::as_slice)
    }

    /// In legacy mode children are created among weights alone.
    fn without_weights(&self, children: &[&QueueSettings]) -> Option<(String, String)> {
        let weighs = |queue: &&QueueSettings| {
            let mut parts = queue.partitions.values();
            parts.any(|part| matches!(part.capacity.legacy, LegacyCapacity::Weight(w) if w >= 0.0))
        };
        let legacy = self.settings.scheduler.legacy_queue_mode;
        if !legacy || children.is_empty() || children.iter().any(weighs) {
            return None;
        }
        let cause = "the children that it lists have no weights".to_owned();
        let weights: Vec<String> = children
            .iter()
            .take(3)
            .map(|child| {
                let own = key(&child.path, "capacity");
                let share = match child.partitions.get("").map(|part| part.capacity.legacy) {
                    Some(LegacyCapacity::Percent(percent)) if percent > 0.0 => percent,
                    _ => 1.0,
                };
                format!("`{}` to `{share}w`", clip(&own))
            })
            .collect();
        let more = if children.len() > weights.len() {
            ", and so on"
        } else {
            ""
        };
        Some((cause, format!("set {}{more}", weights.join(", "))))
    }

    /// A managed parent with two schemes, or without room.
    fn never_managed(&self, queue: &QueueSettings, most: usize) -> Option<(String, String)> {
        let first = key(&queue.path, "auto-create-child-queue.enabled");
        if self.flag(&v2(queue)) {
            let cause = format!("by version 2, for `{}` takes its place", clip(&first));
            let help = format!("remove `{}`, or `{}`", clip(&first), clip(&v2(queue)));
            return Some((cause, help));
        }
        (most == 0).then(|| {
            let limit = key(&queue.path, "auto-create-child-queue.max-queues");
            let cause = "`max-queues` allows none".to_owned();
            (cause, format!("set `{limit}` to 1 or more"))
        })
    }
}

/// A template whose capacity, at this key, does not go with the children.
fn of_another_kind(queue: &QueueSettings, capacity: &str) -> (String, String) {
    let cause = "its template gives a capacity of another kind than its children have".to_owned();
    let help = if queue.kind == QueueKind::ManagedParent {
        format!("give `{}` the kind of the listed children", clip(capacity))
    } else {
        format!("set `{}` to a weight, or remove it", clip(capacity))
    };
    (cause, help)
}

/// The sum of the percentages that listed children have of a resource type.
fn percents(listed: &[&QueueSettings], of: usize) -> f64 {
    let capacities = listed.iter().filter_map(|child| child.partitions.get(""));
    let entries = capacities.filter_map(|part| part.capacity.vector.get(of));
    entries
        .map(|entry| match entry {
            VectorEntry::Percent(percent) => *percent,
            _ => 0.0,
        })
        .sum()
}

/// Where the keys of created leaves stand.
fn template_of(queue: &QueueSettings) -> String {
    if queue.kind == QueueKind::ManagedParent {
        "leaf-queue-template.".to_owned()
    } else {
        format!("{CREATION_V2}leaf-template.")
    }
}

fn v2(queue: &QueueSettings) -> String {
    key(&queue.path, &format!("{CREATION_V2}enabled"))
}
