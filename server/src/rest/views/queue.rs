//! Queues and the scheduler as a whole.
// As CapacitySchedulerInfo, CapacitySchedulerQueueInfo and CapacitySchedulerLeafQueueInfo.

use std::collections::{BTreeMap, BTreeSet};

use capsched::commit::Ledger;
use capsched::config::{Properties, access_text};
use capsched::id::{Map, PartitionId, QueueSlot};
use capsched::policy::last_user_limit;
use capsched::queue::{
    AccessList, Accessible, AppOrder, CapacityMode, CapacitySetting, ChildOrder, CreationScheme,
    Leaf, LegacyCapacity, Queue, QueueKind, QueuePart, QueueSettings, QueueState,
    SchedulerSettings, User, VectorEntry,
};
use capsched::resource::{ResourceVector, share};
use capsched::snapshot::State;

use super::queue_counts::{Counts, counts};
use super::resource::{Bounds, open, resource};
use crate::rest::json::java_float;
use crate::rest::tree::Object;
use crate::rm::{LastOperation, LastRun};

/// What the health of the scheduler is formed from.
#[derive(Clone, Debug, Default)]
pub(in crate::rest) struct Health {
    pub(in crate::rest) last: [Option<LastOperation>; 4],
    pub(in crate::rest) run: LastRun,
}

/// The whole scheduler, as `scheduler` shows it.
pub(in crate::rest) fn scheduler(
    ledger: &Ledger,
    properties: &Properties,
    health: &Health,
    used_by: &UsedBy,
) -> Object {
    let queues = Queues {
        state: ledger.state(),
        settings: &ledger.state().settings,
        properties,
        counts: counts(ledger),
        used_by,
    };
    let info = queues.root(health);
    Object::new().with("schedulerInfo", info)
}

struct Queues<'a> {
    state: &'a State,
    settings: &'a SchedulerSettings,
    properties: &'a Properties,
    counts: Map<QueueSlot, Counts>,
    /// Partitions on which users of leaves ever had containers, by leaf and user.
    used_by: &'a UsedBy,
}

/// Partitions on which users ever had containers, by path of the leaf and name of the user.
pub(in crate::rest) type UsedBy = BTreeMap<(String, String), BTreeSet<String>>;

/// A fraction as percent.
fn percent(fraction: f32) -> f32 {
    share::product(fraction, 100.0)
}

/// A fraction of a whole as percent, not below 0 and not above 100.
fn percent_of_whole(fraction: f32) -> f32 {
    percent(fraction.clamp(0.0, 1.0))
}

/// A maximum as percent; one that cannot be meant counts as the whole.
fn percent_of_maximum(fraction: f32) -> f32 {
    let meant = fraction >= 1e-8 && fraction <= 1.0;
    percent(if meant { fraction } else { 1.0 })
}

impl Queues<'_> {
    fn root(&self, health: &Health) -> Object {
        let queue = &self.state.queues[State::ROOT];
        let part = queue.part(PartitionId::DEFAULT);
        let vector = self.vector_of(queue, PartitionId::DEFAULT);
        let children = self.children(State::ROOT);
        let object = Object::of_kind("capacityScheduler")
            .with("capacity", percent(part.capacity))
            .with("usedCapacity", percent(part.used_capacity))
            .with("maxCapacity", percent_of_maximum(part.maximum_capacity))
            .with("weight", part.weight)
            .with("normalizedWeight", part.normalized_weight)
            .with("queueCapacityVectorInfo", vector)
            .with("queueName", queue.settings.name())
            .with("queuePath", &*queue.settings.path)
            .with("maxParallelApps", queue.settings.maximum_parallel)
            .with("isAbsoluteResource", queue.mode == CapacityMode::Absolute)
            .with_some("queues", children)
            .with("capacities", self.capacities(queue))
            .with("health", self.health(health))
            .with("maximumAllocation", self.maximum_allocation(queue))
            .with("queueAcls", acls(&queue.settings))
            .with("queuePriority", queue.settings.priority)
            .with("orderingPolicyInfo", order_name(queue));
        self.kinds(object, queue)
    }

    fn children(&self, slot: QueueSlot) -> Option<Object> {
        let children = &self.state.queues[slot].children;
        let queues = children.iter().map(|&child| self.queue(child));
        (!children.is_empty()).then(|| Object::new().with_many("queue", queues))
    }

    fn queue(&self, slot: QueueSlot) -> Object {
        let queue = &self.state.queues[slot];
        let part = queue.part(PartitionId::DEFAULT);
        let settings = &queue.settings;
        let (counts, leaf) = (self.count(slot), queue.leaf.as_deref());
        let mut object = match leaf {
            Some(_) => Object::of_kind("capacitySchedulerLeafQueueInfo"),
            None => Object::new(),
        };
        object = object
            .with("queuePath", &*settings.path)
            .with("capacity", percent(part.capacity))
            .with("usedCapacity", percent(part.used_capacity))
            .with("maxCapacity", percent_of_maximum(part.maximum_capacity))
            .with("absoluteCapacity", percent_of_whole(part.absolute_capacity))
            .with(
                "absoluteMaxCapacity",
                percent_of_whole(part.absolute_maximum),
            )
            .with("absoluteUsedCapacity", percent_of_whole(part.absolute_used))
            .with("weight", part.weight)
            .with("normalizedWeight", part.normalized_weight)
            .with("numApplications", applications(queue))
            .with("maxParallelApps", settings.maximum_parallel)
            .with("queueName", settings.name())
            .with("isAbsoluteResource", queue.mode == CapacityMode::Absolute)
            .with("state", state_name(queue.state))
            .with_some("queues", self.children(slot))
            .with("resourcesUsed", open(self.settings, &part.used.get()))
            .with("hideReservationQueues", false)
            .with_many("nodeLabels", labels(&settings.accessible))
            .with("allocatedContainers", counts.allocated)
            .with("reservedContainers", counts.reserved)
            .with("pendingContainers", counts.pending)
            .with("capacities", self.capacities(queue))
            .with("resources", self.resources(queue))
            .with(
                "minEffectiveCapacity",
                open(self.settings, &part.guaranteed.get()),
            )
            .with(
                "maxEffectiveCapacity",
                open(self.settings, &part.limit.get()),
            )
            .with("maximumAllocation", self.maximum_allocation(queue))
            .with("queueAcls", acls(settings))
            .with("queuePriority", settings.priority)
            .with("orderingPolicyInfo", order_name(queue))
            .with(
                "autoCreateChildQueueEnabled",
                settings.kind == QueueKind::ManagedParent,
            )
            .with(
                "leafQueueTemplate",
                self.template(queue, "leaf-queue-template"),
            );
        object = self.kinds(object, queue);
        match leaf {
            Some(leaf) => object.and(self.leaf(slot, queue, leaf)),
            None => object,
        }
    }

    fn count(&self, slot: QueueSlot) -> Counts {
        self.counts.get(&slot).copied().unwrap_or_default()
    }

    /// What kind of queue it is and what it may create.
    fn kinds(&self, object: Object, queue: &Queue) -> Object {
        let settings = &queue.settings;
        let mode = match queue.mode {
            CapacityMode::Percent => "percentage",
            CapacityMode::Weight => "weight",
            CapacityMode::Absolute => "absolute",
        };
        let creation = match (settings.dynamic, self.is_managed(queue)) {
            (false, _) => "static",
            (true, true) => "dynamicLegacy",
            (true, false) => "dynamicFlexible",
        };
        let eligible = match settings.creation.as_ref().map(|creation| creation.scheme) {
            None => "off",
            Some(CreationScheme::Managed) => "legacy",
            Some(CreationScheme::Flexible) => "flexible",
        };
        let template = |kind: &str| self.template(queue, &format!("auto-queue-creation-v2.{kind}"));
        object
            .with("mode", mode)
            .with("queueType", if queue.is_leaf() { "leaf" } else { "parent" })
            .with("creationMethod", creation)
            .with("autoCreationEligibility", eligible)
            .with_some(
                "defaultNodeLabelExpression",
                settings.default_partition.as_deref(),
            )
            .with("autoQueueTemplateProperties", template("template"))
            .with(
                "autoQueueParentTemplateProperties",
                template("parent-template"),
            )
            .with("autoQueueLeafTemplateProperties", template("leaf-template"))
    }

    fn is_managed(&self, queue: &Queue) -> bool {
        let parent = queue.parent.map(|parent| &self.state.queues[parent]);
        parent.is_some_and(|parent| parent.settings.kind == QueueKind::ManagedParent)
    }

    /// The keys of a queue below a prefix.
    fn template(&self, queue: &Queue, kind: &str) -> Object {
        let prefix = format!("yarn.scheduler.capacity.{}.{kind}.", queue.settings.path);
        let keys = self.properties.keys_below(&prefix);
        let pair = |key: &str| {
            let value = self.properties.text(key).ok().flatten().unwrap_or_default();
            let name = key.strip_prefix(&*prefix).unwrap_or(key);
            Object::new().with("name", name).with("value", value)
        };
        Object::new().with_many("property", keys.map(pair).collect::<Vec<_>>())
    }

    fn maximum_allocation(&self, queue: &Queue) -> Object {
        open(self.settings, &queue.settings.maximum_allocation)
    }

    /// Partitions of the cluster on which something is known of a queue.
    fn partitions(&self, queue: &Queue) -> Vec<PartitionId> {
        let known = |partition: &PartitionId| {
            let part: &QueuePart = queue.part(*partition);
            part.counted || (part.known && self.state.partitions[*partition].exists)
        };
        self.state.partition_ids().filter(known).collect()
    }

    fn capacities(&self, queue: &Queue) -> Object {
        let partitions = self.partitions(queue).into_iter();
        let one = |partition: PartitionId| {
            let part = queue.part(partition);
            let masters = if queue.is_leaf() {
                part.master_share
            } else {
                0.0
            };
            let configured =
                |amount: &ResourceVector| resource(self.settings, amount, Bounds::Allocation);
            // What was never computed is as it was made.
            let bounds = if part.known {
                Bounds::Open
            } else {
                Bounds::Allocation
            };
            let effective = |amount: &ResourceVector| resource(self.settings, amount, bounds);
            Object::new()
                .with("partitionName", &*self.state.partitions[partition].name)
                .with("queueCapacityVectorInfo", self.vector_of(queue, partition))
                .with("capacity", percent(part.capacity))
                .with("usedCapacity", percent(part.used_capacity))
                .with("maxCapacity", percent_of_maximum(part.maximum_capacity))
                .with("absoluteCapacity", percent_of_whole(part.absolute_capacity))
                .with("absoluteUsedCapacity", percent_of_whole(part.absolute_used))
                .with(
                    "absoluteMaxCapacity",
                    percent_of_whole(part.absolute_maximum),
                )
                .with("maxAMLimitPercentage", percent(masters))
                .with("weight", part.weight)
                .with("normalizedWeight", part.normalized_weight)
                .with(
                    "configuredMinResource",
                    configured(&part.configured_minimum.get()),
                )
                .with(
                    "configuredMaxResource",
                    configured(&part.configured_maximum.get()),
                )
                .with("effectiveMinResource", effective(&part.guaranteed.get()))
                .with("effectiveMaxResource", effective(&part.limit.get()))
        };
        Object::new().with_many("queueCapacitiesByPartition", partitions.map(one))
    }

    /// The capacity of a queue as an entry for each resource type.
    // As QueueCapacityVectorInfo.
    fn vector_of(&self, queue: &Queue, partition: PartitionId) -> Object {
        let name = &self.state.partitions[partition].name;
        let setting = queue.settings.partitions.get(name);
        let entries = setting.map(|setting| self.vector(&setting.capacity));
        let entries = entries.unwrap_or_default();
        let text = entries
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let text = format!("[{}]", text.collect::<Vec<_>>().join(","));
        let entry = |(name, value): (String, String)| {
            Object::new()
                .with("resourceName", name)
                .with("resourceValue", value)
        };
        Object::new()
            .with("configuredCapacityVector", text)
            .with_many("capacityVectorEntries", entries.into_iter().map(entry))
    }

    fn vector(&self, setting: &CapacitySetting) -> Vec<(String, String)> {
        let types = &self.settings.resource_types;
        let text = |i: usize| match setting.vector.get(i) {
            Some(VectorEntry::Absolute(value)) => java_float(share::narrow(*value)),
            Some(VectorEntry::Weight(value)) => format!("{}w", java_float(share::narrow(*value))),
            Some(VectorEntry::Percent(value)) => format!("{}%", java_float(share::narrow(*value))),
            Some(VectorEntry::Unset) | None => match setting.legacy {
                LegacyCapacity::Percent(value) => format!("{}%", java_float(value)),
                LegacyCapacity::Weight(value) => format!("{}w", java_float(value)),
                _ => "0.0%".to_owned(),
            },
        };
        let one = |i: usize| (types[i].to_string(), text(i));
        (0..types.len()).map(one).collect()
    }

    /// Use of a queue by partition.
    // As PartitionResourcesInfo, which shows masters of leaves alone.
    fn resources(&self, queue: &Queue) -> Object {
        let partitions = self.partitions(queue).into_iter();
        let one = |partition: PartitionId| {
            let part = queue.part(partition);
            let object = usage(
                &self.state.partitions[partition].name,
                self.settings,
                [&part.used.get(), &part.reserved.get(), &part.pending.get()],
            );
            let Some(leaf) = queue.leaf.as_deref() else {
                return object;
            };
            let masters = &leaf.parts[partition];
            object
                .with("amUsed", open(self.settings, &part.master_used.get()))
                .with(
                    "amLimit",
                    open(self.settings, &masters.master_limit.unwrap_or_default()),
                )
                .with(
                    "userAmLimit",
                    open(self.settings, &masters.user_master_limit.get()),
                )
        };
        Object::new().with_many("resourceUsagesByPartition", partitions.map(one))
    }

    fn leaf(&self, slot: QueueSlot, queue: &Queue, leaf: &Leaf) -> Object {
        let settings = &queue.settings;
        let part = queue.part(PartitionId::DEFAULT);
        let masters = &leaf.parts[PartitionId::DEFAULT];
        let limit = masters.master_limit.unwrap_or_default();
        let of_user = if leaf.users.is_empty() {
            limit
        } else {
            masters.user_master_limit.get()
        };
        let users = leaf.users.iter();
        let users = users.map(|&user| self.user(queue, leaf, &self.state.users[user]));
        Object::new()
            .with("numActiveApplications", leaf.active.len())
            .with("numPendingApplications", leaf.waiting.len())
            .with("numContainers", self.count(slot).all)
            .with("maxApplications", leaf.maximum_applications)
            .with("maxApplicationsPerUser", leaf.maximum_applications_per_user)
            .with("userLimit", settings.leaf.user_limit_percent)
            .with("users", Object::new().with_many("user", users))
            .with("userLimitFactor", settings.leaf.user_limit_factor)
            .with(
                "configuredMaxAMResourceLimit",
                settings.maximum_master_share,
            )
            .with("AMResourceLimit", open(self.settings, &limit))
            .with(
                "usedAMResource",
                open(self.settings, &part.master_used.get()),
            )
            .with("userAMResourceLimit", open(self.settings, &of_user))
            .with("preemptionDisabled", settings.preemption_disabled)
            .with(
                "intraQueuePreemptionDisabled",
                settings.intra_queue_preemption_disabled,
            )
            .with("defaultPriority", settings.leaf.default_priority)
            .with(
                "isAutoCreatedLeafQueue",
                settings.dynamic && self.is_managed(queue),
            )
            .with("maxApplicationLifetime", settings.lifetime.maximum_s)
            .with("defaultApplicationLifetime", settings.lifetime.default_s)
    }

    // As UserInfo.
    fn user(&self, queue: &Queue, leaf: &Leaf, user: &User) -> Object {
        let none = ResourceVector::NONE;
        let mut used = none;
        for part in user.parts.iter() {
            used += part.used.get();
        }
        let masters = user.part(PartitionId::DEFAULT).master_used.get();
        let key = (queue.settings.path.to_string(), user.name.to_string());
        let used_by = self.used_by.get(&key);
        let known = |partition: &PartitionId| {
            let name = &self.state.partitions[*partition].name;
            let ever = used_by.is_some_and(|labels| labels.contains(&**name));
            *partition == PartitionId::DEFAULT || ever
        };
        let partitions = self.state.partition_ids().filter(known);
        let usages = partitions.map(|partition| {
            let part = user.part(partition);
            let masters = part.master_used.get();
            let limit = leaf.parts[partition].user_master_limit.get();
            let limit = if masters.is_none() { none } else { limit };
            let name = &self.state.partitions[partition].name;
            usage(name, self.settings, [&part.used.get(), &none, &none])
                .with("amUsed", open(self.settings, &masters))
                .with("amLimit", open(self.settings, &limit))
                .with("userAmLimit", open(self.settings, &none))
        });
        let usages = Object::new().with_many("resourceUsagesByPartition", usages);
        let limit = last_user_limit(self.state, user);
        Object::new()
            .with("username", &*user.name)
            .with("resourcesUsed", open(self.settings, &used))
            .with("numPendingApplications", user.waiting_apps)
            .with("numActiveApplications", user.active_apps)
            .with("AMResourceUsed", open(self.settings, &masters))
            .with("userResourceLimit", open(self.settings, &limit))
            .with("resources", usages)
            .with("userWeight", user.weight)
            .with("isActive", user.active)
    }

    // As CapacitySchedulerHealthInfo.
    fn health(&self, health: &Health) -> Object {
        let names = [
            "last-allocation",
            "last-release",
            "last-preemption",
            "last-reservation",
        ];
        let operation = |(name, last): (&str, &Option<LastOperation>)| {
            let or = |text: Option<String>| text.unwrap_or_else(|| "N/A".to_owned());
            let container = last.as_ref().and_then(|last| last.container);
            Object::new()
                .with("operation", name)
                .with(
                    "nodeId",
                    or(last.as_ref().map(|last| last.node.to_string())),
                )
                .with(
                    "containerId",
                    or(container.map(|container| container.to_string())),
                )
                .with("queue", or(last.as_ref().map(|last| last.queue.clone())))
        };
        let run = &health.run;
        let details = [
            ("releases", run.releases, &run.released),
            ("allocations", run.allocations, &run.allocated),
            ("reservations", run.reservations, &run.reserved),
        ];
        let detail = |(name, count, amount): (&str, u64, &ResourceVector)| {
            Object::new()
                .with("operation", name)
                .with("count", count)
                .with("resources", open(self.settings, amount))
        };
        Object::new()
            .with("lastrun", run.at_ms)
            .with_many(
                "operationsInfo",
                names.into_iter().zip(&health.last).map(operation),
            )
            .with_many("lastRunDetails", details.map(detail))
    }
}

/// What is used, reserved and asked for on a partition.
pub(super) fn usage(
    partition: &str,
    settings: &SchedulerSettings,
    [used, reserved, pending]: [&ResourceVector; 3],
) -> Object {
    Object::new()
        .with("partitionName", partition)
        .with("used", open(settings, used))
        .with("reserved", open(settings, reserved))
        .with("pending", open(settings, pending))
}

fn applications(queue: &Queue) -> i64 {
    match &queue.leaf {
        Some(leaf) => {
            let all = leaf.active.len() + leaf.waiting.len() + leaf.parked.len();
            i64::try_from(all).unwrap_or(i64::MAX)
        }
        None => i64::from(queue.apps),
    }
}

fn state_name(state: QueueState) -> &'static str {
    match state {
        QueueState::Running => "RUNNING",
        QueueState::Draining => "DRAINING",
        QueueState::Stopped => "STOPPED",
    }
}

fn labels(accessible: &Accessible) -> Vec<String> {
    match accessible {
        Accessible::All => vec!["*".to_owned()],
        Accessible::Only(names) => names.iter().map(ToString::to_string).collect(),
    }
}

/// The name of the order of a queue's children or applications.
fn order_name(queue: &Queue) -> &'static str {
    if !queue.is_leaf() {
        return match queue.settings.child_order {
            ChildOrder::Utilization => "utilization",
            ChildOrder::PriorityUtilization => "priority-utilization",
        };
    }
    match queue.settings.leaf.app_order {
        AppOrder::Fifo => "fifo",
        AppOrder::Fair { .. } => "fair",
        AppOrder::FifoForPendingApps => "fifo-for-pending-apps",
        AppOrder::FifoWithPartitions { .. } => "fifo-with-partitions",
    }
}

/// The access lists of a queue, in the order of their names.
fn acls(settings: &QueueSettings) -> Object {
    let access = &settings.access;
    let priorities = if access.priorities.is_empty() {
        "*".to_owned()
    } else {
        let all = access.priorities.iter().map(|one| &one.who);
        let merged = all.fold(AccessList::default(), |mut merged, one| {
            merged.everybody |= one.everybody;
            merged.users.extend(one.users.iter().cloned());
            merged.groups.extend(one.groups.iter().cloned());
            merged
        });
        access_text(&merged)
    };
    let lists = [
        ("ADMINISTER_QUEUE", access_text(&access.administer)),
        ("APPLICATION_MAX_PRIORITY", priorities),
        ("SUBMIT_APP", access_text(&access.submit)),
    ];
    let one = |(kind, list): (&str, String)| {
        Object::new()
            .with("accessType", kind)
            .with("accessControlList", list)
    };
    Object::new().with_many("queueAcl", lists.map(one))
}
