//! Settings of queues that create their children by themselves.

use std::collections::BTreeMap;

use crate::queue::{
    Accessible, Amounts, CreationScheme, CreationSettings, LegacyCapacity, QueueKind, QueueSettings,
};

use super::diagnostic::{clip, clip_key};
use super::prefix::PREFIX;
use super::queue::QueueContext;
use super::scheduler;

impl QueueContext<'_> {
    pub(super) fn creation(&self, path: &str, kind: QueueKind) -> Option<CreationSettings> {
        let key = |name: &str| Self::key(path, name);
        let count = |value: i32| usize::try_from(value.max(0)).expect("at least 0");
        if kind == QueueKind::ManagedParent {
            let start = "auto-create-child-queue.";
            let policy = key(&format!("{start}management-policy"));
            let known = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.\
                         queuemanagement.GuaranteedOrZeroCapacityOverTimePolicy";
            if let Some(class) = self.look.text(&policy)
                && class != known
            {
                let message = format!("no management policy `{}`", clip_key(&class));
                self.look.fail("management_policy", &policy, message);
            }
            // The original reads the capacities of the template when it makes the parent.
            let path = &key("leaf-queue-template")[PREFIX.len()..];
            let (template, _) = self.partitions(path, None);
            let most = self.look.queues(&key(&format!("{start}max-queues")), 1000);
            let fail = key(&format!("{start}fail-on-exceeding-parent-capacity"));
            return Some(CreationSettings {
                scheme: CreationScheme::Managed,
                maximum_queues: count(most),
                maximum_depth: 1,
                fail_on_exceeding_parent: self.look.flag(&fail, false),
                template,
            });
        }
        let start = "auto-queue-creation-v2.";
        if kind != QueueKind::Parent || !self.look.flag(&key(&format!("{start}enabled")), false) {
            return None;
        }
        let most = self.look.queues(&key(&format!("{start}max-queues")), 1000);
        Some(CreationSettings {
            scheme: CreationScheme::Flexible,
            maximum_queues: count(most),
            maximum_depth: count(self.depth(path)),
            fail_on_exceeding_parent: false,
            template: BTreeMap::new(),
        })
    }

    /// The template of a managed parent keeps to the labels of the parent, and amounts in it ask for
    /// a parent of absolute capacity.
    // As ManagedParentQueue.setAbsoluteResourceTemplates with AbstractCSQueue.updateCapacityConfigType,
    // and GuaranteedOrZeroCapacityOverTimePolicy.initializeLeafQueueTemplate.
    pub(super) fn check_template(&self, queue: &QueueSettings) {
        let capacity = queue.partitions.get("").map(|of| &of.capacity);
        let absolute = capacity.is_some_and(|capacity| match capacity.legacy {
            _ if !self.legacy => capacity.is_absolute_vector(),
            LegacyCapacity::Absolute(_) => true,
            _ => false,
        });
        let usable = |label: &str| match &queue.accessible {
            Accessible::All => queue.partitions.contains_key(label),
            own @ Accessible::Only(_) => own.contains(label),
        };
        let creation = queue.creation.iter();
        for (label, of) in creation.flat_map(|creation| &creation.template) {
            let template = format!("{}.leaf-queue-template", queue.path);
            let key = Self::label_key(&template, label, "capacity");
            let path = clip(&queue.path);
            let amount = Amounts::of(of).minimum;
            if !amount.is_none() && !absolute {
                let message =
                    format!("the template of `{path}` has an absolute capacity, `{path}` has none");
                self.look.fail("absolute_template", &key, message);
            } else if !usable(label) {
                let label = clip(label);
                let message = format!(
                    "the template of `{path}` names the label `{label}`, `{path}` does not"
                );
                self.look.fail("template_label", &key, message);
            }
        }
    }

    /// `maximum-queue-depth` of a queue.
    pub(super) fn depth(&self, path: &str) -> i32 {
        let name = "auto-queue-creation-v2.maximum-queue-depth";
        let general = self.look.int(&scheduler::key(name), 2);
        self.look.int(&Self::key(path, name), general)
    }
}
