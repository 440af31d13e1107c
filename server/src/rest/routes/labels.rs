//! Node labels, read and written.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::Value as Json;

use super::nodes::node_id;
use super::{Answered, inspect, refused};
use crate::rest::document::{many, texts};
use crate::rest::tree::View;
use crate::rest::views::labels::{self, LabelFigures};
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Object, Shared};
use crate::rm::{Command, CommandError, LabelSpec, Labels};

/// Whether the cluster has labels at all.
fn enabled(shared: &Shared) -> bool {
    let configuration = shared.rm().configuration();
    configuration.loaded.settings.scheduler.node_labels
}

type Settings = capsched::queue::SchedulerSettings;

fn with_figures(
    shared: &Shared,
    name: &'static str,
    show: impl FnOnce(&Settings, &Labels, &LabelFigures) -> Object,
) -> Answered {
    let rm = shared.rm();
    let figures = inspect(shared, LabelFigures::of)?;
    let configuration = rm.configuration();
    let settings = &configuration.loaded.settings.scheduler;
    let body = rm.read(|books| show(settings, books.labels(), &figures));
    Ok(Reply::Document(View::mapped(name, false, body)))
}

pub(super) fn collection(shared: &Shared, _call: &Call) -> Answered {
    with_figures(shared, "nodeLabelsInfo", labels::collection)
}

pub(super) fn with_nodes(shared: &Shared, _call: &Call) -> Answered {
    with_figures(shared, "nodeLabelsInfo", labels::with_nodes)
}

pub(super) fn by_label(shared: &Shared, call: &Call) -> Answered {
    let named = call.list(&["labels"]);
    with_figures(shared, "labelsToNodesInfo", |settings, all, figures| {
        labels::by_label(settings, all, figures, &named)
    })
}

pub(super) fn by_node(shared: &Shared, _call: &Call) -> Answered {
    let body = shared.rm().read(|books| labels::by_node(books.labels()));
    Ok(Reply::Document(View::mapped(
        "nodeToLabelsInfo",
        false,
        body,
    )))
}

pub(super) fn of_node(shared: &Shared, call: &Call) -> Answered {
    let node = node_id(call)?;
    let rm = shared.rm();
    let body = rm.read(|books| labels::of_node(books.labels(), &node));
    Ok(Reply::Document(View::mapped("nodeLabelsInfo", false, body)))
}

fn write(shared: &Shared, call: &Call, what: &str, command: Command) -> Answered {
    if !enabled(shared) {
        let text = "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled";
        return Err(Failure::bad_request(text));
    }
    match shared.rm().execute(&call.user, command) {
        Ok(_) => Ok(Reply::Empty(StatusCode::OK)),
        Err(CommandError::Forbidden(_)) => {
            let text = format!("User {} not authorized for post to .../{what} ", call.user);
            let status = StatusCode::UNAUTHORIZED;
            Err(Failure::other(status, "AuthorizationException", text))
        }
        Err(error) => Err(refused(error)),
    }
}

pub(super) fn add(shared: &Shared, call: &Call) -> Answered {
    let body = call.json()?;
    let label = |info: &Json| {
        let name = info.get("name").and_then(Json::as_str);
        let name = name.ok_or_else(|| Failure::bad_request("a label without a name"))?;
        let exclusive = match info.get("exclusivity") {
            None => true,
            Some(Json::Bool(exclusive)) => *exclusive,
            Some(other) => other
                .as_str()
                .is_some_and(|text| text.eq_ignore_ascii_case("true")),
        };
        Ok(LabelSpec {
            name: name.trim().to_owned(),
            exclusive,
        })
    };
    let infos = many(&body, "nodeLabelInfo").into_iter();
    let labels = infos.map(label).collect::<Result<_, Failure>>()?;
    write(
        shared,
        call,
        "add-node-labels",
        Command::AddLabels { labels },
    )
}

pub(super) fn remove(shared: &Shared, call: &Call) -> Answered {
    let labels = call.list(&["labels"]);
    write(
        shared,
        call,
        "remove-node-labels",
        Command::RemoveLabels { labels },
    )
}

pub(super) fn replace(shared: &Shared, call: &Call) -> Answered {
    let body = call.json()?;
    let mut nodes = BTreeMap::new();
    for entry in many(&body, "nodeToLabels") {
        let node = entry.get("nodeId").and_then(Json::as_str);
        let node = node.ok_or_else(|| Failure::bad_request("labels without a nodeId"))?;
        nodes.insert(node.to_owned(), texts(entry, "labels"));
    }
    write(
        shared,
        call,
        "replace-node-to-labels",
        Command::ReplaceLabels { nodes },
    )
}

pub(super) fn replace_on_node(shared: &Shared, call: &Call) -> Answered {
    let node = node_id(call)?.to_string();
    let nodes = BTreeMap::from([(node, call.list(&["labels"]))]);
    write(
        shared,
        call,
        "nodes/nodeid/replace-labels",
        Command::ReplaceLabels { nodes },
    )
}
