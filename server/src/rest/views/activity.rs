//! Recorded passes over nodes as trees.
// As ActivitiesInfo, NodeAllocationInfo and ActivityNodeInfo.

use std::collections::BTreeMap;

use capsched::api::{ApplicationId, NodeName};
use capsched::id::SchedulerKey;

use crate::rest::time;
use crate::rest::tree::Object;
use crate::rest::wire::Wire;
use crate::rm::{
    KeyLook, LookResult, NodeActivity, Obstacle, PassEntry, Placed, Shortage, Visited,
};

/// Whether single nodes are shown, or how many had the same to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rest) enum Grouping {
    /// Single nodes.
    None,
    /// Counts of nodes.
    Diagnostic,
}

const NO_NEED: &str = "Queue does not need more resource";
const NO_HEADROOM: &str = "Queue does not have enough headroom for inner highest-priority request";
const NODE_FULL: &str = "Initial check: node resource is insufficient for minimum allocation";

/// One recorded heartbeat of a node.
pub(in crate::rest) fn node_activities(
    activity: &NodeActivity,
    grouping: Grouping,
    wire: Wire,
) -> Object {
    let passes = if activity.placed.is_empty() {
        vec![pass(activity, None, grouping, wire)]
    } else {
        let placed = activity.placed.iter();
        placed
            .map(|placed| pass(activity, Some(placed), grouping, wire))
            .collect()
    };
    Object::new()
        .with("nodeId", activity.node.to_string())
        .with("timestamp", activity.at_ms)
        .with("dateTime", time::java_date(activity.at_ms))
        .with_many("allocations", passes)
}

fn pass(
    activity: &NodeActivity,
    placed: Option<&Placed>,
    grouping: Grouping,
    wire: Wire,
) -> Object {
    let root = &activity.root;
    let (state, tree) = match placed {
        Some(placed) => {
            let tree = queue(root, placed, activity, grouping);
            let state = match placed.result {
                LookResult::ReservedAgain => LookResult::Reserved,
                result => result,
            };
            (state_name(state), tree.unwrap_or_else(|| skipped(root)))
        }
        None if activity.entry == PassEntry::Full => {
            let rejected = Object::new()
                .with("name", &*root.path)
                .with("allocationState", state_name(LookResult::Rejected))
                .with("diagnostic", NODE_FULL);
            ("SKIPPED", rejected)
        }
        None if !root.asks => ("SKIPPED", skipped(root)),
        // A pass that places nothing leaves the tree of the queue that it came to first in 3.4, and the whole in 3.5.
        None if wire == Wire::Hadoop34 => {
            let first = root.children.first();
            ("SKIPPED", first.map_or_else(|| skipped(root), skipped))
        }
        None => ("SKIPPED", without_placement(root, activity, grouping)),
    };
    Object::new()
        .with("partition", activity.partition.clone())
        .with("finalAllocationState", state)
        .with("root", tree)
}

/// A result as the reference names it.
// As ActivityState.
pub(super) const fn state_name(result: LookResult) -> &'static str {
    match result {
        LookResult::Skipped => "SKIPPED",
        LookResult::Rejected => "REJECTED",
        LookResult::Allocated => "ALLOCATED",
        LookResult::Reserved => "RESERVED",
        LookResult::ReservedAgain => "RE_RESERVED",
    }
}

/// What stood against a container, in the words of the reference.
// As ActivityDiagnosticConstant and GenericDiagnosticsCollector; amounts follow in a line of their own.
pub(super) fn diagnostic(obstacle: &Obstacle) -> String {
    let short = |what: &str, of: &Shortage| {
        let missing = of.missing.join(", ");
        let (required, available) = (&of.required, &of.available);
        format!(
            "{what}, insufficient resources=[{missing}]\nrequired={required}, available={available}"
        )
    };
    let text = match obstacle {
        Obstacle::NothingAsked => "Request does not need more resource",
        Obstacle::ReservationsSuffice => "Request skipped based on reservation algo",
        Obstacle::Headroom => NO_HEADROOM,
        Obstacle::OtherPartition { of_node, asked } => {
            return format!(
                "Node does not match partition or placement constraints, unsatisfied node partition={of_node}, \
                 required-partition={asked}"
            );
        }
        Obstacle::Constraint => "Node does not match partition or placement constraints",
        Obstacle::Blacklisted => "Node is blacklisted",
        Obstacle::Strict => "Node skipped because relax locality is not allowed",
        Obstacle::Waits => "Node skipped because of off-switch delay",
        Obstacle::NotLocal => "Node skipped because node/rack locality cannot be satisfied",
        Obstacle::NodeTooSmall(of) => {
            return short("Node's total resource is insufficient for request", of);
        }
        Obstacle::NodeTooFull(of) => {
            return short("Node does not have sufficient resource for request", of);
        }
        Obstacle::NothingToGiveUp => "Node can't find a container to be unreserved when needed",
    };
    text.to_owned()
}

/// A queue in which a pass found nothing.
fn skipped(queue: &Visited) -> Object {
    let object = Object::new()
        .with("name", &*queue.path)
        .with("allocationState", "SKIPPED");
    if queue.asks {
        object
    } else {
        object.with("diagnostic", NO_NEED)
    }
}

/// A queue in a pass that placed nothing, with the applications that were looked at.
// As LeafQueue.assignContainers, which ends at the first application that the headroom refuses.
fn without_placement(visited: &Visited, activity: &NodeActivity, grouping: Grouping) -> Object {
    if !visited.asks {
        return skipped(visited);
    }
    if visited.apps.is_empty() {
        let below = visited.children.iter();
        let below = below.map(|child| without_placement(child, activity, grouping));
        return skipped(visited).with_many("children", below);
    }
    let looks = |app: ApplicationId| activity.looks.iter().filter(move |look| look.app == app);
    if !visited
        .apps
        .iter()
        .any(|&(id, ..)| looks(id).next().is_some())
    {
        return skipped(visited);
    }
    let mut apps = Vec::new();
    for &(id, priority, asks) in &visited.apps {
        let Some(last) = looks(id).next_back() else {
            apps.push(passed_by(id, priority, asks));
            continue;
        };
        let looked_at = of_app(id, priority).with("allocationState", state_name(last.result));
        let requests = by_key(looks(id).map(|look| (&activity.node, look)));
        let requests = requests.iter().map(|rows| tried(rows, grouping));
        apps.push(looked_at.with_many("children", requests));
        if last.obstacle == Some(Obstacle::Headroom) {
            return Object::new()
                .with("name", &*visited.path)
                .with("allocationState", state_name(last.result))
                .with("diagnostic", format!("{NO_HEADROOM} from {id}"))
                .with_many("children", apps);
        }
    }
    skipped(visited).with_many("children", apps)
}

/// Looks at one key on nodes, of which there is at least one.
pub(super) type KeyRows<'a> = Vec<(&'a NodeName, &'a KeyLook)>;

/// Looks by their keys, in the order of these.
pub(super) fn by_key<'a>(
    looks: impl Iterator<Item = (&'a NodeName, &'a KeyLook)>,
) -> Vec<KeyRows<'a>> {
    let mut keys: BTreeMap<SchedulerKey, KeyRows<'a>> = BTreeMap::new();
    for row in looks {
        keys.entry(row.1.key).or_default().push(row);
    }
    keys.into_values().collect()
}

/// What stood against a key on every node, by the last look at it.
pub(super) fn of_request(rows: &KeyRows<'_>) -> Option<String> {
    let last = rows.last().and_then(|(_, look)| look.obstacle.as_ref());
    last.filter(|obstacle| obstacle.is_of_request())
        .map(diagnostic)
}

/// A key that a pass looked at in vain.
fn tried(rows: &KeyRows<'_>, grouping: Grouping) -> Object {
    let Some((_, last)) = rows.last() else {
        return Object::new();
    };
    of_key(last.key)
        .with("allocationState", state_name(last.result))
        .with_some("diagnostic", of_request(rows))
        .with_many("children", on_nodes(rows, grouping, |_| None))
}

/// Nodes of which the same is said.
struct NodeGroup {
    result: LookResult,
    /// What stood against a container, without the amounts.
    text: Option<String>,
    nodes: Vec<String>,
}

/// What nodes came to for one key: each by itself, or those together of which the same is said.
// As ActivitiesUtils.getRequestActivityNodeInfos.
pub(super) fn on_nodes(
    rows: &[(&NodeName, &KeyLook)],
    grouping: Grouping,
    name: impl Fn(&KeyLook) -> Option<String>,
) -> Vec<Object> {
    let of_node = |(_, look): &&(&NodeName, &KeyLook)| {
        let obstacle = look.obstacle.as_ref();
        !obstacle.is_some_and(Obstacle::is_of_request)
    };
    let rows = rows.iter().filter(of_node);
    if grouping == Grouping::None {
        let one = |&(node, look): &(&NodeName, &KeyLook)| {
            Object::new()
                .with_some("name", name(look))
                .with("allocationState", state_name(look.result))
                .with_some("diagnostic", look.obstacle.as_ref().map(diagnostic))
                .with("nodeId", node.to_string())
        };
        return rows.map(one).collect();
    }
    let mut groups: Vec<NodeGroup> = Vec::new();
    for (node, look) in rows {
        let text = look.obstacle.as_ref().map(diagnostic);
        let text = text.and_then(|text| text.lines().next().map(str::to_owned));
        let (result, node) = (look.result, node.to_string());
        let same = |group: &&mut NodeGroup| group.result == result && group.text == text;
        match groups.iter_mut().find(same) {
            Some(group) => group.nodes.push(node),
            None => groups.push(NodeGroup {
                result,
                text,
                nodes: vec![node],
            }),
        }
    }
    let group = |group: NodeGroup| {
        Object::new()
            .with("allocationState", state_name(group.result))
            .with_some("diagnostic", group.text)
            .with("count", group.nodes.len())
            .with_many("nodeIds", group.nodes)
    };
    groups.into_iter().map(group).collect()
}

fn of_app(id: ApplicationId, priority: i32) -> Object {
    Object::new()
        .with("name", id.to_string())
        .with("appPriority", priority)
}

/// An application that a visit of its leaf left behind.
fn passed_by(id: ApplicationId, priority: i32, asks: bool) -> Object {
    let object = of_app(id, priority).with("allocationState", "SKIPPED");
    if asks {
        return object;
    }
    object.with("diagnostic", "Application does not need more resource")
}

fn of_key(key: SchedulerKey) -> Object {
    Object::new()
        .with(
            "name",
            format!("request_{}_{}", key.priority, key.request_id),
        )
        .with("requestPriority", key.priority)
        .with("allocationRequestId", key.request_id)
}

/// A queue in which a pass ended; nothing where it ended elsewhere.
fn queue(
    visited: &Visited,
    placed: &Placed,
    activity: &NodeActivity,
    grouping: Grouping,
) -> Option<Object> {
    let mut below = Vec::new();
    let mut found = false;
    for child in &visited.children {
        if found {
            break;
        }
        match queue(child, placed, activity, grouping) {
            Some(tree) => {
                found = true;
                below.push(tree);
            }
            None => below.push(skipped(child)),
        }
    }
    if *visited.path == *placed.queue {
        found = true;
        below = apps(visited, placed, activity, grouping);
    }
    let object = Object::new()
        .with("name", &*visited.path)
        .with("allocationState", "ACCEPTED")
        .with_many("children", below);
    found.then_some(object)
}

/// The applications of the leaf in which a pass ended, up to the one that was served.
fn apps(
    leaf: &Visited,
    placed: &Placed,
    activity: &NodeActivity,
    grouping: Grouping,
) -> Vec<Object> {
    let mut all = Vec::new();
    for &(id, priority, asks) in &leaf.apps {
        if id == placed.container.app {
            let request = request(placed, activity, grouping);
            let served = of_app(id, priority).with("allocationState", state_name(placed.result));
            all.push(served.with_many("children", [request]));
            break;
        }
        all.push(passed_by(id, priority, asks));
    }
    all
}

fn request(placed: &Placed, activity: &NodeActivity, grouping: Grouping) -> Object {
    let served = |look: &&KeyLook| {
        (look.app, look.key, look.result) == (placed.container.app, placed.key, placed.result)
    };
    let served = activity.looks.iter().rfind(served);
    let rows: Vec<_> = served
        .map(|look| (&activity.node, look))
        .into_iter()
        .collect();
    let name = |look: &KeyLook| {
        (look.result == LookResult::Allocated).then(|| container_text(placed, activity))
    };
    of_key(placed.key)
        .with("allocationState", state_name(placed.result))
        .with_many("children", on_nodes(&rows, grouping, name))
}

// As Container.toString, of a container that has no id yet.
fn container_text(placed: &Placed, activity: &NodeActivity) -> String {
    format!(
        "Container: [ContainerId: null, AllocationRequestId: {}, Version: 0, NodeId: {}, \
         NodeHttpAddress: {}:{}, Resource: <memory:{}, vCores:{}>, Priority: {}, Token: null, \
         ExecutionType: GUARANTEED, ]",
        placed.key.request_id,
        activity.node,
        activity.node.host(),
        activity.http_port,
        placed.size.memory(),
        placed.size.vcores(),
        placed.key.priority
    )
}
