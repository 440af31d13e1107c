//! Nodes, all or one.

use axum::http::StatusCode;
use capsched::api::NodeName;

use super::{Answered, inspect};
use crate::rest::tree::{Object, View};
use crate::rest::views::node;
use crate::rest::wire::{Failure, Reply};
use crate::rest::{Call, Shared};
use crate::rm::{NodeLife, NodeRecord};

// As RMWebServices.getNodes, which shows nodes that left only where their state is asked for.
pub(super) fn list(shared: &Shared, call: &Call) -> Answered {
    let states = call.list(&["states"]);
    for state in &states {
        let upper = state.to_ascii_uppercase();
        if !NodeLife::NAMES.contains(&upper.as_str()) {
            let text =
                format!("No enum constant org.apache.hadoop.yarn.api.records.NodeState.{upper}");
            let status = StatusCode::BAD_REQUEST;
            return Err(Failure::other(status, "IllegalArgumentException", text));
        }
    }
    let named = |life: NodeLife| {
        let mut states = states.iter();
        if states.len() == 0 {
            !life.is_gone() && life != NodeLife::Unhealthy
        } else {
            states.any(|state| state.eq_ignore_ascii_case(life.name()))
        }
    };
    let records: Vec<(NodeName, NodeRecord, Option<String>)> = shared.rm().read(|books| {
        let nodes = books.nodes().iter().filter(|(_, node)| named(node.life));
        let label = |name| books.labels().of(name).map(str::to_owned);
        nodes
            .map(|(name, record)| (name.clone(), record.clone(), label(name)))
            .collect()
    });
    let body = inspect(shared, move |ledger| {
        let figures = node::all_figures(ledger);
        let settings = &ledger.state().settings;
        let nodes = records.iter().map(|(name, record, label)| {
            let figures = figures.get(name).cloned().unwrap_or_default();
            node::node(settings, name, record, label.as_deref(), &figures)
        });
        Object::new().with_many("node", nodes)
    })?;
    Ok(Reply::Document(View::wrapped("nodes", body)))
}

pub(super) fn node_id(call: &Call) -> Result<NodeName, Failure> {
    let text = call.part("node");
    // As NodeId.fromString, which asks for a port.
    let named = text.contains(':').then(|| text.parse());
    named.and_then(Result::ok).ok_or_else(|| {
        let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
        let text = format!("Invalid NodeId [{shown}]. Expected host:port");
        Failure::other(StatusCode::BAD_REQUEST, "IllegalArgumentException", text)
    })
}

pub(super) fn one(shared: &Shared, call: &Call) -> Answered {
    let name = node_id(call)?;
    let found = shared.rm().read(|books| {
        let label = books.labels().of(&name).map(str::to_owned);
        Some((books.nodes().get(&name)?.clone(), label))
    });
    let Some((record, label)) = found else {
        return Err(Failure::not_found(format!("nodeId, {name}, is not found")));
    };
    let body = inspect(shared, move |ledger| {
        let figures = node::figures(ledger, &name).unwrap_or_default();
        let settings = &ledger.state().settings;
        node::node(settings, &name, &record, label.as_deref(), &figures)
    })?;
    Ok(Reply::Document(View::wrapped("node", body)))
}
