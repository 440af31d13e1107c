//! Settings of queues that create their children by themselves.

use crate::queue::{CreationScheme, CreationSettings, QueueKind};

use super::diagnostic::clip;
use super::properties::PREFIX;
use super::queue::Context;
use super::scheduler;

impl Context<'_> {
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
                let message = format!("no management policy `{}`", clip(&class));
                self.look.fail("management_policy", &policy, message);
            }
            // The original reads the capacities of the template when it makes the parent.
            self.partitions(&key("leaf-queue-template")[PREFIX.len()..], None);
            let most = self.look.int(&key(&format!("{start}max-queues")), 1000);
            let fail = key(&format!("{start}fail-on-exceeding-parent-capacity"));
            return Some(CreationSettings {
                scheme: CreationScheme::Managed,
                maximum_queues: count(most),
                maximum_depth: 1,
                fail_on_exceeding_parent: self.look.flag(&fail, false),
            });
        }
        let start = "auto-queue-creation-v2.";
        if kind != QueueKind::Parent || !self.look.flag(&key(&format!("{start}enabled")), false) {
            return None;
        }
        let most = self.look.int(&key(&format!("{start}max-queues")), 1000);
        Some(CreationSettings {
            scheme: CreationScheme::Flexible,
            maximum_queues: count(most),
            maximum_depth: count(self.depth(path)),
            fail_on_exceeding_parent: false,
        })
    }

    /// `maximum-queue-depth` of a queue.
    pub(super) fn depth(&self, path: &str) -> i32 {
        let name = "auto-queue-creation-v2.maximum-queue-depth";
        let general = self.look.int(&scheduler::key(name), 2);
        self.look.int(&Self::key(path, name), general)
    }
}
