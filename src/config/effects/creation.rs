//! Creation of queues that can never happen.

use crate::queue::{CreationScheme, LegacyCapacity, QueueKind, QueueSettings};

use super::{Effects, key};
use crate::config::diagnostic::{Diagnostic, clip};
use crate::config::keys::CREATION_V2;

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

    /// Why a parent never creates a queue, and what helps.
    fn never(&self, queue: &QueueSettings) -> Option<(String, String)> {
        let creation = queue.creation.as_ref()?;
        if creation.scheme == CreationScheme::Managed {
            return self.never_managed(queue, creation.maximum_queues);
        }
        if creation.maximum_depth == 0 {
            let limit = key(&queue.path, &format!("{CREATION_V2}maximum-queue-depth"));
            let cause = "`maximum-queue-depth` allows none below it".to_owned();
            return Some((cause, format!("set `{limit}` to 1 or more")));
        }
        let children = self
            .children
            .get(&*queue.path)
            .map_or(&[][..], Vec::as_slice);
        if children.len() >= creation.maximum_queues {
            let limit = key(&queue.path, &format!("{CREATION_V2}max-queues"));
            let count = children.len();
            let cause = format!("its {count} listed children count towards `max-queues`");
            return Some((cause, format!("set `{limit}` to {} or more", count + 1)));
        }
        self.without_weights(children)
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
            let cause = format!("`{}` takes its place", clip(&first));
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

fn v2(queue: &QueueSettings) -> String {
    key(&queue.path, &format!("{CREATION_V2}enabled"))
}
