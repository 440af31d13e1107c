//! Queues and the scheduler as a whole.
// As CapacitySchedulerInfo, CapacitySchedulerQueueInfo and CapacitySchedulerLeafQueueInfo.

use capsched::commit::Ledger;
use capsched::config::{Properties, access_text};
use capsched::id::{Map, PartitionId, QueueSlot};
use capsched::queue::{
    AccessList, Accessible, AppOrder, CapacityMode, CapacitySetting, ChildOrder, CreationScheme,
    LegacyCapacity, Queue, QueueKind, QueuePart, QueueSettings, QueueState, SchedulerSettings,
    VectorEntry,
};
use capsched::resource::{ResourceVector, share};
use capsched::snapshot::State;

use super::health::{Health, health_info};
use super::leaf::UsedBy;
use super::queue_counts::{Counts, counts};
use super::resource::{Bounds, open, resource};
use crate::rest::json::java_float;
use crate::rest::tree::Object;

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

pub(super) struct Queues<'a> {
    pub(super) state: &'a State,
    pub(super) settings: &'a SchedulerSettings,
    properties: &'a Properties,
    counts: Map<QueueSlot, Counts>,
    /// Partitions on which users of leaves ever had containers, by leaf and user.
    pub(super) used_by: &'a UsedBy,
}

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
    let meant = (1e-8..=1.0).contains(&fraction);
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
            .with("health", health_info(self.settings, health))
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
        let leaf = queue.leaf.as_deref();
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
            .with_some("queues", self.children(slot));
        object = object.and(self.use_of(slot));
        object = self.kinds(object, queue);
        match leaf {
            Some(leaf) => object.and(self.leaf(slot, queue, leaf)),
            None => object,
        }
    }

    /// What a queue uses, may use, and allows.
    fn use_of(&self, slot: QueueSlot) -> Object {
        let queue = &self.state.queues[slot];
        let part = queue.part(PartitionId::DEFAULT);
        let (settings, counts) = (&queue.settings, self.count(slot));
        Object::new()
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
            )
    }

    pub(super) fn count(&self, slot: QueueSlot) -> Counts {
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

    pub(super) fn is_managed(&self, queue: &Queue) -> bool {
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
        let known = |partition: &PartitionId| self.knows(queue, *partition);
        self.state.partition_ids().filter(known).collect()
    }

    fn knows(&self, queue: &Queue, partition: PartitionId) -> bool {
        let part: &QueuePart = queue.part(partition);
        let mut below = queue
            .children
            .iter()
            .map(|&child| &self.state.queues[child]);
        part.counted
            || (part.known && self.state.partitions[partition].exists)
            || below.any(|child| self.knows(child, partition))
    }

    // As QueueCapacitiesInfo.
    fn capacities(&self, queue: &Queue) -> Object {
        let partitions = self.partitions(queue).into_iter();
        let all = partitions.map(|partition| self.capacities_on(queue, partition));
        Object::new().with_many("queueCapacitiesByPartition", all)
    }

    fn capacities_on(&self, queue: &Queue, partition: PartitionId) -> Object {
        let part = queue.part(partition);
        let leaf = queue.is_leaf();
        let masters = if leaf { part.master_share } else { 0.0 };
        let used = self.used_capacity(queue, partition);
        let object = Object::new()
            .with("partitionName", &*self.state.partitions[partition].name)
            .with("queueCapacityVectorInfo", self.vector_of(queue, partition))
            .with("capacity", percent(part.capacity))
            .with("usedCapacity", percent(used))
            .with("maxCapacity", percent_of_maximum(part.maximum_capacity))
            .with("absoluteCapacity", percent_of_whole(part.absolute_capacity))
            .with("absoluteUsedCapacity", percent_of_whole(part.absolute_used))
            .with(
                "absoluteMaxCapacity",
                percent_of_whole(part.absolute_maximum),
            )
            .with("maxAMLimitPercentage", percent(masters))
            .with("weight", part.weight)
            .with("normalizedWeight", part.normalized_weight);
        self.amounts_on(object, queue, partition)
    }

    /// The configured and the effective amounts of a queue on a partition. What the configuration does not name is as
    /// it was made.
    fn amounts_on(&self, object: Object, queue: &Queue, partition: PartitionId) -> Object {
        let part = queue.part(partition);
        let configured =
            |amount: &ResourceVector| resource(self.settings, amount, Bounds::Allocation);
        let effective = |amount: &ResourceVector| {
            if self.is_configured(queue, partition) {
                open(self.settings, amount)
            } else {
                configured(&ResourceVector::NONE)
            }
        };
        object
            .with("configuredMinResource", configured(&part.amounts.minimum()))
            .with("configuredMaxResource", configured(&part.amounts.maximum()))
            .with("effectiveMinResource", effective(&part.guaranteed.get()))
            .with("effectiveMaxResource", effective(&part.limit.get()))
    }

    fn is_configured(&self, queue: &Queue, partition: PartitionId) -> bool {
        let name = &self.state.partitions[partition].name;
        queue.settings.partitions.contains_key(name)
    }

    /// Use as a fraction of the guarantee, which is at least the smallest allocation.
    // As CSQueueUtils.updateUsedCapacity.
    fn used_capacity(&self, queue: &Queue, partition: PartitionId) -> f32 {
        let part = queue.part(partition);
        if self.is_configured(queue, partition) {
            return part.used_capacity;
        }
        let (total, used) = (self.state.total(partition), part.used.get());
        let calculator = &self.state.calculator;
        calculator.divide(&total, &used, &self.state.minimum)
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
                    open(self.settings, &masters.master_limit().unwrap_or_default()),
                )
                .with(
                    "userAmLimit",
                    open(self.settings, &masters.user_master_limit.get()),
                )
        };
        Object::new().with_many("resourceUsagesByPartition", partitions.map(one))
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
