//! What the scheduler did on nodes and for applications, recorded on demand.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use capsched::api::{ApplicationId, NodeName};

use super::Answered;
use crate::rest::tree::{Object, View};
use crate::rest::views::activity::{Grouping, node_activities};
use crate::rest::views::app_activity::{Selection, app_allocations};
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Shared, time};

/// How long an application is recorded where a call names no time, in s.
// As RMWebServices.DEFAULT_ACTIVITIES_MAX_TIME.
const DEFAULT_TIME_S: f64 = 3.0;

fn grouping(call: &Call) -> Result<Grouping, String> {
    match call
        .filled("groupBy")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        None => Ok(Grouping::None),
        Some("diagnostic") => Ok(Grouping::Diagnostic),
        Some(unknown) => Err(format!(
            "Got invalid groupBy: {unknown}, valid groupBy types: [DIAGNOSTIC]"
        )),
    }
}

// As RMWebServices.getActivities.
pub(super) fn of_nodes(shared: &Shared, call: &Call) -> Answered {
    let grouping = grouping(call).map_err(Failure::bad_request)?;
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
    let grouping = grouping(call).map_err(Failure::bad_request)?;
    let rm = shared.rm();
    let done = rm.node_activity(None);
    rm.record_node(None);
    let one = done.map(|activity| node_activities(&activity, grouping, shared.wire()));
    let body = Object::new().with_many("activities", one);
    Ok(Reply::Document(View::wrapped("bulkActivities", body)))
}

/// What a call asks for: the selection, and its actions.
struct AppCall {
    selection: Selection,
    /// How long the application is recorded from now on, in ms; nothing where that is not asked.
    records_ms: Option<u64>,
    /// Whether what was recorded is asked for.
    shows: bool,
}

impl AppCall {
    /// Reads a call. The text of a refusal has the words of the reference.
    fn read(call: &Call, time_ms: u64) -> Result<Self, String> {
        let grouping = grouping(call)?;
        let (refreshes, shows) = actions(call)?;
        let priorities = numbers(call, "requestPriorities", "request priorities")?;
        let request_ids = numbers(call, "allocationRequestIds", "allocation request Ids")?;
        let most = match call.filled("limit").map(str::parse::<usize>) {
            None => usize::MAX,
            Some(Ok(0)) => return Err("limit must be greater than 0!".to_owned()),
            Some(Ok(most)) => most,
            Some(Err(_)) => return Err("limit must be integer!".to_owned()),
        };
        let summarizes = call.filled("summarize");
        let summarizes = summarizes.is_some_and(|text| text.eq_ignore_ascii_case("true"));
        Ok(Self {
            selection: Selection {
                grouping,
                priorities,
                request_ids,
                most,
                summary_ms: summarizes.then_some(time_ms),
            },
            records_ms: refreshes.then_some(time_ms),
            shows,
        })
    }
}

/// Whether a call begins a recording, and whether it asks for what was recorded; both where it names no action.
fn actions(call: &Call) -> Result<(bool, bool), String> {
    let actions = call.list(&["actions"]);
    let known = ["refresh", "get"];
    let unknown = |action: &&String| !known.iter().any(|one| action.eq_ignore_ascii_case(one));
    if let Some(unknown) = actions.iter().find(unknown) {
        return Err(format!(
            "Got invalid action: {unknown}, valid actions: [REFRESH, GET]"
        ));
    }
    let does =
        |name: &str| actions.is_empty() || actions.iter().any(|one| one.eq_ignore_ascii_case(name));
    let [refresh, get] = known;
    Ok((does(refresh), does(get)))
}

/// The whole numbers of a list in a call.
fn numbers<T: FromStr + Ord>(call: &Call, name: &str, what: &str) -> Result<BTreeSet<T>, String> {
    let texts = call.list(&[name]);
    let numbers = texts.iter().map(|text| text.parse().ok());
    let numbers: Option<BTreeSet<T>> = numbers.collect();
    numbers.ok_or_else(|| format!("{what} must be integers!"))
}

/// The time of a call in ms: how long it records, and how far back it summarizes.
fn time_ms(call: &Call) -> Result<u64, Failure> {
    let given = call.filled("maxTime");
    let seconds: Option<f64> = given.map_or(Some(DEFAULT_TIME_S), |text| text.parse().ok());
    let seconds = seconds.filter(|seconds| (0.0..=86_400.0).contains(seconds));
    let Some(seconds) = seconds else {
        let given = given.unwrap_or_default();
        let text = format!("maxTime is {given:?}; it must be a number of seconds, at most 86400");
        return Err(Failure::bad_request(text));
    };
    let time = Duration::from_secs_f64(seconds).as_millis();
    Ok(u64::try_from(time).unwrap_or(u64::MAX))
}

// As RMWebServices.getAppActivities, which answers a call that it cannot read with a text of status 200.
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
    let asked = match AppCall::read(call, time_ms(call)?) {
        Ok(asked) => asked,
        Err(text) => return says(&text),
    };
    let Ok(app) = id.parse::<ApplicationId>() else {
        return says("Cannot find application with given appId");
    };
    let lives = rm.read(|books| books.app(app).is_some_and(|app| !app.state.is_over()));
    if let Some(time_ms) = asked.records_ms.filter(|_| lives) {
        rm.record_app(app, now_ms.saturating_add(time_ms));
    }
    if !asked.shows {
        return says("Successfully received action: refresh");
    }
    if !lives {
        return says("fail to get application activities after finished");
    }
    let activities = rm.app_activities(app);
    let Some(allocations) = app_allocations(app, &activities, &asked.selection) else {
        return says("waiting for display");
    };
    let body = Object::new()
        .with("applicationId", id)
        .with_many("allocations", allocations);
    Ok(Reply::Document(View::wrapped("appActivities", body)))
}
