//! Settings in the shape of the reference's recordings.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::queue::{
    Accessible, AppOrder, ChildOrder, LegacyCapacity, PartitionSettings, PriorityAccess, QueueKind,
    QueueSettings, VectorEntry,
};
use crate::resource::{Calculator, ResourceVector};

use super::access::access_text;
use super::amount;
use super::load::Loaded;
use super::properties::Look;
use super::queue::QueueContext;
use super::scheduler;
use super::templates::template_entries;

/// The settings of the whole scheduler. `largest_node` bounds the maximum allocation once nodes
/// are known.
#[must_use]
pub fn scheduler_json(loaded: &Loaded, largest_node: Option<&ResourceVector>) -> Value {
    let scheduler = &loaded.settings.scheduler;
    let types = scheduler.resource_types.len();
    let maximum = match largest_node {
        Some(node) => scheduler.maximum_allocation.component_min(node),
        None => scheduler.maximum_allocation,
    };
    let calculator = match scheduler.calculator {
        Calculator::MemoryOnly { .. } => "DefaultResourceCalculator",
        Calculator::Dominant { .. } => "DominantResourceCalculator",
    };
    let look = Look::new(&loaded.properties);
    let mappings = scheduler::key("queue-mappings-override.enable");
    json!({
        "calculator": calculator,
        "minimum_allocation": scheduler.minimum_allocation.values(types),
        "maximum_allocation": maximum.values(types),
        "legacy_queue_mode": scheduler.legacy_queue_mode,
        "assign_multiple": scheduler.heartbeat.multiple_assignments,
        "max_assign_per_heartbeat": scheduler.heartbeat.maximum_assignments,
        "offswitch_per_heartbeat": scheduler.heartbeat.maximum_offswitch,
        "maximum_system_applications": scheduler.maximum_applications,
        "asynchronous": scheduler.asynchronous.enabled,
        "lazy_preemption": scheduler.lazy_preemption,
        "multi_node_placement": scheduler.multi_node.enabled,
        "override_with_queue_mappings": look.flag(&mappings, false),
    })
}

/// The settings of one queue of the configuration; what equals its default is left out where the
/// recordings leave it out.
#[must_use]
pub fn queue_json(loaded: &Loaded, queue: &QueueSettings) -> Value {
    let look = Look::new(&loaded.properties);
    let scheduler = &loaded.settings.scheduler;
    let types = scheduler.resource_types.len();
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| {
        all.insert(name.to_owned(), value);
    };
    put("class", class(loaded, queue).into());
    put("ordering", ordering(queue).into());
    put("capacity_type", capacity_type(loaded, &look, queue).into());
    put(
        "configured_capacity",
        vectors(loaded, &look, queue, "capacity"),
    );
    put(
        "configured_max_capacity",
        vectors(loaded, &look, queue, "maximum-capacity"),
    );
    put("max_alloc", queue.maximum_allocation.values(types).into());
    if queue.maximum_parallel != i32::MAX {
        put("max_parallel_apps", queue.maximum_parallel.into());
    }
    if queue.lifetime.maximum_s != -1 {
        put("max_lifetime", queue.lifetime.maximum_s.into());
    }
    if queue.lifetime.default_s != -1 {
        put("default_lifetime", queue.lifetime.default_s.into());
    }
    if queue.preemption_disabled {
        put("preemption_disabled", true.into());
    }
    if queue.intra_queue_preemption_disabled {
        put("intra_queue_preemption_disabled", true.into());
    }
    if intra_in_hierarchy(loaded, &look, &queue.path) {
        put("intra_queue_preemption_disabled_in_hierarchy", true.into());
    }
    if let Some(policy) = &queue.node_policy {
        let class = scheduler::node_policy_class(&look, policy);
        put("multi_node_policy", class.map(|(_, class)| class).into());
    }
    if !queue.user_weights.is_empty() {
        let weight = |(user, &weight): (&String, &f32)| (user.clone(), float(weight));
        let weights: Map<String, Value> = queue.user_weights.iter().map(weight).collect();
        put("user_weights", weights.into());
    }
    let labels: Vec<&str> = match &queue.accessible {
        Accessible::All => vec!["*"],
        Accessible::Only(names) => names.iter().map(|name| &**name).collect(),
    };
    if !labels.is_empty() {
        put("accessible_labels", labels.into());
    }
    if let Some(label) = &queue.default_partition {
        put("default_label", (**label).into());
    }
    let submit = access_text(&queue.access.submit);
    let administer = access_text(&queue.access.administer);
    put(
        "acls",
        json!({"SUBMIT_APP": submit, "ADMINISTER_QUEUE": administer}),
    );
    if queue.kind == QueueKind::Leaf {
        leaf(queue, scheduler.continue_looking, &mut put);
    }
    creation(&look, queue, &mut put);
    Value::Object(all)
}

fn leaf(queue: &QueueSettings, continue_looking: bool, put: &mut impl FnMut(&str, Value)) {
    let leaf = &queue.leaf;
    put("user_limit", float(leaf.user_limit_percent));
    put("user_limit_factor", float(leaf.user_limit_factor));
    put("max_am_percent", float(queue.maximum_master_share));
    put("node_locality_delay", leaf.node_locality_delay.into());
    if leaf.rack_locality_additional_delay != -1 {
        let delay = leaf.rack_locality_additional_delay;
        put("rack_locality_additional_delay", delay.into());
    }
    if !leaf.rack_locality_full_reset {
        put("rack_locality_full_reset", false.into());
    }
    if !continue_looking {
        put("reservations_continue_looking", false.into());
    }
    if leaf.default_priority != 0 {
        put("default_application_priority", leaf.default_priority.into());
    }
    let priorities = &queue.access.priorities;
    if !priorities.is_empty() {
        let one = |entry: &PriorityAccess| {
            let mut all = json!({"acl": access_text(&entry.who), "max": entry.maximum});
            if let Some(default) = entry.default {
                all["default"] = default.into();
            }
            all
        };
        let all: Vec<Value> = priorities.iter().map(one).collect();
        put("priority_acls", all.into());
    }
}

fn creation(look: &Look<'_>, queue: &QueueSettings, put: &mut impl FnMut(&str, Value)) {
    let key = QueueContext::label_key(&queue.path, "", "auto-queue-creation-v2.enabled");
    if !look.flag(&key, false) {
        return;
    }
    put("auto_creation_v2", true.into());
    let depth = queue
        .creation
        .as_ref()
        .map_or(1, |creation| creation.maximum_depth);
    let depth = i32::try_from(depth).unwrap_or(i32::MAX);
    for (name, kind) in [
        ("template", "template"),
        ("leaf_template", "leaf-template"),
        ("parent_template", "parent-template"),
    ] {
        let entries = template_entries(look.properties(), &queue.path, kind, depth);
        if !entries.is_empty() {
            put(name, json!(entries));
        }
    }
}

fn class(loaded: &Loaded, queue: &QueueSettings) -> &'static str {
    let plan = |path: &str| {
        let mut queues = loaded.settings.queues.iter();
        queues.any(|other| &*other.path == path && other.kind == QueueKind::Plan)
    };
    match queue.kind {
        QueueKind::Leaf
            if queue.name().ends_with("-default") && queue.parent_path().is_some_and(plan) =>
        {
            "ReservationQueue"
        }
        QueueKind::Leaf if created_by_manager(loaded, queue) => "AutoCreatedLeafQueue",
        QueueKind::Leaf => "LeafQueue",
        QueueKind::Parent => "ParentQueue",
        QueueKind::ManagedParent => "ManagedParentQueue",
        QueueKind::Plan => "PlanQueue",
    }
}

/// Whether a queue was created from the template of a managed parent.
fn created_by_manager(loaded: &Loaded, queue: &QueueSettings) -> bool {
    let mut queues = loaded.settings.queues.iter();
    let managed =
        |path| queues.any(|other| &*other.path == path && other.kind == QueueKind::ManagedParent);
    queue.dynamic && queue.parent_path().is_some_and(managed)
}

fn ordering(queue: &QueueSettings) -> &'static str {
    if queue.kind != QueueKind::Leaf {
        return match queue.child_order {
            ChildOrder::Utilization => "PriorityUtilizationQueueOrderingPolicy utilization",
            ChildOrder::PriorityUtilization => {
                "PriorityUtilizationQueueOrderingPolicy priority-utilization"
            }
        };
    }
    match queue.leaf.app_order {
        AppOrder::Fifo => "FifoOrderingPolicy",
        AppOrder::Fair { .. } => "FairOrderingPolicy",
        AppOrder::FifoForPendingApps => "FifoOrderingPolicyForPendingApps",
        AppOrder::FifoWithPartitions { .. } => "FifoOrderingPolicyWithExclusivePartitions",
    }
}

fn reserved(loaded: &Loaded, queue: &QueueSettings) -> bool {
    class(loaded, queue) == "ReservationQueue"
}

/// The template on the default partition of a leaf that a managed parent created. A refresh takes the leaf's capacity
/// back, and leaves its kind.
fn template_of<'a>(loaded: &'a Loaded, queue: &QueueSettings) -> Option<&'a PartitionSettings> {
    let parent = queue.parent_path().filter(|_| queue.dynamic)?;
    let mut queues = loaded.settings.queues.iter();
    let parent = queues.find(|of| *of.path == *parent && of.kind == QueueKind::ManagedParent)?;
    parent.creation.as_ref()?.template.get("")
}

fn capacity_type(loaded: &Loaded, look: &Look<'_>, queue: &QueueSettings) -> &'static str {
    let scheduler = &loaded.settings.scheduler;
    let text = look.text(&QueueContext::label_key(&queue.path, "", "capacity"));
    let whole = |text: &str| {
        let types = &scheduler.resource_types;
        let named = amount::named_vector(text, types, &scheduler.rules).unwrap_or_default();
        let amount =
            |entry: &VectorEntry| matches!(entry, VectorEntry::Absolute(_) | VectorEntry::Unset);
        !named.is_empty() && named.iter().all(|(_, entry)| amount(entry))
    };
    let made = queue.partitions.get("").filter(|_| queue.dynamic);
    let made = template_of(loaded, queue).or(made);
    let absolute = made.map(|part| {
        if scheduler.legacy_queue_mode {
            matches!(part.capacity.legacy, LegacyCapacity::Absolute(_))
        } else {
            part.capacity.is_absolute_vector()
        }
    });
    let absolute = absolute.unwrap_or_else(|| {
        text.as_deref().is_some_and(|text| {
            if scheduler.legacy_queue_mode {
                amount::is_absolute(text)
            } else {
                whole(text)
            }
        })
    });
    // Outside legacy mode root has a vector of its own.
    let own = &*queue.path != "root" || scheduler.legacy_queue_mode;
    // Outside legacy mode so has a plan queue, see `vectors`.
    let own = own && (scheduler.legacy_queue_mode || queue.kind != QueueKind::Plan);
    if absolute && own && !reserved(loaded, queue) {
        "ABSOLUTE_RESOURCE"
    } else {
        "PERCENTAGE"
    }
}

/// The capacity vectors by label, in the text form of the reference.
fn vectors(loaded: &Loaded, look: &Look<'_>, queue: &QueueSettings, name: &str) -> Value {
    let types = &loaded.settings.scheduler.resource_types;
    let rules = &loaded.settings.scheduler.rules;
    // A plan queue has percentages, whatever kind of capacity is written.
    if queue.dynamic || queue.kind == QueueKind::Plan {
        let text = |of: &PartitionSettings| {
            let of = if name == "capacity" {
                &of.capacity
            } else {
                &of.maximum
            };
            let entries = of.vector.iter().copied();
            let named = types.iter().map(ToString::to_string).zip(entries);
            vector_text(&named.collect::<Vec<_>>())
        };
        let parts = queue.partitions.iter();
        let all = parts.map(|(label, of)| (label.to_string(), text(of).into()));
        return Value::Object(all.collect());
    }
    let whole = &*queue.path == "root" || reserved(loaded, queue);
    let mut all = Map::new();
    for label in queue.partitions.keys() {
        let text = look.text(&QueueContext::label_key(&queue.path, label, name));
        let read = |text: &str| amount::named_vector(text, types, rules).unwrap_or_default();
        let mut named = text.as_deref().map(read).unwrap_or_default();
        if whole {
            named = uniform(types, VectorEntry::Percent(100.0));
        } else if named.is_empty() && name == "maximum-capacity" {
            named = uniform(types, VectorEntry::Unset);
        }
        all.insert(label.to_string(), vector_text(&named).into());
    }
    all.into()
}

fn uniform(types: &[Arc<str>], entry: VectorEntry) -> Vec<(String, VectorEntry)> {
    types.iter().map(|name| (name.to_string(), entry)).collect()
}

fn vector_text(named: &[(String, VectorEntry)]) -> String {
    let entry = |(name, entry): &(String, VectorEntry)| match entry {
        VectorEntry::Unset => format!("{name}=0.0"),
        VectorEntry::Absolute(value) => format!("{name}={value:?}"),
        VectorEntry::Percent(value) => format!("{name}={value:?}%"),
        VectorEntry::Weight(value) => format!("{name}={value:?}w"),
    };
    let all: Vec<String> = named.iter().map(entry).collect();
    format!("[{}]", all.join(","))
}

fn intra_in_hierarchy(loaded: &Loaded, look: &Look<'_>, path: &str) -> bool {
    let scheduler = &loaded.settings.scheduler;
    let context = QueueContext {
        look,
        types: &scheduler.resource_types,
        calculator: scheduler.calculator,
        legacy: scheduler.legacy_queue_mode,
        largest: scheduler.maximum_allocation,
        priority: scheduler.maximum_application_priority,
        rules: scheduler.rules,
    };
    context.intra_preemption_disabled(path)
}

/// An `f32` as the recordings write it: the shortest digits that read back to it, and words for
/// what JSON has no number for.
#[must_use]
pub fn float(value: f32) -> Value {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let text = format!("{value:?}");
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
