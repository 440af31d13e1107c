//! Recorded passes over nodes as trees.
// As ActivitiesInfo, NodeAllocationInfo and ActivityNodeInfo.

use capsched::api::ApplicationId;
use capsched::id::SchedulerKey;

use crate::rest::time;
use crate::rest::tree::Object;
use crate::rest::wire::Wire;
use crate::rm::{NodeActivity, Placed, Visited};

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
            (verb(placed), tree.unwrap_or_else(|| skipped(root)))
        }
        None if !root.asks => ("SKIPPED", skipped(root)),
        // A pass that places nothing leaves the tree of the queue that it came to first in 3.4, and the whole in 3.5.
        None if wire == Wire::Hadoop34 => {
            let first = root.children.first();
            ("SKIPPED", first.map_or_else(|| skipped(root), skipped))
        }
        None => {
            let below = root.children.iter().map(without_placement);
            ("SKIPPED", skipped(root).with_many("children", below))
        }
    };
    Object::new()
        .with("partition", activity.partition.clone())
        .with("finalAllocationState", state)
        .with("root", tree)
}

const fn verb(placed: &Placed) -> &'static str {
    if placed.reserved {
        "RESERVED"
    } else {
        "ALLOCATED"
    }
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

/// A queue in a pass that placed nothing: a leaf whose headroom refused a key shows the application and the key.
// As LeafQueue.assignContainers, which ends at the first such application.
fn without_placement(visited: &Visited) -> Object {
    let Some((app, key)) = visited.refused else {
        return skipped(visited);
    };
    let mut apps = Vec::new();
    for &(id, priority, asks) in &visited.apps {
        if id != app {
            apps.push(passed_by(id, priority, asks));
            continue;
        }
        let request = of_key(key)
            .with("allocationState", "REJECTED")
            .with("diagnostic", NO_HEADROOM);
        let refused = of_app(id, priority).with("allocationState", "REJECTED");
        apps.push(refused.with_many("children", [request]));
        break;
    }
    Object::new()
        .with("name", &*visited.path)
        .with("allocationState", "REJECTED")
        .with("diagnostic", format!("{NO_HEADROOM} from {app}"))
        .with_many("children", apps)
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
            let served = of_app(id, priority).with("allocationState", verb(placed));
            all.push(served.with_many("children", [request]));
            break;
        }
        all.push(passed_by(id, priority, asks));
    }
    all
}

fn request(placed: &Placed, activity: &NodeActivity, grouping: Grouping) -> Object {
    of_key(placed.key)
        .with("allocationState", verb(placed))
        .with_many("children", [on_node(placed, activity, grouping)])
}

fn on_node(placed: &Placed, activity: &NodeActivity, grouping: Grouping) -> Object {
    let node = activity.node.to_string();
    if grouping == Grouping::Diagnostic {
        return Object::new()
            .with("allocationState", verb(placed))
            .with("count", 1)
            .with_many("nodeIds", [node]);
    }
    let name = format!(
        "Container: [ContainerId: null, AllocationRequestId: {}, Version: 0, NodeId: {node}, \
         NodeHttpAddress: {}:{}, Resource: <memory:{}, vCores:{}>, Priority: {}, Token: null, \
         ExecutionType: GUARANTEED, ]",
        placed.key.request_id,
        activity.node.host(),
        activity.http_port,
        placed.size.memory(),
        placed.size.vcores(),
        placed.key.priority
    );
    Object::new()
        .with("name", name)
        .with("allocationState", verb(placed))
        .with("nodeId", node)
}

/// What a recorded heartbeat brought an application.
pub(in crate::rest) fn app_allocation(
    app: ApplicationId,
    activity: &NodeActivity,
    grouping: Grouping,
) -> Object {
    let own = activity
        .placed
        .iter()
        .find(|placed| placed.container.app == app);
    let leaf = leaf_of(&activity.root, app);
    let name = leaf.and_then(|leaf| leaf.path.rsplit('.').next());
    let priority = leaf.and_then(|leaf| leaf.apps.iter().find(|(id, _, _)| *id == app));
    let object = Object::new()
        .with("nodeId", activity.node.to_string())
        .with("timestamp", activity.at_ms)
        .with("dateTime", time::java_date(activity.at_ms))
        .with("queueName", name.unwrap_or_default())
        .with(
            "appPriority",
            priority.map_or(0, |&(_, priority, _)| priority),
        )
        .with("allocationState", own.map_or("SKIPPED", verb));
    match own {
        Some(placed) => {
            let request = Object::new()
                .with("requestPriority", placed.key.priority)
                .with("allocationRequestId", placed.key.request_id)
                .with("allocationState", verb(placed))
                .with_many("children", [on_node(placed, activity, grouping)]);
            object.with_many("children", [request])
        }
        None => object,
    }
}

fn leaf_of(queue: &Visited, app: ApplicationId) -> Option<&Visited> {
    if queue.apps.iter().any(|&(id, _, _)| id == app) {
        return Some(queue);
    }
    queue.children.iter().find_map(|child| leaf_of(child, app))
}
