//! Maximums of another kind than the capacity, and priorities that no order looks at.

use crate::queue::ChildOrder;

use super::{Effects, key};
use crate::config::amount;
use crate::config::diagnostic::{Diagnostic, clip};
use crate::config::prefix::PREFIX;

/// How legacy mode reads a capacity or its maximum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MaximumKind {
    /// Percentages and weights: both have a maximum in percent.
    Relative,
    Absolute,
    /// A weight, which no maximum has; that of a label counts as unset.
    Weight,
}

fn kind(text: &str) -> MaximumKind {
    if amount::is_absolute(text) || amount::is_vector(text) {
        MaximumKind::Absolute
    } else if amount::weight(text).is_some() {
        MaximumKind::Weight
    } else {
        MaximumKind::Relative
    }
}

/// Why a maximum is ignored, and what helps.
fn mismatch(key: &str, base: &str, wants: MaximumKind, has: MaximumKind) -> (&'static str, String) {
    match wants {
        MaximumKind::Absolute => (
            "its capacity is amounts",
            format!("give `{key}` amounts too, as in `[memory=8192,vcores=8]`"),
        ),
        MaximumKind::Relative if has == MaximumKind::Weight => (
            "a maximum is no weight",
            format!("give `{key}` a percentage"),
        ),
        MaximumKind::Relative | MaximumKind::Weight => (
            "its capacity is no amounts",
            format!("give `{key}` a percentage, or `{base}.capacity` amounts"),
        ),
    }
}

impl Effects<'_> {
    /// Legacy mode reads the maximum of a queue only in the kind of its capacity. The other kind
    /// leaves the queue without a maximum.
    // As AbstractCSQueue.updateEffectiveResources, by the kind of the capacity.
    pub(super) fn maximums(&self) -> Vec<Diagnostic> {
        if !self.settings.scheduler.legacy_queue_mode {
            return Vec::new();
        }
        let keys = self.properties.keys_below(PREFIX);
        let maximums = keys.filter_map(|key| {
            let base = key.strip_suffix(".maximum-capacity")?;
            self.maximum(key, base)
        });
        maximums.collect()
    }

    fn maximum(&self, key: &str, base: &str) -> Option<Diagnostic> {
        let path = base.strip_prefix(PREFIX)?;
        let queue = path.split(".accessible-node-labels").next()?;
        if queue == "root" || !self.owns(queue) {
            return None;
        }
        let maximum = self.text(key)?;
        let capacity = self.text(&format!("{base}.capacity")).unwrap_or_default();
        let wants = match kind(&capacity) {
            MaximumKind::Weight => MaximumKind::Relative,
            other => other,
        };
        let has = kind(&maximum);
        // The whole cluster is what a queue without a maximum may use anyway.
        if has == wants || matches!(maximum.trim(), "100" | "100.0" | "100.0f" | "-1") {
            return None;
        }
        if has == MaximumKind::Weight && !base.contains(".accessible-node-labels.") {
            return None;
        }
        let (why, help) = mismatch(key, base, wants, has);
        let message = format!(
            "the maximum `{}` of `{}` is ignored: {why}",
            clip(&maximum),
            clip(path)
        );
        let finding = self.warning("W_MAXIMUM_KIND", key, message, help);
        Some(finding.also(
            self.properties.span(&format!("{base}.capacity")),
            "the capacity",
        ))
    }

    /// Whether a queue or one of its templates has the keys of a path.
    fn owns(&self, path: &str) -> bool {
        let own = path
            .split(".leaf-queue-template")
            .next()
            .and_then(|path| path.split(".auto-queue-creation-v2.").next());
        own.is_some_and(|own| self.queue(own).is_some())
    }

    /// A priority counts only among the children of a parent that serves by priority.
    // As PriorityUtilizationQueueOrderingPolicy without respectPriority.
    pub(super) fn priorities(&self) -> Vec<Diagnostic> {
        let mut all = Vec::new();
        for queue in &self.settings.queues {
            let Some(parent) = queue.parent_path().and_then(|path| self.queue(path)) else {
                continue;
            };
            let own = key(&queue.path, "priority");
            if queue.priority == 0
                || parent.child_order == ChildOrder::PriorityUtilization
                || self.properties.span(&own).is_none()
            {
                continue;
            }
            let message = format!(
                "the priority {} of `{}` has no effect: `{}` does not serve by priority",
                queue.priority,
                clip(&queue.path),
                clip(&parent.path)
            );
            let order = key(&parent.path, "ordering-policy");
            let help = format!("set `{order}` to `priority-utilization`");
            all.push(self.warning("W_PRIORITY_UNUSED", &own, message, help));
        }
        all
    }
}
