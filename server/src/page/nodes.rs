//! All nodes in columns: small enough for a map of ten thousand.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use capsched::api::{NodeName, NodeView};
use serde::Serialize;

use super::Page;
use super::answer::{Problem, blocking};
use crate::rm::{NodeLife, ResourceManager};

/// Nodes of one call of the engine's cursor.
const PAGE: usize = 1024;

/// Nodes in order of their names; every list has one entry a node.
#[derive(Debug, Default, Serialize)]
pub(super) struct Columns {
    /// Names of the resource types, in the order of amounts.
    types: Vec<String>,
    id: Vec<String>,
    partition: Vec<String>,
    state: Vec<&'static str>,
    total: Vec<Vec<i64>>,
    allocated: Vec<Vec<i64>>,
    containers: Vec<u32>,
}

/// All nodes that ever registered.
pub(super) async fn all(State(page): State<Page>) -> Result<Json<Columns>, Problem> {
    blocking(move || Ok(Json(columns(&page.rm)?))).await
}

fn columns(rm: &ResourceManager) -> Result<Columns, Problem> {
    let lives: BTreeMap<NodeName, NodeLife> = rm.read(|books| {
        let nodes = books.nodes().iter();
        nodes
            .map(|(name, record)| (name.clone(), record.life))
            .collect()
    });
    let views = views(rm)?;
    let snapshot = rm.engine().snapshot();
    let types = &snapshot.settings.resource_types;
    let mut found = Columns {
        types: types.iter().map(ToString::to_string).collect(),
        ..Columns::default()
    };
    let nothing = vec![0; types.len()];
    for (name, life) in lives {
        let name = name.to_string();
        let view = views.get(&name);
        found.partition.push(
            view.and_then(|view| view.partition.clone())
                .unwrap_or_default(),
        );
        found
            .total
            .push(view.map_or_else(|| nothing.clone(), |view| view.total.clone()));
        found
            .allocated
            .push(view.map_or_else(|| nothing.clone(), |view| view.allocated.clone()));
        found
            .containers
            .push(view.map_or(0, |view| view.containers));
        found.state.push(life.name());
        found.id.push(name);
    }
    Ok(found)
}

/// What the engine knows of its nodes, by name.
fn views(rm: &ResourceManager) -> Result<BTreeMap<String, NodeView>, Problem> {
    let mut found = BTreeMap::new();
    let mut behind: Option<NodeName> = None;
    loop {
        let page = rm.engine().nodes_behind(behind.as_ref(), PAGE);
        let page = page.map_err(|error| Problem::gone(&error))?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        behind = last.node.parse().ok();
        let whole = page.len() == PAGE && behind.is_some();
        found.extend(page.into_iter().map(|view| (view.node.clone(), view)));
        if !whole {
            return Ok(found);
        }
    }
}
