//! The settings of a queue whose origin is shown: how far each is looked for, and its value.

use crate::config::access::access_text;
use crate::queue::{Accessible, AppOrder, ChildOrder, ConfiguredState, QueueKind};

use super::lookup::OriginLookup;
use super::reach::Reach;

/// Queues that a setting means something for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldsFor {
    Every,
    Leaves,
}

impl HoldsFor {
    pub(super) fn covers(self, leaf: bool) -> bool {
        self == Self::Every || leaf
    }
}

/// One setting.
pub(super) struct SettingRule {
    pub(super) name: &'static str,
    pub(super) holds_for: HoldsFor,
    pub(super) reach: Reach,
    /// The value that holds.
    pub(super) value: fn(&OriginLookup<'_>) -> String,
}

const fn every(
    name: &'static str,
    reach: Reach,
    value: fn(&OriginLookup<'_>) -> String,
) -> SettingRule {
    SettingRule {
        name,
        holds_for: HoldsFor::Every,
        reach,
        value,
    }
}

const fn leaf(
    name: &'static str,
    reach: Reach,
    value: fn(&OriginLookup<'_>) -> String,
) -> SettingRule {
    SettingRule {
        name,
        holds_for: HoldsFor::Leaves,
        reach,
        value,
    }
}

const MONITOR: &str = "yarn.resourcemanager.scheduler.monitor.enable";
const INTRA: &str =
    "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled";

/// All of them, in the order in which they are shown.
pub(super) const RULES: &[SettingRule] = &[
    every("capacity", Reach::Own, |of| of.capacity("capacity")),
    every("maximum-capacity", Reach::Own, |of| {
        of.capacity("maximum-capacity")
    }),
    every("state", Reach::Ancestors, state),
    every("ordering-policy", Reach::ParentsInherit, ordering),
    every("priority", Reach::Own, |of| of.queue.priority.to_string()),
    leaf("user-limit-factor", Reach::Scheduler, |of| {
        of.queue.leaf.user_limit_factor.to_string()
    }),
    leaf("minimum-user-limit-percent", Reach::Scheduler, |of| {
        of.queue.leaf.user_limit_percent.to_string()
    }),
    leaf("maximum-am-resource-percent", Reach::Scheduler, |of| {
        of.queue.maximum_master_share.to_string()
    }),
    leaf("maximum-applications", Reach::Applications, applications),
    every("max-parallel-apps", Reach::Scheduler, |of| {
        match of.queue.maximum_parallel {
            i32::MAX => "unlimited".to_owned(),
            most => most.to_string(),
        }
    }),
    every("maximum-allocation-mb", Reach::Allocation(0), |of| {
        of.queue.maximum_allocation[0].to_string()
    }),
    every("maximum-allocation-vcores", Reach::Allocation(1), |of| {
        of.queue.maximum_allocation[1].to_string()
    }),
    every("accessible-node-labels", Reach::Ancestors, labels),
    every(
        "default-node-label-expression",
        Reach::DefaultLabel,
        |of| match &of.queue.default_partition {
            Some(label) => label.to_string(),
            None => String::new(),
        },
    ),
    every("disable_preemption", Reach::Protection(MONITOR), |of| {
        of.queue.preemption_disabled.to_string()
    }),
    every(
        "intra-queue-preemption.disable_preemption",
        Reach::Protection(INTRA),
        |of| of.queue.intra_queue_preemption_disabled.to_string(),
    ),
    every("acl_submit_applications", Reach::Own, |of| {
        access_text(&of.queue.access.submit)
    }),
    every("acl_administer_queue", Reach::Own, |of| {
        access_text(&of.queue.access.administer)
    }),
    every("maximum-application-lifetime", Reach::Ancestors, |of| {
        of.queue.lifetime.maximum_s.to_string()
    }),
    every("default-application-lifetime", Reach::Lifetime, |of| {
        of.queue.lifetime.default_s.to_string()
    }),
    every("multi-node-sorting.policy", Reach::Scheduler, |of| {
        of.queue.node_policy.as_deref().unwrap_or("").to_owned()
    }),
];

/// A queue without a state of its own follows its parent.
fn state(of: &OriginLookup<'_>) -> String {
    let stopped = match of.queue.state {
        Some(state) => state == ConfiguredState::Stopped,
        None => of.stopped_above(),
    };
    let word = if stopped { "STOPPED" } else { "RUNNING" };
    word.to_owned()
}

fn ordering(of: &OriginLookup<'_>) -> String {
    let word = match (of.queue.kind, &of.queue.leaf.app_order) {
        (QueueKind::Leaf, AppOrder::Fifo) => "fifo",
        (QueueKind::Leaf, AppOrder::Fair { .. }) => "fair",
        (QueueKind::Leaf, AppOrder::FifoWithPartitions { .. }) => "fifo-with-partitions",
        (QueueKind::Leaf, AppOrder::FifoForPendingApps) => "fifo-for-pending-apps",
        _ => match of.queue.child_order {
            ChildOrder::Utilization => "utilization",
            ChildOrder::PriorityUtilization => "priority-utilization",
        },
    };
    word.to_owned()
}

/// The bound of the queue; without one it is a share of the scheduler's.
// As LeafQueue.setupQueueConfigs.
fn applications(of: &OriginLookup<'_>) -> String {
    let general = of.scheduler().global_queue_maximum_applications;
    match of.queue.leaf.maximum_applications.or(general) {
        Some(most) => most.to_string(),
        None => "share of maximum-applications".to_owned(),
    }
}

fn labels(of: &OriginLookup<'_>) -> String {
    match &of.queue.accessible {
        Accessible::All => "*".to_owned(),
        Accessible::Only(names) => {
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            names.join(",")
        }
    }
}
