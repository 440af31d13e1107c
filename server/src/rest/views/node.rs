//! Nodes as documents: identity, state, containers and amounts.
// As NodeInfo.

use std::collections::BTreeMap;

use capsched::api::NodeName;
use capsched::commit::Ledger;
use capsched::queue::SchedulerSettings;
use capsched::resource::ResourceVector;

use super::resource::open;
use crate::rest::tree::Object;
use crate::rm::NodeRecord;

/// What the scheduler counts on a node.
#[derive(Clone, Debug, Default)]
pub(in crate::rest) struct NodeFigures {
    total: ResourceVector,
    used: ResourceVector,
    available: ResourceVector,
    containers: u32,
    attributes: Vec<(String, String)>,
    tags: BTreeMap<String, i64>,
}

/// The figures of every registered node.
pub(in crate::rest) fn all_figures(ledger: &Ledger) -> BTreeMap<NodeName, NodeFigures> {
    let nodes = ledger.nodes_by_name();
    nodes
        .map(|(name, slot)| (name.clone(), of_node(ledger, slot)))
        .collect()
}

/// The figures of one registered node.
pub(in crate::rest) fn figures(ledger: &Ledger, name: &NodeName) -> Option<NodeFigures> {
    Some(of_node(ledger, ledger.node(name)?))
}

fn of_node(ledger: &Ledger, slot: capsched::id::NodeSlot) -> NodeFigures {
    let node = &ledger.state().nodes[slot];
    let mut tags = BTreeMap::new();
    for tag in &node.tags {
        *tags.entry(tag.tag.to_string()).or_default() += i64::from(tag.count);
    }
    NodeFigures {
        total: node.total.get(),
        used: node.allocated.get(),
        available: node.free.get(),
        containers: node.containers,
        attributes: node.attributes.to_vec(),
        tags,
    }
}

/// One node.
pub(in crate::rest) fn node(
    settings: &SchedulerSettings,
    name: &NodeName,
    record: &NodeRecord,
    label: Option<&str>,
    figures: &NodeFigures,
) -> Object {
    let page = format!("{}:{}", name.host(), record.registration.http_port);
    Object::new()
        .with("rack", record.registration.rack.clone())
        .with("state", record.life.name())
        .with("id", name.to_string())
        .with("nodeHostName", name.host())
        .with("nodeHTTPAddress", page)
        .with("lastHealthUpdate", record.reported_ms)
        .with("version", record.registration.version.clone())
        .with("healthReport", record.health.clone())
        .with("numContainers", figures.containers)
        .with("usedMemoryMB", figures.used.memory())
        .with("availMemoryMB", figures.available.memory())
        .with("usedVirtualCores", figures.used.vcores())
        .with("availableVirtualCores", figures.available.vcores())
        .with("memUtilization", 0.0)
        .with("cpuUtilization", 0.0)
        .with("numRunningOpportContainers", 0)
        .with("usedMemoryOpportGB", 0)
        .with("usedVirtualCoresOpport", 0)
        .with("numQueuedContainers", 0)
        .with_many("nodeLabels", label)
        .with("allocationTags", tags(&figures.tags))
        .with("resourceUtilization", utilization())
        .with("usedResource", open(settings, &figures.used))
        .with("availableResource", open(settings, &figures.available))
        .with("nodeAttributesInfo", attributes(&figures.attributes))
        .with("totalResource", open(settings, &figures.total))
}

/// What the machine is busy with; nodes do not report it.
fn utilization() -> Object {
    Object::new()
        .with("nodePhysicalMemoryMB", 0)
        .with("nodeVirtualMemoryMB", 0)
        .with("nodeCPUUsage", 0.0)
        .with("aggregatedContainersPhysicalMemoryMB", 0)
        .with("aggregatedContainersVirtualMemoryMB", 0)
        .with("containersCPUUsage", 0.0)
}

fn tags(tags: &BTreeMap<String, i64>) -> Object {
    let one = |(tag, &count): (&String, &i64)| {
        Object::new()
            .with("allocationTag", tag.clone())
            .with("allocationsCount", count)
    };
    Object::new().with_many("allocationTagInfo", tags.iter().map(one))
}

fn attributes(attributes: &[(String, String)]) -> Object {
    let one = |(name, value): &(String, String)| {
        let (prefix, name) = name.split_once('/').unwrap_or(("", name));
        Object::new()
            .with("prefix", prefix)
            .with("name", name)
            .with("type", "STRING")
            .with("value", value.clone())
    };
    Object::new().with_many("nodeAttributeInfo", attributes.iter().map(one))
}
