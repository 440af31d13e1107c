//! What the scheduler did on nodes and for applications, recorded on demand.

use capsched::api::{ApplicationId, NodeName};

use super::Answered;
use crate::rest::tree::{Object, View};
use crate::rest::views::activity::{Grouping, app_allocation, node_activities};
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Shared, time};

/// How long an application is recorded where a call names no time, in s.
// As RMWebServices.DEFAULT_ACTIVITIES_MAX_TIME.
const DEFAULT_TIME_S: f64 = 3.0;

fn grouping(call: &Call) -> Result<Grouping, Failure> {
    match call
        .filled("groupBy")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        None => Ok(Grouping::None),
        Some("diagnostic") => Ok(Grouping::Diagnostic),
        Some(_) => {
            let text = "Got invalid groupBy: valid groupBy types: [DIAGNOSTIC]";
            Err(Failure::bad_request(text))
        }
    }
}

// As RMWebServices.getActivities.
pub(super) fn of_nodes(shared: &Shared, call: &Call) -> Answered {
    let grouping = grouping(call)?;
    let rm = shared.rm();
    let named = call.filled("nodeId");
    let node = named.map(|name| registered(shared, name));
    if let (Some(name), Some(None)) = (named, &node) {
        let text = format!("Cannot find node manager with given node id {name}");
        let body = Object::new().with("diagnostic", text).with("nodeId", name);
        return Ok(Reply::Document(View::wrapped("activities", body)));
    }
    let node = node.flatten();
    let done = rm.node_activity(node.as_ref());
    rm.record_node(node.clone());
    let body = match done {
        Some(activity) => node_activities(&activity, grouping, shared.wire()),
        None => {
            let text = if node.is_some() {
                "waiting for display"
            } else {
                "waiting for next allocation"
            };
            Object::new()
                .with_some("nodeId", node.map(|node| node.to_string()))
                .with("diagnostic", text)
        }
    };
    Ok(Reply::Document(View::wrapped("activities", body)))
}

/// A registered node by `host:port` or by its host.
fn registered(shared: &Shared, name: &str) -> Option<NodeName> {
    shared.rm().read(|books| {
        let mut nodes = books.nodes().iter();
        let found = nodes.find(|(node, _)| node.to_string() == name || node.host() == name);
        found.map(|(node, _)| node.clone())
    })
}

// As RMWebServices.getBulkActivities, which waits for the heartbeats that it asks for: here the last one is shown.
pub(super) fn bulk(shared: &Shared, call: &Call) -> Answered {
    let count = call.filled("activitiesCount").map(str::parse::<u32>);
    if let Some(Err(_) | Ok(0)) = count {
        let text = "activitiesCount must be a number from 1 on";
        return Err(Failure::bad_request(text));
    }
    let grouping = grouping(call)?;
    let rm = shared.rm();
    let done = rm.node_activity(None);
    rm.record_node(None);
    let one = done.map(|activity| node_activities(&activity, grouping, shared.wire()));
    let body = Object::new().with_many("activities", one);
    Ok(Reply::Document(View::wrapped("bulkActivities", body)))
}

// As RMWebServices.getAppActivities.
pub(super) fn of_app(shared: &Shared, call: &Call) -> Answered {
    let rm = shared.rm();
    let now_ms = rm.now_ms();
    let id = call.part("app");
    let says = |text: &str| {
        let body = Object::new()
            .with("applicationId", id)
            .with("diagnostic", text)
            .with("timestamp", now_ms)
            .with("dateTime", time::java_date(now_ms));
        Ok(Reply::Document(View::wrapped("appActivities", body)))
    };
    let known = id.parse::<ApplicationId>().ok();
    let known = known.filter(|&app| rm.read(|books| books.app(app).is_some()));
    let Some(app) = known else {
        return says("Cannot find application with given appId");
    };
    let actions = call.list(&["actions"]);
    if let Some(unknown) = actions
        .iter()
        .find(|action| !["get", "refresh"].contains(&action.as_str()))
    {
        let text = format!("Got invalid action: {unknown}, valid actions: [REFRESH, GET]");
        return Err(Failure::bad_request(text));
    }
    let does = |action: &str| actions.is_empty() || actions.iter().any(|one| one == action);
    let seconds = call
        .filled("maxTime")
        .map_or(Ok(DEFAULT_TIME_S), str::parse);
    let Some(seconds) = seconds
        .ok()
        .filter(|seconds| (0.0..=86_400.0).contains(seconds))
    else {
        return Err(Failure::bad_request("maxTime must be a number of s"));
    };
    let grouping = grouping(call)?;
    if does("refresh") {
        let until_ms = now_ms + std::time::Duration::from_secs_f64(seconds).as_secs() * 1000;
        rm.record_app(app, until_ms);
    }
    if !does("get") {
        return says("Successfully received action: refresh");
    }
    let most = call.filled("limit").and_then(|text| text.parse().ok());
    let activities = rm.app_activities(app, most.unwrap_or(usize::MAX));
    if activities.is_empty() {
        return says("waiting for display");
    }
    let allocations = activities.iter();
    let allocations = allocations.map(|activity| app_allocation(app, activity, grouping));
    let body = Object::new()
        .with("applicationId", id)
        .with_many("allocations", allocations);
    Ok(Reply::Document(View::wrapped("appActivities", body)))
}
